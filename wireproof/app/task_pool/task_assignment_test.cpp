#include "wireproof/app/task_pool/task_assignment.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wireproof/app/task_pool/in_order.hpp"

namespace wireproof::task_pool {
namespace {

using Assigned = TaskAssignment::Assigned;

std::vector<Assigned> assign_all(TaskAssignment& assignment) {
    std::vector<Assigned> all;
    while (const auto next = assignment.next()) all.push_back(*next);
    return all;
}

TEST(TaskAssignment, WithoutTasksIsComplete) {
    TaskAssignment assignment(0);
    assignment.admit(0, 4);
    EXPECT_TRUE(assignment.complete());
    EXPECT_FALSE(assignment.next());
}

TEST(TaskAssignment, GivesNoRankMoreTasksThanItHasRoomFor) {
    TaskAssignment assignment(9);
    EXPECT_FALSE(assignment.next()) << "no rank takes part yet";
    assignment.admit(0, 1);
    assignment.admit(2, 3);
    EXPECT_EQ(assign_all(assignment), (std::vector<Assigned>{{2, 0}, {2, 1}, {0, 2}, {2, 3}}));
    EXPECT_TRUE(assignment.done(2, 1));
    EXPECT_EQ(assign_all(assignment), (std::vector<Assigned>{{2, 4}}));
}

TEST(TaskAssignment, LessRoomTakesNoTaskBack) {
    TaskAssignment assignment(9);
    assignment.admit(1, 3);
    EXPECT_EQ(assign_all(assignment).size(), 3);
    assignment.admit(1, 2);
    EXPECT_TRUE(assignment.done(1, 0));
    EXPECT_FALSE(assignment.next());
    EXPECT_TRUE(assignment.done(1, 1));
    EXPECT_EQ(assign_all(assignment), (std::vector<Assigned>{{1, 3}}));
}

TEST(TaskAssignment, AssignsTheTasksOfALostRankAgainBeforeOthers) {
    TaskAssignment assignment(5);
    assignment.admit(1, 2);
    assignment.admit(2, 1);
    EXPECT_EQ(assign_all(assignment), (std::vector<Assigned>{{1, 0}, {1, 1}, {2, 2}}));
    EXPECT_TRUE(assignment.done(1, 0));
    assignment.lose(1);
    EXPECT_EQ(assignment.ranks(), 1);
    EXPECT_FALSE(assignment.next()) << "rank 2 has no room";
    EXPECT_TRUE(assignment.done(2, 2));
    EXPECT_EQ(assign_all(assignment), (std::vector<Assigned>{{2, 1}}));
    EXPECT_TRUE(assignment.done(2, 1));
    EXPECT_EQ(assign_all(assignment), (std::vector<Assigned>{{2, 3}}));
    EXPECT_EQ(assignment.results(), 3);
}

TEST(TaskAssignment, ALostRankGetsNoTaskAndItsLateResultIsNotTaken) {
    TaskAssignment assignment(2);
    assignment.admit(0, 1);
    assignment.admit(1, 1);
    EXPECT_EQ(assign_all(assignment).size(), 2);
    assignment.lose(1);
    EXPECT_FALSE(assignment.done(1, 1));
    assignment.admit(1, 1);
    EXPECT_FALSE(assignment.next());
    EXPECT_TRUE(assignment.done(0, 0));
    EXPECT_EQ(assign_all(assignment), (std::vector<Assigned>{{0, 1}}));
}

TEST(TaskAssignment, RankZeroCanDoAllThatOthersLeave) {
    TaskAssignment assignment(20);
    assignment.admit(0, 1);
    for (const std::size_t rank : {1U, 2U, 3U}) assignment.admit(rank, 4);
    EXPECT_EQ(assign_all(assignment).size(), 13);
    for (const std::size_t rank : {1U, 2U, 3U}) assignment.lose(rank);
    std::vector<bool> seen(20);
    for (std::uint64_t task = 0; !assignment.complete();) {
        // Task 0 to 12 are all assigned; rank 0 has one of them.
        for (task = 0; task < 20; ++task) {
            if (!assignment.done(0, task)) continue;
            EXPECT_FALSE(seen[task]);
            seen[task] = true;
        }
        assign_all(assignment);
    }
    EXPECT_EQ(assignment.results(), 20);
}

TEST(TaskAssignment, AResultIsTakenOnceAndOnlyFromTheRankThatHasTheTask) {
    TaskAssignment assignment(2);
    assignment.admit(0, 1);
    assignment.admit(1, 1);
    EXPECT_EQ(assign_all(assignment), (std::vector<Assigned>{{0, 0}, {1, 1}}));
    EXPECT_FALSE(assignment.done(0, 1));
    EXPECT_FALSE(assignment.done(7, 0));
    EXPECT_FALSE(assignment.done(0, 99));
    EXPECT_TRUE(assignment.done(0, 0));
    EXPECT_FALSE(assignment.done(0, 0));
    EXPECT_FALSE(assignment.complete());
    EXPECT_TRUE(assignment.done(1, 1));
    EXPECT_TRUE(assignment.complete());
}

TEST(TaskAssignment, AfterAnEarlierEndOnlyTheTasksBeforeItCount) {
    TaskAssignment assignment(1'000);
    assignment.admit(0, 2);
    assignment.admit(1, 3);
    EXPECT_EQ(assign_all(assignment),
              (std::vector<Assigned>{{1, 0}, {0, 1}, {1, 2}, {0, 3}, {1, 4}}));
    assignment.end_at(3);
    assignment.end_at(500);  // not taken back
    EXPECT_FALSE(assignment.done(0, 3)) << "not needed any more";
    EXPECT_FALSE(assignment.next());
    EXPECT_TRUE(assignment.done(1, 0));
    EXPECT_TRUE(assignment.done(0, 1));
    EXPECT_FALSE(assignment.complete());
    assignment.lose(1);  // with tasks 2 and 4, of which only 2 is needed
    EXPECT_EQ(assign_all(assignment), (std::vector<Assigned>{{0, 2}}));
    EXPECT_TRUE(assignment.done(0, 2));
    EXPECT_TRUE(assignment.complete());
    EXPECT_EQ(assignment.results(), 3);
}

TEST(TaskAssignment, ATaskBehindTheEndIsNotWaitedFor) {
    TaskAssignment assignment(3);
    assignment.admit(0, 2);
    EXPECT_EQ(assign_all(assignment).size(), 2);
    assignment.end_at(1);
    EXPECT_FALSE(assignment.complete());
    EXPECT_TRUE(assignment.done(0, 0));
    EXPECT_TRUE(assignment.complete());
}

TEST(TaskAssignment, TasksOfALostRankBehindTheEndAreNotDealtAgain) {
    TaskAssignment assignment(9);
    assignment.admit(1, 4);
    assign_all(assignment);
    assignment.lose(1);
    assignment.end_at(1);
    assignment.admit(0, 9);
    EXPECT_EQ(assign_all(assignment), (std::vector<Assigned>{{0, 0}}));
    EXPECT_EQ(assignment.unassigned(), 4);
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
        TaskAssignment assignment(100);
        InOrder<bool> order;
        for (std::size_t rank = 0; rank < ranks; ++rank) assignment.admit(rank, 3);
        std::vector<std::uint64_t> taken;
        std::vector<Assigned> begun;
        while (!assignment.complete()) {
            while (const auto next = assignment.next()) begun.push_back(*next);
            ASSERT_FALSE(begun.empty());
            const Assigned last = begun.back();  // later tasks end first
            begun.pop_back();
            if (!assignment.done(last.rank, last.task)) continue;
            order.put(last.task, last.task == 7 || last.task == 9);
            while (const auto broken = order.take()) {
                taken.push_back(order.next() - 1);
                if (*broken) {
                    assignment.end_at(order.next());
                    break;
                }
            }
        }
        EXPECT_EQ(taken, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7})) << ranks;
    }
}

}  // namespace
}  // namespace wireproof::task_pool
