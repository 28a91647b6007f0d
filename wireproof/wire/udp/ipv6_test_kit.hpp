// For tests over IPv6: whether this host has it, and addresses that no other test uses.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "wireproof/base/check.hpp"
#include "wireproof/wire/udp/own_hosts_test_kit.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::test {

/// False: the kernel has no IPv6, or the loopback network has no address of it. Any other error
/// ends the test: only these two mean that there is no IPv6.
inline bool host_has_ipv6() {
    const int handle = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (handle < 0) {
        WIREPROOF_CHECK(errno == EAFNOSUPPORT);
        return false;
    }
    const SocketAddress local = to_socket_address(*Address::parse("[::1]:0"));
    const bool bound = ::bind(handle, &local.any, length_of(local)) == 0;
    WIREPROOF_CHECK(bound || errno == EADDRNOTAVAIL);
    ::close(handle);
    return bound;
}

/// The reason of a skip, as tests/permitted_skips.txt has it.
inline constexpr const char* no_ipv6 = "this host has no IPv6";

/// [::1] with one of two ports of this process. The loopback network has one address of IPv6. The
/// kernel gives these ports to nobody who does not ask for them.
inline Address own_ipv6(unsigned number) {
    WIREPROOF_CHECK(number < 2);
    Address address = *Address::parse("[::1]:0");
    address.port = static_cast<std::uint16_t>(8192 + 2 * own_network.number() + number);
    static_assert(8192 + 2 * OwnNetwork::count <= 32'768, "where the kernel's own ports begin");
    return address;
}

}  // namespace wireproof::test
