// Time as a value: integer picoseconds on a clock that has no now(). The folder `host` reads a real
// clock, the folder `sim` simulates time. They pass the time to all other code, which cannot read a
// clock.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace wireproof {

/// A length of time in picoseconds; 64 bits hold 106 days.
class Duration {
public:
    constexpr Duration() = default;
    constexpr explicit Duration(std::int64_t picoseconds) : picoseconds_(picoseconds) {}

    static constexpr Duration nanoseconds(std::int64_t n) { return Duration(n * 1'000); }
    static constexpr Duration microseconds(std::int64_t n) { return Duration(n * 1'000'000); }
    static constexpr Duration milliseconds(std::int64_t n) { return Duration(n * 1'000'000'000); }
    static constexpr Duration from_seconds(double s) {
        return Duration(static_cast<std::int64_t>(s * 1e12));
    }

    constexpr std::int64_t picoseconds() const { return picoseconds_; }
    constexpr std::int64_t nanoseconds() const { return picoseconds_ / 1'000; }
    constexpr double seconds() const { return static_cast<double>(picoseconds_) * 1e-12; }

    friend constexpr auto operator<=>(Duration, Duration) = default;
    friend constexpr Duration operator+(Duration a, Duration b) {
        return Duration(a.picoseconds_ + b.picoseconds_);
    }
    friend constexpr Duration operator-(Duration a, Duration b) {
        return Duration(a.picoseconds_ - b.picoseconds_);
    }
    friend constexpr Duration operator*(Duration a, std::int64_t n) {
        return Duration(a.picoseconds_ * n);
    }

private:
    std::int64_t picoseconds_ = 0;
};

/// A point in time. The owner of the clock chooses the start from which it counts.
class Instant {
public:
    constexpr Instant() = default;
    constexpr explicit Instant(Duration since_start) : since_start_(since_start) {}

    constexpr Duration since_start() const { return since_start_; }

    friend constexpr auto operator<=>(Instant, Instant) = default;
    friend constexpr Instant operator+(Instant a, Duration d) {
        return Instant(a.since_start_ + d);
    }
    friend constexpr Duration operator-(Instant a, Instant b) {
        return a.since_start_ - b.since_start_;
    }

private:
    Duration since_start_;
};

/// The deadline of a timer that is not running; later than every other instant.
inline constexpr Instant never{Duration(std::numeric_limits<std::int64_t>::max())};

/// The earliest of several instants. It takes values and has no branches, because a processor
/// cannot predict which timer is next.
constexpr Instant earliest(Instant a, Instant b) {
    return a < b ? a : b;
}
template <class... More>
constexpr Instant earliest(Instant a, Instant b, More... more) {
    return earliest(earliest(a, b), more...);
}

}  // namespace wireproof
