// UDP datagrams over IPv4 with their headers, which a UDP socket hides. The process needs
// CAP_NET_RAW. A UDP socket must still be open on the port: otherwise the kernel tells senders that
// nobody listens.
#pragma once

#include <utility>

#include "wireproof/wire/udp/socket.hpp"

namespace wireproof {

class ShownDatagrams {
public:
    /// The longest IPv4 header and the UDP header: a datagram with headers is longer by at most
    /// this.
    static constexpr std::size_t headers_max = 60 + 8;

    /// Receives a copy of each datagram that arrives for the address and port of `hiding`. From now
    /// on `hiding` itself receives none.
    static Expected<ShownDatagrams> of(const UdpSocket& hiding, int receive_buffer);

    /// For a forked child: closes its copy of the socket.
    void abandon() { handle_.close(); }

    int handle() const { return handle_.handle(); }

private:
    explicit ShownDatagrams(int handle) : handle_(handle) {}

    Descriptor handle_;
};

}  // namespace wireproof
