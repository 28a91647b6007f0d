// The private data in messages of communication management. For services of rdma_cm, it begins with
// the addresses of both hosts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "wireproof/os/address.hpp"
#include "wireproof/proto/ib/cm/cm_messages.hpp"

namespace wireproof::ib {

/// An IPv4 address is mapped into the 16 bytes of an IPv6 address.
inline proto::ib::Gid gid_of(const Address& address) {
    proto::ib::Gid gid{};
    if (address.family == Address::Family::ipv6) return address.host;
    gid[10] = gid[11] = 0xFF;
    std::copy_n(address.host.begin(), 4, gid.begin() + 12);
    return gid;
}

inline proto::ib::Gid ip_of(const Address& address) {
    proto::ib::Gid ip = gid_of(address);
    if (address.family == Address::Family::ipv4) ip[10] = ip[11] = 0;
    return ip;
}

/// The offset of the user's bytes in the private data.
constexpr std::size_t told_at(std::uint64_t service) {
    return proto::ib::is_ip_service(service) ? proto::ib::CmIpAddresses::size : 0;
}

template <std::size_t Size>
bool put(std::span<const std::byte> told, std::size_t at, proto::ib::PrivateBytes<Size>& to) {
    if (told.size() > Size - at) return false;
    std::ranges::copy(told, to.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
}

/// For a service of rdma_cm: writes the addresses at the start of `bytes`.
template <std::size_t Size>
void put_addresses(const Address& from, const Address& to, std::uint64_t service,
                   proto::ib::PrivateBytes<Size>& bytes) {
    const proto::ib::CmIpAddresses addresses{.ipv6 = from.family == Address::Family::ipv6,
                                             .source_port = static_cast<std::uint16_t>(service),
                                             .source = ip_of(from),
                                             .destination = ip_of(to)};
    addresses.encode(std::span(bytes).template first<proto::ib::CmIpAddresses::size>());
}

}  // namespace wireproof::ib
