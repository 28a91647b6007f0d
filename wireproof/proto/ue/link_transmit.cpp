// What leaves: control ordered sets first, then ineligible frames, replays and new frames.
#include "wireproof/proto/ue/link.hpp"

namespace wireproof::ue {

// LLR-34
Behavior Link::behavior() const {
    const auto state = transmitter_.state();
    if (state == Transmitter::State::init) return config_.init_behavior;
    if (state == Transmitter::State::flush) return config_.flush_behavior;
    return Behavior::block;
}

// While this end is not up, the peer may still drop what leaves.
bool Link::has_room() const {
    if (transmitter_.runs()) return up_ && transmitter_.has_room();
    switch (behavior()) {
        case Behavior::discard: return true;
        case Behavior::block: return false;
        case Behavior::best_effort: return !ineligible_.full();
    }
    return false;
}

SubmitStatus Link::submit(ConstBytes message) {
    if (message.size() > config_.payload_max) return SubmitStatus::too_long;
    if (!has_room()) return SubmitStatus::no_room;
    if (transmitter_.runs()) return transmitter_.submit(message);
    if (behavior() == Behavior::best_effort) return submit_ineligible(message);
    ++stats_.offers_discarded;
    return SubmitStatus::accepted;
}

SubmitStatus Link::submit_ineligible(ConstBytes message) {
    if (message.size() > config_.payload_max) return SubmitStatus::too_long;
    if (ineligible_.full()) return SubmitStatus::no_room;
    ineligible_.push(message, false);
    return SubmitStatus::accepted;
}

bool Link::quiet() const {
    if (!pcs_up_) return true;
    const bool ctl = receiver_.echo_due() || receiver_.nack_due() || receiver_.ack_due() ||
                     transmitter_.state() == Transmitter::State::init;
    return !ctl && ineligible_.empty() && transmitter_.quiet();
}

bool Link::poll_transmit(Instant now, TxFrame& out) {
    if (!pcs_up_) return false;
    return send_ctl(now, out) || send_ineligible(out) || transmitter_.transmit(now, out, stats_);
}

// LLR-19. If the CtlOS that are due must wait, a timer makes the caller ask again.
bool Link::send_ctl(Instant now, TxFrame& out) {
    Instant wait = never;
    std::optional<CtlOs> ctl;
    const auto may_send = [&](bool due, CtlType type) {
        if (!due || ctl) return false;
        const Instant free = slots_.free_at(type);
        if (free > now) wait = earliest(wait, free);
        return free <= now;
    };
    const bool init = transmitter_.state() == Transmitter::State::init;
    if (may_send(receiver_.echo_due(), CtlType::init_echo)) ctl = receiver_.take_echo(stats_);
    if (may_send(receiver_.nack_due(), CtlType::nack)) ctl = receiver_.take_nack(stats_);
    if (may_send(init, CtlType::init)) ctl = transmitter_.take_init(stats_);
    if (may_send(receiver_.ack_due(), CtlType::ack)) ctl = receiver_.take_ack(stats_);
    if (!ctl) {
        timers_.set(Timer::slot, wait);
        return false;
    }
    ctl->encode(out.add_header<CtlOs::size>(), config_.ctl_nibbles);
    slots_.sent(now, ctl->type);
    const bool answers = ctl->type == CtlType::ack || ctl->type == CtlType::nack;
    if (answers && config_.ack_idle > Duration()) timers_.set(Timer::idle, now + config_.ack_idle);
    return true;
}

// LLR-20
bool Link::send_ineligible(TxFrame& out) {
    const bool held =
        config_.replay_holds_ineligible && transmitter_.state() == Transmitter::State::replay;
    if (ineligible_.empty() || held) return false;
    const ConstBytes message = ineligible_.message(0);
    const auto head = out.add_header<FrameHead::size>();
    FrameHead{{}, message.size()}.encode(head, config_.preamble);
    // The buffer may reuse the place of the message before the lane has sent it.
    const Bytes copy = out.add_room(message.size());
    std::copy(message.begin(), message.end(), copy.begin());
    const std::size_t pad =
        config_.mac_size(message.size()) + preamble_size - frame_overhead - message.size();
    encode_tail(head, copy, out.add_room(pad + 4), out.wants_check(), 0);
    ineligible_.purge(1);
    ++stats_.tx_ineligible;
    return true;
}

Instant Link::next_deadline() const {
    return earliest(timers_.next(), transmitter_.next_deadline());
}

}  // namespace wireproof::ue
