// The configurations that a port refuses, and the partitions that match.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

TEST(PortConfig, FiguresThatDoNotFitEachOtherAreRefused) {
    Port port({});
    const CompletionQueueId queue = port.add_completion_queue(4);
    const QueuePairConfig good{.send_completions = queue, .receive_completions = queue};
    const auto takes = [&](auto change) {
        QueuePairConfig config = good;
        change(config);
        return port.add_queue_pair(config).has_value();
    };
    EXPECT_TRUE(takes([](QueuePairConfig&) {}));
    EXPECT_FALSE(takes([](QueuePairConfig& config) { config.ack_every = 0; }));
    EXPECT_TRUE(takes([](QueuePairConfig& c) { c.ack_every = c.in_flight_max; }));
    EXPECT_FALSE(takes([](QueuePairConfig& c) { c.ack_every = c.in_flight_max + 1; }));
    const auto small = [](std::uint32_t in_flight) {
        return [in_flight](QueuePairConfig& config) {
            config.psn_modulus = 16;
            config.uc_behind_max = 15;
            config.ack_every = 1;
            config.in_flight_max = in_flight;
        };
    };
    EXPECT_TRUE(takes(small(8)));
    EXPECT_FALSE(takes(small(9)));
    EXPECT_FALSE(takes([&](QueuePairConfig& config) {
        small(8)(config);
        config.uc_behind_max = 16;
    }));
}

TEST(PortConfig, AQueuePairCannotHaveALongerPathOrAnotherPartitionThanThePort) {
    Port port({.path_mtu = 1024, .partitions = {0xFFFF, 0x8001}});
    const CompletionQueueId queue = port.add_completion_queue(4);
    const auto number = port.add_queue_pair(
        {.transport = Transport::uc, .send_completions = queue, .receive_completions = queue});
    ASSERT_TRUE(number);
    QueuePairChange init = to_init();
    init.partition_index = std::uint16_t{2};
    EXPECT_EQ(port.modify(*number, init), ModifyStatus::bad_value);
    init.partition_index = std::uint16_t{1};
    EXPECT_EQ(port.modify(*number, init), ModifyStatus::done);
    QueuePairChange to_rtr{.state = QueuePairState::rtr,
                           .address = other_end,
                           .path_mtu = std::size_t{2048},
                           .dest_queue_pair = 9U,
                           .receive_psn = Psn(0)};
    EXPECT_EQ(port.modify(*number, to_rtr), ModifyStatus::bad_value);
    to_rtr.path_mtu = std::size_t{1024};
    EXPECT_EQ(port.modify(*number, to_rtr), ModifyStatus::done);
}

TEST(PortConfig, ACompletionQueueIsInUseForEitherKind) {
    Port port({});
    const CompletionQueueId sends = port.add_completion_queue(4);
    const CompletionQueueId receives = port.add_completion_queue(4);
    const auto number =
        port.add_queue_pair({.send_completions = sends, .receive_completions = receives});
    ASSERT_TRUE(number);
    EXPECT_FALSE(port.remove(sends));
    EXPECT_FALSE(port.remove(receives));
    EXPECT_TRUE(port.remove_queue_pair(*number));
    EXPECT_TRUE(port.remove(receives));
    EXPECT_TRUE(port.remove(sends));
}

// Two limited members of a partition cannot communicate.
TEST(PortConfig, OneOfTwoMembersOfAPartitionMustBeAFullOne) {
    for (const int own : {0xFFFF, 0x7FFF}) {
        Port port({.partitions = {static_cast<std::uint16_t>(own)}});
        const CompletionQueueId queue = port.add_completion_queue(4);
        ASSERT_TRUE(port.add_queue_pair({.transport = Transport::uc,
                                         .number = 0x101,
                                         .send_completions = queue,
                                         .receive_completions = queue}));
        EXPECT_EQ(port.modify(0x101, to_init()), ModifyStatus::done);
        Pair pair;
        pair.send(10);
        const PacketBytes packet = pair.a.leaving(pair.now).at(0);
        for (const int from : {0xFFFF, 0x7FFF}) {
            const PacketBytes of_member = with_bth(
                packet, [&](Bth& bth) { bth.partition = static_cast<std::uint16_t>(from); });
            port.on_frame(pair.now,
                          {.bytes = of_member, .from = other_end, .integrity = Integrity::intact});
            const bool heard = ((own | from) & 0x8000) != 0;
            EXPECT_EQ(port.counters().foreign_partition, heard ? 0U : 1U) << own << " " << from;
        }
    }
}

}  // namespace
}  // namespace wireproof::proto::ib::test
