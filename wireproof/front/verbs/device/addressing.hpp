// Converts addresses of the network into the names that verbs use, and back.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/front/verbs/abi/api.hpp"
#include "wireproof/os/address.hpp"
#include "wireproof/proto/ib/packet/gid.hpp"

namespace wireproof::verbs {

/// The GID is an IPv6 address. An IPv4 address becomes ::ffff:a.b.c.d.
proto::ib::Gid gid_of(const Address& address);

/// The GID at index 0 of the table. As on an adapter, it is a link-local name of the same port. For
/// an IPv4 address it is fe80::5efe:a.b.c.d (RFC 5214), which leads to the same host.
proto::ib::Gid link_local_gid_of(const Address& address);

/// The address has the port of RoCEv2. The result is empty if no host can have this GID.
std::optional<Address> address_of(const proto::ib::Gid& gid);

/// The LID on an InfiniBand link: the last 16 bits of an IPv4 address. The result is 0 if these
/// bits are not a LID of one host.
std::uint16_t lid_of(const Address& address);

/// The address of the host that an address vector names. The result is empty if the vector names no
/// host, or if it uses a port or an entry of our GID table that does not exist. Hosts have LIDs
/// only on an InfiniBand link. There `subnet` is our address: all hosts with a LID share its first
/// 16 bits. Elsewhere `subnet` is null.
std::optional<Address> address_of(const ibv_ah_attr& attributes, const Address* subnet = nullptr);

/// The index of the network interface that has the address, or 0 if no interface has it.
std::uint32_t interface_of(const Address& address);

}  // namespace wireproof::verbs
