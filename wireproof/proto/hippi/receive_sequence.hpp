// The receiver's half of the retry protocol: the number expected next, and how many copies of it
// must still go back (docs/rules/hippi.md).
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
// A number that was carried twice is not carried again, so repeats mean at most one "resend". The
// answer to a certain duplicate is a status null, which only acknowledges. It replaces the first
// copy if that has not gone back yet.
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

    /// The verdict on an undamaged unit with this number: accepted (then the caller calls take()),
    /// duplicate, out_of_sequence, stale, or malformed if no such number exists.
    RxVerdict place(std::uint8_t tseq) const;

    /// Applies the expected unit.
    void take(Instant now);
    /// Handles a unit that was not the expected one. `verdict` is that of place().
    void drop(std::uint8_t tseq, RxVerdict verdict);
    /// Handles a unit whose check failed (HIPPI-13). A number that went back twice does not go back
    /// again, so if a resent unit is bad again, the sender's timer must recover it (HIPPI-22).
    void on_bad_unit() { wanted_ = 2; }
    void on_timeout() {
        null_due_ = true;
        deadline_ = never;
    }

    bool status_null_due() const { return status_owed_; }
    /// HIPPI-17: a notice leaves at once, an acknowledgement after T_null.
    bool null_due() const { return negative() || (owes_copy() && null_due_); }
    /// True: the copy that is owed belongs to a notice, not to an acknowledgement.
    bool negative() const { return owes_copy() && wanted_ == 2; }
    std::uint8_t expected() const { return static_cast<std::uint8_t>(expected_.value()); }
    Instant deadline() const { return deadline_; }

    /// The RSEQ of a unit that leaves now: the expected number if a copy of it is owed, else 255.
    std::uint8_t take_rseq();
    /// The RSEQ of a status null that leaves now.
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
    std::uint8_t wanted_ = 0;   // copies that must go back: 1 acknowledgement, 2 notice
    bool status_owed_ = false;
    // The acknowledgement has waited for T_null, and no unit carried it.
    bool null_due_ = false;
    Instant deadline_ = never;
};

}  // namespace wireproof::hippi
