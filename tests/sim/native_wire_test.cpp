// Queue pairs on native links of a simulated network. The VCRC finds each frame that the cable
// damages. The cable flips bits, or only marks the frame as damaged. Payload may travel by
// reference.
#include "wireproof/front/ib/native_wire.hpp"

#include <gtest/gtest.h>

#include "wireproof/core/pump.hpp"
#include "wireproof/proto/ib/port/connection.hpp"
#include "wireproof/proto/ib/port/port_test_kit.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/run.hpp"

namespace wireproof::proto::ib::test {
namespace {

constexpr std::size_t path_mtu = 512;

struct Node {
    Node(sim::Network& network, unsigned number, Transport transport = Transport::uc)
        : end({.transport = transport}, number),
          wire(network.wire(number), {.local = static_cast<PeerId>(number)}) {
        const unsigned other = 1 - number;
        end.modify(to_init());
        const auto connected = connect(end.port, end.number,
                                       {.peer = static_cast<PeerId>(other),
                                        .path_mtu = path_mtu,
                                        .dest_queue_pair = 0x100 + other,
                                        .receive_psn = Psn(0xFFFFF0),
                                        .send_psn = Psn(0xFFFFF0),
                                        .timeout = 10});
        EXPECT_EQ(connected, ModifyStatus::done);
    }
    void turn(Instant now) {
        const PeerId peer = end.port.queue_pair(end.number)->attributes().address;
        pump(end.port, wire, peer, now, [](const PortEvent&) {});
    }

    End end;
    NativeWire<sim::NodeWire> wire;
};

/// Sends 200 messages and returns how many arrived. Expects that each of these is whole.
std::size_t whole_messages(const sim::NetworkConfig& config, NativeCounters& counters) {
    sim::Network network(config);
    Node a(network, 0);
    Node b(network, 1);
    constexpr std::size_t length = 2'000;
    std::size_t whole = 0;
    Instant now;
    for (unsigned i = 0; i < 200; ++i) {
        const auto message = pattern(length, i);
        a.end.fill(0, message);
        b.end.receive(i, b.end.piece(0, length));
        a.end.post({.request = Request::send}, a.end.piece(0, length));
        a.turn(now);
        now = now + Duration::milliseconds(10);
        b.turn(now);
        a.end.sent();
        for (const Completion& one : b.end.received()) {
            EXPECT_EQ(one.length, length);
            EXPECT_EQ(b.end.bytes(0, length), message);
            ++whole;
        }
    }
    counters = b.wire.counters();
    return whole;
}

TEST(NativeWireOnCables, CarriesEverythingOnGoodOnes) {
    for (const bool lend : {false, true}) {
        NativeCounters counters;
        EXPECT_EQ(whole_messages({.lend_payload = lend}, counters), 200U);
        EXPECT_EQ(counters.faults, NativeCounters{}.faults);
    }
}

// At 1e-5 errors per bit, 96 of 100 frames of 542 bytes have no error. A message has four frames,
// so 84 of 100 messages arrive.
TEST(NativeWireOnCables, NoDamagedPacketIsHandedUp) {
    for (const bool flip : {false, true}) {
        NativeCounters counters;
        const std::size_t whole =
            whole_messages({.flip_bits = flip, .faults = {.bit_error = 1e-5}, .seed = 5}, counters);
        EXPECT_GT(counters.of(NativeFault::variant_crc), 10U) << flip;
        EXPECT_GT(whole, 140U) << flip;
        EXPECT_LT(whole, 195U) << flip;
        EXPECT_EQ(counters.other_source + counters.other_destination, 0U);
    }
}

// RC-1
TEST(NativeWireOnCables, ReliableConnectionsRepairWhatTheVariantCrcCaught) {
    constexpr unsigned messages = 60;
    constexpr std::size_t length = 800;
    for (const bool flip : {false, true}) {
        sim::Network network({.flip_bits = flip, .faults = {.bit_error = 1e-5}, .seed = 11});
        Node a(network, 0, Transport::rc);
        Node b(network, 1, Transport::rc);
        for (unsigned i = 0; i < messages; ++i) {
            a.end.fill(i * length, pattern(length, i));
            EXPECT_EQ(b.end.receive(i, b.end.piece(i * length, length)), PostStatus::accepted);
            EXPECT_EQ(
                a.end.post({.id = i, .request = Request::send}, a.end.piece(i * length, length)),
                PostStatus::accepted);
        }
        sim::Schedule schedule(2);
        const auto turn = [&](std::size_t node, Instant now) {
            Node& one = node == 0 ? a : b;
            one.turn(now);
            return one.end.port.next_deadline();
        };
        const auto ended = sim::run(network, schedule, turn, [] { return false; },
                                    {.until = Instant(Duration::milliseconds(10'000))});
        EXPECT_EQ(ended.end, sim::RunEnd::idle);
        const auto sent = a.end.sent();
        const auto received = b.end.received();
        ASSERT_EQ(sent.size(), messages);
        ASSERT_EQ(received.size(), messages);
        for (unsigned i = 0; i < messages; ++i) {
            EXPECT_EQ(sent[i].status, CompletionStatus::success);
            EXPECT_EQ(received[i].id, i);
            EXPECT_EQ(received[i].length, length);
            EXPECT_EQ(b.end.bytes(i * length, length), pattern(length, i)) << i;
        }
        const std::uint64_t caught = a.wire.counters().of(NativeFault::variant_crc) +
                                     b.wire.counters().of(NativeFault::variant_crc);
        const QueuePairCounters& counters = a.end.counters();
        EXPECT_GT(caught, 2U) << flip;
        EXPECT_GT(counters.resent, 0U) << flip;
        // At most one recovery for each damaged frame.
        EXPECT_LE(counters.went_back + counters.timeouts, caught) << flip;
    }
}

}  // namespace
}  // namespace wireproof::proto::ib::test
