// What an event loop waits on: one descriptor for the frames of a wire and for other threads that
// ask for attention.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <system_error>

#include "wireproof/host/bell.hpp"

namespace wireproof::host {

class LoopHandle {
public:
    /// `frames` is readable when frames come, and outlives this; -1 is never readable. Throws
    /// std::system_error where the process may have no more descriptors.
    explicit LoopHandle(int frames);
    LoopHandle(const LoopHandle&) = delete;
    LoopHandle& operator=(const LoopHandle&) = delete;
    ~LoopHandle();

    /// Readable when `frames` is, and from wake() until take_wakes(). -1: abandoned.
    int handle() const { return both_; }
    /// Readable from wake() until take_wakes().
    int bell() const { return bell_.handle(); }

    /// Any thread may call this, at any time before the destructor; a signal handler, too.
    void wake() const noexcept;
    /// Whether wake() was called since this was asked last. Asked often: it reads one word.
    bool take_wakes() { return woken_.load(std::memory_order_relaxed) && take(); }
    /// How often take_wakes() was true: a caller that sleeps sees whether another call took a wake
    /// that was meant for it.
    std::uint64_t wakes_taken() const { return taken_; }

    /// In a forked child: closes what it shares with the parent.
    void abandon();

private:
    bool take();

    mutable std::atomic<bool> woken_ = false;
    Bell bell_;
    int both_;
    std::uint64_t taken_ = 0;
};

/// What is said where there is no LoopHandle: "no descriptor for event loops: Too many open files".
std::string no_loop_handle(const std::system_error& error);

}  // namespace wireproof::host
