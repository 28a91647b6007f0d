// The 40 bytes in front of a received datagram, where verbs programs look for the sender's address.
// RoCEv2 has no global route header: over IPv6 its IPv6 header stands there, over IPv4 the IPv4
// header in the last 20 bytes, as Linux has it. A plain socket shows neither, so both are built
// from what is known: the addresses and the length.
#pragma once

#include <array>
#include <cstddef>

#include "wireproof/proto/ib/gid.hpp"

namespace wireproof::proto::ib {

inline constexpr std::size_t network_header_size = 40;

/// `packet`: bytes from the base header to the pad. Identification 0, hop limit 64, no traffic
/// class.
std::array<std::byte, network_header_size> network_header(const Gid& from, const Gid& to,
                                                          std::size_t packet);

}  // namespace wireproof::proto::ib
