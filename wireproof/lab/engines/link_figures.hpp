// The cable of a ladder. The same in both directions. It carries one frame at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/base/instant.hpp"

namespace wireproof::lab {

struct LinkFigures {
    Duration latency = Duration::nanoseconds(200);   // of the last byte, until it arrives
    std::uint64_t bytes_per_second = 1'000'000'000;  // 0: a frame takes no time to leave

    Duration time_of(std::size_t bytes) const {
        if (bytes_per_second == 0) return Duration();
        return Duration(static_cast<std::int64_t>(bytes * 1'000'000'000'000 / bytes_per_second));
    }
};

}  // namespace wireproof::lab
