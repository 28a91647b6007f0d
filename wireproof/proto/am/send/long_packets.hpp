// Whether the path carries long packets, before any was acknowledged.
#pragma once

#include <cstdint>

#include "wireproof/core/fingerprint.hpp"

namespace wireproof::am {

/// Of packets as long as those of transfers: whether the path is known to carry them.
struct LongPackets {
    bool arrive = false;      // one was acknowledged in this session
    bool under_way = false;   // else: one was asked for
    std::uint64_t first = 0;  // that one's position

    void fingerprint(std::uint64_t una, Fingerprint& sink) const {
        sink.add(arrive);
        sink.add(under_way);
        if (under_way) sink.add(first - una);
    }
};

}  // namespace wireproof::am
