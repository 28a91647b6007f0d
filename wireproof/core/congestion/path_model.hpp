// Limits how many packets of one flow are in flight, by a model of the path: how many packets per
// second it delivers to this flow, and how long its shortest round trip is. Their product is the
// number of packets that keep the path busy; the window is this number and a few packets more,
// which wait in the queue. A loss by itself says nothing about the path, so the window does not
// shrink when packets are lost at random.
//
//     starting    The window doubles each round trip, until the path delivers no more per second
//                 or the round trip grows.
//     steady      The window is that of the model. In one of 12 rounds it is a quarter larger, to
//                 find out whether the path delivers more. In the next round it is half as large,
//                 so that the queue becomes empty and all flows can measure the shortest round
//                 trip.
//     competing   Other flows keep the queue full: the round trip stays longer than flows of this
//                 kind make it. Then the window grows and shrinks as that of CUBIC. From time to
//                 time the flow leaves the queue for a moment, and looks whether it is empty. The
//                 queue of a flow that shrinks after a loss is short for a while, so the flow is
//                 steady only after a long time with a short queue, and soon competes again.
//
// A round is the time from a packet that asks for an answer to that answer. The model follows BBR
// (Cardwell, Cheng, Gunn, Yeganeh and Jacobson, 2016), the packets in the queue follow FAST (Wei,
// Jin, Low and Hegde, 2006): their number grows with the square root of the rate, so the flow with
// the lower rate has more of them than its share, and equal flows come to equal rates. The change
// between steady and competing follows Copa (Arun and Balakrishnan, 2018).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/congestion/cubic_growth.hpp"
#include "wireproof/core/congestion/limits.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::congestion {

/// A regular value without a clock. All counts are in packets.
class PathModel {
public:
    enum class Phase : std::uint8_t { starting, steady, competing };

    explicit PathModel(Limits limits) : limits_(limits), packets_(limits.start) {}

    std::uint32_t packets() const { return packets_; }
    Phase phase() const { return phase_; }
    bool is_starting() const { return phase_ == Phase::starting; }
    /// The smoothed round trip; zero: not measured.
    Duration rtt() const { return recent_; }

    // The events are those of Control.
    void on_arrived(Instant now, std::uint32_t packets, std::uint32_t most_in_flight);
    void on_lost(Instant now, std::uint32_t packets);
    void on_marked(Instant now, std::uint32_t packets);
    void on_overrun(Instant now, std::uint32_t packets);
    void on_rtt(Instant now, Duration rtt);
    void on_silence(Duration silence);

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    static constexpr std::uint32_t least = 2;  // after a loss; after a silence it is 1
    static constexpr Duration unmeasured = never - Instant();

    struct Round {
        Instant since;
        std::uint32_t arrived = 0;
        std::uint32_t lost = 0;
        Duration shortest = unmeasured;
        bool limited = false;  // the flow used more than half of the window
        bool marked = false;   // a router marked packets
    };

    void end_round(Instant now);
    void learn_rate(Instant now, const Round& round);
    void end_starting_round(const Round& round, bool ends);
    void end_steady_round(Instant now, const Round& round);
    void end_competing_round(const Round& round);
    void become_steady();
    void halve();
    void give_way(Instant now);

    // In packets per 1,000 seconds, so that one packet in some seconds is not 0.
    std::uint64_t rate() const { return rates_[0] > rates_[1] ? rates_[0] : rates_[1]; }
    Duration lowest() const { return lowest_[0] < lowest_[1] ? lowest_[0] : lowest_[1]; }
    bool is_measured() const { return recent_ != Duration(); }

    /// How many packets the path delivers in `time`.
    std::uint32_t in_time(Duration time) const;
    /// How many packets of this flow may wait in the queue.
    std::uint32_t in_queue() const;
    /// How long a queue of flows of this kind is, in time, if all have the rate of this flow.
    Duration own_queue() const;
    std::uint32_t window_of_model() const;
    /// The queue is longer than flows of this kind make it.
    bool is_high(Duration rtt) const;
    bool is_high(const Round& round) const { return round.marked || is_high(round.shortest); }
    /// The queue is not longer than that of this flow alone.
    bool is_low(Duration rtt) const;
    static bool is_heavy(const Round& round);

    Limits limits_;
    std::uint32_t packets_;
    Phase phase_ = Phase::starting;

    Round round_;
    std::uint32_t rounds_ = 0;  // since the phase began, or since this flow looked at the queue

    Duration recent_{};  // smoothed round trip; none: not measured
    // The shortest round trip and the highest rate of this period and of the one before: a path may
    // change.
    std::array<Duration, 2> lowest_{unmeasured, unmeasured};
    Instant lowest_since_;
    std::array<std::uint64_t, 2> rates_{};
    Instant rates_since_;
    std::uint32_t rate_rounds_ = 0;

    // starting
    std::uint64_t rate_before_ = 0;
    std::uint32_t flat_rounds_ = 0;  // in which the rate did not grow

    // steady
    std::uint64_t highs_ = 0;  // a bit for each of the last rounds: the queue was high
    bool competed_ = false;    // before this phase
    // After a round with a small window, the window grows to this by one packet for each that
    // arrives, and not in one burst.
    std::uint32_t target_ = least;

    // competing
    std::optional<CubicGrowth> growth_;
    bool looks_ = false;            // the flow has left the queue
    std::uint32_t low_rounds_ = 0;  // in a row
};

}  // namespace wireproof::congestion
