// For tests of the RoCEv2 wire: hosts of the loopback network, packets, and a socket that sends
// bytes of any kind.
#pragma once

#include <gtest/gtest.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/wire/udp/own_hosts_test_kit.hpp"
#include "wireproof/wire/udp/peers_test_kit.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::test {

using Packet = std::vector<std::byte>;

inline Address host(unsigned number) {
    return own_host(1 + number);
}

inline Rocev2Wire open_rocev2(const Rocev2Wire::Config& config) {
    auto wire = Rocev2Wire::open(config);
    WIREPROOF_CHECK(wire.has_value());
    return std::move(*wire);
}

/// Random bytes in whole words. The wire does not look at their meaning.
inline Packet packet_of(std::size_t size, std::uint64_t seed = 1) {
    Random random(seed);
    Packet packet(size);
    for (auto& byte : packet) byte = static_cast<std::byte>(random.next());
    return packet;
}

/// Writes the first sixteen bytes in place and points to the rest.
inline void commit(Rocev2Wire& wire, PeerId to, const Packet& packet) {
    TxFrame* frame = wire.lane(to).claim();
    ASSERT_NE(frame, nullptr);
    const std::size_t head = std::min<std::size_t>(packet.size(), 16);
    std::copy_n(packet.begin(), head, frame->add_room(head).begin());
    frame->add_payload(ConstBytes(packet).subspan(head));
    wire.lane(to).commit();
}

inline bool arrives(int handle) {
    pollfd wanted{handle, POLLIN, 0};
    return ::poll(&wanted, 1, patience) == 1;
}

/// Waits for the next packet. Empty: none arrived.
inline Packet next(Rocev2Wire& wire, PeerId* from = nullptr, Instant at = now) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (wire.prepare_to_sleep() && !arrives(wire.wait_handle())) break;
        if (const auto frame = wire.receive(at)) {
            EXPECT_EQ(frame->integrity, Integrity::intact);
            if (from != nullptr) *from = frame->from;
            return {frame->bytes.begin(), frame->bytes.end()};
        }
    }
    return {};
}

/// Does not wait: on loopback a packet has arrived once it is sent.
inline bool nothing_comes(Rocev2Wire& wire) {
    return !wire.receive(now) && !wire.receive(now);
}

/// A datagram socket of a host, to send bytes of any kind.
class Stranger {
public:
    explicit Stranger(const Address& local) : socket_(*UdpSocket::open({.local = local})) {
        const int discover = IP_PMTUDISC_DO;
        ::setsockopt(socket_.handle(), IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover);
        local_ = socket_.local_address();
    }

    void send(const Address& to, ConstBytes bytes) {
        const SocketAddress there = to_socket_address(to);
        ASSERT_EQ(
            ::sendto(socket_.handle(), bytes.data(), bytes.size(), 0, &there.any, length_of(there)),
            static_cast<ssize_t>(bytes.size()));
    }

    /// The same, as segments of this many bytes in one super-packet.
    void send_segments(const Address& to, ConstBytes bytes, std::size_t size) {
        const auto segment = static_cast<int>(size);
        const auto cut_to = [this](int bytes_each) {
            return ::setsockopt(socket_.handle(), SOL_UDP, UDP_SEGMENT, &bytes_each,
                                sizeof bytes_each);
        };
        ASSERT_EQ(cut_to(segment), 0);
        send(to, bytes);
        ASSERT_EQ(cut_to(0), 0);
    }

    /// A packet and the ICRC that it has with this identification.
    Packet with_icrc(const Address& to, Packet packet, std::uint16_t identification = 0) const {
        const IcrcCover cover(
            {.from = local_, .to = to, .packet = packet.size(), .identification = identification});
        const std::uint32_t icrc = cover.icrc(packet);
        packet.resize(packet.size() + 4);
        store_le<std::uint32_t>(Bytes(packet).last<4>(), icrc);
        return packet;
    }

    Packet receive() {
        if (!arrives(socket_.handle())) return {};
        Packet bytes(2000);
        const ssize_t got = ::recv(socket_.handle(), bytes.data(), bytes.size(), 0);
        bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return bytes;
    }

    const Address& local() const { return local_; }

private:
    UdpSocket socket_;
    Address local_;
};

}  // namespace wireproof::test
