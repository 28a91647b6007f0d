// Fast path for sending a short message while nothing else is to be sent: functions of Sender that
// are inline.
#pragma once

#include "wireproof/proto/am/header_words.hpp"
#include "wireproof/proto/am/send/sender.hpp"

namespace wireproof::am {

/// The fields of a numbered packet that do not depend on its message.
[[gnu::always_inline]] inline HeaderWords Sender::fast_header(const Session& session,
                                                              const Acks& acks,
                                                              Channel channel) const {
    const SendWindow& window = (*this)[channel].window;
    HeaderWords header;
    header.route = session.route();
    header.cookie = session.handshake.cookie();
    header.ack = acks;
    header.round = window.round();
    header.number = window.first_unsent();
    return header;
}

/// Writes the packet of the next short message of its channel.
template <Channel channel>
[[gnu::always_inline]] inline void Sender::write_message(const Session& session, const Acks& acks,
                                                         std::uint32_t handler,
                                                         ConstBytes arguments, Bytes room) const {
    // The local header stays in registers. In memory it would be written field by field and read in
    // words, and each of these reads would wait for the writes.
    HeaderWords header = fast_header(session, acks, channel);
    header.flow = (*this)[channel].flows.single;
    header.count = static_cast<std::uint16_t>(arguments.size());
    header.id = handler;
    header.encode(room.first<HeaderWords::size>());
    copy_words(room.data() + HeaderWords::size, arguments.data(), arguments.size());
}

/// Packets of the fast path have left and used `numbers` numbers of the window. This changes what
/// emit() and departed() change for each.
[[gnu::always_inline]] inline void Sender::note_left(Session& session, Channel channel, Kind kind,
                                                     std::uint32_t packets, std::uint32_t numbers) {
    session.stats.sent[static_cast<std::size_t>(kind)] += packets;
    (*this)[channel].window.fast_departed(numbers);
}

[[gnu::always_inline]] inline void Sender::fill_fast(Session& session, const Acks& acks,
                                                     Channel channel,
                                                     const SendWindow::Saved& message,
                                                     TxFrame& out) {
    const bool alone = message.kind <= Kind::reply && (*this)[channel].window.single() &&
                       message.count <= copied_max;
    if (!alone) return fill_other(session, acks, channel, message, out);
    if (channel == Channel::request) {
        return fill_single<Channel::request>(session, acks, message, out);
    }
    fill_single<Channel::reply>(session, acks, message, out);
}

/// Puts the checksum of the header, or of the whole frame, into `frame`, which has zeroes in its
/// place.
void sign_short(const Config& config, Bytes frame, Kind kind);

/// A short message in a packet of its own.
template <Channel channel>
[[gnu::always_inline]] inline void Sender::fill_single(Session& session, const Acks& acks,
                                                       const SendWindow::Saved& message,
                                                       TxFrame& out) {
    const ConstBytes data = (*this)[channel].window.single_arguments(message);
    const Bytes room = out.add_all(HeaderWords::size + data.size());
    write_message<channel>(session, acks, message.id, data, room);
    note_left(session, channel, message_kind(channel), 1, 1);
    if (out.wants_check()) sign_short(session.config(), room, message_kind(channel));
}

inline void Sender::next_of_run(Session& session, const Acks& acks, TxFrame& out) {
    fill_fast(session, acks, run_, *next_of_run_, out);
}

// The caller knows that one channel has messages that wait, and only one.
template <Channel channel>
inline void Sender::begin_predicted_run() {
    run_ = channel;
    next_of_run_ = &(*this)[channel].window.first_waiting();
}

// While the fast path is open there is a session, and messages wait only in the windows.
template <Channel channel>
[[gnu::always_inline]] inline bool Sender::leaves_single(const SingleMessage<channel>& message,
                                                         std::size_t message_max) const {
    const std::size_t size = message.arguments.size();
    return message.handler != HandlerId{} && size <= message_max &&
           channels_[0].window.waiting() == 0 && channels_[1].window.waiting() == 0 &&
           (*this)[channel].window.takes_with_ease(size);
}

template <Channel channel>
[[gnu::always_inline]] inline std::size_t Sender::write_single(
    const Session& session, const Acks& acks, const SingleMessage<channel>& message,
    Bytes room) const {
    write_message<channel>(session, acks, static_cast<std::uint32_t>(message.handler),
                           message.arguments, room);
    return HeaderWords::size + message.arguments.size();
}

template <Channel channel>
[[gnu::always_inline]] inline void Sender::single_left(Instant now, Session& session,
                                                       const SingleMessage<channel>& message) {
    constexpr Kind kind = message_kind(channel);
    WIREPROOF_CHECK((*this)[channel].window.push_here(
        kind, static_cast<std::uint32_t>(message.handler), message.arguments));
    note_left(session, channel, kind, 1, 1);
    note_departure(now, session, channel, false);
}

}  // namespace wireproof::am
