// A message as bare datagrams on one polled socket, and the message that answers it.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <vector>

#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::app {

class BareDatagrams {
public:
    /// Lengths in bytes: of the message sent and the message expected (at least 1 each), and of the
    /// longest datagram.
    BareDatagrams(std::size_t sent, std::size_t expected, std::size_t longest);
    // The headers hold pointers into the object.
    BareDatagrams(const BareDatagrams&) = delete;
    BareDatagrams& operator=(const BareDatagrams&) = delete;

    /// Sends the whole message to the peer of a connected socket, or to the sender of the last
    /// datagram. Datagrams that the kernel does not accept are lost.
    void send(int socket, bool connected);

    enum class Came : std::uint8_t { nothing, part, whole, end };
    /// Looks at the socket once. `end`: an empty datagram arrived.
    Came receive(int socket);

private:
    static constexpr std::size_t taken_at_once = 32;  // datagrams in one call

    Came took(const std::byte* datagram, std::size_t size);

    std::size_t expected_;
    std::size_t longest_;
    std::size_t come_ = 0;
    bool one_there_ = false;  // the message is one datagram
    bool one_back_ = false;
    std::vector<std::byte> message_;
    std::vector<iovec> pieces_;
    std::vector<mmsghdr> sent_;
    std::vector<std::byte> room_;
    std::vector<iovec> places_;
    std::vector<mmsghdr> taken_;
    SocketAddress from_{};
    socklen_t from_size_ = 0;
};

}  // namespace wireproof::app
