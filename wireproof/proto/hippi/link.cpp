#include "wireproof/proto/hippi/link.hpp"

#include <algorithm>

namespace wireproof::hippi {

/// The parts of a received micropacket. Its data may be lent by the cable.
struct Link::Parts {
    std::span<const std::byte, data_size> data;
    std::span<const std::byte, control_size> control;

    static std::optional<Parts> of(const RxFrame& frame) {
        if (frame.lent.empty() && frame.bytes.size() == unit_size) {
            return Parts{frame.bytes.first<data_size>(), frame.bytes.last<control_size>()};
        }
        if (frame.lent.size() == data_size && frame.lent_at == 0 &&
            frame.bytes.size() == control_size) {
            return Parts{frame.lent.first<data_size>(), frame.bytes.first<control_size>()};
        }
        return std::nullopt;
    }
};

Link::Link(const Config& config)
    : config_(config),
      start_up_(config),
      sent_(config),
      received_(config),
      credits_(config),
      incoming_(channel_count, IncomingChannel(config)) {
    for (std::uint8_t i = 0; i < channel_count; ++i) outgoing_.emplace_back(config, i);
}

SubmitStatus Link::submit(std::uint8_t channel, ConstBytes message) {
    WIREPROOF_CHECK(channel < channel_count);
    if (message.size() > config_.message_max) return SubmitStatus::too_long;
    if (outgoing_[channel].full()) return SubmitStatus::no_room;
    outgoing_[channel].push(message);
    return SubmitStatus::accepted;
}

RxVerdict Link::on_frame(Instant now, const RxFrame& frame) {
    return stats_.count(deliveries_.empty() ? judge(now, frame) : RxVerdict::refused);
}

// If the check fails, the receiver knows that a unit came, but not which. It uses no field, not
// even to recognise a null (HIPPI-13, HIPPI-18).
RxVerdict Link::judge(Instant now, const RxFrame& frame) {
    const auto parts = Parts::of(frame);
    if (!parts) return RxVerdict::malformed;
    const bool check = frame.integrity == Integrity::check;
    if (frame.integrity == Integrity::damaged ||
        (check && stored_lcrc(parts->control) != lcrc(parts->data, parts->control))) {
        if (running()) received_.on_bad_unit();
        return RxVerdict::corrupt;
    }
    const auto control = Control::decode(parts->control);
    if (!control) return RxVerdict::malformed;
    if (control->type >= Type::init) return on_start_frame(*control, *parts);
    if (!running()) return RxVerdict::refused;
    return is_numbered(control->type) ? on_numbered(now, *control, *parts) : on_null(now, *control);
}

RxVerdict Link::on_start_frame(const Control& control, const Parts& parts) {
    const auto outcome = start_up_.on_frame(control.type, StartBody::decode(parts.data));
    if (outcome.effect == StartUp::Effect::ended) forget_life();
    if (outcome.effect == StartUp::Effect::began) {
        credits_.reset(start_up_.peer_credits());
        deliveries_.up();
    }
    return outcome.verdict;
}

RxVerdict Link::on_null(Instant now, const Control& control) {
    return apply_rseq(now, control) ? RxVerdict::control : RxVerdict::stale;
}

RxVerdict Link::on_numbered(Instant now, const Control& control, const Parts& parts) {
    const RxVerdict verdict = received_.place(control.tseq);
    if (verdict == RxVerdict::malformed) {
        ++stats_.protocol_errors;
        return verdict;
    }
    if (verdict != RxVerdict::accepted) {
        received_.drop(control.tseq, verdict);
        if (config_.rseq_any_good) apply_rseq(now, control);  // HIPPI-23
        return verdict;
    }
    if (needs_credit(control.type) && !credits_.on_unit(control.channel)) {
        ++stats_.protocol_errors;
        return break_off(RxVerdict::refused);
    }
    received_.take(now);
    // HIPPI-24: once, because a unit is accepted once.
    if (!credits_.on_return({control.credit_channel, control.credits})) ++stats_.protocol_errors;
    apply_rseq(now, control);
    if (control.type == Type::admin) ++stats_.admin_units;
    if (control.type == Type::admin || control.type == Type::credit) return verdict;
    return on_message_unit(control, parts);
}

RxVerdict Link::on_message_unit(const Control& control, const Parts& parts) {
    switch (incoming_[control.channel].take(control, parts.data)) {
        case IncomingChannel::Took::part: break;
        case IncomingChannel::Took::message:
            delivered_channel_ = control.channel;
            deliveries_.message({});
            break;
        case IncomingChannel::Took::discarded: ++stats_.messages_discarded; break;
        case IncomingChannel::Took::bad_check:
            ++stats_.ecrc_errors;
            return break_off(RxVerdict::corrupt);
        case IncomingChannel::Took::nonsense:
            ++stats_.protocol_errors;
            return break_off(RxVerdict::malformed);
    }
    return RxVerdict::accepted;
}

/// False: a number that breaks the rules.
bool Link::apply_rseq(Instant now, const Control& control) {
    switch (sent_.on_rseq(now, control.rseq, control.type != Type::status_null)) {
        case RetransmitBuffer::Heard::nothing:
        case RetransmitBuffer::Heard::progress: break;
        case RetransmitBuffer::Heard::replay: ++stats_.replays; break;
        case RetransmitBuffer::Heard::guarded: ++stats_.notices_guarded; break;
        case RetransmitBuffer::Heard::impossible: ++stats_.protocol_errors; return false;
    }
    return true;
}

// A message that cannot be resent must not be lost unnoticed: both ends restart and report it.
RxVerdict Link::break_off(RxVerdict verdict) {
    end_life(StartUp::State::resetting);
    return verdict;
}

std::optional<Link::Delivery> Link::next_delivery() {
    auto delivery = deliveries_.next();
    if (delivery && delivery->what == LinkDelivery::What::message) {
        delivery->bytes = incoming_[delivered_channel_].bytes();
    }
    return delivery;
}

void Link::on_deadline(Instant now) {
    if (start_up_.deadline() <= now) start_up_.on_timeout();
    if (received_.deadline() <= now) received_.on_timeout();
    if (sent_.deadline() > now) return;
    ++stats_.timeouts;
    if (sent_.on_timeout(now)) {
        ++stats_.replays;
    } else {
        end_life(StartUp::State::resetting);
    }
}

// A peer in a new life has no buffers to drop. A peer that is gone may come back in a new life.
void Link::on_wire_event(Instant, WireEvent) {
    end_life(StartUp::State::starting);
}

void Link::end_life(StartUp::State next) {
    const bool was_running = running();
    start_up_.begin(next);
    if (was_running) forget_life();
}

// HIPPI-30
void Link::forget_life() {
    ++stats_.resets;
    sent_.reset();
    received_.reset();
    credits_.reset({});
    for (OutgoingChannel& channel : outgoing_) channel.reset();
    for (IncomingChannel& channel : incoming_) channel.reset();
    turn_ = 0;
    deliveries_.down(true);
}

Instant Link::next_deadline() const {
    return std::min({start_up_.deadline(), received_.deadline(), sent_.deadline()});
}

void Link::fingerprint(Instant now, Fingerprint& sink) const {
    start_up_.fingerprint(now, sink);
    sent_.fingerprint(now, sink);
    received_.fingerprint(now, sink);
    credits_.fingerprint(sink);
    for (const OutgoingChannel& channel : outgoing_) channel.fingerprint(sink);
    for (const IncomingChannel& channel : incoming_) channel.fingerprint(sink);
    sink.add(turn_);
    deliveries_.fingerprint(sink);
    if (!deliveries_.has_message()) return;
    sink.add(delivered_channel_);
    sink.add_bytes(incoming_[delivered_channel_].bytes());
}

}  // namespace wireproof::hippi
