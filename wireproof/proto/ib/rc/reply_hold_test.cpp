// Acknowledgements that wait for the answer of the own side: when one is held, and when it leaves.
#include "wireproof/proto/ib/rc/reply_hold.hpp"

#include <gtest/gtest.h>

namespace wireproof::proto::ib::test {
namespace {

constexpr Duration hold_delay = Duration::microseconds(50);
constexpr Duration hold_moment = Duration::nanoseconds(1);

class ReplyHolds : public testing::Test {
protected:
    void answer_after(Duration time) {
        hold.executed(now, hold_delay);
        now = now + time;
        hold.request_left(now);
    }
    /// The next request leaves too late.
    void wait_in_vain() {
        hold.executed(now, hold_delay);
        now = now + hold_delay;
        hold.on_deadline(now);
        now = now + hold_moment;
        hold.request_left(now);
    }

    Instant now = Instant() + Duration::milliseconds(1);
    ReplyHold hold;
};

TEST_F(ReplyHolds, NothingIsHeldBeforeTheProgramIsSeenToAnswer) {
    hold.executed(now, hold_delay);
    EXPECT_FALSE(hold.holds(now));
    EXPECT_EQ(hold.deadline(), never);
}

TEST_F(ReplyHolds, AfterAnAnswerInTimeTheNextAckWaitsForTheNextAnswer) {
    answer_after(hold_delay);
    hold.executed(now, hold_delay);
    EXPECT_TRUE(hold.holds(now + (hold_delay - hold_moment)));
    EXPECT_FALSE(hold.holds(now + hold_delay));
    EXPECT_EQ(hold.deadline(), now + hold_delay);
    hold.request_left(now + hold_moment);
    EXPECT_FALSE(hold.holds(now + hold_moment));
    EXPECT_EQ(hold.deadline(), never);
}

TEST_F(ReplyHolds, ALateAnswerDoesNotCount) {
    answer_after(hold_delay + hold_moment);
    hold.executed(now, hold_delay);
    EXPECT_FALSE(hold.holds(now));
}

TEST_F(ReplyHolds, ARequestThatAnswersNothingIsNoAnswer) {
    hold.request_left(now);
    hold.executed(now, hold_delay);
    EXPECT_FALSE(hold.holds(now));
}

// With a stream in each direction, both sides would wait for each other.
TEST_F(ReplyHolds, ASecondMessageReleasesTheAck) {
    answer_after(hold_moment);
    hold.executed(now, hold_delay);
    hold.executed(now + hold_moment, hold_delay);
    EXPECT_FALSE(hold.holds(now + hold_moment));
    EXPECT_EQ(hold.deadline(), never);
    hold.executed(now + hold_moment * 2, hold_delay);
    EXPECT_FALSE(hold.holds(now + hold_moment * 2));
}

TEST_F(ReplyHolds, AfterFourThatWaitInVainNothingIsHeld) {
    answer_after(hold_moment);
    for (int i = 0; i < 4; ++i) {
        hold.executed(now, hold_delay);
        EXPECT_TRUE(hold.holds(now)) << i;
        hold.request_left(now + hold_delay + hold_moment);
        wait_in_vain();
    }
    hold.executed(now, hold_delay);
    EXPECT_FALSE(hold.holds(now));
    hold.request_left(now);
    hold.executed(now, hold_delay);
    EXPECT_TRUE(hold.holds(now));
}

// A program computes for a long time and then posts. Nobody calls on_deadline meanwhile.
TEST_F(ReplyHolds, AnAckThatLeavesLateHasWaitedInVain) {
    answer_after(hold_moment);
    for (int i = 0; i < 4; ++i) {
        hold.executed(now, hold_delay);
        EXPECT_TRUE(hold.holds(now)) << i;
        now = now + hold_delay + hold_moment;
        hold.left(now);
        hold.request_left(now);
    }
    hold.executed(now, hold_delay);
    EXPECT_FALSE(hold.holds(now));
}

TEST_F(ReplyHolds, AnAnswerInTimeForgivesThoseThatWaitedInVain) {
    answer_after(hold_moment);
    for (int i = 0; i < 3; ++i) wait_in_vain();
    answer_after(hold_moment);
    for (int i = 0; i < 3; ++i) wait_in_vain();
    hold.executed(now, hold_delay);
    EXPECT_TRUE(hold.holds(now));
}

TEST_F(ReplyHolds, WithoutADelayNothingIsHeld) {
    answer_after(hold_moment);
    hold.executed(now, Duration());
    EXPECT_FALSE(hold.holds(now));
    EXPECT_EQ(hold.deadline(), never);
}

TEST_F(ReplyHolds, WhatIsReleasedIsNotHeld) {
    answer_after(hold_moment);
    hold.executed(now, hold_delay);
    hold.release();
    EXPECT_EQ(hold.deadline(), never);
    EXPECT_FALSE(hold.holds(now));
}

}  // namespace
}  // namespace wireproof::proto::ib::test
