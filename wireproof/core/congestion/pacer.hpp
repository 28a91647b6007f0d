// Pacing: spreads the packets of a window over the round trip, so that they do not fill the queue
// of a router in one burst. A Pacer counts the packets that may still leave in this interval. The
// engine that owns it sets a timer for the end of the interval.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::congestion {

/// At most so many new packets leave in each interval. No interval: there is no such limit.
struct Burst {
    std::uint32_t packets = 0;
    Duration interval{};

    bool limits() const { return interval > Duration(); }
};

/// Spreads a window over a round trip, and a quarter more, or twice the window while it doubles. On
/// a path with a short round trip, or without a measured one, there is no limit: the timers of a
/// host are too coarse for it.
inline Burst burst_of(std::uint32_t window, Duration rtt, bool doubles) {
    constexpr Duration shortest_rtt = Duration::milliseconds(1);
    constexpr Duration shortest_interval = Duration::microseconds(250);
    constexpr std::int64_t intervals = 8;  // in a round trip
    if (rtt < shortest_rtt) return {};
    const Duration interval = std::max(Duration(rtt.picoseconds() / intervals), shortest_interval);
    const std::uint64_t quarters = doubles ? 8 : 5;
    const std::uint64_t packets = quarters * window *
                                  static_cast<std::uint64_t>(interval.nanoseconds()) /
                                  static_cast<std::uint64_t>(rtt.nanoseconds()) / 4;
    return {std::max(static_cast<std::uint32_t>(packets), 2U), interval};
}

/// A regular value without a clock. It begins without a limit.
class Pacer {
public:
    /// A new packet may leave.
    bool open() const { return !limited_ || room_ > 0; }
    /// New packets have left. The engine calls next() after them.
    void left(std::uint32_t packets) { room_ -= std::min(room_, packets); }
    /// Returns when the engine must call refill(): the end of the interval that runs, or that
    /// begins now. never: no limit.
    Instant next(Instant now, Burst burst) {
        if (!burst.limits()) {
            limited_ = false;
            return never;
        }
        if (!limited_) {
            limited_ = true;
            since_ = now;
            room_ = burst.packets;
        }
        return since_ + burst.interval;
    }
    /// The time of next() has come. If it came late, more packets may leave, but not more than in
    /// two intervals. False: no packet left since the last call, and no timer is needed.
    bool refill(Instant now, Burst burst) {
        if (!burst.limits() || room_ >= burst.packets) {
            limited_ = false;
            return false;
        }
        const Duration passed = std::min(now - since_, burst.interval + burst.interval);
        const auto share = static_cast<std::uint64_t>(burst.packets) *
                           static_cast<std::uint64_t>(passed.nanoseconds()) /
                           static_cast<std::uint64_t>(burst.interval.nanoseconds());
        room_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(share, 1));
        since_ = now;
        return true;
    }

    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add(limited_);
        if (!limited_) return;
        sink.add(room_);
        sink.add(now - since_);
    }

private:
    bool limited_ = false;
    std::uint32_t room_ = 0;
    Instant since_;
};

}  // namespace wireproof::congestion
