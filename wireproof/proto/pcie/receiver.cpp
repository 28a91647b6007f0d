#include "wireproof/proto/pcie/receiver.hpp"

#include <algorithm>

namespace wireproof::pcie {

Receiver::Receiver(const Config& config) : config_(config), circle_(config.modulus) {
    reset();
}

// PCIE-3: nothing is scheduled, and the first number is expected.
void Receiver::reset() {
    next_ = TlpNumber(config_.first_number);
    nak_scheduled_ = nak_waits_ = ack_waits_ = false;
    owed_ = 0;
    ack_deadline_ = complained_at_ = never;
}

// PCIE-17: one Nak until the expected TLP has come. PCIE-25: if a resent TLP is damaged again, the
// sender's timer recovers it, unless `renak_after` is set.
void Receiver::complain(Instant now) {
    if (nak_scheduled_) {
        const bool again = config_.renak_after > Duration() && complained_at_ != never &&
                           now > complained_at_ + config_.renak_after;
        if (!again) return;
    }
    nak_scheduled_ = nak_waits_ = true;
    complained_at_ = now;
    ack_deadline_ = never;  // the Nak carries the same number
}

// PCIE-16: the number in a damaged TLP is not trusted.
RxVerdict Receiver::on_bad(Instant now) {
    complain(now);
    return RxVerdict::corrupt;
}

RxVerdict Receiver::on_tlp(Instant now, std::uint32_t number) {
    if (!circle_.holds(number)) return RxVerdict::malformed;
    const std::uint32_t behind = circle_.steps_after(next_, TlpNumber(number));
    if (behind == 0) {
        // PCIE-13, PCIE-18
        next_ = circle_.advance(next_, 1);
        nak_scheduled_ = false;
        ++owed_;
        if (config_.ack_after > 0 && owed_ >= config_.ack_after) ack_waits_ = true;
        if (ack_deadline_ == never) ack_deadline_ = now + config_.ack_latency;  // PCIE-20
        return RxVerdict::accepted;
    }
    // PCIE-14, PCIE-33, PCIE-38. A duplicate causes no Nak, so a needless replay causes no further
    // one (PCIE-36).
    if (behind <= config_.modulus / 2) {
        ack_waits_ = true;  // even while a Nak is scheduled
        return RxVerdict::duplicate;
    }
    complain(now);  // PCIE-15
    return RxVerdict::out_of_sequence;
}

void Receiver::on_deadline(Instant now) {
    if (ack_deadline_ > now) return;
    ack_deadline_ = never;
    ack_waits_ = true;
}

std::optional<Dllp> Receiver::next_dllp(Stats& stats) {
    if (!nak_waits_ && !ack_waits_) return std::nullopt;
    const std::uint32_t last = circle_.advance(next_, config_.modulus - 1).value();
    const bool nak = nak_waits_ && nak_scheduled_;  // PCIE-18: the kind is decided now
    nak_waits_ = ack_waits_ = false;
    owed_ = 0;
    ack_deadline_ = never;
    ++(nak ? stats.naks : stats.acks);
    return nak ? Dllp::nak(last) : Dllp::ack(last);
}

void Receiver::fingerprint(Instant now, Fingerprint& sink) const {
    sink.add(next_.value());
    sink.add(nak_scheduled_);
    sink.add(nak_waits_);
    sink.add(ack_waits_);
    sink.add(config_.ack_after > 0 ? owed_ : 0);
    sink.add_deadline(ack_deadline_, now);
    if (config_.renak_after > Duration() && nak_scheduled_) {
        // After another Nak is permitted, the exact time no longer matters.
        sink.add(std::min(now - complained_at_, config_.renak_after + Duration(1)));
    }
}

}  // namespace wireproof::pcie
