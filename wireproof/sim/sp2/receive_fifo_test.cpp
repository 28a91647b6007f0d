// Tests the receive FIFO with lazy pops and overflow. Packets may be lost. But each packet that is
// read was sent, is complete, and is read once.
#include "wireproof/sim/sp2/receive_fifo.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/sim/sp2/test_machine.hpp"

namespace wireproof::sp2 {
namespace {

// Sends `count` packets without a poll. The adapter stores them or loses them.
void send_unpolled(Machine& machine, std::size_t from, std::size_t to, std::uint32_t first,
                   std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        ASSERT_TRUE(send_packet(machine, from, to, first + i));
        machine.host(from).spend(Duration::microseconds(10));
    }
}

// AM-32
TEST(Sp2ReceiveFifo, NoEntryIsReadTwiceOrOverwrittenUnreadWhateverTheLazyPop) {
    for (const std::size_t lazy_pop : {1u, 2u, 7u, 16u, 63u}) {
        Machine machine(Config{.lazy_pop = lazy_pop});
        Adapter& receiver = machine.wire(1);
        Random random(lazy_pop);
        std::uint32_t sent = 0;
        std::int64_t last = -1;
        while (sent < 3000) {
            const auto burst = static_cast<std::uint32_t>(random.below(100));
            send_unpolled(machine, 0, 1, sent, burst);
            sent += burst;
            machine.host(1).wait_until(machine.host(0).now());
            for (auto polls = random.below(120); polls > 0; --polls) {
                const auto frame = receiver.receive(machine.host(1).now());
                if (!frame) continue;
                const auto number = number_of(frame->bytes);
                ASSERT_TRUE(number) << "an entry changed while it was the host's";
                ASSERT_GT(static_cast<std::int64_t>(*number), last) << "read twice";
                last = *number;
            }
        }
        drain(machine, 1);
        EXPECT_EQ(receiver.counts().received + receiver.counts().overflows, sent);
        EXPECT_GT(receiver.counts().overflows, 100u) << "the test means to overflow";
        EXPECT_EQ(receiver.counts().pops, receiver.counts().received / lazy_pop);
    }
}

// AM-32
TEST(Sp2ReceiveFifo, EntriesReadGoBackOnlyTogether) {
    Machine machine(Config{.lazy_pop = 16});
    Adapter& receiver = machine.wire(1);
    send_unpolled(machine, 0, 1, 0, 64);
    machine.host(1).wait_until(Instant(Duration::milliseconds(2)));
    machine.host(0).wait_until(Instant(Duration::milliseconds(2)));
    for (int i = 0; i < 15; ++i) ASSERT_TRUE(receiver.receive(Instant()));
    EXPECT_EQ(receiver.receive_fifo().unreturned(), 15u);
    send_unpolled(machine, 0, 1, 64, 5);
    const Instant landed(Duration::milliseconds(3));
    ASSERT_TRUE(receiver.receive(landed));
    EXPECT_EQ(receiver.counts().overflows, 5u) << "15 entries read are not yet the adapter's";
    EXPECT_EQ(receiver.counts().pops, 0u);
    ASSERT_TRUE(receiver.receive(landed));
    EXPECT_EQ(receiver.counts().pops, 1u);
    EXPECT_EQ(receiver.receive_fifo().unreturned(), 1u);
    machine.host(0).wait_until(landed);
    send_unpolled(machine, 0, 1, 100, 20);
    machine.host(1).wait_until(Instant(Duration::milliseconds(4)));
    drain(machine, 1);
    EXPECT_EQ(receiver.counts().overflows, 9u) << "16 of 20 found an entry";
    EXPECT_EQ(receiver.counts().received, 80u);
}

// AM-32
TEST(Sp2ReceiveFifo, ALentPacketStaysWhileOthersArrive) {
    Machine machine(Config{.receive_entries_per_peer = 2, .lazy_pop = 1});
    send_unpolled(machine, 0, 1, 0, 1);
    const auto frame = machine.wire(1).receive(machine.wire(1).next_deadline());
    ASSERT_TRUE(frame);
    send_unpolled(machine, 0, 1, 1, 10);
    machine.host(1).wait_until(Instant(Duration::milliseconds(1)));
    EXPECT_NE(machine.wire(1).next_deadline(), never);
    EXPECT_EQ(number_of(frame->bytes), 0u);
}

// AM-20, the part of the hardware: packets are lost, and later ones arrive.
TEST(Sp2ReceiveFifo, OneSlowReceiverKeeps64PacketsPerActivePeerAndLosesTheRest) {
    Machine machine(Config{.nodes = 8});
    ASSERT_EQ(machine.wire(0).receive_fifo().unread(), 0u);
    for (std::uint32_t i = 0; i < 100; ++i) {
        for (std::size_t from = 1; from < 8; ++from) {
            ASSERT_TRUE(send_packet(machine, from, 0, i));
            machine.host(from).spend(Duration::microseconds(100));
        }
    }
    Adapter& receiver = machine.wire(0);
    machine.host(0).wait_until(Instant(Duration::milliseconds(50)));
    std::vector<std::int64_t> last(8, -1);
    while (const auto frame = receiver.receive(Instant())) {
        const auto number = number_of(frame->bytes);
        ASSERT_TRUE(number);
        auto& from = last[static_cast<std::size_t>(frame->from)];
        EXPECT_EQ(*number, from + 1) << "in order, without a gap: the first fit";
        from = *number;
    }
    EXPECT_EQ(receiver.counts().received, 7u * 64);
    EXPECT_EQ(receiver.counts().overflows, 7u * 36);
    machine.host(3).wait_until(machine.host(0).now());
    ASSERT_TRUE(send_packet(machine, 3, 0, 999));
    EXPECT_EQ(drain(machine, 0), "3:999");
}

// AM-20
TEST(Sp2ReceiveFifo, TheNumberOfActivePeersIsFixedForARun) {
    Machine machine(Config{.nodes = 8, .active_peers = 1});
    for (const std::size_t from : {1u, 2u}) send_unpolled(machine, from, 0, 0, 50);
    machine.host(0).wait_until(Instant(Duration::milliseconds(5)));
    drain(machine, 0);
    EXPECT_EQ(machine.wire(0).counts().received, 64u);
    EXPECT_EQ(machine.wire(0).counts().overflows, 36u);
}

TEST(Sp2ReceiveFifoDeathTest, AFullFifoTakesNothing) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const std::vector<std::byte> packet(4);
    ReceiveFifo fifo(1, 4);
    fifo.deposit(packet, 1, Instant());
    fifo.read();
    EXPECT_TRUE(fifo.full()) << "read is not returned";
    EXPECT_DEATH(fifo.deposit(packet, 1, Instant()), "full");
}

}  // namespace
}  // namespace wireproof::sp2
