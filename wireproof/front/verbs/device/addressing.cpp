#include "wireproof/front/verbs/device/addressing.hpp"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <memory>

#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/wire/udp/icrc.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::verbs {
namespace {

constexpr std::size_t ipv4_at = 12;  // place of an IPv4 address in a GID
constexpr std::array<std::uint8_t, ipv4_at> isatap = {0xFE, 0x80, 0, 0, 0,    0,
                                                      0,    0,    0, 0, 0x5E, 0xFE};

bool is_isatap(const proto::ib::Gid& gid) {
    return std::equal(isatap.begin(), isatap.end(), gid.begin());
}

}  // namespace

proto::ib::Gid gid_of(const Address& address) {
    if (address.family == Address::Family::ipv6) return address.host;
    proto::ib::Gid gid{};
    gid[10] = gid[11] = 0xFF;
    std::copy_n(address.host.begin(), 4, gid.begin() + ipv4_at);
    return gid;
}

proto::ib::Gid link_local_gid_of(const Address& address) {
    proto::ib::Gid gid{};
    if (address.family == Address::Family::ipv6) {
        gid = address.host;
        std::fill_n(gid.begin(), 8, std::uint8_t{0});
        gid[0] = 0xFE;
        gid[1] = 0x80;
        return gid;
    }
    std::copy(isatap.begin(), isatap.end(), gid.begin());
    std::copy_n(address.host.begin(), 4, gid.begin() + ipv4_at);
    return gid;
}

std::optional<Address> address_of(const proto::ib::Gid& gid) {
    Address address;
    address.port = rocev2_port;
    if (proto::ib::is_ipv4(gid) || is_isatap(gid)) {
        address.family = Address::Family::ipv4;
        std::copy_n(gid.begin() + ipv4_at, 4, address.host.begin());
    } else {
        address.family = Address::Family::ipv6;
        address.host = gid;
    }
    if (!address.why_no_peer().empty()) return std::nullopt;
    return address;
}

std::uint16_t lid_of(const Address& address) {
    constexpr int groups = 0xC000;  // LIDs from this one on name no single host
    if (address.family != Address::Family::ipv4) return 0;
    const int lid = address.host[2] << 8 | address.host[3];
    return lid < groups ? static_cast<std::uint16_t>(lid) : std::uint16_t{0};
}

std::optional<Address> address_of(const ibv_ah_attr& attributes, const Address* subnet) {
    if (attributes.port_num != limits::port) return std::nullopt;
    if (attributes.is_global == 0) {
        if (subnet == nullptr) return std::nullopt;
        Address named = *subnet;
        named.host[2] = static_cast<std::uint8_t>(attributes.dlid >> 8);
        named.host[3] = static_cast<std::uint8_t>(attributes.dlid & 0xFF);
        if (lid_of(named) == 0) return std::nullopt;
        return named;
    }
    if (attributes.grh.sgid_index >= limits::gids) return std::nullopt;
    proto::ib::Gid gid{};
    std::copy_n(attributes.grh.dgid.raw, gid.size(), gid.begin());
    return address_of(gid);
}

std::uint32_t interface_of(const Address& address) {
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) return 0;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, ::freeifaddrs);
    const int family = to_socket_address(address).any.sa_family;
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family) continue;
        SocketAddress has{};
        std::copy_n(reinterpret_cast<const std::byte*>(one->ifa_addr),
                    family == AF_INET ? sizeof has.v4 : sizeof has.v6,
                    reinterpret_cast<std::byte*>(&has));
        const bool same = from_socket_address(has).host == address.host;
        // All addresses of 127.0.0.0/8 belong to the loopback interface, which lists only one of
        // them.
        const bool loopback = address.is_loopback() && (one->ifa_flags & IFF_LOOPBACK) != 0;
        if (same || loopback) return ::if_nametoindex(one->ifa_name);
    }
    return 0;
}

}  // namespace wireproof::verbs
