#include "wireproof/host/job/interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "wireproof/os/descriptor.hpp"
#include "wireproof/os/socket_address.hpp"

namespace wireproof::host {

bool can_be_named(const Address& host) {
    return host.why_no_host().empty() && !host.is_link_local() && host.scope == 0;
}

bool OwnAddress::same_subnet(const Address& other) const {
    if (host.family != other.family) return false;
    for (std::size_t i = 0; i < host.host.size(); ++i) {
        if (((host.host[i] ^ other.host[i]) & mask.host[i]) != 0) return false;
    }
    return true;
}

Expected<std::vector<OwnAddress>> own_interfaces() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) {
        return unexpected(std::string("the interfaces of this host: ") + std::strerror(errno));
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, ::freeifaddrs);
    std::vector<OwnAddress> all;
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        const Address host = from_socket_address(one->ifa_addr);
        if (!host.is_set() || (one->ifa_flags & IFF_UP) == 0) continue;
        Address mask = from_socket_address(one->ifa_netmask);
        if (!mask.is_set()) mask.host.fill(0xFF);  // there is no subnet
        all.push_back({one->ifa_name, host, mask});
    }
    return all;
}

std::optional<Address> source_towards(const Address& other) {
    Address there = other;
    there.port = 9;  // any port would do, because nothing is sent
    const SocketAddress to = to_socket_address(there);
    const Descriptor socket(::socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket.is_open() || ::connect(socket.handle(), &to.any, length_of(to)) != 0) return {};
    Address own = own_address_of(socket.handle());
    if (!own.is_set()) return {};
    own.port = 0;
    return own;
}

}  // namespace wireproof::host
