// A peer that receives the device's packets with a plain socket and answers none.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>

#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"
#include "wireproof/front/verbs/peers/peers_test_kit.hpp"

namespace wireproof::verbs::test {

/// The GID in the form that programs use: ::ffff:a.b.c.d.
inline ibv_gid gid_of(const Address& address) {
    ibv_gid gid{};
    gid.raw[10] = gid.raw[11] = 0xFF;
    std::copy_n(address.host.begin(), 4, gid.raw + 12);
    return gid;
}

/// Receives at the peer's address and the port of RoCEv2.
class DatagramReceiver {
public:
    explicit DatagramReceiver(const Address& address) : socket_(::socket(AF_INET, SOCK_DGRAM, 0)) {
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_port = ::htons(rocev2_port);
        std::copy_n(address.host.begin(), 4, reinterpret_cast<std::uint8_t*>(&own.sin_addr));
        EXPECT_EQ(::bind(socket_.handle(), reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    }
    /// A packet that has arrived. Empty: none has.
    std::string take() const {
        std::array<char, 2048> packet{};
        const ssize_t size = ::recv(socket_.handle(), packet.data(), packet.size(), MSG_DONTWAIT);
        return {packet.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
    }
    /// The next packet. Empty: none came.
    std::string wait() const {
        pollfd readable{.fd = socket_.handle(), .events = POLLIN, .revents = 0};
        ::poll(&readable, 1, static_cast<int>(patience.count()));
        return take();
    }

private:
    Descriptor socket_;
};

}  // namespace wireproof::verbs::test
