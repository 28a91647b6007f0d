#include "wireproof/os/socket_address.hpp"

#include <algorithm>
#include <cstring>

namespace wireproof {

SocketAddress to_socket_address(const Address& address) {
    SocketAddress result{};
    if (address.family == Address::Family::ipv4) {
        result.v4 = {};
        result.v4.sin_family = AF_INET;
        result.v4.sin_port = htons(address.port);
        const auto& host = address.host;
        result.v4.sin_addr.s_addr =
            htonl((std::uint32_t{host[0]} << 24) | (std::uint32_t{host[1]} << 16) |
                  (std::uint32_t{host[2]} << 8) | std::uint32_t{host[3]});
    } else if (address.family == Address::Family::ipv6) {
        result.v6 = {};
        result.v6.sin6_family = AF_INET6;
        result.v6.sin6_port = htons(address.port);
        result.v6.sin6_scope_id = address.scope;
        std::copy(address.host.begin(), address.host.end(), result.v6.sin6_addr.s6_addr);
    }
    return result;
}

Address from_socket_address(const SocketAddress& address) {
    Address result;
    if (address.any.sa_family == AF_INET) {
        result.family = Address::Family::ipv4;
        result.port = ntohs(address.v4.sin_port);
        const std::uint32_t host = ntohl(address.v4.sin_addr.s_addr);
        for (std::size_t i = 0; i < 4; ++i) {
            result.host[i] = static_cast<std::uint8_t>(host >> (24 - 8 * i));
        }
    } else if (address.any.sa_family == AF_INET6) {
        result.family = Address::Family::ipv6;
        result.port = ntohs(address.v6.sin6_port);
        result.scope = address.v6.sin6_scope_id;
        std::copy_n(address.v6.sin6_addr.s6_addr, result.host.size(), result.host.begin());
    }
    return result;
}

socklen_t length_of(const SocketAddress& address) {
    return address.any.sa_family == AF_INET ? sizeof address.v4 : sizeof address.v6;
}

Address from_socket_address(const sockaddr* address) {
    SocketAddress copy{};
    if (address != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6)) {
        copy.any.sa_family = address->sa_family;
        std::memcpy(&copy, address, length_of(copy));
    }
    return from_socket_address(copy);
}

Address own_address_of(int socket) {
    SocketAddress own{};
    socklen_t length = sizeof own;
    return ::getsockname(socket, &own.any, &length) == 0 ? from_socket_address(own) : Address{};
}

}  // namespace wireproof
