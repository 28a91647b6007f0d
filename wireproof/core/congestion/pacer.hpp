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

/// How much may leave in what time if the window and the round trip are these. `doubles`: the
/// window doubles in each round trip. No limit on a path with a short round trip, or without a
/// measured one: the timers of a host are too coarse for it.
Burst burst_of(std::uint32_t window, Duration rtt, bool doubles);

/// A regular value without a clock. It begins without a limit.
class Pacer {
public:
    /// After each answer of the peer, which may change Control::burst().
    void allow(Instant now, Burst burst) {
        const bool begins = burst.limits() && !burst_.limits();
        burst_ = burst;
        if (!begins) return;
        room_ = 0;
        begin(now);
    }

    /// A new packet may leave.
    bool open() const { return !burst_.limits() || room_ > 0; }
    /// New packets leave. The engine calls next() after them, before time passes.
    void left(std::uint32_t packets) {
        left_ += packets;
        room_ -= std::min(room_, packets);
    }
    /// Returns when the engine must call refill(); never: more packets may leave. An interval
    /// begins with its first packet.
    Instant next(Instant now) {
        if (burst_.limits() && now - since_ >= burst_.interval) begin(now);
        left_ = 0;
        return open() ? never : since_ + burst_.interval;
    }
    /// The time of next() has come. If it came late, more packets may leave, but not more than in
    /// two intervals.
    void refill(Instant now) {
        if (open()) return;
        const Duration passed = std::min(now - since_, burst_.interval + burst_.interval);
        const auto share = static_cast<std::uint64_t>(burst_.packets) *
                           static_cast<std::uint64_t>(passed.nanoseconds()) /
                           static_cast<std::uint64_t>(burst_.interval.nanoseconds());
        room_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(share, 1));
        since_ = now;
    }

    void fingerprint(Instant now, Fingerprint& sink) const {
        if (!burst_.limits()) return;
        sink.add(burst_.packets);
        sink.add(burst_.interval);
        sink.add(room_);
        sink.add(std::min(now - since_, burst_.interval + burst_.interval));
    }

private:
    // Room that is left over stays. So it makes no difference whether the engine calls next() after
    // each packet or after several.
    void begin(Instant now) {
        since_ = now;
        room_ = std::max(room_, burst_.packets - std::min(burst_.packets, left_));
    }

    Burst burst_;
    std::uint32_t room_ = 0;
    std::uint32_t left_ = 0;  // since the last call of next()
    Instant since_;           // the interval
};

}  // namespace wireproof::congestion
