// The end of a caller's patience.
#pragma once

#include <algorithm>
#include <chrono>

namespace wireproof::host {

class Deadline {
public:
    /// At most 30 days from now, so that the clock does not overflow.
    explicit Deadline(std::chrono::milliseconds patience)
        : at_(Clock::now() + std::clamp<std::chrono::milliseconds>(
                                 patience, std::chrono::milliseconds(0), std::chrono::days(30))) {}

    /// 0: it is past.
    std::chrono::milliseconds left() const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now());
        return std::max(left, std::chrono::milliseconds(0));
    }
    bool past() const { return left().count() == 0; }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point at_;
};

}  // namespace wireproof::host
