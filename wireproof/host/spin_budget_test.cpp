#include "wireproof/host/spin_budget.hpp"

#include <gtest/gtest.h>

namespace wireproof::host {
namespace {

Instant at(std::int64_t nanoseconds) {
    return Instant(Duration::nanoseconds(nanoseconds));
}

/// Polls in steps of 100 ns until the budget says to sleep.
void look_in_vain(SpinBudget& budget, Instant& now) {
    while (budget.look_again(now)) now = now + Duration::nanoseconds(100);
}

/// How long the caller polls after something was heard.
Duration looks_for(SpinBudget& budget, Instant from) {
    budget.heard(from);
    Instant now = from;
    look_in_vain(budget, now);
    return now - from;
}

TEST(SpinBudget, LooksForAsLongAsBeingWokenCosts) {
    SpinBudget budget;
    EXPECT_EQ(looks_for(budget, at(1'000'000)), SpinBudget::most);
}

TEST(SpinBudget, WhatFindsNothingIsHalvedDownToALeast) {
    SpinBudget budget;
    Duration last = SpinBudget::most * 2;
    for (int i = 1; i < 10; ++i) {
        const Duration now = looks_for(budget, at(i * 1'000'000));
        EXPECT_LE(now, std::max(Duration(last.picoseconds() / 2) + Duration::nanoseconds(100),
                                SpinBudget::least));
        last = now;
    }
    EXPECT_EQ(last, SpinBudget::least);
}

TEST(SpinBudget, WhatFindsSomethingGrowsAgain) {
    SpinBudget budget;
    for (int i = 1; i < 10; ++i) looks_for(budget, at(i * 1'000'000));
    Instant now = at(20'000'000);
    budget.heard(now);
    for (int i = 0; i < 10; ++i) {  // an answer within half a microsecond, ten times
        EXPECT_TRUE(budget.look_again(now + Duration::nanoseconds(100)));
        now = now + Duration::nanoseconds(500);
        budget.heard(now);
    }
    EXPECT_EQ(looks_for(budget, now), SpinBudget::most);
}

/// A message comes `after` the one before, while the caller polls or sleeps. Returns whether a poll
/// found it.
bool is_found(SpinBudget& budget, Instant& now, Duration after) {
    const Instant comes = now + after;
    while (now < comes && budget.look_again(now)) now = now + Duration::nanoseconds(100);
    const bool found = now >= comes;
    now = std::max(now, comes);
    budget.heard(now);
    return found;
}

void find_nothing(SpinBudget& budget, Instant& now) {
    for (int i = 1; i < 10; ++i) {
        now = now + Duration::milliseconds(10);
        looks_for(budget, now);
    }
    now = now + Duration::milliseconds(10);
    budget.heard(now);
}

/// The number of sleeps until a poll finds an answer that takes 12 us.
int sleeps_until_found(SpinBudget& budget, Instant& now) {
    int slept = 0;
    while (slept < 5000 && !is_found(budget, now, Duration::microseconds(12))) ++slept;
    return slept;
}

// A peer starts late, so polling finds nothing at first. It finds the later answers.
TEST(SpinBudget, SleepsThatWereShortMakeItTryALongLook) {
    SpinBudget budget;
    Instant now = at(0);
    find_nothing(budget, now);
    EXPECT_EQ(sleeps_until_found(budget, now), static_cast<int>(DoublingPause::least));
    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(is_found(budget, now, Duration::microseconds(12))) << i;
    }
}

// A caller that asks over a device hears of its own packet when that leaves, before the caller
// first polls.
TEST(SpinBudget, ATryOutlastsWhatArrivesBeforeTheFirstPoll) {
    SpinBudget budget;
    Instant now = at(0);
    find_nothing(budget, now);
    int slept = 0;
    for (int i = 0; i < 1000; ++i) {
        slept += is_found(budget, now, Duration::microseconds(12)) ? 0 : 1;
        budget.heard(now);
    }
    EXPECT_EQ(slept, static_cast<int>(DoublingPause::least));
}

TEST(SpinBudget, ATryIsNotSpentOnTheGapWithinABurst) {
    SpinBudget budget;
    Instant now = at(0);
    find_nothing(budget, now);
    int slept = 0;
    for (int i = 0; i < 1000; ++i) {
        slept += is_found(budget, now, Duration::microseconds(12)) ? 0 : 1;
        (void)is_found(budget, now, Duration::nanoseconds(600));
    }
    EXPECT_LE(slept, static_cast<int>(DoublingPause::least));
}

TEST(SpinBudget, TriesThatFindSomethingComeNoSoonerThanTheFirst) {
    SpinBudget budget;
    Instant now = at(0);
    for (int i = 0; i < 10; ++i) {
        find_nothing(budget, now);
        EXPECT_EQ(sleeps_until_found(budget, now), static_cast<int>(DoublingPause::least)) << i;
    }
}

// The caller got what it wanted without a message, and comes back later.
TEST(SpinBudget, ALookThatWasGivenUpFindsNothingLater) {
    SpinBudget budget;
    Instant now = at(0);
    find_nothing(budget, now);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(budget.look_again(now));
        now = now + Duration::milliseconds(1000);
        budget.heard(now);
    }
    EXPECT_LE(looks_for(budget, now + Duration::milliseconds(1000)), SpinBudget::least);
}

/// The number of sleeps until the next poll that is longer than the budget, if no poll finds
/// anything.
std::uint32_t sleeps_until_try(SpinBudget& budget, Instant& now) {
    for (std::uint32_t slept = 0;; ++slept) {
        if (slept > 2 * DoublingPause::most) return slept;
        const Instant from = now;
        look_in_vain(budget, now);
        const bool tried = now - from > SpinBudget::least;
        now = from + SpinBudget::longest + Duration::microseconds(20);
        budget.heard(now);
        if (tried) return slept;
    }
}

TEST(SpinBudget, TriesThatFindNothingBecomeRareAndOneThatDoesBringsThemBack) {
    SpinBudget budget;
    Instant now = at(0);
    find_nothing(budget, now);
    ASSERT_EQ(sleeps_until_try(budget, now), DoublingPause::least);
    std::uint32_t pause = DoublingPause::least;
    for (int i = 0; i < 10; ++i) {
        pause = std::min(pause * 2, DoublingPause::most);
        // A try that found nothing also ended in a sleep.
        ASSERT_EQ(1 + sleeps_until_try(budget, now), pause);
    }
    ASSERT_EQ(pause, DoublingPause::most);
    ASSERT_LT(sleeps_until_found(budget, now), 5000);
    find_nothing(budget, now);
    EXPECT_EQ(sleeps_until_try(budget, now), DoublingPause::most / 2);
}

TEST(SpinBudget, LongSilencesAreNoReasonToTry) {
    SpinBudget budget;
    Instant now = at(0);
    find_nothing(budget, now);
    for (int i = 0; i < 1000; ++i) {
        const Instant from = now;
        look_in_vain(budget, now);
        ASSERT_LE(now - from, SpinBudget::least);
        now = from + SpinBudget::longest * 2 + Duration::microseconds(1);
        budget.heard(now);
    }
}

/// One of two ends that send messages to each other.
struct End {
    /// When this end has the message that comes at `arrives`: at once if it polls, otherwise when
    /// it was woken.
    Instant receive(Instant arrives, Duration waking) {
        Instant now = waits_since;
        while (now < arrives && budget.look_again(now)) now = now + Duration::nanoseconds(100);
        now = now >= arrives ? arrives : arrives + waking;
        budget.heard(now);
        return now;
    }

    SpinBudget budget;
    Instant waits_since;
};

TEST(SpinBudget, TwoEndsThatSleepInEachRoundTripBothLookInTheEnd) {
    constexpr Duration work = Duration::microseconds(3);
    for (const std::int64_t waking : {10, 40, 60, 80, 100}) {
        End a;
        End b;
        for (End* end : {&a, &b}) {
            end->waits_since = at(0);
            find_nothing(end->budget, end->waits_since);
        }
        Instant now = a.waits_since;
        Duration took;
        for (int i = 0; i < 200; ++i) {
            const Instant sent = now;
            a.waits_since = now;
            now = b.receive(now, Duration::microseconds(waking)) + work;
            b.waits_since = now;
            now = a.receive(now, Duration::microseconds(waking)) + work;
            took = now - sent;
        }
        EXPECT_EQ(took, work * 2) << waking;
    }
}

// A poll that found nothing reduces the budget. Messages that come in each turn after that do not
// show that sleeps are short.
TEST(SpinBudget, TrafficThatNeverSleepsIsNoReasonToTry) {
    SpinBudget budget;
    Instant now = at(0);
    find_nothing(budget, now);
    for (int i = 0; i < 1000; ++i) {
        now = now + Duration::microseconds(10);
        budget.heard(now);
        SpinBudget from_here = budget;
        Instant until = now;
        look_in_vain(from_here, until);
        ASSERT_LE(until - now, SpinBudget::least) << i;
    }
}

TEST(SpinBudget, WithoutTrafficItDoesNotLook) {
    SpinBudget budget;
    EXPECT_FALSE(budget.look_again(at(1'000'000'000)));
}

}  // namespace
}  // namespace wireproof::host
