#include "wireproof/core/backoff.hpp"

#include <gtest/gtest.h>

namespace wireproof {
namespace {

constexpr Duration timer = Duration::milliseconds(20);

Instant at(std::int64_t milliseconds) {
    return Instant(Duration::milliseconds(milliseconds));
}

TEST(Backoff, EachRetransmissionWithoutAnAnswerDoublesTheWaitUpToALimit) {
    Backoff backoff(true);
    std::vector<std::int64_t> waits;
    for (int i = 0; i < 9; ++i) {
        waits.push_back(backoff.wait(timer).nanoseconds() / 1'000'000);
        backoff.retransmits(at(0));
    }
    EXPECT_EQ(waits, (std::vector<std::int64_t>{20, 40, 80, 100, 100, 100, 100, 100, 100}));
    for (int i = 0; i < 100; ++i) backoff.retransmits(at(0));
    EXPECT_EQ(backoff.wait(timer), Backoff::wait_max);
    EXPECT_EQ(backoff.wait(Duration(1)), Duration(1 << Backoff::doublings_max));
    // A timer that is already longer than the limit stays as it is.
    EXPECT_EQ(backoff.wait(Duration::milliseconds(4'000)), Duration::milliseconds(4'000));
    backoff.answered(1);
    EXPECT_EQ(backoff.wait(timer), timer);
}

TEST(Backoff, AfterTwoRetransmissionsOnlyTheOldestLeavesAndNoticesHaveNoEffect) {
    Backoff backoff(true);
    for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(backoff.acts_on_notice()) << i;
        EXPECT_EQ(backoff.window(), Backoff::unlimited) << i;
        backoff.retransmits(at(0));
    }
    EXPECT_FALSE(backoff.acts_on_notice());
    EXPECT_EQ(backoff.window(), 1U);
    backoff.answered(0);
    EXPECT_TRUE(backoff.acts_on_notice());
    EXPECT_EQ(backoff.window(), 1U);
}

TEST(Backoff, TheWindowGrowsWithWhatIsAcknowledgedAndIsHalvedByOneMoreLoss) {
    Backoff backoff(true);
    for (int i = 0; i < 2; ++i) backoff.retransmits(at(0));
    std::vector<std::size_t> windows;
    while (backoff.window() != Backoff::unlimited) {
        windows.push_back(backoff.window());
        backoff.answered(backoff.window());
    }
    EXPECT_EQ(windows, (std::vector<std::size_t>{1, 2, 4, 8, 16, 32}));
    backoff.retransmits(at(0));
    EXPECT_EQ(backoff.window(), Backoff::unlimited);
    backoff.retransmits(at(0));
    backoff.answered(8);
    backoff.retransmits(at(0));
    EXPECT_EQ(backoff.window(), 4U);
    backoff.retransmits(at(0));
    EXPECT_EQ(backoff.window(), 1U);
    backoff.reset();
    EXPECT_EQ(backoff.window(), Backoff::unlimited);
}

TEST(Backoff, OffItOnlyCounts) {
    Backoff backoff;
    for (int i = 0; i < 9; ++i) backoff.retransmits(at(i));
    EXPECT_EQ(backoff.wait(timer), timer);
    EXPECT_TRUE(backoff.acts_on_notice());
    EXPECT_EQ(backoff.window(), Backoff::unlimited);
    EXPECT_EQ(backoff.unanswered().times, 9U);
    EXPECT_EQ(backoff.unanswered().since, at(0));
}

TEST(Backoff, APacketIsGivenUpAfterTheLimitAndThirtyTwoRetransmissions) {
    const Duration limit = Duration::milliseconds(100);
    Backoff backoff(true);
    EXPECT_FALSE(backoff.unanswered().lasts(at(1'000'000), limit));
    backoff.retransmits(at(7));
    for (int i = 1; i < 31; ++i) backoff.retransmits(at(50));
    backoff.oldest_left(1472);
    EXPECT_EQ(backoff.unanswered().deadline(limit), never);
    EXPECT_FALSE(backoff.unanswered().lasts(at(1'000'000), limit));
    backoff.retransmits(at(60));
    EXPECT_EQ(backoff.unanswered().deadline(limit), at(107));
    EXPECT_FALSE(backoff.unanswered().lasts(at(106), limit));
    EXPECT_TRUE(backoff.unanswered().lasts(at(107), limit));
    EXPECT_EQ(backoff.unanswered().bytes, 1472U);
    backoff.answered(1);
    EXPECT_EQ(backoff.unanswered().since, never);
}

}  // namespace
}  // namespace wireproof
