// Puts the pieces of a frame together in the room that was lent for its headers, so that payload is
// copied once and a header at the front is not copied. Works from the last piece to the first: a
// piece in the room only moves towards the end, so nothing is overwritten before it has moved.
#pragma once

#include <algorithm>
#include <cstddef>

#include "wireproof/core/frame.hpp"

namespace wireproof::sim {

/// `room` is the room that TxFrame::open got. Returns the whole frame, at the front of `room`.
inline Bytes compose(const TxFrame& frame, Bytes room) {
    WIREPROOF_CHECK(frame.size() <= room.size());
    std::size_t end = frame.size();
    const auto pieces = frame.pieces();
    for (std::size_t i = pieces.size(); i-- > 0;) {
        const auto to = room.begin() + static_cast<std::ptrdiff_t>(end);
        end -= pieces[i].size();
        // The first header is in its place, unless payload comes before it.
        if (pieces[i].data() != room.data() + end) {
            std::copy_backward(pieces[i].begin(), pieces[i].end(), to);
        }
    }
    return room.first(frame.size());
}

/// A frame in two parts: the bytes in the room, and payload by reference that belongs between them.
struct LentFrame {
    std::size_t size = 0;     // bytes in the room
    ConstBytes lent{};        // empty: the frame is all in the room
    std::size_t lent_at = 0;  // its place in the frame
};

/// Headers and trailers are already consecutive in the room, so nothing is copied. At most one
/// piece may be outside the room.
inline LentFrame lend(const TxFrame& frame, ConstBytes room) {
    const auto pieces = frame.pieces();
    const bool begins_here = !pieces.empty() && pieces[0].data() == room.data();
    LentFrame parts;
    parts.lent_at = begins_here ? pieces[0].size() : 0;
    if (pieces.size() > (begins_here ? 1U : 0U)) parts.lent = pieces[begins_here ? 1 : 0];
    parts.size = frame.size() - parts.lent.size();
    WIREPROOF_CHECK(pieces.size() <= (begins_here ? 3U : 2U));
    return parts;
}

}  // namespace wireproof::sim
