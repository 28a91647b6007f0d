// How an address of the network is named in verbs, and back.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/front/verbs/api.hpp"
#include "wireproof/proto/ib/gid.hpp"
#include "wireproof/wire/udp/address.hpp"

namespace wireproof::verbs {

/// An IPv6 address, or an IPv4 one as ::ffff:a.b.c.d.
proto::ib::Gid gid_of(const Address& address);

/// What stands at index 0 of the table of GIDs, as an adapter has it: a link-local name of the same
/// port. That of an IPv4 address is fe80::5efe:a.b.c.d (RFC 5214), and leads there, too.
proto::ib::Gid link_local_gid_of(const Address& address);

/// Nothing: no host can have this name. The address has the port of RoCEv2.
std::optional<Address> address_of(const proto::ib::Gid& gid);

/// On an InfiniBand link: the last 16 bits of an IPv4 address, if one host may have such a LID.
/// Else 0.
std::uint16_t lid_of(const Address& address);

/// The same of the host that an address vector names; nothing, if it names none, or another port or
/// entry of our table than there are. A host has a LID only on an InfiniBand link: `subnet` is our
/// address there, with which those of all LIDs share the first 16 bits, and null elsewhere.
std::optional<Address> address_of(const ibv_ah_attr& attributes, const Address* subnet = nullptr);

/// The index of the network interface that has the address; 0: there is none.
std::uint32_t interface_of(const Address& address);

}  // namespace wireproof::verbs
