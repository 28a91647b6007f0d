// The shortest way through a connection, which only a calm one has: a message that came by itself,
// or that leaves by itself. Who waits for it waits for what is done before it is handled, or shown;
// so what can be done behind that is. The end of connection.hpp; not to be included alone.
#pragma once

#include "wireproof/proto/am/connection_plain.hpp"

namespace wireproof::am {

/// Returns how long the frame is.
[[gnu::always_inline]] inline std::size_t write_short(ShortHeader header, HandlerId handler,
                                                      ConstBytes arguments, Bytes room) {
    header.count = static_cast<std::uint16_t>(arguments.size() / 4);
    header.id = static_cast<std::uint32_t>(handler);
    header.encode(room.first<ShortHeader::size>());
    copy_words(room.data() + ShortHeader::size, arguments.data(), arguments.size());
    return ShortHeader::size + arguments.size();
}

// What differs from what is foreseen is looked at in one step.
[[gnu::always_inline]] inline bool Connection::take_next(Instant now, ConstBytes frame,
                                                         PlainMessage& message) {
    if (frame.size() < ShortHeader::size) return false;
    Exchanges& seen = exchanges_;
    const auto bytes = frame.first<ShortHeader::size>();
    const auto first = load_le_at<std::uint64_t, 0>(bytes);
    const auto third = load_le_at<std::uint64_t, 16>(bytes);
    const auto fourth = load_le_at<std::uint64_t, 24>(bytes);
    const std::size_t at = ShortHeader::channel_in(first);
    const std::size_t size = frame.size() - ShortHeader::size;
    const std::uint64_t numbers = seen.coming[at] | std::uint64_t{seen.leaving[0]} << 32;
    const std::uint64_t differs =
        ((first & ShortHeader::address_mask) ^ receive_[at].single_address) |
        (load_le_at<std::uint64_t, 8>(bytes) ^ handshake_.cookie()) | (third ^ numbers) |
        (static_cast<std::uint32_t>(fourth) ^ seen.leaving[1]) | ShortHeader::filler_in(bytes) |
        (ShortHeader::count_in(first) * std::size_t{4} ^ size);
    const auto id = static_cast<std::uint32_t>(fourth >> 32);
    const auto channel = static_cast<Channel>(at);
    const bool turns = seen.came > 0 && seen.channel != channel;
    if (differs != 0 || id - 1 >= handler_max || size > seen.longest || turns || !has_followed()) {
        return false;
    }
    seen.channel = channel;
    if (seen.came++ == 0) seen.began = now;
    seen.since = now;
    seen.coming[at] = receive_[at].window.number_after(seen.coming[at]);
    message.handler = static_cast<HandlerId>(id);
    message.is_request = channel == Channel::request;
    message.data = frame.data() + ShortHeader::size;
    message.size = size;
    return true;
}

template <Channel channel>
[[gnu::always_inline]] inline bool Connection::leaves_alone(const Next<channel>& message) const {
    const std::size_t size = message.arguments.size();
    return !has_followed() && exchanges_.channel != channel && message.handler != HandlerId{} &&
           size % 4 == 0 && size <= std::min(exchanges_.longest, Exchanges::bytes_max);
}

template <Channel channel>
[[gnu::always_inline]] inline std::size_t Connection::write_alone(const Next<channel>& message,
                                                                  Bytes room) const {
    constexpr auto at = static_cast<std::size_t>(channel);
    ShortHeader header = plain_header(channel);
    header.address = send_[at].addresses.single;
    header.number = exchanges_.leaving[at];
    header.ack = exchanges_.coming;
    return write_short(header, message.handler, message.arguments, room);
}

template <Channel channel>
[[gnu::always_inline]] inline void Connection::left_alone(Instant now,
                                                          const Next<channel>& message) {
    constexpr auto at = static_cast<std::size_t>(channel);
    Exchanges& seen = exchanges_;
    ++seen.left;
    seen.left_at = now;
    seen.handler = message.handler;
    seen.size = message.arguments.size();
    copy_short(seen.words.data(), message.arguments.data(), seen.size);
    seen.leaving[at] = send_[at].window.number_after(seen.leaving[at]);
}

// A connection that is calm has a session, and queues nothing but in its windows.
template <Channel channel>
[[gnu::always_inline]] inline bool Connection::leaves_alone(const Lone<channel>& message) const {
    constexpr auto at = static_cast<std::size_t>(channel);
    const std::size_t size = message.arguments.size();
    return calm_ && (channel == Channel::request || may_reply_) && message.handler != HandlerId{} &&
           size % 4 == 0 && size <= config_.words_max * 4 && send_[0].window.waiting() == 0 &&
           send_[1].window.waiting() == 0 && send_[at].window.takes_with_ease(size);
}

template <Channel channel>
[[gnu::always_inline]] inline std::size_t Connection::write_alone(const Lone<channel>& message,
                                                                  Bytes room) const {
    ShortHeader header = plain_header(channel);
    header.address = send_[static_cast<std::size_t>(channel)].addresses.single;
    return write_short(header, message.handler, message.arguments, room);
}

template <Channel channel>
[[gnu::always_inline]] inline void Connection::left_alone(Instant now,
                                                          const Lone<channel>& message) {
    constexpr auto at = static_cast<std::size_t>(channel);
    constexpr Kind kind = message_kind(channel);
    if constexpr (channel == Channel::reply) may_reply_ = false;
    const auto words = static_cast<std::uint16_t>(message.arguments.size() / 4);
    WIREPROOF_CHECK(send_[at].window.push_here(kind, static_cast<std::uint32_t>(message.handler),
                                               words, message.arguments));
    note_left(channel, kind, 1, 1);
    note_departure(now, channel);
}

}  // namespace wireproof::am
