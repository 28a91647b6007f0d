// The conversion between Address and the kernel's sockaddr.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "wireproof/os/address.hpp"

namespace wireproof {

/// An address in the form that the kernel reads and writes.
union SocketAddress {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
};

SocketAddress to_socket_address(const Address& address);
Address from_socket_address(const SocketAddress& address);
/// Unset if the pointer is null or the address is of another family.
Address from_socket_address(const sockaddr* address);
socklen_t length_of(const SocketAddress& address);

/// The address that the socket is bound to. Unset: the kernel does not say.
Address own_address_of(int socket);

}  // namespace wireproof
