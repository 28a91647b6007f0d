// UDP datagrams over IPv4 with the headers that a UDP socket hides, for whoever may see them
// (CAP_NET_RAW). They still need a UDP socket on their port, or the kernel tells senders that
// nobody listens.
#pragma once

#include <utility>

#include "wireproof/wire/udp/socket.hpp"

namespace wireproof {

class ShownDatagrams {
public:
    /// IPv4's longest header and UDP's: so much longer is what is received.
    static constexpr std::size_t headers_max = 60 + 8;

    /// A copy of all that arrives for the address and port of `hiding`, whose own queue is kept
    /// empty from now on.
    static Expected<ShownDatagrams> of(const UdpSocket& hiding, int receive_buffer);

    ShownDatagrams(ShownDatagrams&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
    ShownDatagrams& operator=(ShownDatagrams&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~ShownDatagrams();

    /// In a forked child: the socket is the parent's alone.
    void abandon();

    int handle() const { return handle_; }

private:
    explicit ShownDatagrams(int handle) : handle_(handle) {}

    int handle_;
};

}  // namespace wireproof
