#include "wireproof/proto/hippi/receive_sequence.hpp"

#include <algorithm>

namespace wireproof::hippi {

ReceiveSequence::ReceiveSequence(const Config& config)
    : circle_(config.modulus),
      first_(config.first_number),
      window_(config.w_max),
      surely_behind_(config.surely_behind()),
      duplicates_(config.duplicates),
      null_after_(config.null_after),
      expected_(first_) {}

RxVerdict ReceiveSequence::place(std::uint8_t tseq) const {
    if (!circle_.holds(tseq)) return RxVerdict::malformed;
    const std::uint32_t behind = circle_.steps_after(expected_, Number(tseq));
    if (behind == 0) return RxVerdict::accepted;
    if (behind <= surely_behind_) return RxVerdict::duplicate;
    const std::uint32_t ahead = circle_.steps_after(Number(tseq), expected_);
    return ahead < window_ ? RxVerdict::out_of_sequence : RxVerdict::stale;
}

// The wait for a null does not restart with each unit. Otherwise a steady stream would delay its
// own acknowledgement for ever.
void ReceiveSequence::take(Instant now) {
    expected_ = circle_.advance(expected_, 1);  // HIPPI-12
    carried_ = 0;
    wanted_ = 1;
    if (null_due_ || deadline_ != never) return;
    if (null_after_ == Duration{}) {
        null_due_ = true;
    } else {
        deadline_ = now + null_after_;
    }
}

void ReceiveSequence::drop(std::uint8_t tseq, RxVerdict verdict) {
    // HIPPI-31: a notice for a duplicate would cause a needless replay, and the duplicates of that
    // replay would cause the next notice.
    if (verdict == RxVerdict::duplicate && duplicates_ == Duplicates::status_null) {
        status_owed_ = true;
        return;
    }
    const bool last_again = circle_.steps_after(expected_, Number(tseq)) == 1;
    if (last_again && duplicates_ == Duplicates::re_arm) {  // HIPPI-21
        carried_ = std::min<std::uint8_t>(carried_, 1);
    }
    on_bad_unit();  // HIPPI-14
}

std::uint8_t ReceiveSequence::take_rseq() {
    if (!owes_copy()) return no_number;  // HIPPI-15, HIPPI-16
    ++carried_;
    settle_null();
    return expected();
}

// HIPPI-32: the status null replaces the first copy, which the sender would now take for a notice.
std::uint8_t ReceiveSequence::take_status() {
    status_owed_ = false;
    carried_ = std::max<std::uint8_t>(carried_, 1);
    settle_null();
    return expected();
}

void ReceiveSequence::settle_null() {
    null_due_ = false;
    deadline_ = never;
}

void ReceiveSequence::reset() {
    expected_ = first_;
    carried_ = wanted_ = 0;
    status_owed_ = false;
    settle_null();
}

void ReceiveSequence::fingerprint(Instant now, Fingerprint& sink) const {
    sink.add(expected_.value());
    sink.add(carried_);
    sink.add(owes_copy() ? wanted_ : std::uint8_t{0});
    sink.add(status_owed_);
    sink.add(null_due_);
    sink.add_deadline(deadline_, now);
}

}  // namespace wireproof::hippi
