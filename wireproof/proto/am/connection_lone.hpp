// A message that a calm connection sends by itself: the frame is shown first, because the peer
// waits for it, and only then is the message saved and counted. The end of connection.hpp; not to
// be included alone.
#pragma once

#include "wireproof/proto/am/connection_plain.hpp"

namespace wireproof::am {

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
    write_message<channel>(static_cast<std::uint32_t>(message.handler), message.arguments, room);
    return ShortHeader::size + message.arguments.size();
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
