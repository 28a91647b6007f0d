#include "wireproof/host/poll_delay.hpp"

#include <gtest/gtest.h>

#include <random>

namespace wireproof::host {
namespace {

constexpr auto round_time = Duration::nanoseconds(4);

struct Waited {
    int looks = 0;  // looks that found nothing
    int late = 0;   // rounds
};

/// The answer is there from round `there` on.
Waited wait(PollDelay& delay, int there, Instant& now, Duration round = round_time) {
    Waited waited;
    delay.begin(now);
    for (int at = 0;; ++at, now = now + round) {
        if (!delay.is_due(now)) continue;
        if (at >= there) {
            waited.late = at - there;
            delay.came();
            return waited;
        }
        delay.in_vain();
        ++waited.looks;
    }
}

struct Sum {
    int waits = 0;
    int too_soon = 0;
    int looks = 0;
    int late = 0;
    void add(const Waited& one) {
        ++waits;
        too_soon += one.looks > 0 ? 1 : 0;
        looks += one.looks;
        late += one.late;
    }
};

TEST(PollDelay, LooksWhenWhatAlwaysTakesAsLongIsThere) {
    for (const int there : {3, 20, 70, 200}) {
        PollDelay delay;
        Instant now;
        for (int i = 0; i < 1000; ++i) wait(delay, there, now);
        Sum sum;
        for (int i = 0; i < 1000; ++i) sum.add(wait(delay, there, now));
        EXPECT_LE(sum.too_soon, 250) << there;
        EXPECT_LE(sum.looks, 300 + 8 * there) << there;  // one in 64 looks after half the rounds
        EXPECT_LE(sum.late, 1000) << there;
    }
}

TEST(PollDelay, LearnsWithinAWaitForEachRound) {
    PollDelay delay;
    Instant now;
    int waits = 0;
    while (wait(delay, 100, now).looks > 0) ++waits;
    EXPECT_GE(waits, 50);
    EXPECT_LE(waits, 130);
}

TEST(PollDelay, FollowsWhatVariesALittle) {
    std::mt19937 random(1);
    PollDelay delay;
    Instant now;
    Sum sum;
    for (int i = 0; i < 4000; ++i) {
        const Waited one = wait(delay, 60 + static_cast<int>(random() % 10), now);
        if (i >= 1000) sum.add(one);
    }
    EXPECT_LE(sum.too_soon, sum.waits * 3 / 10);
    EXPECT_LE(sum.late, sum.waits * 8);
}

// If the loop skipped rounds here, each answer would be late.
TEST(PollDelay, LooksAtOnceWhereAnswersComeAtAnyTime) {
    std::mt19937 random(2);
    PollDelay delay;
    Instant now;
    Sum sum;
    for (int i = 0; i < 10'000; ++i) {
        sum.add(wait(delay, static_cast<int>(random() % 400), now));
    }
    EXPECT_LE(sum.late, sum.waits * 4);  // an answer takes 200 rounds on average
}

// Slow answers must not delay quick ones. If the first look finds the answer, the loop does not
// know how late it is.
TEST(PollDelay, QuickAnswersAmongSlowOnesAreNotMissedForLong) {
    for (const unsigned quick_of_8 : {2U, 4U, 6U}) {
        std::mt19937 random(3);
        PollDelay delay;
        Instant now;
        for (int i = 0; i < 1000; ++i) wait(delay, 120, now);
        Sum quick;
        for (int i = 0; i < 10'000; ++i) {
            const bool soon = random() % 8 < quick_of_8;
            const Waited one = wait(delay, soon ? 30 : 120, now);
            if (soon) quick.add(one);
        }
        const int late = quick_of_8 == 2 ? 60 : 20;  // 90 if it never learned
        EXPECT_LE(quick.late, quick.waits * late) << quick_of_8;
    }
}

TEST(PollDelay, LooksAtOnceWhereItIsAlwaysThere) {
    PollDelay delay;
    Instant now;
    for (int i = 0; i < 1000; ++i) wait(delay, 100, now);
    ASSERT_GT(delay.rounds_to_pass(), 90U);
    int late = 0;
    int waits = 0;
    for (; delay.rounds_to_pass() > 0; ++waits) late += wait(delay, 0, now).late;
    EXPECT_LE(waits, 100);
    EXPECT_LE(late, 3000);
}

TEST(PollDelay, WhatTakesVeryLongIsNotCounted) {
    PollDelay delay;
    Instant now;
    for (int i = 0; i < 1000; ++i) wait(delay, 600, now);
    EXPECT_EQ(delay.rounds_to_pass(), 0U);
}

TEST(PollDelay, AWaitOfUnknownBeginningIsNotCounted) {
    PollDelay delay;
    for (int i = 0; i < 1000; ++i) {
        for (int looks = 0; looks < 5; ++looks) delay.in_vain();
        delay.came();
    }
    EXPECT_EQ(delay.rounds_to_pass(), 0U);
}

// For example, the program begins to do something else between two turns.
TEST(PollDelay, RoundsThatBecomeSlowerAreNotPassed) {
    PollDelay delay;
    Instant now;
    for (int i = 0; i < 1000; ++i) wait(delay, 100, now);
    const std::uint32_t passed = delay.rounds_to_pass();
    ASSERT_GT(passed, 90U);
    const auto slow = Duration::nanoseconds(600);
    EXPECT_EQ(wait(delay, 0, now, slow).late, 2);  // the delay ends after one microsecond
    for (int i = 0; i < 4; ++i) wait(delay, 0, now, slow);
    EXPECT_EQ(delay.rounds_to_pass(), 0U);
}

}  // namespace
}  // namespace wireproof::host
