// One descriptor on which an event loop waits, for the frames of a wire and for other threads that
// wake it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <system_error>

#include "wireproof/host/bell.hpp"

namespace wireproof::host {

class LoopHandle {
public:
    /// `frames` is a descriptor that is readable when frames come; it must outlive this object. -1:
    /// there is none. Throws std::system_error if the process may have no more descriptors.
    explicit LoopHandle(int frames);
    LoopHandle(const LoopHandle&) = delete;
    LoopHandle& operator=(const LoopHandle&) = delete;

    /// Readable while `frames` is, and from wake() until take_wakes(). -1 after abandon().
    int handle() const { return both_.handle(); }
    /// Readable from wake() until take_wakes().
    int bell() const { return bell_.handle(); }

    /// Any thread may call this at any time before the destructor. A signal handler may call it,
    /// too.
    void wake() const noexcept;
    /// Whether wake() was called since the last take_wakes(). Cheap enough to call often: it reads
    /// one word.
    bool take_wakes() { return woken_.load(std::memory_order_relaxed) && take(); }
    /// How often take_wakes() was true. A caller that sleeps sees from this whether another call
    /// took a wake that was meant for it.
    std::uint64_t wakes_taken() const { return taken_; }

    /// In a forked child: closes the descriptors that it shares with the parent.
    void abandon();

private:
    bool take();

    mutable std::atomic<bool> woken_ = false;
    Bell bell_;
    Descriptor both_;
    std::uint64_t taken_ = 0;
};

/// The error text if no LoopHandle can be made: "no descriptor for event loops: Too many open
/// files".
std::string no_loop_handle(const std::system_error& error);

}  // namespace wireproof::host
