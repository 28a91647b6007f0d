// Header prediction: the next packet is a short message, undamaged and in order. A packet that
// matches goes to the same commit() as every packet; another packet takes the general path. The end
// of receive/receiver.hpp includes this file; no other file may.
#pragma once

#include "wireproof/proto/am/arrival.hpp"
#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {
/// The expected message is a short one: advances the window, and keeps the message until it is
/// drawn.
template <Channel channel>
[[gnu::always_inline]] inline void Receiver::pass_message(std::uint32_t handler,
                                                          ConstBytes arguments) {
    receive_[static_cast<std::size_t>(channel)].window.pass_short();
    if (channel == Channel::request) stall_.need = Need::nothing;
    short_.handler = static_cast<HandlerId>(handler);
    short_.is_request = channel == Channel::request;
    short_.data = arguments.data();
    short_.size = arguments.size();
    short_here_ = true;
}

/// The packet belongs to the session and has the expected number.
[[gnu::always_inline]] inline bool Receiver::is_next(const HeaderWords& header,
                                                     const ReceiveWindow& window) const {
    return header.cookie == handshake_.cookie() && header.number == window.expected();
}

// All fields of the header are known in advance, except those of the message. Each is checked once,
// and nothing changes before all checks have succeeded. Each channel has its own copy of the code,
// so that all places in memory are constants.
[[gnu::always_inline]] inline bool Receiver::accept_message(Instant now, const Arrival& arrival) {
    if (arrival.marked) return false;
    const std::uint64_t flow = arrival.head.flow;
    if (flow == receive_[0].single_flow) return accept_message_on<Channel::request>(now, arrival);
    return flow == receive_[1].single_flow && accept_message_on<Channel::reply>(now, arrival);
}

template <Channel channel>
[[gnu::always_inline]] inline bool Receiver::accept_message_on(Instant now,
                                                               const Arrival& arrival) {
    const HeaderWords& header = arrival.head;
    const ConstBytes arguments = arrival.bytes.subspan(HeaderWords::size);
    const ReceiveWindow& window = receive_[static_cast<std::size_t>(channel)].window;
    const bool predicted = is_next(header, window) && header.id - 1 < handler_max &&
                           header.count == arguments.size() &&
                           header.count <= config_.message_max && header.filler == 0 &&
                           (predicting_ || takes_message(channel)) &&
                           (arrival.integrity == Integrity::intact || is_signed(arrival));
    if (!predicted) return false;
    if (arrival.after_overrun) overrun_ = true;
    bundle_.messages.drop();  // of a frame that is no longer valid
    nothing_to_draw_ = false;
    commit(now, header.ack);
    pass_message<channel>(header.id, arguments);
    if (!predicting_) predicting_ = can_predict();
    (void)note_verdict(now, RxVerdict::accepted);
    return true;
}

// Takes the next message of a bundle, if it is the expected one and there is room for it. Messages
// held on either channel are delivered before it, as soon as there is room for them.
[[gnu::always_inline]] inline bool Receiver::unpack_fast() {
    if (!fast_) return false;
    return bundle_.channel == Channel::request ? unpack_fast_on<Channel::request>()
                                               : unpack_fast_on<Channel::reply>();
}

template <Channel channel>
[[gnu::always_inline]] inline bool Receiver::unpack_fast_on() {
    constexpr bool is_request = channel == Channel::request;
    ReceiveWindow& window = receive_[static_cast<std::size_t>(channel)].window;
    const bool usual = bundle_.number == window.expected() && receive_[0].window.nothing_ahead() &&
                       receive_[1].window.nothing_ahead() && !(is_request && replies_.full());
    if (!usual) return false;
    const auto message = bundle_.messages.next(config_.message_max);
    if (!message) return false;
    pass_message<channel>(message->handler, message->arguments);
    bundle_.number = window.expected();
    return true;
}

}  // namespace wireproof::am
