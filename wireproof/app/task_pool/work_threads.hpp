// The threads of a rank that do its tasks. One thread, the owner, begins tasks and takes results.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace wireproof::task_pool {

/// Does a task and returns its result. Several threads call it at a time. If `stop` asks for it,
/// the function may return nothing instead. An exception says that the task cannot be done.
using Work = std::function<std::optional<std::string>(std::uint64_t task, std::stop_token stop)>;

class WorkThreads {
public:
    struct Done {
        std::uint64_t task = 0;
        bool failed = false;
        std::string bytes;  // the result; of a task that failed: why, in one line
    };

    /// `wake` is called by these threads whenever there is a result.
    WorkThreads(std::size_t threads, Work work, std::function<void()> wake);
    /// Asks the threads to stop, and waits for them.
    ~WorkThreads();
    WorkThreads(const WorkThreads&) = delete;
    WorkThreads& operator=(const WorkThreads&) = delete;

    void begin(std::uint64_t task);
    std::vector<Done> take();
    bool has_results() const;
    /// Blocks until there is a result, at most for `limit`.
    void wait(std::chrono::milliseconds limit);

    /// How many tasks these threads should have (tasks_for).
    std::size_t room() const;

private:
    using Clock = std::chrono::steady_clock;

    void run(const std::stop_token& stop);
    Done do_task(std::uint64_t task, const std::stop_token& stop, bool& stopped) const;

    Work work_;
    std::function<void()> wake_;
    mutable std::mutex mutex_;
    std::condition_variable_any begun_;
    std::condition_variable done_;
    std::deque<std::uint64_t> tasks_;
    std::vector<Done> results_;
    Clock::duration last_{std::chrono::hours(1)};  // how long the last task took
    std::vector<std::jthread> threads_;            // last: they end first
};

/// How many tasks `threads` threads should have, those included that wait for a thread, if the last
/// task took so long. If tasks are short, some wait, so that a thread need not wait for rank 0. If
/// they are long, none waits: another rank may be free earlier.
std::size_t tasks_for(std::size_t threads, std::chrono::nanoseconds last);

/// How many threads each of `ranks` on this host should have. A launcher may have bound each rank
/// to processors of its own: `own` is how many processors this rank may use, and `launchers` how
/// many the process may use that started it. At least 1.
std::size_t threads_of_rank(std::size_t own, std::size_t launchers, std::size_t ranks);
/// The same for this process and its parent.
std::size_t threads_of_rank(std::size_t ranks);

}  // namespace wireproof::task_pool
