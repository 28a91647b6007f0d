// Whether the path carries long packets, until one is acknowledged.
#pragma once

#include <cstdint>

#include "wireproof/core/fingerprint.hpp"

namespace wireproof::am {

/// Packets as long as those of transfers: whether the path is known to carry them.
struct LongPackets {
    bool arrive = false;      // one was acknowledged in this session
    bool under_way = false;   // if none was: one waits or is in flight
    std::uint64_t first = 0;  // its position

    void fingerprint(std::uint64_t una, Fingerprint& sink) const {
        sink.add(arrive);
        sink.add(under_way);
        if (under_way) sink.add(first - una);
    }
};

}  // namespace wireproof::am
