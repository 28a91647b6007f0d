// Ports over real sockets: queue pairs on two hosts of the loopback network exchange messages as
// RoCEv2, and every packet that came is in a counter.
#include <gtest/gtest.h>

#include "tests/interop/loopback_hosts.hpp"

#include "wireproof/core/pump.hpp"
#include "wireproof/proto/ib/port_test_kit.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::ib::test {
namespace {

constexpr PeerId peer{0};
constexpr Instant now{};

/// A port with one connected queue pair, and its wire.
struct Host {
    Host(unsigned number, unsigned other, std::size_t path_mtu)
        : end({}, number),
          wire(Rocev2Wire::open({.local = wireproof::test::loopback_host(number),
                                 .peers = {wireproof::test::loopback_host(other)},
                                 .frame_max = packet_max(path_mtu)})
                   .value()) {
        end.modify(to_init());
        end.modify({.state = QueuePairState::rtr,
                    .address = peer,
                    .path_mtu = path_mtu,
                    .dest_queue_pair = 0x100 + other,
                    .receive_psn = Psn(0xFFFFF0 + other)});
        end.modify({.state = QueuePairState::rts, .send_psn = Psn(0xFFFFF0 + number)});
    }

    void turn() {
        pump(end.port, wire, peer, now, [](const PortEvent&) {});
    }

    End end;
    Rocev2Wire wire;
};

TEST(Rocev2Ports, MessagesOfEveryPathMtuArriveWhole) {
    for (const std::size_t path_mtu : path_mtus) {
        Host a(0, 1, path_mtu);
        Host b(1, 0, path_mtu);
        const auto sent = pattern(20'001, 3);
        const auto written = pattern(9'999, 5);
        a.end.fill(0, sent);
        a.end.fill(30'000, written);
        ASSERT_EQ(b.end.receive(1, b.end.piece(0, 25'000)), PostStatus::accepted);
        ASSERT_EQ(b.end.receive(2, b.end.piece(0, 0)), PostStatus::accepted);
        ASSERT_EQ(a.end.post(now, {.request = Request::send}, a.end.piece(0, sent.size())),
                  PostStatus::accepted);
        ASSERT_EQ(a.end.post(now,
                             {.request = Request::write_immediate,
                              .immediate = 0xC0DE0001,
                              .remote_address = End::base + 40'000,
                              .remote_key = b.end.key},
                             a.end.piece(30'000, written.size())),
                  PostStatus::accepted);
        std::vector<Completion> received;
        for (int turns = 0; turns < 1'000 && received.size() < 2; ++turns) {
            a.turn();
            b.turn();
            for (const Completion& one : b.end.received()) received.push_back(one);
        }
        ASSERT_EQ(received.size(), 2U) << path_mtu;
        EXPECT_EQ(received[0].length, sent.size());
        EXPECT_EQ(received[1].length, written.size());
        EXPECT_EQ(received[1].immediate, 0xC0DE0001U);
        EXPECT_EQ(b.end.bytes(0, sent.size()), sent) << path_mtu;
        EXPECT_EQ(b.end.bytes(40'000, written.size()), written) << path_mtu;
        EXPECT_EQ(a.end.sent().size(), 2U);

        const std::uint64_t packets =
            packets_of(sent.size(), path_mtu) + packets_of(written.size(), path_mtu);
        EXPECT_EQ(b.wire.counters().udp.frames_received, packets);
        EXPECT_EQ(b.end.counters().executed, packets);
        EXPECT_EQ(b.end.counters().gaps, 0U);
    }
}

// What is not addressed to the queue pair by its peer never reaches it.
TEST(Rocev2Ports, AnotherHostCannotSpeakToAQueuePair) {
    Host b(1, 0, 1024);
    Host stranger(2, 1, 1024);
    b.end.receive(1, b.end.piece(0, 1'000));
    stranger.end.post(now, {.request = Request::send}, stranger.end.piece(0, 100));
    stranger.turn();
    for (int turns = 0; turns < 10; ++turns) b.turn();
    EXPECT_EQ(b.wire.counters().udp.unknown_source, 1U);
    EXPECT_EQ(b.end.counters().executed, 0U);
}

}  // namespace
}  // namespace wireproof::ib::test
