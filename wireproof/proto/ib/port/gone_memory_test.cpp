// Memory that a process unmaps while it is registered. A work request or a peer that names this
// memory gets an error and no data, as if the region had ended.
#include <gtest/gtest.h>

#include "wireproof/base/publish.hpp"
#include "wireproof/proto/ib/port/connection.hpp"
#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

/// The memory that is gone. It is a global variable because a Copy function has no state.
ConstBytes gone;

bool meets_gone(const std::byte* from, std::size_t size) {
    return from < gone.data() + gone.size() && gone.data() < from + size;
}

bool copy_unless_gone(std::byte* to, const std::byte* from, std::size_t size) {
    if (meets_gone(to, size) || meets_gone(from, size)) return false;
    copy_last_word_last(to, from, size);
    return true;
}

class GoneMemory : public ::testing::Test {
protected:
    GoneMemory() {
        pair.a.port.memory().copy_with(copy_unless_gone);
        pair.b.port.memory().copy_with(copy_unless_gone);
    }
    ~GoneMemory() override { gone = {}; }
    GoneMemory(const GoneMemory&) = delete;
    GoneMemory& operator=(const GoneMemory&) = delete;

    static void unmap(const End& end, std::size_t offset, std::size_t size) {
        gone = ConstBytes(end.memory).subspan(offset, size);
    }
    Statuses outcome() {
        pair.settle();
        return statuses(pair.a.sent());
    }

    RcPair pair;
};

// RC-17
TEST_F(GoneMemory, AWriteIsRefused) {
    unmap(pair.b, 0x4200, 1);
    const WorkTerms terms{.id = 1,
                          .request = Request::write,
                          .remote_address = End::base + 0x4000,
                          .remote_key = pair.b.key};
    EXPECT_EQ(pair.a.post(terms, pair.a.piece(0, 600)), PostStatus::accepted);
    EXPECT_EQ(outcome(), Statuses{CompletionStatus::remote_access_error});
    EXPECT_EQ(pair.b.events(), (std::vector{PortEvent{PortEvent::What::access_refused, 0x101}}));
}

// RC-17: in a packet, the first and the last byte are checked for their pages.
TEST_F(GoneMemory, AReadIsRefused) {
    for (const std::size_t at : {0U, 255U}) {
        RcPair own;
        own.b.port.memory().copy_with(copy_unless_gone);
        own.read(256);
        unmap(own.b, 0x4000 + at, 1);
        own.settle();
        EXPECT_EQ(statuses(own.a.sent()), Statuses{CompletionStatus::remote_access_error}) << at;
        EXPECT_EQ(own.b.counters().reads_broken, 1U);
    }
}

// A packet of 4096 bytes may be in two pages, and one of 9000 bytes in three or more.
TEST_F(GoneMemory, EveryPageIsLookedAt) {
    const std::vector<std::byte> bytes(9000);
    for (const std::size_t at : {0U, 4096U, 8192U, 8999U}) {
        gone = ConstBytes(bytes).subspan(at, 1);
        EXPECT_FALSE(pair.a.port.memory().is_there(bytes)) << at;
    }
    gone = {};
    EXPECT_TRUE(pair.a.port.memory().is_there(bytes));
    EXPECT_TRUE(pair.a.port.memory().is_there({}));
}

TEST_F(GoneMemory, AnAtomicIsRefused) {
    unmap(pair.b, 0x6000, 8);
    pair.atomic(Request::fetch_add, 1);
    EXPECT_EQ(outcome(), Statuses{CompletionStatus::remote_access_error});
    EXPECT_EQ(pair.target(), 0U);
}

TEST_F(GoneMemory, ASendOutOfItIsALocalErrorAndLeavesNoPacket) {
    pair.receives(1);
    unmap(pair.a, 0, 4096);
    pair.send(10);
    EXPECT_TRUE(pair.a_leaving().empty());
    EXPECT_EQ(outcome(), Statuses{CompletionStatus::local_protection_error});
}

TEST_F(GoneMemory, ALastPageThatIsGoneIsNoticed) {
    pair.receives(1);
    unmap(pair.a, 9, 1);
    pair.send(10);
    EXPECT_TRUE(pair.a_leaving().empty());
    EXPECT_EQ(outcome(), Statuses{CompletionStatus::local_protection_error});
}

// RC-18
TEST_F(GoneMemory, AReceiveIntoItFailsAtBothEnds) {
    pair.receives(1);
    unmap(pair.b, 0, pair.b.memory.size());
    pair.send(10);
    EXPECT_EQ(outcome(), Statuses{CompletionStatus::remote_operation_error});
    EXPECT_EQ(statuses(pair.b.received()), Statuses{CompletionStatus::local_protection_error});
}

TEST_F(GoneMemory, AReadIntoItIsALocalError) {
    unmap(pair.a, 0x2000, 1);
    pair.read(10);
    EXPECT_EQ(outcome(), Statuses{CompletionStatus::local_protection_error});
    EXPECT_EQ(pair.b.counters().naks_sent, 0U);
}

TEST_F(GoneMemory, TheResultOfAnAtomicIntoItIsALocalError) {
    unmap(pair.a, 0x3000, 1);
    pair.atomic(Request::fetch_add, 5);
    EXPECT_EQ(outcome(), Statuses{CompletionStatus::local_protection_error});
    EXPECT_EQ(pair.target(), 5U);
}

// A queue pair that fails when it is asked leaves its room to one that was asked before it in the
// same call. The caller asks no more after a call that finds nothing to send.
TEST_F(GoneMemory, AFailureLeavesItsRoomToAQueuePairThatWasAskedBefore) {
    PairSettings settings = rc_settings();
    settings.peer_window = {.start = 4, .least = 2, .most = 4};
    RcPair own(settings);
    own.a.port.memory().copy_with(copy_unless_gone);
    const std::uint32_t reads = own.a.port
                                    .add_queue_pair({.transport = Transport::rc,
                                                     .number = own.a.number + 1,
                                                     .domain = domain,
                                                     .send_completions = own.a.sends,
                                                     .receive_completions = own.a.receives})
                                    .value();
    ASSERT_EQ(own.a.port.modify(reads, test::to_init()), ModifyStatus::done);
    ASSERT_EQ(ib::connect(own.a.port, reads, {.peer = other_end, .path_mtu = test_mtu}),
              ModifyStatus::done);
    own.post(Request::write, 0x300);
    ASSERT_EQ(own.a_leaving().size(), 3U);
    ASSERT_EQ(own.a.port.last_sender(), own.a.number);
    const Piece piece = own.a.piece(0x2000, 0x800);
    ASSERT_EQ(own.a.port.post_send(
                  reads, {.terms = {.request = Request::read}, .pieces = std::span(&piece, 1)}),
              PostStatus::accepted);
    own.post(Request::write, 10, 0x1000);
    unmap(own.a, 0x1000, 10);
    EXPECT_EQ(names(own.a_leaving()), Names{"READ Request 000000"});
    EXPECT_EQ(own.a.state(), QueuePairState::error);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
