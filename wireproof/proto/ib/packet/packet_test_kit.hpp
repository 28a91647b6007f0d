// For tests: packets as hexadecimal text, and as bytes in their own memory.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/proto/ib/packet/packet.hpp"

namespace wireproof::proto::ib::test {

using PacketBytes = std::vector<std::byte>;

/// Ignores spaces.
inline PacketBytes from_hex(std::string_view text) {
    PacketBytes bytes;
    for (std::size_t at = 0; at + 1 < text.size();) {
        if (text[at] == ' ') {
            ++at;
            continue;
        }
        std::uint8_t value = 0;
        std::from_chars(text.data() + at, text.data() + at + 2, value, 16);
        bytes.push_back(std::byte{value});
        at += 2;
    }
    return bytes;
}

inline std::string to_hex(ConstBytes bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        text += digits[std::to_integer<std::size_t>(byte >> 4)];
        text += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
    }
    return text;
}

/// The packet that `encode` makes of a payload in several pieces.
inline PacketBytes encoded(const Headers& headers, std::span<const ConstBytes> payload) {
    PacketBytes room(packet_max(4096));
    TxFrame frame;
    frame.open(room, {.frame_max = room.size()});
    encode(headers, payload, frame);
    PacketBytes packet(frame.size());
    frame.gather(packet);
    return packet;
}

inline PacketBytes encoded(const Headers& headers, ConstBytes payload = {}) {
    return encoded(headers, std::span(&payload, 1));
}

}  // namespace wireproof::proto::ib::test
