// The 40 bytes in front of a received datagram, where verbs programs look for the address of the
// sender. RoCEv2 has no global route header. With IPv6, these bytes hold the IPv6 header. With
// IPv4, the last 20 bytes hold the IPv4 header, as in Linux. A plain socket shows neither header,
// so this code builds it from the addresses and the length.
#pragma once

#include <array>
#include <cstddef>

#include "wireproof/proto/ib/packet/gid.hpp"

namespace wireproof::proto::ib {

inline constexpr std::size_t network_header_size = 40;
inline constexpr std::size_t icrc_size = 4;  // after the packet

/// `packet` is the number of bytes from the base header to the pad. The header has identification
/// 0, hop limit 64 and traffic class 0.
std::array<std::byte, network_header_size> network_header(const Gid& from, const Gid& to,
                                                          std::size_t packet);

}  // namespace wireproof::proto::ib
