#include "wireproof/host/spin_budget.hpp"

#include <gtest/gtest.h>

namespace wireproof::host {
namespace {

Instant at(std::int64_t nanoseconds) {
    return Instant(Duration::nanoseconds(nanoseconds));
}

/// How long it looks after something was heard, in steps of 100 ns.
Duration looks_for(SpinBudget& budget, Instant from) {
    budget.heard(from);
    Instant now = from;
    while (budget.look_again(now)) now = now + Duration::nanoseconds(100);
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

TEST(SpinBudget, WithoutTrafficItDoesNotLook) {
    SpinBudget budget;
    EXPECT_FALSE(budget.look_again(at(1'000'000'000)));
}

}  // namespace
}  // namespace wireproof::host
