// The sizes of IP and UDP headers, their ECN field, and numbers in network byte order.
#pragma once

#include <cstddef>

#include "wireproof/base/bytes.hpp"

namespace wireproof {

inline constexpr std::size_t ipv4_size = 20;  // without options
inline constexpr std::size_t ipv6_size = 40;  // without extension headers
inline constexpr std::size_t udp_size = 8;
inline constexpr std::byte udp_protocol{17};

// The ECN field: the lower two bits of the byte that IPv4 calls TOS and IPv6 traffic class.
inline constexpr int ecn_mask = 3;
inline constexpr int ecn_ect0 = 2;    // the transport answers marks
inline constexpr int ecn_marked = 3;  // CE: a router marked the packet

constexpr bool is_marked(int tos) {
    return (tos & ecn_mask) == ecn_marked;
}

/// Writes the low bytes of the value, as many as `to` has.
inline void put_be(Bytes to, std::size_t value) {
    for (std::size_t i = to.size(); i-- > 0; value >>= 8) to[i] = static_cast<std::byte>(value);
}

/// `from` has at most eight bytes.
inline std::size_t get_be(ConstBytes from) {
    std::size_t value = 0;
    for (const std::byte one : from) value = value << 8 | std::to_integer<std::size_t>(one);
    return value;
}

}  // namespace wireproof
