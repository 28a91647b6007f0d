// One nonblocking UDP socket, and the addresses it talks in: what the kernel calls a sockaddr is
// made and read here only.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

#include "wireproof/wire/udp/address.hpp"

namespace wireproof {

/// As the kernel reads and writes it.
union SocketAddress {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
};

SocketAddress to_socket_address(const Address& address);
Address from_socket_address(const SocketAddress& address);
socklen_t length_of(const SocketAddress& address);

/// Whether the kernel tells of what is received how many datagrams it dropped before it, and leaves
/// super-packets whole, telling how long their frames are. False: it does not do as asked.
bool describe_received(int handle, bool described);

class UdpSocket {
public:
    struct Config {
        Address local;
        int receive_buffer = 0;  // bytes wanted
        int send_buffer = 0;
    };

    static Expected<UdpSocket> open(const Config& config);

    UdpSocket(UdpSocket&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
    UdpSocket& operator=(UdpSocket&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~UdpSocket();

    /// In a forked child: the socket is the parent's alone.
    void abandon();

    int handle() const { return handle_; }

    /// Whether the kernel takes several frames of one length as one packet (UDP_SEGMENT).
    bool segments_sent() const;
    /// Has the kernel leave such packets whole on arrival (UDP_GRO). False: it does not know how.
    bool group_received();
    /// Only frames from and to this address. False: not possible.
    bool connect(const Address& peer);
    /// From and to any again. False: another socket took the port meanwhile.
    bool disconnect();

    Address local_address() const;

    /// The bytes the kernel grants for frames waiting to be received, its own bookkeeping included.
    std::size_t receive_buffer() const;
    /// The same of frames that have not left the host.
    std::size_t send_buffer() const;

private:
    explicit UdpSocket(int handle) : handle_(handle) {}

    int handle_;
};

}  // namespace wireproof
