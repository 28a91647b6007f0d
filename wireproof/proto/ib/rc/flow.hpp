// Congestion control of an RC requester: how many packets may be in flight, and when the requester
// asks the silent responder again. Counts PSNs: a Send or Write packet is one, and a Read request
// counts as the responses that it asks for, because these load the path.
//
// Go-back-N loses one packet at a time: the responder names the first missing packet, and discards
// the packets after it. The requester sends those again, but the path did not lose them.
//
// RC-34: the responder names a missing packet once (RC-2). If this NAK is lost, or the packet is
// lost again, nothing more arrives. The answer timeout is long because a host may sleep. So the
// requester sends its oldest packet again, alone, after three round trips of silence. This uses no
// retry.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "wireproof/core/congestion/control.hpp"
#include "wireproof/core/timer_table.hpp"
#include "wireproof/proto/ib/transport/queue_pair_state.hpp"

namespace wireproof::proto::ib {

/// A regular value without a clock. "In flight" is the number of PSNs from the oldest unanswered
/// one to the next one to send.
class RcFlow {
public:
    /// The shortest silence after which the requester asks again. A host may be busy for so long.
    static constexpr Duration silence_least = Duration::milliseconds(1);
    /// The same without congestion control. A responder that nobody asks may hold an
    /// acknowledgement until its host wakes.
    static constexpr Duration silence_uncontrolled = Duration::milliseconds(4);
    /// The same before a round trip was measured.
    static constexpr Duration silence_unmeasured = Duration::milliseconds(16);
    static constexpr std::uint32_t asks_per_window = 8;

    /// Without congestion control: it limits nothing and sets no timer.
    RcFlow() = default;
    /// `always_watches`: also without congestion control, the requester asks again after silence.
    RcFlow(Congestion kind, std::uint32_t most, bool always_watches = false);

    /// It limits what may be in flight.
    bool on() const { return control_.has_value(); }
    /// It notices the silence of the responder.
    bool watches() const { return watches_; }

    // Sending.
    /// RC-33: how many packets may leave now. If the window is closed, but the responder owes no
    /// answer, one more packet may leave, which asks for one. So the requester never waits for an
    /// answer that does not come.
    std::uint32_t room(std::uint32_t in_flight) const;
    /// How many packets may be in flight.
    std::uint32_t packets() const { return on() ? control_->packets() : ~std::uint32_t{0}; }
    /// The responder owes an answer to one of the packets in flight.
    bool awaits_answer(std::uint32_t in_flight) const {
        return asked_end_ > oldest_ && in_flight > 0;
    }
    /// Ask for an acknowledgement at least once in so many packets. If the next packet closes the
    /// window, it asks.
    std::uint32_t ack_every(std::uint32_t in_flight) const;
    struct Leaving {
        std::uint32_t in_flight = 0;  // before it
        std::uint32_t psns = 1;
        bool asks = false;
        bool answered = false;  // the responder answers it, at the latest after a while
    };
    void left(Instant now, const Leaving& packet);
    /// The oldest packet must leave again now, alone, and ask for an acknowledgement.
    bool wants_again() const { return again_due_; }
    void left_again(Instant now);
    /// The oldest packet left again like this, and the responder has acknowledged nothing since.
    bool asked_again() const { return times_again_ > 0; }

    // A packet of the responder arrived. The requester calls arrived(), lost() and marked() for
    // what the packet says. Then it calls apply(), which changes the window.
    void arrived(std::uint32_t psns);
    void lost() { ++lost_; }
    /// A router marked a response, or packets of this flow (CNP).
    void marked() { ++marked_; }
    void apply(Instant now, std::uint32_t in_flight);
    /// The answer timeout has passed.
    void timed_out(Instant now);
    /// All packets from the oldest one on will be sent again. `discarded`: an answer says that the
    /// earlier copies count no more, so an answer to a new copy measures a round trip. Otherwise it
    /// could be to either copy (Karn).
    enum class Earlier : std::uint8_t { discarded, unknown };
    void went_back(Earlier copies);

    /// Returns true if the responder has been silent for too long: see wants_again().
    bool on_deadline(Instant now);
    Instant next_deadline() const { return timers_.next(); }

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    enum class Timer : std::uint8_t { silence, pace };
    struct Question {
        std::uint64_t end = 0;  // the position after its packet
        Instant left;
    };

    Duration silence() const;
    void answered_up_to(Instant now);

    void watch(Instant now);

    bool watches_ = false;
    std::optional<congestion::Control> control_;
    congestion::Pacer pacer_;
    TimerTable<Timer, 2> timers_;

    // Positions: all PSNs that were ever answered come before the oldest one in flight.
    std::uint64_t oldest_ = 0;
    std::uint64_t asked_end_ = 0;     // after the last packet that asked
    std::uint64_t sent_end_ = 0;      // after the last packet that was ever sent
    std::uint64_t doubtful_end_ = 0;  // before it, an answer could be to an earlier copy
    std::array<Question, asks_per_window> questions_{};  // oldest first
    std::size_t questions_used_ = 0;
    std::uint32_t most_ = 0;  // the largest number in flight since the last measured round trip

    // What the packet says that is being read.
    std::uint32_t arrived_ = 0;
    std::uint32_t marked_ = 0;
    std::uint32_t lost_ = 0;

    Duration longest_rtt_{};  // the longest recent one; zero: not measured
    Instant heard_;           // the last answer, or when the first packet left
    bool again_due_ = false;
    std::uint32_t times_again_ = 0;  // in a row
};

}  // namespace wireproof::proto::ib
