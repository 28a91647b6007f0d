// Programs that poll again soon, and programs that leave the rest to the keeper.
#include "wireproof/front/verbs/device/poll_habit.hpp"

#include <gtest/gtest.h>

namespace wireproof::verbs {
namespace {

constexpr Duration step = Duration::microseconds(1);
constexpr Duration long_rest = Duration::microseconds(200);

class PollHabits : public ::testing::Test {
protected:
    void poll_after(Duration time) { habit_.polled(now_ = now_ + time); }
    /// A poll finds a completion, and the next poll comes after this time.
    void find_and_poll_after(Duration time) {
        habit_.found(now_);
        poll_after(time);
    }
    /// The program finds a completion and does not poll again. The keeper receives what comes.
    void leave_it_to_the_keeper() {
        poll_after(step);
        habit_.found(now_);
        now_ = now_ + long_rest;
        habit_.keeper_worked(now_, true);
    }
    /// How many calls in a row have to come soon until the program is trusted again.
    int calls_until_trusted() {
        int calls = 0;
        constexpr int far_too_many = 100'000;
        for (poll_after(long_rest); !habit_.comes_back() && calls < far_too_many; ++calls) {
            find_and_poll_after(step);
        }
        return calls;
    }

    Instant now_ = Instant() + Duration::milliseconds(1000);
    PollHabit habit_;
};

TEST_F(PollHabits, AProgramIsBelievedToPollAgain) {
    EXPECT_TRUE(habit_.comes_back());
    find_and_poll_after(long_rest);  // nothing came meanwhile
    EXPECT_TRUE(habit_.comes_back());
}

TEST_F(PollHabits, AThreadForWhichTheKeeperHadToReceiveHasNoHabit) {
    leave_it_to_the_keeper();
    EXPECT_FALSE(habit_.comes_back());
}

TEST_F(PollHabits, TheKeeperThatReceivesBetweenTwoPollsIsNotCounted) {
    poll_after(step);
    habit_.found(now_);
    habit_.keeper_worked(now_ + Duration::microseconds(59), true);
    EXPECT_TRUE(habit_.comes_back());
    habit_.keeper_worked(now_ + Duration::microseconds(60), true);
    EXPECT_FALSE(habit_.comes_back());
}

TEST_F(PollHabits, TheKeeperThatReceivesAfterAnEmptyPollIsNotCounted) {
    poll_after(step);
    habit_.keeper_worked(now_ + long_rest, true);
    EXPECT_TRUE(habit_.comes_back());
}

TEST_F(PollHabits, TheKeeperThatReceivesNothingIsNotCounted) {
    poll_after(step);
    habit_.found(now_);
    habit_.keeper_worked(now_ + long_rest, false);
    EXPECT_TRUE(habit_.comes_back());
}

TEST_F(PollHabits, AProgramThatAsksForAnEventIsNotBelievedToPollAgain) {
    poll_after(step);
    EXPECT_TRUE(habit_.keeper_rests(now_));
    habit_.sleeps();
    EXPECT_FALSE(habit_.comes_back());
    EXPECT_FALSE(habit_.keeper_rests(now_));
    EXPECT_EQ(calls_until_trusted(), 16);  // the number does not double
}

// A post counts like a poll: a program that answers each message posts before it polls again.
TEST_F(PollHabits, SixteenCallsThatComeSoonAreBelieved) {
    habit_.sleeps();
    for (int i = 0; i < 15; ++i) {
        habit_.found(now_);
        habit_.called(now_ = now_ + step);
        poll_after(long_rest);
    }
    EXPECT_FALSE(habit_.comes_back());
    find_and_poll_after(step);
    EXPECT_TRUE(habit_.comes_back());
}

TEST_F(PollHabits, EachTimeThatTheProgramDidNotComeBackTheNumberDoubles) {
    for (const int calls : {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 16384}) {
        leave_it_to_the_keeper();
        EXPECT_EQ(calls_until_trusted(), calls);
    }
}

TEST_F(PollHabits, AProgramThatCameBackOftenBeforeIsBelievedAsSoonAsAtFirst) {
    const auto calls_after = [this](int times_back) {
        for (int i = 0; i < times_back; ++i) find_and_poll_after(step);
        leave_it_to_the_keeper();
        return calls_until_trusted();
    };
    EXPECT_EQ(calls_after(0), 32);
    EXPECT_EQ(calls_after(127), 64);
    EXPECT_EQ(calls_after(0), 128) << "it has not come back since";
    EXPECT_EQ(calls_after(128), 16);
    EXPECT_EQ(calls_after(0), 32);
}

TEST_F(PollHabits, TheKeeperRestsWhileAProgramPollsThatIsBelievedToGoOn) {
    poll_after(step);
    EXPECT_TRUE(habit_.keeper_rests(now_ + Duration::microseconds(59)));
    EXPECT_FALSE(habit_.keeper_rests(now_ + Duration::microseconds(60)));
    leave_it_to_the_keeper();
    poll_after(step);
    EXPECT_FALSE(habit_.keeper_rests(now_));
}

TEST_F(PollHabits, TheKeeperRestsWhileAThreadSleepsInAPoll) {
    leave_it_to_the_keeper();
    habit_.naps(now_ + long_rest);
    habit_.naps(now_);
    EXPECT_TRUE(habit_.keeper_rests(now_ + long_rest));
    habit_.awakes();
    EXPECT_TRUE(habit_.keeper_rests(now_ + long_rest));
    const Instant too_long = now_ + long_rest + PollHabit::rest_least;
    EXPECT_FALSE(habit_.keeper_rests(too_long)) << "the thread may not run";
    habit_.awakes();
    EXPECT_FALSE(habit_.keeper_rests(now_ + long_rest));
}

TEST_F(PollHabits, AKeeperThatPlannedItsRestRestsIfTheProgramStillPolls) {
    Instant planned;
    const auto plan = [&](Instant until) { planned = until; };
    poll_after(step);
    EXPECT_TRUE(habit_.keeper_rests_again(now_, plan));
    EXPECT_EQ(planned, now_ + habit_.rest(now_));
    const auto plan_and_sleep = [&](Instant) { habit_.sleeps(); };
    EXPECT_FALSE(habit_.keeper_rests_again(now_, plan_and_sleep)) << "the program is about to";
    planned = Instant();
    EXPECT_FALSE(habit_.keeper_rests_again(now_, plan));
    EXPECT_EQ(planned, Instant()) << "there is nothing to plan";
}

// The first rest is short. A rest is a sixteenth of the time since the keeper last had to work, and
// never longer than a millisecond.
TEST_F(PollHabits, TheKeeperRestsLongerIfTheProgramHasDoneTheWorkForALongTime) {
    poll_after(step);
    EXPECT_EQ(habit_.rest(now_), Duration::milliseconds(1));
    leave_it_to_the_keeper();
    for (const auto& [after, rest] :
         {std::pair{0, 100}, {1'600, 100}, {4'000, 250}, {16'000, 1'000}, {400'000, 1'000}}) {
        const Instant then = now_ + Duration::microseconds(after);
        EXPECT_EQ(habit_.rest(then), Duration::microseconds(rest)) << after;
        EXPECT_GT(habit_.patience(then), habit_.rest(then)) << "calls need not wake the keeper";
    }
}

TEST_F(PollHabits, OnePollThatComesLateBeginsTheCountAnew) {
    habit_.sleeps();
    for (int i = 0; i < 15; ++i) find_and_poll_after(step);
    find_and_poll_after(PollHabit::soon);
    for (int i = 0; i < 15; ++i) find_and_poll_after(step);
    EXPECT_FALSE(habit_.comes_back());
    find_and_poll_after(step);
    EXPECT_TRUE(habit_.comes_back());
}

TEST_F(PollHabits, PollsThatFollowOnesThatFoundNothingAreNotCounted) {
    habit_.sleeps();
    habit_.found(now_);
    for (int i = 0; i < 100; ++i) poll_after(Duration::nanoseconds(10));
    EXPECT_FALSE(habit_.comes_back());
}

/// A program that posts messages and polls for each answer, and the thread of the keeper, in
/// modelled time. Both do what the device does (Device).
class ProgramAndKeeper {
public:
    ProgramAndKeeper(Duration poll, Duration answer) : poll_(poll), answer_(answer) {}

    void exchange(int messages) {
        for (int i = 0; i < messages; ++i) {
            habit_.called(now_);
            leaves_call();
            const Instant arrives = now_ + answer_;
            do {
                now_ = now_ + poll_;
                habit_.polled(now_);
                leaves_call();
                if (until_ <= now_) wakes(false);
            } while (now_ < arrives);
            if (listens_) wakes(true);  // the packet wakes both threads, and the poll is first
            habit_.found(now_);
        }
    }
    /// The program computes, and the keeper receives a packet.
    void compute() {
        now_ = now_ + Duration::milliseconds(1);
        wakes(true);
    }

    int wakes() const { return wakes_; }
    Instant now() const { return now_; }

private:
    void leaves_call() { until_ = std::min(until_, now_ + habit_.patience(now_)); }
    void wakes(bool received) {
        ++wakes_;
        const auto rest = [this](Instant until) { until_ = until; };
        listens_ = !habit_.keeper_rests_again(now_, rest);
        if (!listens_) return;
        habit_.keeper_worked(now_, received);
        until_ = std::max(now_, habit_.polled_at() + habit_.patience(now_));
    }

    Duration poll_;
    Duration answer_;
    PollHabit habit_;
    Instant now_ = Instant() + Duration::milliseconds(1000);
    Instant until_ = never;
    bool listens_ = true;
    int wakes_ = 0;
};

// Each packet would wake a keeper that listens.
TEST(KeeperOfADevice, WakesSeldomWhileTheProgramPolls) {
    constexpr int messages = 500;
    for (const auto& [poll, answer] : {std::pair{200, 3'000}, {1'000, 20'000}, {50'000, 50'000}}) {
        ProgramAndKeeper both(Duration::nanoseconds(poll), Duration::nanoseconds(answer));
        const Instant begin = both.now();
        both.exchange(messages);
        const std::int64_t rests =
            (both.now() - begin).picoseconds() / PollHabit::rest_most.picoseconds();
        EXPECT_GE(both.wakes(), rests) << "it looks whether the program still polls";
        EXPECT_LE(both.wakes(), rests + 1) << poll;
    }
}

TEST(KeeperOfADevice, WakesSeldomAgainSoonAfterItHadToWork) {
    ProgramAndKeeper both(Duration::nanoseconds(500), Duration::microseconds(10));
    both.exchange(1'000);
    both.compute();
    both.exchange(PollHabit::trusted_after);
    const Instant begin = both.now();
    const int before = both.wakes();
    both.exchange(1'000);
    const std::int64_t rests =
        (both.now() - begin).picoseconds() / PollHabit::rest_least.picoseconds();
    EXPECT_LE(both.wakes() - before, rests);
}

}  // namespace
}  // namespace wireproof::verbs
