// Ports over real sockets. Queue pairs on two hosts of the loopback network exchange messages as
// RoCEv2. Every packet that arrives must be in a counter.
#include <gtest/gtest.h>

#include "tests/interop/loopback_hosts.hpp"

#include "wireproof/core/pump.hpp"
#include "wireproof/proto/ib/port/port_test_kit.hpp"
#include "wireproof/wire/faulty/faulty_wire.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::proto::ib::test {
namespace {

constexpr PeerId peer{0};

struct Setting {
    Transport transport = Transport::uc;
    std::size_t path_mtu = 1024;
    FaultRates faults = {};
};

/// A port with one connected queue pair, and its wire.
struct Host {
    Host(unsigned number, unsigned other, const Setting& setting)
        : end({.transport = setting.transport}, number),
          wire(Rocev2Wire::open({.local = wireproof::test::loopback_host(number),
                                 .peers = {wireproof::test::loopback_host(other)},
                                 .frame_max = packet_max(setting.path_mtu)})
                   .value(),
               {.rates = setting.faults, .seed = number}) {
        QueuePairChange to_rtr{.state = QueuePairState::rtr,
                               .address = peer,
                               .path_mtu = setting.path_mtu,
                               .dest_queue_pair = 0x100 + other,
                               .receive_psn = Psn(0xFFFFF0 + other)};
        QueuePairChange to_rts{.state = QueuePairState::rts, .send_psn = Psn(0xFFFFF0 + number)};
        if (setting.transport == Transport::rc) {
            to_rtr.max_dest_rd_atomic = to_rts.max_rd_atomic = 4;
            to_rtr.min_rnr_timer = 1;
            to_rts.timeout = 10;  // 4 ms
            to_rts.retry_count = 7;
            to_rts.rnr_retry = 7;
        }
        end.modify(to_init());
        end.modify(to_rtr);
        end.modify(to_rts);
    }

    void turn(Instant now) {
        pump(end.port, wire, peer, now, [](const PortEvent&) {});
    }

    End end;
    FaultyWire<Rocev2Wire> wire;
};

/// Two hosts. They take turns until the first host has what it waits for. The sockets are real and
/// time is modelled: it passes between the turns.
struct Hosts {
    explicit Hosts(const Setting& setting) : a(0, 1, setting), b(1, 0, setting) {}

    template <class Done>
    bool turn_until(Done&& done) {
        const Instant end = now + Duration::milliseconds(60'000);
        while (!done()) {
            if (now > end) return false;
            a.turn(now);
            b.turn(now);
            now = now + Duration::microseconds(50);
        }
        return true;
    }

    Instant now{Duration::milliseconds(1)};
    Host a;
    Host b;
};

TEST(Rocev2Ports, MessagesOfEveryPathMtuArriveWhole) {
    for (const std::size_t path_mtu : path_mtus) {
        Hosts hosts({.path_mtu = path_mtu});
        End& a = hosts.a.end;
        End& b = hosts.b.end;
        const auto sent = pattern(20'001, 3);
        const auto written = pattern(9'999, 5);
        a.fill(0, sent);
        a.fill(30'000, written);
        ASSERT_EQ(b.receive(1, b.piece(0, 25'000)), PostStatus::accepted);
        ASSERT_EQ(b.receive(2, b.piece(0, 0)), PostStatus::accepted);
        ASSERT_EQ(a.post({.request = Request::send}, a.piece(0, sent.size())),
                  PostStatus::accepted);
        ASSERT_EQ(a.post({.request = Request::write_immediate,
                          .immediate = 0xC0DE0001,
                          .remote_address = End::base + 40'000,
                          .remote_key = b.key},
                         a.piece(30'000, written.size())),
                  PostStatus::accepted);
        std::vector<Completion> received;
        ASSERT_TRUE(hosts.turn_until([&] {
            for (const Completion& one : b.received()) received.push_back(one);
            return received.size() == 2;
        })) << path_mtu;
        EXPECT_EQ(received[0].length, sent.size());
        EXPECT_EQ(received[1].length, written.size());
        EXPECT_EQ(received[1].immediate, 0xC0DE0001U);
        EXPECT_EQ(b.bytes(0, sent.size()), sent) << path_mtu;
        EXPECT_EQ(b.bytes(40'000, written.size()), written) << path_mtu;
        EXPECT_EQ(a.sent().size(), 2U);

        EXPECT_EQ(b.counters().executed,
                  packets_of(sent.size(), path_mtu) + packets_of(written.size(), path_mtu));
        EXPECT_EQ(b.counters().gaps, 0U);
    }
}

// Sends, Writes, Reads and Atomics, with one packet in fifty lost in each direction. Each must be
// done once, in order.
TEST(Rocev2Ports, ReliableConnectionsFinishOverALossyWire) {
    Hosts hosts({.transport = Transport::rc, .faults = {.loss = 0.02}});
    End& a = hosts.a.end;
    End& b = hosts.b.end;
    constexpr std::size_t length = 5'000;
    constexpr std::uint64_t rounds = 40;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const auto message = pattern(length, static_cast<unsigned>(round));
        a.fill(0, message);
        ASSERT_EQ(b.receive(round, b.piece(0, length)), PostStatus::accepted);
        ASSERT_EQ(a.post({.id = 4 * round, .request = Request::send}, a.piece(0, length)),
                  PostStatus::accepted);
        WorkTerms terms{.id = 4 * round + 1, .request = Request::write};
        terms.remote_address = End::base + 10'000;
        terms.remote_key = b.key;
        ASSERT_EQ(a.post(terms, a.piece(0, length)), PostStatus::accepted);
        terms.id = 4 * round + 2;
        terms.request = Request::read;
        ASSERT_EQ(a.post(terms, a.piece(20'000, length)), PostStatus::accepted);
        terms.id = 4 * round + 3;
        terms.request = Request::fetch_add;
        terms.remote_address = End::base + 30'000;
        terms.swap_or_add = 1;
        ASSERT_EQ(a.post(terms, a.piece(40'000, 8)), PostStatus::accepted);
        std::vector<Completion> sent;
        ASSERT_TRUE(hosts.turn_until([&] {
            for (const Completion& one : a.sent()) sent.push_back(one);
            return sent.size() == 4;
        })) << round;
        for (std::size_t i = 0; i < sent.size(); ++i) {
            EXPECT_EQ(sent[i].status, CompletionStatus::success);
            EXPECT_EQ(sent[i].id, 4 * round + i);
        }
        EXPECT_EQ(b.received().size(), 1U);
        EXPECT_EQ(b.bytes(0, length), message);
        EXPECT_EQ(a.bytes(20'000, length), message);
    }
    std::uint64_t sum = 0;
    std::memcpy(&sum, &b.memory[30'000], sizeof sum);
    EXPECT_EQ(sum, rounds);
    EXPECT_GT(a.counters().resent, 0U);
    EXPECT_LT(a.counters().resent, a.counters().sent / 2);
}

// Only its own peer can send packets to the queue pair.
TEST(Rocev2Ports, AnotherHostCannotSpeakToAQueuePair) {
    const Instant now;
    Host b(1, 0, {});
    Host stranger(2, 1, {});
    b.end.receive(1, b.end.piece(0, 1'000));
    stranger.end.post({.request = Request::send}, stranger.end.piece(0, 100));
    stranger.turn(now);
    for (int turns = 0; turns < 10; ++turns) b.turn(now);
    EXPECT_EQ(b.end.counters().executed, 0U);
    EXPECT_EQ(b.end.port.counters().received_as(RxVerdict::accepted), 0U);
    EXPECT_TRUE(b.end.received().empty());
}

}  // namespace
}  // namespace wireproof::proto::ib::test
