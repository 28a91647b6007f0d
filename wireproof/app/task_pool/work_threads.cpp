#include "wireproof/app/task_pool/work_threads.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace wireproof::task_pool {
namespace {

std::optional<std::size_t> processors_of(pid_t process) {
    cpu_set_t set;
    CPU_ZERO(&set);
    // A machine of more than 1024 processors needs a larger set.
    if (::sched_getaffinity(process, sizeof set, &set) != 0) return std::nullopt;
    return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace

WorkThreads::WorkThreads(std::size_t threads, Work work, std::function<void()> wake)
    : work_(std::move(work)), wake_(std::move(wake)) {
    for (std::size_t i = 0; i < threads; ++i) {
        threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    }
}

WorkThreads::~WorkThreads() {
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
}

void WorkThreads::begin(std::uint64_t task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(task);
    begun_.notify_one();
}

std::vector<WorkThreads::Done> WorkThreads::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(results_, {});
}

bool WorkThreads::has_results() const {
    const std::lock_guard lock(mutex_);
    return !results_.empty();
}

void WorkThreads::wait(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    done_.wait_for(lock, limit, [this] { return !results_.empty(); });
}

std::size_t WorkThreads::room() const {
    const std::lock_guard lock(mutex_);
    return tasks_for(threads_.size(), last_);
}

std::size_t tasks_for(std::size_t threads, std::chrono::nanoseconds last) {
    constexpr std::chrono::nanoseconds short_time = std::chrono::milliseconds(50);
    constexpr std::int64_t most_ahead = 16;
    const std::int64_t times = short_time / std::max(last, std::chrono::nanoseconds(1));
    return threads * static_cast<std::size_t>(1 + std::min(times, most_ahead));
}

void WorkThreads::run(const std::stop_token& stop) {
    while (true) {
        std::uint64_t task = 0;
        {
            std::unique_lock lock(mutex_);
            if (!begun_.wait(lock, stop, [this] { return !tasks_.empty(); })) return;
            if (stop.stop_requested()) return;
            task = tasks_.front();
            tasks_.pop_front();
        }
        const auto start = Clock::now();
        bool stopped = false;
        Done done = do_task(task, stop, stopped);
        if (stopped) return;
        {
            const std::lock_guard lock(mutex_);
            last_ = Clock::now() - start;
            results_.push_back(std::move(done));
            done_.notify_one();
        }
        wake_();
    }
}

WorkThreads::Done WorkThreads::do_task(std::uint64_t task, const std::stop_token& stop,
                                       bool& stopped) const {
    try {
        std::optional<std::string> bytes = work_(task, stop);
        stopped = !bytes;
        return {task, false, stopped ? std::string() : *std::move(bytes)};
    } catch (const std::exception& failure) {
        return {task, true, failure.what()};
    }
}

std::size_t threads_of_rank(std::size_t own, std::size_t launchers, std::size_t ranks) {
    return std::max<std::size_t>(1, std::min(own, std::max(own, launchers) / ranks));
}

std::size_t threads_of_rank(std::size_t ranks) {
    const std::size_t own =
        processors_of(0).value_or(std::max(1U, std::thread::hardware_concurrency()));
    return threads_of_rank(own, processors_of(::getppid()).value_or(own), ranks);
}

}  // namespace wireproof::task_pool
