// Limits how many packets of one flow are in flight on a path that other flows share. The window
// grows by one packet per round trip, like TCP's, so that flows that meet in one queue come to
// share it. When packets are lost, the window shrinks. How much it shrinks depends on whether the
// queue of the path seems to be full:
//
//      round trip has grown, a router marked   to half, once in one and a half round trips
//      packets, or a quarter was lost
//      otherwise                               by the number of lost packets, at most to half
//
// On a path that loses one packet in a hundred without a full queue, the window therefore stays at
// about a hundred packets.
#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/congestion/limits.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::congestion {

/// A regular value without a clock. All counts are in packets.
class LossWindow {
public:
    explicit LossWindow(Limits limits)
        : limits_(limits), packets_(limits.start), threshold_(limits.most) {}

    std::uint32_t packets() const { return packets_; }
    /// The window doubles each round trip: it has not met a full queue or heavy loss yet, or it
    /// grows again after a silence.
    bool is_starting() const { return packets_ < threshold_; }

    /// The peer acknowledged `packets`. `most_in_flight` is the largest number in flight during the
    /// last round trip. If the flow uses at most half of the window, the window does not grow.
    void on_arrived(Instant now, std::uint32_t packets, std::uint32_t most_in_flight);
    void on_lost(Instant now, std::uint32_t packets);
    /// `packets` arrived with a mark of a router (ECN).
    void on_marked(Instant now, std::uint32_t packets);
    /// `packets` were lost, and the receiver says that it had no room for them.
    void on_overrun(Instant now, std::uint32_t packets);
    /// `rtt` passed between a packet and its answer.
    void on_rtt(Instant now, Duration rtt);
    /// The peer has been silent for `silence`, although the sender asked for an answer more than
    /// once.
    void on_silence(Duration silence);

    /// The round trip is much longer than the shortest one: packets wait in a queue.
    bool rtt_has_grown() const;
    /// The smoothed round trip; zero: not measured.
    Duration rtt() const { return recent_; }

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    static constexpr std::uint32_t least = 2;  // after a loss; after a silence it is 1

    void lose(Instant now, std::uint32_t packets, bool queue_full);
    Duration lowest() const { return lowest_ < lowest_before_ ? lowest_ : lowest_before_; }

    Limits limits_;
    std::uint32_t packets_;
    std::uint32_t threshold_;   // below it, the window doubles each round trip
    std::uint32_t credit_ = 0;  // arrived since the window last grew by one

    Duration recent_{};  // smoothed round trip; zero: not measured
    Duration lowest_ = unmeasured;
    Duration lowest_before_ = unmeasured;  // in the period before; a path may change
    Instant period_since_;
    static constexpr Duration unmeasured = never - Instant();

    // Losses within one and a half round trips are counted together.
    bool losing_ = false;
    Instant losing_since_;
    std::uint32_t before_losing_ = 0;  // the window before the first of them
    std::uint32_t lost_ = 0;
};

}  // namespace wireproof::congestion
