#include "wireproof/app/farm/dealing.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wireproof/app/farm/in_order.hpp"

namespace wireproof::farm {
namespace {

using Deal = Dealing::Deal;

std::vector<Deal> deal_all(Dealing& dealing) {
    std::vector<Deal> deals;
    while (const auto deal = dealing.next()) deals.push_back(*deal);
    return deals;
}

TEST(Dealing, WithoutTasksIsComplete) {
    Dealing dealing(0);
    dealing.admit(0, 4);
    EXPECT_TRUE(dealing.complete());
    EXPECT_FALSE(dealing.next());
}

TEST(Dealing, GivesNoRankMoreTasksThanItHasRoomFor) {
    Dealing dealing(9);
    EXPECT_FALSE(dealing.next()) << "no rank takes part yet";
    dealing.admit(0, 1);
    dealing.admit(2, 3);
    EXPECT_EQ(deal_all(dealing), (std::vector<Deal>{{2, 0}, {2, 1}, {0, 2}, {2, 3}}));
    EXPECT_TRUE(dealing.done(2, 1));
    EXPECT_EQ(deal_all(dealing), (std::vector<Deal>{{2, 4}}));
}

TEST(Dealing, LessRoomTakesNoTaskBack) {
    Dealing dealing(9);
    dealing.admit(1, 3);
    EXPECT_EQ(deal_all(dealing).size(), 3);
    dealing.admit(1, 2);
    EXPECT_TRUE(dealing.done(1, 0));
    EXPECT_FALSE(dealing.next());
    EXPECT_TRUE(dealing.done(1, 1));
    EXPECT_EQ(deal_all(dealing), (std::vector<Deal>{{1, 3}}));
}

TEST(Dealing, DealsTheTasksOfALostRankAgainBeforeOthers) {
    Dealing dealing(5);
    dealing.admit(1, 2);
    dealing.admit(2, 1);
    EXPECT_EQ(deal_all(dealing), (std::vector<Deal>{{1, 0}, {1, 1}, {2, 2}}));
    EXPECT_TRUE(dealing.done(1, 0));
    dealing.lose(1);
    EXPECT_EQ(dealing.ranks(), 1);
    EXPECT_FALSE(dealing.next()) << "rank 2 has no room";
    EXPECT_TRUE(dealing.done(2, 2));
    EXPECT_EQ(deal_all(dealing), (std::vector<Deal>{{2, 1}}));
    EXPECT_TRUE(dealing.done(2, 1));
    EXPECT_EQ(deal_all(dealing), (std::vector<Deal>{{2, 3}}));
    EXPECT_EQ(dealing.results(), 3);
}

TEST(Dealing, ALostRankGetsNoTaskAndItsLateResultIsNotTaken) {
    Dealing dealing(2);
    dealing.admit(0, 1);
    dealing.admit(1, 1);
    EXPECT_EQ(deal_all(dealing).size(), 2);
    dealing.lose(1);
    EXPECT_FALSE(dealing.done(1, 1));
    dealing.admit(1, 1);
    EXPECT_FALSE(dealing.next());
    EXPECT_TRUE(dealing.done(0, 0));
    EXPECT_EQ(deal_all(dealing), (std::vector<Deal>{{0, 1}}));
}

TEST(Dealing, RankZeroCanDoAllThatOthersLeave) {
    Dealing dealing(20);
    dealing.admit(0, 1);
    for (const std::size_t rank : {1U, 2U, 3U}) dealing.admit(rank, 4);
    EXPECT_EQ(deal_all(dealing).size(), 13);
    for (const std::size_t rank : {1U, 2U, 3U}) dealing.lose(rank);
    std::vector<bool> seen(20);
    for (std::uint64_t task = 0; !dealing.complete();) {
        // Task 0 to 12 are all dealt; rank 0 has one of them.
        for (task = 0; task < 20; ++task) {
            if (!dealing.done(0, task)) continue;
            EXPECT_FALSE(seen[task]);
            seen[task] = true;
        }
        deal_all(dealing);
    }
    EXPECT_EQ(dealing.results(), 20);
}

TEST(Dealing, AResultIsTakenOnceAndOnlyFromTheRankThatHasTheTask) {
    Dealing dealing(2);
    dealing.admit(0, 1);
    dealing.admit(1, 1);
    EXPECT_EQ(deal_all(dealing), (std::vector<Deal>{{0, 0}, {1, 1}}));
    EXPECT_FALSE(dealing.done(0, 1));
    EXPECT_FALSE(dealing.done(7, 0));
    EXPECT_FALSE(dealing.done(0, 99));
    EXPECT_TRUE(dealing.done(0, 0));
    EXPECT_FALSE(dealing.done(0, 0));
    EXPECT_FALSE(dealing.complete());
    EXPECT_TRUE(dealing.done(1, 1));
    EXPECT_TRUE(dealing.complete());
}

TEST(Dealing, AfterAnEarlierEndOnlyTheTasksBeforeItCount) {
    Dealing dealing(1'000);
    dealing.admit(0, 2);
    dealing.admit(1, 3);
    EXPECT_EQ(deal_all(dealing), (std::vector<Deal>{{1, 0}, {0, 1}, {1, 2}, {0, 3}, {1, 4}}));
    dealing.end_at(3);
    dealing.end_at(500);  // not taken back
    EXPECT_FALSE(dealing.done(0, 3)) << "not needed any more";
    EXPECT_FALSE(dealing.next());
    EXPECT_TRUE(dealing.done(1, 0));
    EXPECT_TRUE(dealing.done(0, 1));
    EXPECT_FALSE(dealing.complete());
    dealing.lose(1);  // with tasks 2 and 4, of which only 2 is needed
    EXPECT_EQ(deal_all(dealing), (std::vector<Deal>{{0, 2}}));
    EXPECT_TRUE(dealing.done(0, 2));
    EXPECT_TRUE(dealing.complete());
    EXPECT_EQ(dealing.results(), 3);
}

TEST(Dealing, ATaskBehindTheEndIsNotWaitedFor) {
    Dealing dealing(3);
    dealing.admit(0, 2);
    EXPECT_EQ(deal_all(dealing).size(), 2);
    dealing.end_at(1);
    EXPECT_FALSE(dealing.complete());
    EXPECT_TRUE(dealing.done(0, 0));
    EXPECT_TRUE(dealing.complete());
}

TEST(Dealing, TasksOfALostRankBehindTheEndAreNotDealtAgain) {
    Dealing dealing(9);
    dealing.admit(1, 4);
    deal_all(dealing);
    dealing.lose(1);
    dealing.end_at(1);
    dealing.admit(0, 9);
    EXPECT_EQ(deal_all(dealing), (std::vector<Deal>{{0, 0}}));
    EXPECT_EQ(dealing.undealt(), 4);
}

TEST(InOrder, ResultsLeaveInTheOrderOfTheirTasks) {
    InOrder<std::string> order;
    order.put(1, "b");
    EXPECT_FALSE(order.take());
    order.put(0, "a");
    EXPECT_EQ(order.take(), "a");
    EXPECT_EQ(order.next(), 1);
    EXPECT_EQ(order.take(), "b");
    EXPECT_FALSE(order.take());
}

// As a soak does it: the lowest world that breaks a rule is the one that is named.
TEST(InOrder, TheFirstFailureIsThatOfTheLowestTaskWhateverTheOrder) {
    for (std::size_t ranks = 1; ranks <= 5; ++ranks) {
        Dealing dealing(100);
        InOrder<bool> order;
        for (std::size_t rank = 0; rank < ranks; ++rank) dealing.admit(rank, 3);
        std::vector<std::uint64_t> taken;
        std::vector<Deal> begun;
        while (!dealing.complete()) {
            while (const auto deal = dealing.next()) begun.push_back(*deal);
            ASSERT_FALSE(begun.empty());
            const Deal last = begun.back();  // later tasks end first
            begun.pop_back();
            if (!dealing.done(last.rank, last.task)) continue;
            order.put(last.task, last.task == 7 || last.task == 9);
            while (const auto broken = order.take()) {
                taken.push_back(order.next() - 1);
                if (*broken) {
                    dealing.end_at(order.next());
                    break;
                }
            }
        }
        EXPECT_EQ(taken, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7})) << ranks;
    }
}

}  // namespace
}  // namespace wireproof::farm
