// ECN of Endpoints on UDP (RFC 3168). A relay between two of them shows with which ECN field their
// frames leave, and marks each frame, as a router with a long queue does.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "wireproof/front/am/endpoint_test_kit.hpp"
#include "wireproof/wire/udp/ip_bytes.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::am::test {
namespace {

/// The byte with the ECN field of a datagram that arrived; -1: it was not reported.
int field_in(msghdr& header) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr;
         part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_TOS) return *CMSG_DATA(part);
    }
    return -1;
}

/// One end of the relay. Its address stands for that of the node behind the other end.
class RelayEnd {
public:
    RelayEnd()
        : socket_(*UdpSocket::open({.local = *Address::parse("127.0.0.1:0"),
                                    .receive_buffer = 4 << 20,
                                    .send_buffer = 4 << 20})) {
        const int on = 1;
        const int marked = ecn_marked;
        EXPECT_EQ(::setsockopt(socket_.handle(), IPPROTO_IP, IP_RECVTOS, &on, sizeof on), 0);
        EXPECT_EQ(::setsockopt(socket_.handle(), IPPROTO_IP, IP_TOS, &marked, sizeof marked), 0);
    }

    Address address() const { return socket_.local_address(); }

    /// Sends what waits here from `out` to `to`. Notes the ECN fields with which it came.
    void forward(const RelayEnd& out, const Address& to, std::set<int>& fields) const {
        std::vector<std::byte> bytes(65'536);
        alignas(cmsghdr) std::array<std::byte, 64> control{};
        const SocketAddress there = to_socket_address(to);
        while (true) {
            iovec piece{bytes.data(), bytes.size()};
            msghdr header{};
            header.msg_iov = &piece;
            header.msg_iovlen = 1;
            header.msg_control = control.data();
            header.msg_controllen = control.size();
            const ssize_t size = ::recvmsg(socket_.handle(), &header, MSG_DONTWAIT);
            if (size < 0) return;
            fields.insert(field_in(header));
            ::sendto(out.socket_.handle(), bytes.data(), static_cast<std::size_t>(size), 0,
                     &there.any, length_of(there));
        }
    }

private:
    UdpSocket socket_;
};

struct Crossed {
    std::set<int> fields;
    PeerCounters sender;
    PeerCounters receiver;
};

Crossed crossed(CongestionControl control) {
    Crossed result;
    RelayEnd near;
    RelayEnd far;
    const auto addresses = free_addresses(2);
    Options options;
    options.seed = 1;
    options.congestion_control = control;
    options.peers = {addresses[0], near.address().to_string()};
    Endpoint a = open(options, 0);
    options.peers = {far.address().to_string(), addresses[1]};
    Endpoint b = open(options, 1);
    const auto turn = [&] {
        near.forward(far, *Address::parse(addresses[1]), result.fields);
        far.forward(near, *Address::parse(addresses[0]), result.fields);
    };
    std::vector<std::byte> memory(500'000);
    const std::vector<std::byte> source(memory.size(), std::byte{7});
    const auto address = b.register_memory(0, memory, {.store = true});
    EXPECT_TRUE(address);
    bool ended = false;
    b.handle(stored, [](const Message&) {});
    EXPECT_EQ(a.store_async(1, *address, source, stored, 0, [&](Status) { ended = true; }),
              Status::ok);
    EXPECT_TRUE(run({&a, &b}, [&] {
        turn();
        return ended;
    }));
    EXPECT_EQ(memory, source);
    result.sender = a.counters(1);
    result.receiver = b.counters(0);
    return result;
}

TEST(AmEndpointEcn, WithCongestionControlMarksReachTheSender) {
    const Crossed marked = crossed(CongestionControl::always);
    EXPECT_EQ(marked.fields, std::set<int>{ecn_ect0});
    EXPECT_GT(marked.receiver.marked, 100U);
    EXPECT_GT(marked.sender.marked_at_peer, 50U);
    EXPECT_LE(marked.sender.marked_at_peer, marked.receiver.marked);
}

// By default, Endpoints on loopback have none.
TEST(AmEndpointEcn, WithoutCongestionControlFramesLeaveAsBefore) {
    const Crossed plain = crossed(CongestionControl::between_hosts);
    EXPECT_EQ(plain.fields, std::set<int>{0});
    EXPECT_EQ(plain.receiver.marked, 0U);
    EXPECT_EQ(plain.sender.marked_at_peer, 0U);
}

}  // namespace
}  // namespace wireproof::am::test
