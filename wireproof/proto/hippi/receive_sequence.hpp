// The receiver's half of the retry protocol: the number expected next, and how often it still has
// to go back (docs/rules/hippi.md).
//
//      good, expected   ┌──────────────┐ T_null, or on any unit       ┌──────────────┐
//      ────────────────►│ one copy     ├─────────────────────────────►│ carried once │
//                       │ owed         │                              └──────┬───────┘
//                       └──────┬───────┘                                     │ bad, or not expected
//         bad, or not expected ▼                                             ▼
//                       ┌──────────────┐   at once     ┌──────────────┐ at once  ┌───────────────┐
//                       │ two owed     ├──────────────►│ one owed     ├─────────►│ carried twice │
//                       └──────────────┘               └──────────────┘          └───────────────┘
//
// A number that has been carried twice is carried no more, so repeats never mean more than one
// "resend". What surely is a duplicate is answered by a status null instead, which only
// acknowledges; it stands for the first copy if that has not gone back yet.
#pragma once

#include <cstdint>

#include "wireproof/base/seq_num.hpp"
#include "wireproof/core/engine.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/hippi/config.hpp"
#include "wireproof/proto/hippi/retransmit_buffer.hpp"

namespace wireproof::hippi {

class ReceiveSequence {
public:
    explicit ReceiveSequence(const Config& config);

    /// What a whole unit with this number is: accepted (then take() it), duplicate,
    /// out_of_sequence, stale or, off the circle, malformed.
    RxVerdict place(std::uint8_t tseq) const;

    /// The expected unit is taken in.
    void take(Instant now);
    /// A unit that was not the expected one is dropped; `verdict` is from place().
    void drop(std::uint8_t tseq, RxVerdict verdict);
    /// A unit came whose check failed (HIPPI-13). What went back twice does not go back again, so a
    /// resent unit that is bad again waits for the sender's timer (HIPPI-22).
    void on_bad_unit() { wanted_ = 2; }
    void on_timeout() {
        null_due_ = true;
        deadline_ = never;
    }

    bool status_null_due() const { return status_owed_; }
    /// HIPPI-17: a notice leaves at once, an acknowledgement after T_null.
    bool null_due() const { return negative() || (owes_copy() && null_due_); }
    /// The copy owed is of a notice, not of an acknowledgement.
    bool negative() const { return owes_copy() && wanted_ == 2; }
    std::uint8_t expected() const { return static_cast<std::uint8_t>(expected_.value()); }
    Instant deadline() const { return deadline_; }

    /// For a unit that leaves now: the expected number if a copy of it is owed, else 255.
    std::uint8_t take_rseq();
    /// For a status null that leaves now.
    std::uint8_t take_status();

    void reset();
    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    bool owes_copy() const { return carried_ < wanted_; }
    void settle_null();

    Circle circle_;
    Number first_;
    std::uint32_t window_;
    std::uint32_t surely_behind_;
    Duplicates duplicates_;
    Duration null_after_;

    Number expected_;
    std::uint8_t carried_ = 0;  // copies of expected_ that went back
    std::uint8_t wanted_ = 0;   // copies that should: 1 is an acknowledgement, 2 a notice
    bool status_owed_ = false;
    bool null_due_ = false;  // the acknowledgement has waited T_null for a ride
    Instant deadline_ = never;
};

}  // namespace wireproof::hippi
