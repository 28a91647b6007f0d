// An ended session while the caller draws what it leaves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/am/delivery.hpp"

namespace wireproof::am {

/// How much the caller has drawn (unfinished.cpp).
struct Ended {
    bool active = false;
    SessionEnded how;
    std::size_t channel = 0;
    std::size_t next = 0;      // next saved message
    std::uint32_t of_row = 0;  // next message of that one, if it is a row
    std::size_t stage = 0;

    void begin(const SessionEnded& ended) {
        *this = Ended{};
        active = true;
        how = ended;
    }
    void fingerprint(Fingerprint& sink) const {
        sink.add(active);
        if (!active) return;
        how.fingerprint(sink);
        sink.add(channel);
        sink.add(next);
        sink.add(of_row);
        sink.add(stage);
    }
};

}  // namespace wireproof::am
