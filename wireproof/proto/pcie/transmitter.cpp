#include "wireproof/proto/pcie/transmitter.hpp"

#include <algorithm>

namespace wireproof::pcie {
namespace {

constexpr Duration not_running(-1);

Credits credits_for(std::size_t length) {
    return {1, static_cast<std::uint32_t>((length + data_unit - 1) / data_unit)};
}

}  // namespace

Transmitter::Transmitter(const Config& config)
    : config_(config),
      circle_(config.modulus),
      buffer_({config.replay_slots, config.payload_max, config.payload_lent}),
      timer_(config.replay_after, config.replay_floor),
      backoff_(config.backs_off) {
    reset();
}

// PCIE-3
void Transmitter::reset() {
    buffer_.clear();
    next_ = TlpNumber(config_.first_number);
    acked_ = circle_.advance(next_, config_.modulus - 1);
    for (CreditGate& gate : gates_) gate.reset();
    nullify_next_ = replaying_ = first_of_replay_ = nak_remembered_ = false;
    cursor_ = 0;
    replay_num_ = 0;
    replay_deadline_ = retrained_at_ = never;
    frozen_left_ = not_running;
    timer_.forget();
    backoff_.reset();
}

SubmitStatus Transmitter::submit(FlowType type, ConstBytes message) {
    if (message.size() > config_.payload_max) return SubmitStatus::too_long;
    if (buffer_.full()) return SubmitStatus::no_room;
    buffer_.push(message, {type});
    return SubmitStatus::accepted;
}

bool Transmitter::on_ack(Instant now, std::uint32_t number, bool nak, Stats& stats) {
    if (!circle_.holds(number)) return false;
    const std::size_t steps = circle_.steps_after(TlpNumber(number), acked_);
    if (steps > buffer_.sent()) return false;  // PCIE-11
    if (steps > 0) {                           // PCIE-10: else neither timer nor REPLAY_NUM changes
        buffer_.purge(steps);                  // PCIE-6, PCIE-7
        timer_.freed(now, steps);
        backoff_.answered(steps);
        acked_ = TlpNumber(number);
        cursor_ -= std::min(cursor_, steps);  // PCIE-27, PCIE-34: purged TLPs are not resent
        replay_num_ = 0;
        nak_remembered_ = false;
        restart_timer(now);
    }
    end_replay_if_done(now, stats);
    if (nak && buffer_.sent() > 0 && backoff_.acts_on_notice()) {  // PCIE-8, PCIE-9, PCIE-35
        if (replaying_) {
            nak_remembered_ = true;
        } else {
            begin_replay(now, stats);
        }
    }
    return true;
}

void Transmitter::on_credits(DllpKind kind, FlowType type, Credits credits) {
    CreditGate& gate = gates_[static_cast<std::size_t>(type)];
    if (kind == DllpKind::update_fc) {
        gate.update(credits);
    } else {
        gate.start(credits);
    }
}

// REPLAY_TIMER after progress: it restarts if TLPs remain. It is held while no TLP of a replay has
// left.
void Transmitter::restart_timer(Instant now) {
    const bool runs = buffer_.sent() > 0 && !(replaying_ && first_of_replay_);
    if (retraining()) {
        frozen_left_ = runs ? replay_limit() : not_running;
        return;
    }
    replay_deadline_ = runs ? now + replay_limit() : never;
}

void Transmitter::begin_replay(Instant now, Stats& stats) {
    ++stats.replays;
    timer_.resent();
    backoff_.retransmits(now);
    replaying_ = first_of_replay_ = true;
    nak_remembered_ = false;
    cursor_ = 0;
    replay_num_ = (replay_num_ + 1) % 4;  // PCIE-22: retrain before the fourth
    replay_deadline_ = never;
    frozen_left_ = not_running;
    if (replay_num_ == 0) {
        ++stats.retrains;
        ++stats.resets;
        retrain(now);
    }
}

void Transmitter::end_replay_if_done(Instant now, Stats& stats) {
    if (!replaying_ || cursor_ < buffer_.sent()) return;
    replaying_ = first_of_replay_ = false;
    if (nak_remembered_ && buffer_.sent() > 0) begin_replay(now, stats);  // PCIE-35
}

// PCIE-23: the timer is frozen.
void Transmitter::retrain(Instant now) {
    if (!retraining()) {
        frozen_left_ = replay_deadline_ == never ? not_running : replay_deadline_ - now;
        replay_deadline_ = never;
    }
    retrained_at_ = now + config_.retrain_time;
}

bool Transmitter::on_deadline(Instant now, Stats& stats) {
    if (retrained_at_ <= now) {
        retrained_at_ = never;
        if (frozen_left_ >= Duration()) replay_deadline_ = now + frozen_left_;
        frozen_left_ = not_running;
    }
    if (replay_deadline_ > now) return false;
    replay_deadline_ = never;
    ++stats.timeouts;  // PCIE-21
    if (replaying_ && !replay_held()) {
        nak_remembered_ = true;  // a replay that takes longer than its limit is finished first
    } else {
        begin_replay(now, stats);
    }
    return true;
}

bool Transmitter::transmit(Instant now, TxFrame& out, Stats& stats) {
    const auto sent = [&](std::size_t index) {
        const std::size_t length = buffer_[index].length;
        return now + config_.time_of(TlpHead{0, FlowType::posted, length}.frame_size());
    };
    if (replay_held()) return false;
    // PCIE-26: a replay ends before a new TLP leaves.
    if (replaying_) {
        write(cursor_, false, out);
        out.mark_resent();
        if (cursor_ == 0) backoff_.oldest_left(out.size());
        ++stats.resent;
        ++stats.numbered;
        if (first_of_replay_) {
            first_of_replay_ = false;
            replay_deadline_ = sent(cursor_) + replay_limit();
        }
        ++cursor_;
        end_replay_if_done(now, stats);
        return true;
    }
    if (!buffer_.has_unsent() || window_full()) return false;  // PCIE-5
    const std::size_t index = buffer_.sent();
    CreditGate& gate = gates_[static_cast<std::size_t>(buffer_[index].type)];
    const Credits need = credits_for(buffer_[index].length);
    // PCIE-29
    if (!gate.allows(need)) return false;
    if (nullify_next_) {  // PCIE-19: it uses no number
        nullify_next_ = false;
        write(index, true, out);
        return true;
    }
    write(index, false, out);
    gate.consume(need);
    buffer_.mark_sent();
    timer_.sent(now, buffer_.sent());
    next_ = circle_.advance(next_, 1);  // PCIE-4
    ++stats.numbered;
    if (replay_deadline_ == never) replay_deadline_ = sent(index) + replay_limit();  // PCIE-21
    return true;
}

// The number follows from the index in the buffer, so a replay does not change it (PCIE-4).
void Transmitter::write(std::size_t index, bool nullified, TxFrame& out) const {
    const ConstBytes message = buffer_.message(index);
    const TlpNumber number = circle_.advance(acked_, index + 1);
    const TlpHead tlp{number.value(), buffer_[index].type, message.size()};
    const auto head = out.add_header<TlpHead::size>();
    tlp.encode(head);
    out.add_payload(message);
    encode_tail(head, message, out.add_room(tlp.padding() + TlpTail::size), nullified,
                out.wants_check());
}

void Transmitter::fingerprint(Instant now, Fingerprint& sink) const {
    buffer_.fingerprint(sink, [&](const TlpMark& tlp, bool) { sink.add(tlp.type); });
    for (const CreditGate& gate : gates_) gate.fingerprint(sink);
    sink.add(next_.value());
    sink.add(acked_.value());  // follows from the two before, if no reset forgets it
    sink.add(nullify_next_);
    sink.add(replaying_);
    sink.add(first_of_replay_);
    sink.add(nak_remembered_);
    sink.add(replaying_ ? cursor_ : 0);
    sink.add(replay_num_);
    timer_.fingerprint(now, sink);
    backoff_.fingerprint(sink);
    sink.add_deadline(replay_deadline_, now);
    sink.add_deadline(retrained_at_, now);
    sink.add(frozen_left_);
}

}  // namespace wireproof::pcie
