// RC queue pairs whose programs answer each message: the answer leaves first, then the
// acknowledgement. RC-11 allows an acknowledgement to leave later.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

constexpr Duration reply_delay = Duration::microseconds(20);
constexpr Duration reply_moment = Duration::nanoseconds(1);

PairSettings answering() {
    PairSettings settings = rc_settings({.timeout = 14});
    settings.queue_pair.ack_delay = reply_delay;
    settings.queue_pair.limits = {.sends = 64, .receives = 64, .pieces = 2};
    return settings;
}

class RcReplyHold : public testing::Test {
protected:
    /// A Write of `a` arrives, perhaps followed by an acknowledgement of `a`.
    void write_arrives() {
        pair.post(Request::write, 8);
        const auto verdicts = pair.give(pair.a_leaving());
        ASSERT_FALSE(verdicts.empty());
        EXPECT_EQ(verdicts[0], RxVerdict::accepted);
    }
    /// The program of `b` answers by a Write.
    void b_answers(std::uint32_t length = 8) {
        const WorkTerms terms{.id = ++answers,
                              .request = Request::write,
                              .remote_address = End::base + 0x7000,
                              .remote_key = pair.a.key};
        EXPECT_EQ(pair.b.post(terms, pair.b.piece(0x7000, length)), PostStatus::accepted);
    }
    /// The packets of `b` arrive, and `a` acknowledges them. Returns their names.
    Names b_sends() {
        const auto packets = pair.b.leaving(pair.now);
        for (const PacketBytes& packet : packets) pair.a.give(pair.now, packet);
        pair.give(pair.a_leaving());
        return names_with_msn(packets);
    }
    /// One message each way; the acknowledgement of the first leaves at once.
    void show_an_answer() {
        write_arrives();
        EXPECT_EQ(b_sends().size(), 1U);
        b_answers();
        EXPECT_EQ(b_sends().size(), 1U);
        pair.a.sent();
    }

    std::uint64_t answers = 100;
    RcPair pair{answering()};
};

// Across the wrap of PSNs.
TEST_F(RcReplyHold, TheAnswerLeavesFirstAndTheAckBehindIt) {
    show_an_answer();
    for (int i = 0; i < 5; ++i) {
        write_arrives();
        EXPECT_EQ(b_sends(), Names{}) << i;
        EXPECT_EQ(pair.b.port.next_deadline(), pair.now + reply_delay);
        b_answers();
        const Names both = b_sends();
        ASSERT_EQ(both.size(), 2U) << i;
        EXPECT_TRUE(both[0].starts_with("WRITE Only")) << both[0];
        EXPECT_TRUE(both[1].starts_with("ACK")) << both[1];
        EXPECT_EQ(pair.a.sent().size(), 1U);
    }
    EXPECT_EQ(pair.a.counters().resent + pair.b.counters().resent, 0U);
    EXPECT_EQ(pair.b.counters().acks_sent, 6U);
}

TEST_F(RcReplyHold, TheAckFollowsTheLastPacketOfALongAnswer) {
    show_an_answer();
    write_arrives();
    b_answers(3 * 256);
    const Names all = b_sends();
    ASSERT_EQ(all.size(), 4U);
    EXPECT_TRUE(all[0].starts_with("WRITE First")) << all[0];
    EXPECT_TRUE(all[1].starts_with("WRITE Middle")) << all[1];
    EXPECT_TRUE(all[2].starts_with("WRITE Last")) << all[2];
    EXPECT_TRUE(all[3].starts_with("ACK")) << all[3];
}

TEST_F(RcReplyHold, WithoutAnAnswerTheAckLeavesAfterTheDelay) {
    show_an_answer();
    write_arrives();
    pair.pass(reply_delay - reply_moment);
    EXPECT_EQ(pair.b_says(), Names{});
    pair.pass(reply_moment);
    EXPECT_EQ(pair.b_says().size(), 1U);
    EXPECT_EQ(pair.b.counters().acks_sent, 2U);
}

TEST_F(RcReplyHold, AProgramThatStopsAnsweringCostsFourDelays) {
    show_an_answer();
    for (int i = 0; i < 4; ++i) {
        pair.pass(reply_delay * 2);
        write_arrives();
        EXPECT_EQ(b_sends(), Names{}) << i;
        pair.pass(reply_delay);
        EXPECT_EQ(b_sends().size(), 1U) << i;
        b_answers();  // late
        pair.pass(reply_moment);
        EXPECT_EQ(b_sends().size(), 1U) << i;
    }
    for (int i = 0; i < 100; ++i) {
        write_arrives();
        ASSERT_EQ(pair.b.port.next_deadline(), never);
        ASSERT_EQ(b_sends().size(), 1U);
    }
}

// Otherwise, both sides would wait for each other.
TEST_F(RcReplyHold, ASecondMessageSendsTheAckOff) {
    show_an_answer();
    write_arrives();
    EXPECT_EQ(b_sends(), Names{});
    write_arrives();
    EXPECT_EQ(b_sends().size(), 1U);
}

// As with shared memory: no acknowledgement is held to save packets, but the answer also leaves
// first.
TEST_F(RcReplyHold, TheAckOfAPeerThatIsNearWaitsForTheAnswer) {
    pair.b.port.set_near(other_end, true);
    show_an_answer();
    write_arrives();
    EXPECT_EQ(b_sends(), Names{});
    b_answers();
    EXPECT_EQ(b_sends().size(), 2U);
}

// The program is about to remove the queue pair.
TEST_F(RcReplyHold, WhatIsHeldLeavesWhenItIsReleased) {
    show_an_answer();
    write_arrives();
    EXPECT_EQ(b_sends(), Names{});
    pair.b.port.release_acks(pair.b.number);
    EXPECT_EQ(pair.b.port.next_deadline(), never);
    EXPECT_EQ(b_sends().size(), 1U);
    EXPECT_EQ(pair.a.sent().size(), 1U);
    pair.b.port.release_acks(pair.b.number);
    EXPECT_EQ(b_sends(), Names{});
}

// RC-2
TEST_F(RcReplyHold, ANakIsNotHeld) {
    show_an_answer();
    pair.post(Request::write, 8);
    pair.post(Request::write, 8);
    const auto packets = pair.a_leaving();
    EXPECT_EQ(pair.give({packets[1]}), std::vector{RxVerdict::out_of_sequence});
    const Names said = pair.b_says();
    ASSERT_EQ(said.size(), 1U);
    EXPECT_TRUE(said[0].starts_with("NAK sequence"));
}

TEST_F(RcReplyHold, WhetherAnswersAreExpectedIsInTheFingerprint) {
    const auto print = [this] {
        Fingerprint sink;
        pair.b.port.fingerprint(pair.now, sink);
        return sink.value();
    };
    const auto before = print();
    pair.pass(reply_moment);
    EXPECT_EQ(print(), before);
    show_an_answer();
    write_arrives();
    const auto held = print();
    pair.pass(reply_moment);
    EXPECT_NE(print(), held);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
