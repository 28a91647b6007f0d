#include "wireproof/host/yield_budget.hpp"

#include <gtest/gtest.h>

namespace wireproof::host {
namespace {

constexpr Duration microseconds(std::int64_t n) {
    return Duration::microseconds(n);
}

/// The number of yields of a wait that finds nothing. Each yield takes `each`.
int yields_in_vain(YieldBudget& budget, Instant& now, Duration each) {
    int yields = 0;
    while (budget.yield(now)) {
        now = now + each;
        budget.back(now);
        ++yields;
    }
    return yields;
}

TEST(YieldBudget, AWaitYieldsWhileOtherThreadsRun) {
    YieldBudget budget;
    Instant now;
    EXPECT_EQ(yields_in_vain(budget, now, microseconds(10)), 30) << "YieldBudget::most";
    EXPECT_FALSE(budget.yield(now)) << "the same wait sleeps and comes back";
    budget.heard();
    EXPECT_TRUE(budget.yield(now));
}

TEST(YieldBudget, AWaitThatIsAloneOnItsProcessorYieldsOnce) {
    YieldBudget budget;
    Instant now;
    for (int wait = 0; wait < 3; ++wait) {
        EXPECT_EQ(yields_in_vain(budget, now, Duration::nanoseconds(400)), 1);
        budget.heard();
    }
}

TEST(YieldBudget, AThreadThatKeepsTheProcessorEndsTheYieldsOfTheNextWaits) {
    YieldBudget budget;
    Instant now;
    std::uint32_t pause = DoublingPause::least;
    for (int met = 0; met < 10; ++met) {
        budget.heard();
        ASSERT_EQ(yields_in_vain(budget, now, Duration::milliseconds(3)), 1);
        for (std::uint32_t wait = 0; wait < pause; ++wait) {
            budget.heard();
            ASSERT_FALSE(budget.yield(now)) << met << ", " << wait;
            ASSERT_FALSE(budget.yield(now)) << "the next turn of the same wait";
        }
        pause = std::min(pause * 2, DoublingPause::most);
    }
    EXPECT_EQ(pause, DoublingPause::most);
}

TEST(YieldBudget, WaitsThatFindSomethingMakeThePauseShorter) {
    YieldBudget budget;
    Instant now;
    const auto waits_without = [&] {
        budget.heard();
        EXPECT_EQ(yields_in_vain(budget, now, Duration::milliseconds(3)), 1);
        std::uint32_t waits = 0;
        while (true) {
            budget.heard();
            if (budget.yield(now)) break;
            ++waits;
        }
        now = now + microseconds(5);
        budget.back(now);
        budget.heard();
        return waits;
    };
    EXPECT_EQ(waits_without(), 16U);
    for (int i = 0; i < 10; ++i) {  // a message comes after one yield
        ASSERT_TRUE(budget.yield(now));
        now = now + microseconds(5);
        budget.back(now);
        budget.heard();
    }
    EXPECT_EQ(waits_without(), 16U);
}

TEST(YieldBudget, IsCrowdedAfterAYieldInWhichOthersRan) {
    YieldBudget budget;
    Instant now;
    EXPECT_FALSE(budget.crowded());
    const auto crowded_after = [&](Duration took) {
        budget.heard();
        while (!budget.yield(now)) budget.heard();
        now = now + took;
        budget.back(now);
        return budget.crowded();
    };
    EXPECT_TRUE(crowded_after(YieldBudget::alone));
    EXPECT_FALSE(crowded_after(YieldBudget::alone - Duration(1)));
    EXPECT_TRUE(crowded_after(YieldBudget::taken - Duration(1)));
    EXPECT_FALSE(crowded_after(YieldBudget::taken)) << "a sleeper preempts such a thread";
}

}  // namespace
}  // namespace wireproof::host
