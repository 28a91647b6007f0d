#include "wireproof/proto/hippi/retransmit_buffer.hpp"

#include <algorithm>

namespace wireproof::hippi {

RetransmitBuffer::RetransmitBuffer(const Config& config)
    : circle_(config.modulus),
      first_(config.first_number),
      guard_(config.guard),
      loop_(config.loop),
      timer_(config.retry_after, config.retry_floor),
      backoff_(config.backs_off),
      retries_max_(config.retries_max),
      oldest_(first_),
      units_(config.w_max) {}

RetransmitBuffer::Heard RetransmitBuffer::on_rseq(Instant now, std::uint8_t rseq, bool negative) {
    if (rseq == no_number) return Heard::nothing;  // HIPPI-7
    if (!circle_.holds(rseq)) return Heard::impossible;
    const std::size_t freed = circle_.steps_after(Number(rseq), oldest_);
    if (freed > units_.size()) return Heard::impossible;
    if (freed == 0) {
        if (units_.empty() || !negative) return Heard::nothing;  // HIPPI-9, HIPPI-32
        if (guarded(now) || !backoff_.acts_on_notice()) return Heard::guarded;
        begin_replay(now);
        return Heard::replay;  // HIPPI-8
    }
    for (std::size_t i = 0; i < freed; ++i) units_.pop();  // HIPPI-6
    timer_.freed(now, freed);
    backoff_.answered(freed);
    oldest_ = Number(rseq);
    replay_ -= std::min(replay_, freed);
    // HIPPI-35: a notice for the new oldest unit counts. HIPPI-11: the count of retries restarts.
    acted_on_ = false;
    retries_ = 0;
    deadline_ = units_.empty() ? never : now + retry_limit();
    return Heard::progress;
}

// HIPPI-10: when the second copy of a notice arrives, the first copy has already begun the replay.
bool RetransmitBuffer::guarded(Instant now) const {
    return guard_ && acted_on_ && (replaying() || now < guarded_until_);
}

// The timer stops until the first unit of the replay has left, so a link that accepts nothing uses
// up no retries.
void RetransmitBuffer::begin_replay(Instant now) {
    timer_.resent();
    backoff_.retransmits(now);
    replay_ = 0;
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
    WIREPROOF_CHECK(!replaying());
    Unit& kept = units_.push(unit);
    // HIPPI-4: modulo 255.
    kept.control.tseq =
        static_cast<std::uint8_t>(circle_.advance(oldest_, units_.size() - 1).value());
    ++replay_;
    timer_.sent(now, units_.size());
    if (deadline_ == never) deadline_ = now + retry_limit();
    return kept;
}

// HIPPI-8, HIPPI-28: units leave in the order of their index, so a wrap of the numbers does not
// matter.
const Unit& RetransmitBuffer::resend(Instant now) {
    WIREPROOF_CHECK(replaying());
    if (replay_ == 0) {
        guarded_until_ = now + loop_;
        backoff_.oldest_left(unit_size);
    }
    if (deadline_ == never) deadline_ = now + retry_limit();
    return units_[replay_++];
}

void RetransmitBuffer::reset() {
    oldest_ = first_;
    units_.clear();
    timer_.forget();
    backoff_.reset();
    replay_ = 0;
    acted_on_ = false;
    guarded_until_ = Instant{};
    retries_ = 0;
    deadline_ = never;
}

void RetransmitBuffer::fingerprint(Instant now, Fingerprint& sink) const {
    sink.add(oldest_.value());
    sink.add(units_.size());
    sink.add(replay_);
    sink.add(guarded(now));
    // Before the first unit of this replay has left, the guard of an earlier replay has no effect.
    const bool guards = guard_ && acted_on_ && replay_ > 0 && now < guarded_until_;
    sink.add(guards ? guarded_until_ - now : Duration{});
    sink.add(retries_);
    timer_.fingerprint(now, sink);
    backoff_.fingerprint(sink);
    sink.add_deadline(deadline_, now);
    for (std::size_t i = 0; i < units_.size(); ++i) {
        DataBytes control{};
        units_[i].control.encode(Bytes(control).first<control_size>());
        sink.add_bytes(Bytes(control).first<control_size>());
        sink.add_bytes(units_[i].data());
    }
}

}  // namespace wireproof::hippi
