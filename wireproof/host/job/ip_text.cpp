#include "wireproof/host/job/ip_text.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "wireproof/os/descriptor.hpp"

namespace wireproof::host {
namespace {

// Any port would do, because nothing is sent.
constexpr std::uint16_t some_port = 9;

sockaddr_storage socket_address(const IpHost& host, socklen_t& length) {
    sockaddr_storage storage{};
    if (host.family == AF_INET) {
        auto& address = reinterpret_cast<sockaddr_in&>(storage);
        address.sin_family = AF_INET;
        address.sin_port = htons(some_port);
        std::memcpy(&address.sin_addr, host.bytes.data(), host.size());
        length = sizeof address;
    } else {
        auto& address = reinterpret_cast<sockaddr_in6&>(storage);
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(some_port);
        std::memcpy(&address.sin6_addr, host.bytes.data(), host.size());
        length = sizeof address;
    }
    return storage;
}

}  // namespace

std::optional<IpHost> IpHost::parse(std::string_view text) {
    IpHost host;
    const std::string copy(text);
    if (copy.find('\0') != copy.npos) return {};
    for (const sa_family_t family : {sa_family_t{AF_INET}, sa_family_t{AF_INET6}}) {
        host.family = family;
        if (::inet_pton(family, copy.c_str(), host.bytes.data()) == 1) return host;
    }
    return {};
}

std::optional<IpHost> IpHost::of(const sockaddr* address) {
    if (address == nullptr) return {};
    IpHost host;
    host.family = address->sa_family;
    if (host.family == AF_INET) {
        const auto& ip = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
        std::memcpy(host.bytes.data(), &ip, host.size());
    } else if (host.family == AF_INET6) {
        const auto& ip = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
        std::memcpy(host.bytes.data(), &ip, host.size());
    } else {
        return {};
    }
    return host;
}

std::string IpHost::text() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(family, bytes.data(), text.data(), text.size());
    return text.data();
}

bool IpHost::is_loopback() const {
    if (family == AF_INET) return bytes[0] == 127;
    return *this == IpHost::parse("::1");
}

bool IpHost::can_be_named() const {
    if (family == AF_INET) {
        const bool link_local = bytes[0] == 169 && bytes[1] == 254;
        return bytes[0] != 0 && bytes[0] < 224 && !link_local;
    }
    const bool link_local = bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80;
    return bytes[0] != 0xFF && !link_local && *this != IpHost::parse("::");
}

bool OwnAddress::same_subnet(const IpHost& other) const {
    if (host.family != other.family) return false;
    for (std::size_t i = 0; i < host.size(); ++i) {
        if (((host.bytes[i] ^ other.bytes[i]) & mask.bytes[i]) != 0) return false;
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
        const auto host = IpHost::of(one->ifa_addr);
        const auto mask = IpHost::of(one->ifa_netmask);
        if (!host || (one->ifa_flags & IFF_UP) == 0) continue;
        IpHost whole{host->family, {}};  // without a mask there is no subnet
        whole.bytes.fill(0xFF);
        all.push_back({one->ifa_name, *host, mask.value_or(whole)});
    }
    return all;
}

std::optional<IpHost> source_towards(const IpHost& other) {
    const Descriptor socket(::socket(other.family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    socklen_t length = 0;
    sockaddr_storage address = socket_address(other, length);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (!socket.is_open() || ::connect(socket.handle(), generic, length) != 0) return {};
    length = sizeof address;
    if (::getsockname(socket.handle(), generic, &length) != 0) return {};
    return IpHost::of(generic);
}

}  // namespace wireproof::host
