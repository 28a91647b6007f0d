// What an event loop waits on: one descriptor for the frames of a wire and for other threads that
// ask for attention.
#pragma once

#include <atomic>

namespace wireproof::host {

class LoopHandle {
public:
    /// Throws std::system_error where the process may have no more descriptors.
    LoopHandle();
    LoopHandle(const LoopHandle&) = delete;
    LoopHandle& operator=(const LoopHandle&) = delete;
    ~LoopHandle();

    /// Readable from wake() until take_wakes().
    int bell() const { return bell_; }
    /// Readable when the bell or `frames` is; `frames` is the same at each call, and -1 is never
    /// readable. It is made at the first call. -1: the process may have no more descriptors.
    int handle(int frames);

    /// Any thread may call this, at any time before the destructor; a signal handler, too.
    void wake() const noexcept;
    /// Whether wake() was called since this was asked last. Asked often: it reads one word.
    bool take_wakes() { return woken_.load(std::memory_order_relaxed) && silence(); }

    /// In a forked child: closes what it shares with the parent.
    void abandon();

private:
    bool silence();

    mutable std::atomic<bool> woken_ = false;
    int bell_;
    int both_ = -1;
};

}  // namespace wireproof::host
