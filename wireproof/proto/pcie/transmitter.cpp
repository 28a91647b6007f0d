#include "wireproof/proto/pcie/transmitter.hpp"

namespace wireproof::pcie {
namespace {

constexpr Duration not_running(-1);

Credits credits_for(std::size_t length) {
    return {1, static_cast<std::uint32_t>((length + data_unit - 1) / data_unit)};
}

}  // namespace

Transmitter::Transmitter(const Config& config)
    : config_(config),
      tlps_({config.replay_slots, config.payload_max, config.payload_lent}),
      retry_({config.modulus, config.first_number, config.replay_after, config.replay_floor,
              config.backs_off}) {
    reset();
}

// PCIE-3
void Transmitter::reset() {
    tlps_.clear();
    retry_.reset();
    for (CreditGate& gate : gates_) gate.reset();
    nullify_next_ = first_of_replay_ = nak_remembered_ = false;
    replay_num_ = 0;
    replay_deadline_ = retrained_at_ = never;
    frozen_left_ = not_running;
}

SubmitStatus Transmitter::submit(FlowType type, ConstBytes message) {
    if (message.size() > config_.payload_max) return SubmitStatus::too_long;
    if (tlps_.full()) return SubmitStatus::no_room;
    tlps_.push(message, {type});
    return SubmitStatus::accepted;
}

bool Transmitter::on_ack(Instant now, std::uint32_t number, bool nak, Stats& stats) {
    const auto steps = retry_.freed_by_last(number);
    if (!steps) return false;      // PCIE-11
    if (*steps > 0) {              // PCIE-10: else neither timer nor REPLAY_NUM changes
        tlps_.pop(*steps);         // PCIE-6, PCIE-7
        retry_.free(now, *steps);  // PCIE-27, PCIE-34: purged TLPs are not resent
        replay_num_ = 0;
        nak_remembered_ = false;
        restart_timer(now);
    }
    if (nak && outstanding() > 0 && retry_.acts_on_notice()) {  // PCIE-8, PCIE-9, PCIE-35
        if (replaying()) {
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
    const bool runs = outstanding() > 0 && !(replaying() && first_of_replay_);
    if (retraining()) {
        frozen_left_ = runs ? retry_.wait() : not_running;
        return;
    }
    replay_deadline_ = runs ? now + retry_.wait() : never;
}

void Transmitter::begin_replay(Instant now, Stats& stats) {
    ++stats.replays;
    retry_.begin_replay(now);
    first_of_replay_ = true;
    nak_remembered_ = false;
    replay_num_ = (replay_num_ + 1) % 4;  // PCIE-22: retrain before the fourth
    replay_deadline_ = never;
    frozen_left_ = not_running;
    if (replay_num_ == 0) {
        ++stats.retrains;
        ++stats.resets;
        retrain(now);
    }
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
    if (replaying() && !retry_.replay_held()) {
        nak_remembered_ = true;  // a replay that takes longer than its limit is finished first
    } else {
        begin_replay(now, stats);
    }
    return true;
}

bool Transmitter::transmit(Instant now, TxFrame& out, Stats& stats) {
    const auto sent = [&](std::size_t index) {
        const std::size_t length = tlps_[index].length;
        return now + config_.time_of(TlpHead{0, FlowType::posted, length}.frame_size());
    };
    if (retry_.replay_held()) return false;
    // PCIE-26: a replay ends before a new TLP leaves.
    if (replaying()) {
        const std::size_t index = retry_.cursor();
        write(index, false, out);
        out.mark_resent();
        ++stats.resent;
        ++stats.numbered;
        if (first_of_replay_) {
            first_of_replay_ = false;
            replay_deadline_ = sent(index) + retry_.wait();
        }
        retry_.resend(out.size());
        if (nak_remembered_ && !replaying()) begin_replay(now, stats);  // PCIE-35
        return true;
    }
    if (waiting() == 0 || window_full()) return false;  // PCIE-5
    const std::size_t index = outstanding();
    CreditGate& gate = gates_[static_cast<std::size_t>(tlps_[index].type)];
    const Credits need = credits_for(tlps_[index].length);
    // PCIE-29
    if (!gate.allows(need)) return false;
    if (nullify_next_) {  // PCIE-19: it uses no number
        nullify_next_ = false;
        write(index, true, out);
        return true;
    }
    write(index, false, out);
    gate.consume(need);
    retry_.send(now);
    ++stats.numbered;
    if (replay_deadline_ == never) replay_deadline_ = sent(index) + retry_.wait();  // PCIE-21
    return true;
}

// The number follows from the index in the buffer, so a replay does not change it (PCIE-4).
void Transmitter::write(std::size_t index, bool nullified, TxFrame& out) const {
    const ConstBytes message = tlps_.message(index);
    const TlpHead tlp{retry_.number_of(index).value(), tlps_[index].type, message.size()};
    const auto head = out.add_header<TlpHead::size>();
    tlp.encode(head);
    out.add_payload(message);
    encode_tail(head, message, out.add_room(tlp.padding() + TlpTail::size), nullified,
                out.wants_check());
}

void Transmitter::fingerprint(Instant now, Fingerprint& sink) const {
    tlps_.fingerprint(sink, [&](const TlpMark& tlp, std::size_t) { sink.add(tlp.type); });
    retry_.fingerprint(now, sink);
    for (const CreditGate& gate : gates_) gate.fingerprint(sink);
    sink.add(nullify_next_);
    sink.add(replaying() && first_of_replay_);
    sink.add(nak_remembered_);
    sink.add(replay_num_);
    sink.add_deadline(replay_deadline_, now);
    sink.add_deadline(retrained_at_, now);
    sink.add(frozen_left_);
}

}  // namespace wireproof::pcie
