// Acknowledgements that wait for the answer of the own side: when one is held, and when it leaves.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/ack_policy.hpp"

namespace wireproof::proto::ib::test {
namespace {

constexpr Duration hold_delay = Duration::microseconds(50);
constexpr Duration hold_moment = Duration::nanoseconds(1);

class ReplyHolds : public testing::Test {
protected:
    /// The peer is near, so its ACKs wait only for answers.
    void execute(Instant when, Duration delay = hold_delay) {
        hold.executed(when, {.ends = true, .asks = true}, {.delay = delay, .near = true});
    }
    void answer_after(Duration time) {
        execute(now);
        now = now + time;
        hold.request_left(now);
    }
    /// The next request leaves too late.
    void wait_in_vain() {
        execute(now);
        now = now + hold_delay;
        hold.on_deadline(now);
        now = now + hold_moment;
        hold.request_left(now);
    }

    Instant now = Instant() + Duration::milliseconds(1);
    AckPolicy hold;
};

TEST_F(ReplyHolds, NothingIsHeldBeforeTheProgramIsSeenToAnswer) {
    execute(now);
    EXPECT_FALSE(hold.holds(now));
    EXPECT_EQ(hold.deadline(), never);
}

TEST_F(ReplyHolds, AfterAnAnswerInTimeTheNextAckWaitsForTheNextAnswer) {
    answer_after(hold_delay);
    execute(now);
    EXPECT_TRUE(hold.holds(now + (hold_delay - hold_moment)));
    EXPECT_FALSE(hold.holds(now + hold_delay));
    EXPECT_EQ(hold.deadline(), now + hold_delay);
    hold.request_left(now + hold_moment);
    EXPECT_FALSE(hold.holds(now + hold_moment));
    EXPECT_EQ(hold.deadline(), never);
}

TEST_F(ReplyHolds, ALateAnswerDoesNotCount) {
    answer_after(hold_delay + hold_moment);
    execute(now);
    EXPECT_FALSE(hold.holds(now));
}

TEST_F(ReplyHolds, ARequestThatAnswersNothingIsNoAnswer) {
    hold.request_left(now);
    execute(now);
    EXPECT_FALSE(hold.holds(now));
}

// With a stream in each direction, both sides would wait for each other.
TEST_F(ReplyHolds, ASecondMessageReleasesTheAck) {
    answer_after(hold_moment);
    execute(now);
    execute(now + hold_moment);
    EXPECT_FALSE(hold.holds(now + hold_moment));
    EXPECT_EQ(hold.deadline(), never);
    execute(now + hold_moment * 2);
    EXPECT_FALSE(hold.holds(now + hold_moment * 2));
}

TEST_F(ReplyHolds, AfterFourThatWaitInVainNothingIsHeld) {
    answer_after(hold_moment);
    for (int i = 0; i < 4; ++i) {
        execute(now);
        EXPECT_TRUE(hold.holds(now)) << i;
        hold.request_left(now + hold_delay + hold_moment);
        wait_in_vain();
    }
    execute(now);
    EXPECT_FALSE(hold.holds(now));
    hold.request_left(now);
    execute(now);
    EXPECT_TRUE(hold.holds(now));
}

// A program computes for a long time and then posts. Nobody calls on_deadline meanwhile.
TEST_F(ReplyHolds, AnAckThatLeavesLateHasWaitedInVain) {
    answer_after(hold_moment);
    for (int i = 0; i < 4; ++i) {
        execute(now);
        EXPECT_TRUE(hold.holds(now)) << i;
        now = now + hold_delay + hold_moment;
        hold.left(now);
        hold.request_left(now);
    }
    execute(now);
    EXPECT_FALSE(hold.holds(now));
}

TEST_F(ReplyHolds, AnAnswerInTimeForgivesThoseThatWaitedInVain) {
    answer_after(hold_moment);
    for (int i = 0; i < 3; ++i) wait_in_vain();
    answer_after(hold_moment);
    for (int i = 0; i < 3; ++i) wait_in_vain();
    execute(now);
    EXPECT_TRUE(hold.holds(now));
}

TEST_F(ReplyHolds, WithoutADelayNothingIsHeld) {
    answer_after(hold_moment);
    execute(now, Duration());
    EXPECT_FALSE(hold.holds(now));
    EXPECT_EQ(hold.deadline(), never);
}

TEST_F(ReplyHolds, WhatIsReleasedIsNotHeld) {
    answer_after(hold_moment);
    execute(now);
    hold.release();
    EXPECT_EQ(hold.deadline(), never);
    EXPECT_FALSE(hold.holds(now));
}

}  // namespace
}  // namespace wireproof::proto::ib::test
