// What leaves: control ordered sets first, then ineligible frames, replays and new frames.
#include <algorithm>

#include "wireproof/proto/ue/link.hpp"

namespace wireproof::ue {
namespace {

constexpr std::array by_urgency{CtlType::init_echo, CtlType::nack, CtlType::init, CtlType::ack};

}  // namespace

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
    ineligible_.push(message);
    return SubmitStatus::accepted;
}

bool Link::quiet() const {
    if (!pcs_up_) return true;
    const bool ctl = std::any_of(by_urgency.begin(), by_urgency.end(),
                                 [this](CtlType type) { return is_due(type); });
    return !ctl && ineligible_.empty() && transmitter_.quiet();
}

bool Link::poll_transmit(Instant now, TxFrame& out) {
    if (!pcs_up_) return false;
    return send_ctl(now, out) || send_ineligible(out) || transmitter_.transmit(now, out, stats_);
}

bool Link::is_due(CtlType type) const {
    switch (type) {
        case CtlType::init_echo: return receiver_.echo_due();
        case CtlType::nack: return receiver_.nack_due();
        case CtlType::init: return transmitter_.state() == Transmitter::State::init;
        case CtlType::ack: return receiver_.ack_due();
        case CtlType::cf_update: break;
    }
    return false;
}

// When a CtlOS that is due and had to wait may leave. Of a slot that is free already, the caller
// knows: it calls poll_transmit after every other call.
Instant Link::slot_deadline() const {
    Instant next = never;
    for (const CtlType type : by_urgency) {
        const Instant free = slots_.free_at(type);
        if (is_due(type) && free > seen_) next = earliest(next, free);
    }
    return next;
}

CtlOs Link::take(CtlType type) {
    switch (type) {
        case CtlType::init_echo: return receiver_.take_echo(stats_);
        case CtlType::nack: return receiver_.take_nack(stats_);
        case CtlType::init: return transmitter_.take_init(stats_);
        default: return receiver_.take_ack(stats_);
    }
}

// LLR-19
bool Link::send_ctl(Instant now, TxFrame& out) {
    const auto may_leave = [&](CtlType type) {
        return is_due(type) && slots_.free_at(type) <= now;
    };
    const auto type = std::find_if(by_urgency.begin(), by_urgency.end(), may_leave);
    if (type == by_urgency.end()) return false;
    const CtlOs ctl = take(*type);
    ctl.write(config_, out);
    slots_.sent(now, ctl.type);
    const bool answers = ctl.type == CtlType::ack || ctl.type == CtlType::nack;
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
    encode_tail(head, copy, out.add_room(pad + 4),
                {.computed = out.wants_check(), .with_preamble = config_.checks_numbers});
    ineligible_.pop(1);
    ++stats_.tx_ineligible;
    return true;
}

Instant Link::next_deadline() const {
    return earliest(timers_.next(), slot_deadline(), transmitter_.next_deadline());
}

}  // namespace wireproof::ue
