#include "wireproof/proto/hippi/retransmit_buffer.hpp"

namespace wireproof::hippi {

RetransmitBuffer::RetransmitBuffer(const Config& config)
    : guard_(config.guard),
      loop_(config.loop),
      retries_max_(config.retries_max),
      retry_({config.modulus, config.first_number, config.retry_after, config.retry_floor,
              config.backs_off}),
      units_(config.w_max) {}

RetransmitBuffer::Heard RetransmitBuffer::on_rseq(Instant now, std::uint8_t rseq, bool negative) {
    if (rseq == no_number) return Heard::nothing;  // HIPPI-7
    const auto freed = retry_.freed_by_expected(rseq);
    if (!freed) return Heard::impossible;
    if (*freed == 0) {
        if (units_.empty() || !negative) return Heard::nothing;  // HIPPI-9, HIPPI-32
        if (guarded(now) || !retry_.acts_on_notice()) return Heard::guarded;
        begin_replay(now);
        return Heard::replay;  // HIPPI-8
    }
    units_.pop(*freed);  // HIPPI-6
    retry_.free(now, *freed);
    // HIPPI-35: a notice for the new oldest unit counts. HIPPI-11: the count of retries restarts.
    acted_on_ = false;
    retries_ = 0;
    deadline_ = units_.empty() ? never : now + retry_.wait();
    return Heard::progress;
}

// HIPPI-10: when the second copy of a notice arrives, the first copy has already begun the replay.
bool RetransmitBuffer::guarded(Instant now) const {
    return guard_ && acted_on_ && (replaying() || now < guarded_until_);
}

// The timer stops until the first unit of the replay has left, so a link that accepts nothing uses
// up no retries.
void RetransmitBuffer::begin_replay(Instant now) {
    retry_.begin_replay(now);
    acted_on_ = true;
    deadline_ = never;
}

// HIPPI-20: if a copy of a notice was lost, only the timer recovers.
bool RetransmitBuffer::on_timeout(Instant now) {
    if (retries_max_ != Config::retries_unlimited) {
        if (retries_ == retries_max_) return false;
        ++retries_;
    }
    begin_replay(now);
    return true;
}

const Unit& RetransmitBuffer::send(Instant now, const Unit& unit) {
    Unit& kept = units_.push(unit);
    kept.control.tseq = static_cast<std::uint8_t>(retry_.next().value());  // HIPPI-4: modulo 255
    retry_.send(now);
    if (deadline_ == never) deadline_ = now + retry_.wait();
    return kept;
}

// HIPPI-8, HIPPI-28
const Unit& RetransmitBuffer::resend(Instant now) {
    const std::size_t index = retry_.cursor();
    if (index == 0) guarded_until_ = now + loop_;
    retry_.resend(unit_size);
    if (deadline_ == never) deadline_ = now + retry_.wait();
    return units_[index];
}

void RetransmitBuffer::reset() {
    retry_.reset();
    units_.clear();
    acted_on_ = false;
    guarded_until_ = Instant{};
    retries_ = 0;
    deadline_ = never;
}

void RetransmitBuffer::fingerprint(Instant now, Fingerprint& sink) const {
    retry_.fingerprint(now, sink);
    sink.add(guarded(now));
    // Before the first unit of this replay has left, the guard of an earlier replay has no effect.
    const bool guards = guard_ && acted_on_ && retry_.cursor() > 0 && now < guarded_until_;
    sink.add(guards ? guarded_until_ - now : Duration{});
    sink.add(retries_);
    sink.add_deadline(deadline_, now);
    for (std::size_t i = 0; i < units_.size(); ++i) {
        DataBytes control{};
        units_[i].control.encode(Bytes(control).first<control_size>());
        sink.add_bytes(Bytes(control).first<control_size>());
        sink.add_bytes(units_[i].data());
    }
}

}  // namespace wireproof::hippi
