#include "wireproof/app/task_pool/work_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <stdexcept>

namespace wireproof::task_pool {
namespace {

using std::chrono::milliseconds;

TEST(WorkThreads, DoTheTasksAndSayWhichCannotBeDone) {
    std::atomic<int> woken = 0;
    WorkThreads threads(
        2,
        [](std::uint64_t task, const std::stop_token&) -> std::optional<std::string> {
            if (task == 3) throw std::runtime_error("no");
            return std::to_string(task * task);
        },
        [&woken] { ++woken; });
    EXPECT_FALSE(threads.has_results());
    for (std::uint64_t task = 0; task < 5; ++task) threads.begin(task);
    std::map<std::uint64_t, std::string> results;
    for (int turn = 0; turn < 2'000 && results.size() < 5; ++turn) {  // at most 200 s
        threads.wait(milliseconds(100));
        for (const WorkThreads::Done& done : threads.take()) {
            EXPECT_EQ(done.failed, done.task == 3);
            results[done.task] = done.bytes;
        }
    }
    EXPECT_EQ(results, (std::map<std::uint64_t, std::string>{
                           {0, "0"}, {1, "1"}, {2, "4"}, {3, "no"}, {4, "16"}}));
    EXPECT_GT(woken, 0);
}

// A task that has stopped has no result, and nobody is told of one.
TEST(WorkThreads, StopInTheMiddleOfATask) {
    std::atomic<bool> begun = false;
    std::atomic<int> woken = 0;
    {
        WorkThreads threads(
            1,
            [&begun](std::uint64_t, const std::stop_token& stop) -> std::optional<std::string> {
                begun = true;
                while (!stop.stop_requested()) std::this_thread::yield();
                return std::nullopt;
            },
            [&woken] { ++woken; });
        threads.begin(0);
        threads.begin(1);
        while (!begun) std::this_thread::yield();
    }
    EXPECT_TRUE(begun);
    EXPECT_EQ(woken, 0);
}

TEST(WorkThreads, AskForMoreTasksOnlyWhileTasksAreShort) {
    EXPECT_EQ(tasks_for(2, std::chrono::hours(1)), 2U);
    EXPECT_EQ(tasks_for(2, milliseconds(51)), 2U);
    EXPECT_EQ(tasks_for(2, milliseconds(50)), 4U);
    EXPECT_EQ(tasks_for(2, milliseconds(10)), 12U);
    EXPECT_EQ(tasks_for(2, milliseconds(1)), 34U) << "no more";
    EXPECT_EQ(tasks_for(3, milliseconds(0)), 51U);
}

TEST(WorkThreads, MeasureTheLastTask) {
    WorkThreads threads(
        2,
        [](std::uint64_t, const std::stop_token&) -> std::optional<std::string> {
            std::this_thread::sleep_for(milliseconds(60));
            return "";
        },
        [] {});
    EXPECT_EQ(threads.room(), 2U) << "nobody knows yet how long a task is";
    threads.begin(0);
    while (threads.take().empty()) threads.wait(milliseconds(100));
    EXPECT_EQ(threads.room(), 2U) << "it was long";
}

TEST(WorkThreads, TheRanksOfAHostShareItsProcessors) {
    EXPECT_EQ(threads_of_rank(16, 16, 1), 16U);
    EXPECT_EQ(threads_of_rank(16, 16, 4), 4U);
    EXPECT_EQ(threads_of_rank(16, 16, 5), 3U);
    EXPECT_EQ(threads_of_rank(2, 2, 8), 1U);
    // Each rank is bound to its own processors, or to half of the host.
    EXPECT_EQ(threads_of_rank(4, 16, 4), 4U);
    EXPECT_EQ(threads_of_rank(1, 16, 4), 1U);
    EXPECT_EQ(threads_of_rank(8, 16, 4), 4U);
    // The launcher itself is bound to fewer.
    EXPECT_EQ(threads_of_rank(16, 1, 4), 4U);
    EXPECT_GE(threads_of_rank(1), 1U);
}

}  // namespace
}  // namespace wireproof::task_pool
