// Programs that poll again soon, and programs that leave the rest to the keeper.
#include "wireproof/front/verbs/poll_habit.hpp"

#include <gtest/gtest.h>

namespace wireproof::verbs {
namespace {

constexpr Duration step = Duration::microseconds(1);
constexpr Duration long_time = Duration::microseconds(200);

class PollHabits : public ::testing::Test {
protected:
    void poll_after(Duration time) { habit_.polled(now_ = now_ + time); }
    /// A poll finds a completion, and the next poll comes after this time.
    void find_and_poll_after(Duration time) {
        habit_.found();
        poll_after(time);
    }
    /// The program finds a completion and does not poll again. The keeper receives what comes.
    void leave_it_to_the_keeper() {
        poll_after(step);
        habit_.found();
        now_ = now_ + long_time;
        habit_.keeper_received(now_);
    }

    Instant now_ = Instant() + Duration::microseconds(1000);
    PollHabit habit_;
};

TEST_F(PollHabits, AProgramIsBelievedToPollAgain) {
    EXPECT_TRUE(habit_.comes_back());
    find_and_poll_after(long_time);  // nothing came meanwhile
    EXPECT_TRUE(habit_.comes_back());
}

TEST_F(PollHabits, OneForWhichTheKeeperHadToReceiveIsNot) {
    leave_it_to_the_keeper();
    EXPECT_FALSE(habit_.comes_back());
}

TEST_F(PollHabits, TheKeeperThatReceivesBetweenTwoPollsSaysNothing) {
    poll_after(step);
    habit_.found();
    habit_.keeper_received(now_ + Duration::microseconds(19));
    EXPECT_TRUE(habit_.comes_back());
}

TEST_F(PollHabits, TheKeeperThatReceivesAfterAPollThatFoundNothingSaysNothing) {
    poll_after(step);
    habit_.keeper_received(now_ + long_time);
    EXPECT_TRUE(habit_.comes_back());
}

TEST_F(PollHabits, SixteenPollsThatComeSoonAreBelieved) {
    leave_it_to_the_keeper();
    poll_after(long_time);
    for (int i = 0; i < 15; ++i) find_and_poll_after(step);
    EXPECT_FALSE(habit_.comes_back());
    find_and_poll_after(step);
    EXPECT_TRUE(habit_.comes_back());
}

TEST_F(PollHabits, OnePollThatComesLateBeginsTheCountAnew) {
    leave_it_to_the_keeper();
    poll_after(long_time);
    for (int i = 0; i < 15; ++i) find_and_poll_after(step);
    find_and_poll_after(PollHabit::soon);
    for (int i = 0; i < 15; ++i) find_and_poll_after(step);
    EXPECT_FALSE(habit_.comes_back());
    find_and_poll_after(step);
    EXPECT_TRUE(habit_.comes_back());
}

TEST_F(PollHabits, PollsThatFollowOnesThatFoundNothingAreNotCounted) {
    leave_it_to_the_keeper();
    for (int i = 0; i < 100; ++i) poll_after(step);
    EXPECT_FALSE(habit_.comes_back());
}

}  // namespace
}  // namespace wireproof::verbs
