// How many packets of one flow may be under way on a path that others use too. It grows by one a
// round trip, as TCP's does, so that flows that meet in one queue come to share it; what it gives
// back at a loss depends on whether the round trip says that the queue is full:
//
//      it has grown, or a quarter was lost     half, once in a round trip and a half
//      it has not                              as many as were lost, at most that
//
// So a path that loses one packet in a hundred by itself keeps about a hundred under way.
#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof {

/// A regular value without a clock. All counts are packets.
class CongestionWindow {
public:
    struct Config {
        std::uint32_t start = 10;
        std::uint32_t most = 1024;  // it never grows beyond
    };

    explicit CongestionWindow(Config config)
        : config_(config), packets_(config.start), threshold_(config.most) {}

    std::uint32_t packets() const { return packets_; }
    /// Still doubling: neither a full queue nor heavy loss was met.
    bool is_starting() const { return packets_ < threshold_; }

    /// So many arrived. `most_under_way`: of the last round trip; a window that its flow does not
    /// fill does not grow.
    void on_arrived(std::uint32_t packets, std::uint32_t most_under_way);
    /// So many were lost.
    void on_lost(Instant now, std::uint32_t packets);
    /// So many were lost, and the receiver says that it had no room.
    void on_overrun(Instant now, std::uint32_t packets);
    /// A packet and its answer took so long.
    void on_rtt(Instant now, Duration rtt);
    /// Nothing was heard for so long though answers were asked for more than once.
    void on_silence(Duration silence);

    /// The round trip is well above its lowest: packets wait in a queue.
    bool rtt_has_grown() const;

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    static constexpr std::uint32_t least = 2;  // that a loss leaves; a silence leaves one

    void lose(Instant now, std::uint32_t packets, bool no_room);
    Duration lowest() const { return lowest_ < lowest_before_ ? lowest_ : lowest_before_; }

    Config config_;
    std::uint32_t packets_;
    std::uint32_t threshold_;   // below it the window doubles
    std::uint32_t credit_ = 0;  // arrived since it last grew by one

    Duration recent_{};  // round trip, smoothed; none: not measured
    Duration lowest_ = unmeasured;
    Duration lowest_before_ = unmeasured;  // of the period before: a path may change
    Instant period_since_;
    static constexpr Duration unmeasured = never - Instant();

    // Losses of one time are counted together.
    bool losing_ = false;
    Instant losing_since_;
    std::uint32_t before_losing_ = 0;  // the window when it began
    std::uint32_t lost_ = 0;
};

}  // namespace wireproof
