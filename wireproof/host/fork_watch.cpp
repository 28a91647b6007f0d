#include "wireproof/host/fork_watch.hpp"

#include <pthread.h>

#include <mutex>
#include <utility>

#include "wireproof/base/check.hpp"

namespace wireproof::host {

// The lock is held during a fork, so that the child gets a list that no thread was changing.
struct ForkWatch::All {
    std::mutex lock;
    ForkWatch* first = nullptr;

    // Never destroyed, because a watch may outlive every static object.
    static All& of_process() {
        static All& all = *make();
        return all;
    }

private:
    static All* make() {
        const int failed = ::pthread_atfork([] { of_process().lock.lock(); },
                                            [] { of_process().lock.unlock(); }, in_child);
        WIREPROOF_CHECK(failed == 0);
        return new All;
    }
    static void in_child() {
        All& all = of_process();
        for (ForkWatch* watch = all.first; watch != nullptr; watch = watch->after_) {
            if (!std::exchange(watch->forked_, true)) watch->in_child_();
        }
        all.lock.unlock();
    }
};

ForkWatch::ForkWatch(std::function<void()> in_child) : in_child_(std::move(in_child)) {
    All& all = All::of_process();
    const std::lock_guard guard(all.lock);
    after_ = std::exchange(all.first, this);
    if (after_ != nullptr) after_->before_ = this;
}

ForkWatch::~ForkWatch() {
    All& all = All::of_process();
    const std::lock_guard guard(all.lock);
    (before_ != nullptr ? before_->after_ : all.first) = after_;
    if (after_ != nullptr) after_->before_ = before_;
}

}  // namespace wireproof::host
