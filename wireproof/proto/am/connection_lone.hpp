// The shortest way through a connection, which only a calm one has: a message that came by itself,
// or that leaves by itself. Who waits for it waits for what is done before it is handled, or shown;
// so what can be done behind that is. The end of connection.hpp; not to be included alone.
#pragma once

#include "wireproof/proto/am/connection_plain.hpp"

namespace wireproof::am {

// One look at each field, and nothing is changed before all have held. Each channel has its own
// copy of the code, in which every place is known.
[[gnu::always_inline]] inline bool Connection::take_foreseen(Instant now, const RxFrame& frame,
                                                             PlainMessage& message) {
    const bool whole = frame.integrity == Integrity::intact && !frame.after_overrun;
    if (!calm_ || !whole || frame.bytes.size() < ShortHeader::size) return false;
    const auto bytes = frame.bytes.first<ShortHeader::size>();
    const std::uint64_t address = ShortHeader::address_in(bytes);
    if (address == address_in_[0]) {
        return take_foreseen_on<Channel::request>(now, frame.bytes, message);
    }
    return address == address_in_[1] && take_foreseen_on<Channel::reply>(now, frame.bytes, message);
}

template <Channel channel>
[[gnu::always_inline]] inline bool Connection::take_foreseen_on(Instant now, ConstBytes frame,
                                                                PlainMessage& message) {
    constexpr auto at = static_cast<std::size_t>(channel);
    const auto bytes = frame.first<ShortHeader::size>();
    const ShortHeader header = ShortHeader::decode(bytes);
    ReceiveWindow& window = receive_[at];
    const std::size_t size = frame.size() - ShortHeader::size;
    const bool foreseen =
        header.cookie == handshake_.cookie() && header.number == window.expected() &&
        header.id - 1 < handler_max && header.count * std::size_t{4} == size &&
        header.count <= config_.words_max && ShortHeader::filler_in(bytes) == 0 &&
        send_[0].nothing_or_all(header.ack[0]) && send_[1].nothing_or_all(header.ack[1]);
    if (!foreseen) return false;
    window.pass_plain();
    unheeded_.requests = header.ack[0];
    unheeded_.replies = header.ack[1];
    unheeded_.since = now;
    unheeded_.any = true;
    message.handler = static_cast<HandlerId>(header.id);
    message.is_request = channel == Channel::request;
    message.data = frame.data() + ShortHeader::size;
    message.size = size;
    return true;
}

[[gnu::always_inline]] inline void Connection::heed() {
    if (!unheeded_.any) return;
    unheeded_.any = false;
    const Instant now = unheeded_.since;
    silent_since_ = now;
    unanswered_ = 0;
    end_foreseen<Channel::request>(now, unheeded_.requests);
    end_foreseen<Channel::reply>(now, unheeded_.replies);
    (void)note_verdict(now, RxVerdict::accepted);
}

/// As on_plain_ack of a number that SendWindow::nothing_or_all knew, and still does.
template <Channel channel>
[[gnu::always_inline]] inline void Connection::end_foreseen(Instant now, std::uint32_t expected) {
    SendWindow& window = send_[static_cast<std::size_t>(channel)];
    if (expected == window.first_unacknowledged()) return;
    WIREPROOF_CHECK(window.settled());
    const std::uint32_t freed = window.under_way();
    window.drop_all();
    note_freed(now, channel, freed);
}

[[gnu::always_inline]] inline bool Connection::take_alone(Instant now, const RxFrame& frame,
                                                          PlainMessage& message) {
    if (!take_foreseen(now, frame, message)) return false;
    nothing_to_draw_ = false;
    plain_here_ = false;
    may_reply_ = message.is_request;
    return true;
}

// A connection that is calm has a session, and queues nothing but in its windows.
template <Channel channel>
[[gnu::always_inline]] inline bool Connection::leaves_alone(const Lone<channel>& message) const {
    constexpr auto at = static_cast<std::size_t>(channel);
    const std::size_t size = message.arguments.size();
    return calm_ && (channel == Channel::request || may_reply_) && message.handler != HandlerId{} &&
           size % 4 == 0 && size <= config_.words_max * 4 && send_[0].waiting() == 0 &&
           send_[1].waiting() == 0 && send_[at].takes_with_ease(size);
}

template <Channel channel>
[[gnu::always_inline]] inline std::size_t Connection::write_alone(const Lone<channel>& message,
                                                                  Bytes room) const {
    constexpr auto at = static_cast<std::size_t>(channel);
    const ConstBytes arguments = message.arguments;
    ShortHeader header = plain_header(channel);
    header.address = address_out_.single[at];
    header.count = static_cast<std::uint16_t>(arguments.size() / 4);
    header.id = static_cast<std::uint32_t>(message.handler);
    header.encode(room.first<ShortHeader::size>());
    copy_words(room.data() + ShortHeader::size, arguments.data(), arguments.size());
    return ShortHeader::size + arguments.size();
}

template <Channel channel>
[[gnu::always_inline]] inline void Connection::left_alone(Instant now,
                                                          const Lone<channel>& message) {
    constexpr auto at = static_cast<std::size_t>(channel);
    constexpr Kind kind = channel == Channel::request ? Kind::request : Kind::reply;
    heed();
    if constexpr (channel == Channel::reply) may_reply_ = false;
    SendWindow& window = send_[at];
    const auto words = static_cast<std::uint16_t>(message.arguments.size() / 4);
    WIREPROOF_CHECK(window.push_here(kind, static_cast<std::uint32_t>(message.handler), words,
                                     message.arguments));
    ++stats_.sent[static_cast<std::size_t>(kind)];
    window.plain_departed(1);
    if (turn_ == channel) turn_ = other(channel);
    note_plain(now, channel);
}

}  // namespace wireproof::am
