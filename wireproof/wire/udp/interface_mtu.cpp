#include "wireproof/wire/udp/interface_mtu.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "wireproof/wire/udp/socket.hpp"

namespace wireproof {
namespace {

/// The address or mask of an interface. Nothing if it is neither IPv4 nor IPv6.
std::optional<Address> address_in(const sockaddr* from) {
    if (from == nullptr) return std::nullopt;
    SocketAddress address{};
    if (from->sa_family == AF_INET) {
        std::memcpy(&address.v4, from, sizeof address.v4);
    } else if (from->sa_family == AF_INET6) {
        std::memcpy(&address.v6, from, sizeof address.v6);
    } else {
        return std::nullopt;
    }
    return from_socket_address(address);
}

/// The length in bits of the network that the interface's address shares with `local`. 0: it shares
/// none. An equal address gives more than any network.
std::size_t match(const ifaddrs& one, const Address& local) {
    const auto own = address_in(one.ifa_addr);
    const auto mask = address_in(one.ifa_netmask);
    if (!own || !mask || own->family != local.family) return 0;
    std::size_t bits = 0;
    for (std::size_t i = 0; i < local.host.size(); ++i) {
        if (((own->host[i] ^ local.host[i]) & mask->host[i]) != 0) return 0;
        bits += static_cast<std::size_t>(std::popcount(mask->host[i]));
    }
    return own->host == local.host ? 8 * local.host.size() + 2 : bits;
}

}  // namespace

Expected<std::size_t> interface_mtu(const Address& local) {
    const auto failed = [&local](const std::string& why) {
        return unexpected("MTU of the interface of " + local.to_string() + ": " + why);
    };
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return failed(std::generic_category().message(errno));
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(list, &::freeifaddrs);
    const ifaddrs* best = nullptr;
    std::size_t most = 0;
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        const std::size_t bits = match(*one, local);
        if (bits <= most) continue;
        most = bits;
        best = one;
    }
    if (best == nullptr) return failed("no interface has it");
    auto socket = UdpSocket::open({.local = {.family = local.family}});
    if (!socket) return tl::unexpected(socket.error());
    ifreq request{};
    std::strncpy(request.ifr_name, best->ifa_name, sizeof request.ifr_name - 1);
    if (::ioctl(socket->handle(), SIOCGIFMTU, &request) != 0) {
        return failed(std::generic_category().message(errno));
    }
    return static_cast<std::size_t>(request.ifr_mtu);
}

}  // namespace wireproof
