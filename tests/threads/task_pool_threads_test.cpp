// The threads of a rank that do its tasks, and their owner. The thread sanitizer (preset tsan)
// finds an access without the lock, however rarely it does harm.
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "wireproof/app/task_pool/work_threads.hpp"

namespace wireproof::task_pool {
namespace {

std::optional<std::string> number_as_text(std::uint64_t task, const std::stop_token&) {
    return std::to_string(task);
}

// The owner calls all that it may call, while tasks end.
TEST(TaskPoolThreads, TheOwnerLooksAtResultsWhileTasksEnd) {
    constexpr std::uint64_t tasks = 2'000;
    constexpr int turns_max = 1'000'000;
    std::atomic<std::uint64_t> woken = 0;
    std::set<std::uint64_t> done;
    {
        WorkThreads threads(4, number_as_text, [&woken] { ++woken; });
        std::uint64_t begun = 0;
        for (int turn = 0; turn < turns_max && done.size() < tasks; ++turn) {
            for (std::size_t n = threads.room(); n > 0 && begun < tasks; --n) {
                threads.begin(begun++);
            }
            if (!threads.has_results()) threads.wait(std::chrono::milliseconds(100));
            for (const WorkThreads::Done& one : threads.take()) {
                EXPECT_EQ(one.bytes, std::to_string(one.task));
                EXPECT_TRUE(done.insert(one.task).second) << "done twice";
            }
        }
    }
    EXPECT_EQ(done.size(), tasks);
    EXPECT_EQ(woken, tasks);
}

TEST(TaskPoolThreads, TheOwnerMayEndWhileTasksWaitAndRun) {
    for (int i = 0; i < 50; ++i) {
        WorkThreads threads(3, number_as_text, [] {});
        for (std::uint64_t task = 0; task < 20; ++task) threads.begin(task);
        if (i % 2 == 0) threads.wait(std::chrono::milliseconds(100));
    }
}

}  // namespace
}  // namespace wireproof::task_pool
