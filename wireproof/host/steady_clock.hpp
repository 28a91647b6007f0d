// Reads real time. It counts from the construction of the clock, so that 64 bits of picoseconds
// last 106 days. After that it stops the program, because the time would wrap.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "wireproof/base/check.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof::host {

class SteadyClock {
public:
    SteadyClock() : start_(std::chrono::steady_clock::now()) {}

    Instant now() const {
        constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max() / 1'000;
        const std::chrono::nanoseconds since_start = std::chrono::steady_clock::now() - start_;
        WIREPROOF_CHECK(since_start.count() < limit);
        return Instant(Duration::nanoseconds(since_start.count()));
    }

private:
    std::chrono::steady_clock::time_point start_;
};

}  // namespace wireproof::host
