// Tests the packet-length array: when the adapter transmits an entry, how many entries may wait,
// and batches of lengths.
#include "wireproof/sim/sp2/send_fifo.hpp"

#include <gtest/gtest.h>

#include "wireproof/sim/sp2/test_machine.hpp"

namespace wireproof::sp2 {
namespace {

// AM-29
TEST(Sp2SendFifo, AnEntryIsTransmittedOnlyAfterItsLengthSlotBecameNonzero) {
    Machine machine(Config{});
    const SendFifo& fifo = machine.wire(0).send_fifo();
    ASSERT_TRUE(commit_packet(machine, 0, 1, 7, 36));
    EXPECT_EQ(fifo.length_slot(0, machine.host(0).now()), 0);
    EXPECT_EQ(machine.wire(0).counts().sent, 0u);
    EXPECT_EQ(machine.wire(1).next_deadline(), never) << "composed is not sent";

    const Instant stored = Instant(Duration::microseconds(50));
    machine.wire(0).flush(stored + Duration::microseconds(-1));
    ASSERT_EQ(machine.host(0).now(), stored) << "the access takes until then";
    EXPECT_EQ(fifo.length_slot(0, stored), 36);
    const Costs costs;
    EXPECT_EQ(machine.wire(1).next_deadline(), stored + costs.send_latency + costs.switch_latency +
                                                   costs.on_link(36) + costs.receive_latency);
}

// AM-29
TEST(Sp2SendFifo, TheAdapterZeroesASlotWhenItHasTheEntry) {
    Machine machine(Config{});
    const SendFifo& fifo = machine.wire(0).send_fifo();
    ASSERT_TRUE(send_packet(machine, 0, 1, 7));
    const Instant taken = machine.host(0).now() + Costs().send_occupancy;
    EXPECT_EQ(fifo.length_slot(0, taken + Duration(-1)), 256);
    EXPECT_EQ(fifo.length_slot(0, taken), 0);
}

// AM-29, AM-30
TEST(Sp2SendFifo, RoomIsLentOnlyWhereTheSlotIsZeroAndAtMost128EntriesPend) {
    Machine machine(Config{.costs = quick_host()});
    const SendFifo& fifo = machine.wire(0).send_fifo();
    Host& host = machine.host(0);
    std::size_t most = 0;
    int refusals = 0;
    for (std::uint32_t number = 0; number < 1000;) {
        if (machine.wire(0).lane(PeerId{1}).claim() != nullptr) {
            ASSERT_EQ(fifo.length_slot(fifo.next(), host.now()), 0);
            ASSERT_TRUE(commit_packet(machine, 0, 1, number++));
        } else {
            ++refusals;
            EXPECT_EQ(fifo.pending(host.now()), 128u);
            machine.wire(0).flush(host.now());
            const Instant room = machine.wire(0).next_deadline();
            ASSERT_GT(room, host.now());
            EXPECT_NE(fifo.length_slot(fifo.next(), room + Duration(-1)), 0);
            host.wait_until(room);
        }
        most = std::max(most, fifo.pending(host.now()));
    }
    EXPECT_EQ(most, 128u);
    EXPECT_GT(refusals, 800) << "hosts that work in no time wait for the link";
}

// AM-29
TEST(Sp2SendFifoDeathTest, ALengthIsNeverStoredOverOneThatIsNotZero) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    SendFifo fifo(Config{.send_entries = 1});
    fifo.compose(10, 1, false);
    fifo.store_length(Instant());
    fifo.compose(10, 1, false);
    EXPECT_DEATH(fifo.store_length(Instant()), "taken <= now");
}

// AM-31
TEST(Sp2SendFifo, BatchedLengthsGiveTheOrderOfSingleOnesWithFewerAccesses) {
    std::string single;
    for (const std::size_t batch : {1u, 4u, 8u, 5u}) {
        Machine machine(Config{.lazy_pop = 4, .lengths_per_access = batch});
        std::string order;
        for (std::uint32_t chunk = 0; chunk < 5; ++chunk) {
            for (std::uint32_t i = 0; i < 36; ++i) {
                ASSERT_TRUE(commit_packet(machine, 0, 1, chunk * 36 + i));
            }
            machine.wire(0).flush(machine.host(0).now());
            order += drain(machine, 1) + ' ';
            machine.host(0).wait_until(machine.host(1).now());
        }
        EXPECT_EQ(machine.wire(1).counts().received, 180u);
        if (batch == 1) single = order;
        EXPECT_EQ(order, single) << "batches of " << batch;
        // 180 slots: a word of 4 slots ends with each chunk. Words of 8 and 5 slots are cut by the
        // ends of chunks and by the end of the array.
        const std::uint64_t accesses = batch == 1 ? 180 : batch == 4 ? 45 : batch == 8 ? 25 : 41;
        EXPECT_EQ(machine.wire(0).counts().length_stores, accesses) << "batches of " << batch;
    }
}

// AM-31
TEST(Sp2SendFifo, ABatchCostsOneAccessHoweverManyLengthsItHolds) {
    for (const std::uint32_t packets : {1u, 3u, 4u}) {
        Machine machine(Config{});
        for (std::uint32_t i = 0; i < packets; ++i) ASSERT_TRUE(commit_packet(machine, 0, 1, i));
        machine.wire(0).flush(machine.host(0).now());
        const Costs costs;
        EXPECT_EQ(machine.host(0).now(),
                  Instant() + costs.compose(256) * packets + costs.bus_access);
    }
}

// AM-30: the slot of a composed entry whose length is not stored also reads zero, but is not free.
TEST(Sp2SendFifo, WhatIsComposedIsNotTakenForFree) {
    Machine machine(Config{.costs = quick_host(), .send_entries = 8, .lengths_per_access = 8});
    const SendFifo& fifo = machine.wire(0).send_fifo();
    Host& host = machine.host(0);
    std::uint32_t number = 0;
    const auto compose = [&](int packets) {
        for (int i = 0; i < packets; ++i) ASSERT_TRUE(commit_packet(machine, 0, 1, number++));
    };
    const auto until_taken = [&](std::size_t entry) {
        while (fifo.length_slot(entry, host.now()) != 0) {
            host.wait_until(host.now() + Duration::nanoseconds(100));
        }
    };
    compose(8);  // also stores their lengths
    until_taken(3);
    compose(4);
    until_taken(5);
    ASSERT_NE(fifo.length_slot(6, host.now()), 0);
    compose(2);
    EXPECT_EQ(fifo.composed(), 6u);
    EXPECT_EQ(machine.wire(0).lane(PeerId{1}).claim(), nullptr);
}

TEST(Sp2SendFifo, TheAdapterTakesNoMoreThanItHasPlacesFor) {
    const Config config{.costs = quick_host(), .adapter_packets = 2};
    SendFifo fifo(config);
    Instant leaves[4];
    for (Instant& each : leaves) {
        fifo.compose(256, 1, false);
        each = fifo.store_length(Instant()).leaves;
    }
    const Costs costs;
    const Instant first = Instant() + costs.send_latency;
    EXPECT_EQ(leaves[0], first);
    // The second packet is ready in time and follows at once. The third waits until the first has
    // left.
    EXPECT_EQ(leaves[1], first + costs.on_link(256));
    EXPECT_EQ(leaves[2], first + costs.on_link(256) + costs.send_latency);
    EXPECT_EQ(fifo.pending(first + costs.on_link(256)), 2u);
}

}  // namespace
}  // namespace wireproof::sp2
