// Brings the pieces of a frame together in the very room that was lent for its headers, so that a
// simulated frame is copied once and its header never. Works from the last piece to the first:
// a piece in the room only ever moves towards the end, so nothing is overwritten before it moved.
#pragma once

#include <algorithm>
#include <cstddef>

#include "wireproof/core/frame.hpp"

namespace wireproof::sim {

/// `room` is what TxFrame::open was given; returns the bytes of the whole frame at its front.
inline Bytes compose(const TxFrame& frame, Bytes room) {
    WIREPROOF_CHECK(frame.size() <= room.size());
    std::size_t end = frame.size();
    const auto pieces = frame.pieces();
    for (std::size_t i = pieces.size(); i-- > 0;) {
        const auto to = room.begin() + static_cast<std::ptrdiff_t>(end);
        if (pieces[i].data() != room.data()) {
            std::copy_backward(pieces[i].begin(), pieces[i].end(), to);
        }
        end -= pieces[i].size();
    }
    return room.first(frame.size());
}

}  // namespace wireproof::sim
