// Fast path for sending a short message while nothing else is to be sent. The end of
// send/sender.hpp includes this file; no other file may.
#pragma once

#include "wireproof/proto/am/header_words.hpp"
#include "wireproof/proto/am/send/sender.hpp"

namespace wireproof::am {

/// The fields of a numbered packet that do not depend on its message.
[[gnu::always_inline]] inline HeaderWords Sender::fast_header(Channel channel) const {
    const SendWindow& window = sender(channel).window;
    HeaderWords header;
    stamp(header);
    header.round = window.round();
    header.number = window.first_unsent();
    return header;
}

/// Writes the packet of the next short message of its channel.
template <Channel channel>
[[gnu::always_inline]] inline void Sender::write_message(std::uint32_t handler,
                                                         ConstBytes arguments, Bytes room) const {
    // The local header stays in registers. In memory it would be written field by field and read in
    // words, and each of these reads would wait for the writes.
    HeaderWords header = fast_header(channel);
    header.flow = sender(channel).flows.single;
    header.count = static_cast<std::uint16_t>(arguments.size());
    header.id = handler;
    header.encode(room.first<HeaderWords::size>());
    copy_words(room.data() + HeaderWords::size, arguments.data(), arguments.size());
}

/// Packets of the fast path have left and used `numbers` numbers of the window. This changes what
/// emit() and departed() change for each.
[[gnu::always_inline]] inline void Sender::note_left(Channel channel, Kind kind,
                                                     std::uint32_t packets, std::uint32_t numbers) {
    stats_.sent[static_cast<std::size_t>(kind)] += packets;
    note_acks_left();
    sender(channel).window.fast_departed(numbers);
}

[[gnu::always_inline]] inline void Sender::fill_fast(Channel channel,
                                                     const SendWindow::Saved& message,
                                                     TxFrame& out) {
    const bool alone = message.kind <= Kind::reply && sender(channel).window.single() &&
                       message.count <= copied_max;
    if (!alone) return fill_other(channel, message, out);
    if (channel == Channel::request) return fill_single<Channel::request>(message, out);
    fill_single<Channel::reply>(message, out);
}

/// A short message in a packet of its own.
template <Channel channel>
[[gnu::always_inline]] inline void Sender::fill_single(const SendWindow::Saved& message,
                                                       TxFrame& out) {
    const ConstBytes data = sender(channel).window.single_arguments(message);
    const Bytes room = out.add_all(HeaderWords::size + data.size());
    write_message<channel>(message.id, data, room);
    note_left(channel, message_kind(channel), 1, 1);
    if (out.wants_check()) sign_short(room, message_kind(channel));
}

template <Channel channel>
inline RunStart Sender::begin_predicted_run() {
    run_ = channel;
    next_of_run_ = &send_[static_cast<std::size_t>(channel)].window.first_waiting();
    return RunStart::begun;
}

inline RunStart Sender::begin_run() {
    if (!predicting_) return begin_any_run();
    const bool requests = send_[0].window.waiting() > 0;
    const bool replies = send_[1].window.waiting() > 0;
    if (requests && replies) return RunStart::mixed;
    if (requests) return begin_predicted_run<Channel::request>();
    if (replies) return begin_predicted_run<Channel::reply>();
    return small_talk_due() ? RunStart::mixed : RunStart::quiet;
}

inline bool Sender::may_coalesce() {
    SendWindow& requests = send_[0].window;
    return config_.coalesce > 0 && requests.waiting() < config_.coalesce &&
           (requests.under_way() >= config_.coalesce || requests.waits_for_answer()) &&
           requests.nothing_lost() && send_[1].window.settled() && nothing_else_to_say() &&
           !receive_[0].window.ack_due() && !receive_[1].window.ack_due() &&
           !send_[0].keepalive_due && !send_[1].keepalive_due;
}

// While the fast path is open there is a session, and messages wait only in the windows.
template <Channel channel>
[[gnu::always_inline]] inline bool Sender::leaves_single(
    const SingleMessage<channel>& message) const {
    constexpr auto at = static_cast<std::size_t>(channel);
    const std::size_t size = message.arguments.size();
    return predicting_ && (channel == Channel::request || may_reply_) &&
           message.handler != HandlerId{} && size <= config_.message_max &&
           send_[0].window.waiting() == 0 && send_[1].window.waiting() == 0 &&
           send_[at].window.takes_with_ease(size);
}

template <Channel channel>
[[gnu::always_inline]] inline std::size_t Sender::write_single(
    const SingleMessage<channel>& message, Bytes room) const {
    write_message<channel>(static_cast<std::uint32_t>(message.handler), message.arguments, room);
    return HeaderWords::size + message.arguments.size();
}

template <Channel channel>
[[gnu::always_inline]] inline void Sender::single_left(Instant now,
                                                       const SingleMessage<channel>& message) {
    constexpr auto at = static_cast<std::size_t>(channel);
    constexpr Kind kind = message_kind(channel);
    if constexpr (channel == Channel::reply) may_reply_ = false;
    WIREPROOF_CHECK(send_[at].window.push_here(kind, static_cast<std::uint32_t>(message.handler),
                                               message.arguments));
    note_left(channel, kind, 1, 1);
    note_departure(now, channel);
}

}  // namespace wireproof::am
