// The format in which a message of any length travels. One segment is one message of a link engine.
//
//   byte 0      1       2 … 3   4 … 7            8 … 15
//        kind   flags   0       message number   offset            then bytes of the message
//
// DATA   bytes of message `number` from `offset` on; flag 1: they are the last of the message.
// STAND  its sender has all messages of its peer before `number`, and `offset` bytes of that
//        message. Then come 8 bytes: the life of the sender.
// ASK    requests only an acknowledgement of the link below.
// Integers are little-endian; numbers count from 0 and wrap at 2^32.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/bytes.hpp"

namespace wireproof::link {

struct Segment {
    static constexpr std::size_t size = 16;
    enum class Kind : std::uint8_t { data = 1, stand = 2, ask = 3 };

    Kind kind = Kind::data;
    bool last = false;
    std::uint32_t number = 0;
    std::uint64_t offset = 0;

    void encode(std::span<std::byte, size> to) const {
        to[0] = static_cast<std::byte>(kind);
        to[1] = static_cast<std::byte>(last ? 1 : 0);
        to[2] = to[3] = std::byte{0};
        store_le_at<std::uint32_t, 4>(to, number);
        store_le_at<std::uint64_t, 8>(to, offset);
    }

    static std::optional<Segment> decode(ConstBytes from) {
        if (from.size() < size) return std::nullopt;
        const auto head = from.first<size>();
        const auto kind = std::to_integer<std::uint8_t>(head[0]);
        const auto flags = std::to_integer<std::uint8_t>(head[1]);
        if (kind < 1 || kind > 3 || flags > 1) return std::nullopt;
        return Segment{static_cast<Kind>(kind), flags == 1, load_le_at<std::uint32_t, 4>(head),
                       load_le_at<std::uint64_t, 8>(head)};
    }
};

/// Bytes after the header of a STAND.
inline constexpr std::size_t life_size = 8;

}  // namespace wireproof::link
