// Header prediction: the next packet is a short message, undamaged and in order. A packet that
// matches goes to the same commit() as every packet; another packet takes the general path. These
// are functions of Receiver that are inline.
#pragma once

#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {

[[gnu::always_inline]] inline void Receiver::note_freed(Instant now, Channel channel,
                                                        std::uint32_t packets,
                                                        const Others& others) {
    auto& [session, sender] = others;
    Outgoing& sent = sender[channel];
    sent.freed(now, packets);
    const Timer keepalive = keepalive_timer(channel);
    if (!sent.window.empty()) {
        session.timers.set(keepalive, now + sent.rto());
    } else {
        const Session::Waits waiting = waits(session, sender);
        if (channel == Channel::request && waiting.for_peer) {
            session.watch_idle(now);
        } else {
            session.timers.stop(keepalive);
            if (!waiting.for_any()) session.liveness.stop_waiting();
        }
    }
    sender.refill(channel);
}

/// In light traffic an acknowledgement covers all packets of its channel. The short code for this
/// case knows the channel and takes half of the instructions.
[[gnu::always_inline]] inline void Receiver::apply_ack(Instant now, Channel channel,
                                                       std::uint32_t expected,
                                                       const Others& others) {
    SendWindow& window = others.sender[channel].window;
    if (expected == window.first_unacknowledged()) return;
    if (!window.ends_all(expected)) return on_ack(now, channel, expected, others);
    WIREPROOF_CHECK(window.settled());
    const std::uint32_t freed = window.under_way();
    window.drop_all();
    note_freed(now, channel, freed, others);
}

[[gnu::always_inline]] inline void Receiver::commit(Instant now, const Acks& acks,
                                                    const Others& others) {
    others.session.liveness.heard(now);
    apply_ack(now, Channel::request, acks[0], others);
    apply_ack(now, Channel::reply, acks[1], others);
}

/// This is the right checksum for the frame of a short message.
bool is_signed(const Config& config, ConstBytes frame, std::uint32_t checksum);

/// The expected message is a short one: advances the window, and keeps the message until it is
/// drawn.
template <Channel channel>
[[gnu::always_inline]] inline void Receiver::pass_message(std::uint32_t handler,
                                                          ConstBytes arguments) {
    (*this)[channel].window.pass_short();
    if (channel == Channel::request) stall_.need = Need::nothing;
    deliveries.put(static_cast<HandlerId>(handler), channel == Channel::request, arguments);
}

// All fields of the header are known in advance, except those of the message. Each is checked once,
// and nothing changes before all checks have succeeded. Each channel has its own copy of the code,
// so that all places in memory are constants.
template <Channel channel>
[[gnu::always_inline]] inline bool Receiver::accept_message_on(Instant now,
                                                               const HeaderWords& header,
                                                               const RxFrame& frame,
                                                               bool predicting,
                                                               const Others& others) {
    const Session& session = others.session;
    const Config& config = session.config();
    const ConstBytes arguments = frame.bytes.subspan(HeaderWords::size);
    const bool predicted =
        header.cookie == session.handshake.cookie() &&
        header.number == (*this)[channel].window.expected() && header.id - 1 < handler_max &&
        header.count == arguments.size() && header.count <= config.message_max &&
        header.filler == 0 && (predicting || takes_message(channel, others)) &&
        (frame.integrity == Integrity::intact ||
         (frame.integrity == Integrity::check && is_signed(config, frame.bytes, header.checksum)));
    if (!predicted) return false;
    if (frame.after_overrun) overrun_ = true;
    deliveries.leave_frame();
    commit(now, header.ack, others);
    pass_message<channel>(header.id, arguments);
    return true;
}

[[gnu::always_inline]] inline bool Receiver::accept_message(Instant now, const RxFrame& frame,
                                                            bool predicting, const Others& others) {
    if (frame.marked || frame.bytes.size() < HeaderWords::size) return false;
    const auto head = frame.bytes.first<HeaderWords::size>();
    const std::uint64_t first = HeaderWords::first_in(head);
    const std::uint64_t flow = first & HeaderWords::flow_mask;
    if (flow == channels_[0].single_flow) {
        return accept_message_on<Channel::request>(now, HeaderWords::decode(first, head), frame,
                                                   predicting, others);
    }
    if (flow != channels_[1].single_flow) return false;
    return accept_message_on<Channel::reply>(now, HeaderWords::decode(first, head), frame,
                                             predicting, others);
}

// Takes the next message of a bundle, if it is the expected one and there is room for it. Messages
// held on either channel are delivered before it, as soon as there is room for them.
template <Channel channel>
[[gnu::always_inline]] inline bool Receiver::unpack_fast_on(std::size_t message_max,
                                                            const Sender& sender) {
    constexpr bool is_request = channel == Channel::request;
    ReceiveWindow& window = (*this)[channel].window;
    Unpacking& bundle = deliveries.bundle();
    const bool usual = bundle.number == window.expected() && nothing_ahead() &&
                       !(is_request && sender.replies.full());
    if (!usual) return false;
    const auto message = bundle.messages.next(message_max);
    if (!message) return false;
    pass_message<channel>(message->handler, message->arguments);
    bundle.number = window.expected();
    return true;
}

[[gnu::always_inline]] inline bool Receiver::unpack_fast(const Session& session,
                                                         const Sender& sender) {
    const Config& config = session.config();
    if (!config.takes_fast_paths()) return false;
    return deliveries.bundle().channel == Channel::request
               ? unpack_fast_on<Channel::request>(config.message_max, sender)
               : unpack_fast_on<Channel::reply>(config.message_max, sender);
}

// `general`: the caller has to draw the general way.
inline std::optional<Delivery> Receiver::next_delivery(const Others& others, bool& general) {
    auto& [session, sender] = others;
    deliveries.end_reply();
    if (deliveries.known_empty()) return std::nullopt;
    general = deliveries.has_drawn_held() || session.ended.active || deliveries.has_ended() ||
              !nothing_ahead() || (deliveries.must_unpack() && !unpack_fast(session, sender));
    return general ? std::nullopt : deliveries.take_of_frame();
}

}  // namespace wireproof::am
