// Planned failures of receive requests. send_queue_test.cpp tests those of sends.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using enum CompletionStatus;

TEST(PlannedFailures, OfTheNthReceiveEndRcAndReachThePeer) {
    for (const auto& [told, peers] : {std::pair{local_protection_error, remote_operation_error},
                                      std::pair{remote_operation_error, remote_operation_error},
                                      std::pair{local_length_error, remote_invalid_request}}) {
        RcPair pair;
        pair.b.port.fail_receive(pair.b.number, 2, told);
        pair.receives(3);
        for (int i = 0; i < 3; ++i) pair.send(600);  // of three packets
        pair.settle();
        EXPECT_EQ(statuses(pair.b.received()), (Statuses{success, told, flushed}));
        EXPECT_EQ(statuses(pair.a.sent()), (Statuses{success, peers, flushed}));
        EXPECT_EQ(pair.got(0, 600), pattern(600, 1));
        EXPECT_EQ(pair.got(1, 600), std::vector<std::byte>(600));
        EXPECT_EQ(pair.b.state(), QueuePairState::error);
        EXPECT_EQ(pair.a.state(), QueuePairState::error);
    }
}

TEST(PlannedFailures, CountOnlyMessagesThatTakeAReceive) {
    RcPair pair;
    pair.b.port.fail_receive(pair.b.number, 1, local_protection_error);
    pair.receives(1);
    pair.post(Request::write, 10);
    pair.settle();
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{success});
    pair.post(Request::write_immediate, 10);
    pair.settle();
    EXPECT_EQ(statuses(pair.b.received()), Statuses{local_protection_error});
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{remote_operation_error});
}

TEST(PlannedFailures, OfAReceiveEndUcToo) {
    for (const CompletionStatus told : {local_protection_error, local_length_error}) {
        Pair pair;
        pair.b.port.fail_receive(pair.b.number, 1, told);
        pair.receives(2);
        for (int i = 0; i < 2; ++i) pair.send(10);
        pair.settle();
        EXPECT_EQ(statuses(pair.b.received()), (Statuses{told, flushed}));
        EXPECT_EQ(statuses(pair.a.sent()), (Statuses{success, success}));
        EXPECT_EQ(pair.b.state(), QueuePairState::error);
    }
}

TEST(PlannedFailures, OfAReceiveEndUdToo) {
    PairSettings settings{.transport = Transport::ud};
    End a(settings, 0);
    End b(settings, 1);
    for (End* end : {&a, &b}) {
        end->modify({.state = QueuePairState::init,
                     .partition_index = std::uint16_t{0},
                     .port = std::uint8_t{1},
                     .qkey = 5});
        end->modify({.state = QueuePairState::rtr});
        end->modify({.state = QueuePairState::rts, .send_psn = Psn(0xFFFFFF)});
    }
    b.port.fail_receive(b.number, 2, local_length_error);
    for (std::uint64_t id : {1U, 2U, 3U}) {
        ASSERT_EQ(b.receive(id, b.piece(0, 200)), PostStatus::accepted);
        const WorkTerms terms{
            .request = Request::send, .to = PeerId{9}, .to_queue_pair = b.number, .qkey = 5};
        ASSERT_EQ(a.post(terms, a.piece(0, 10)), PostStatus::accepted);
    }
    while (const auto packet = a.poll(Instant())) b.give(Instant(), *packet, PeerId{21});
    EXPECT_EQ(statuses(b.received()), (Statuses{success, local_length_error, flushed}));
    EXPECT_EQ(b.state(), QueuePairState::error);
}

TEST(PlannedFailures, OfAQueuePairThatIsNotThereAreNothing) {
    RcPair pair;
    pair.b.port.fail_receive(pair.b.number + 7, 1, flushed);
    pair.receives(1);
    pair.send(10);
    pair.settle();
    EXPECT_EQ(statuses(pair.b.received()), Statuses{success});
}

}  // namespace
}  // namespace wireproof::proto::ib::test
