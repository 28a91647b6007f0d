// The thread that moves packets while the program calls nothing. The target of a Write or a Read
// calls no verb, and a program may wait for memory to change.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "wireproof/base/instant.hpp"
#include "wireproof/host/bell.hpp"
#include "wireproof/host/steady_clock.hpp"

namespace wireproof::verbs {

class Keeper {
public:
    /// Makes what progress there is to make, and plans when there is more without a packet. False:
    /// another thread is at it, or it failed.
    using Turn = std::function<bool()>;

    /// `clock` is the one that deadlines are of.
    explicit Keeper(const host::SteadyClock& clock) : clock_(clock) {}
    /// Ends the thread. Not in a forked child: there it does not exist.
    ~Keeper();

    /// Starts the thread, unless it runs: it takes turns, and sleeps until the handle is readable,
    /// until what was planned, or until it is woken. Throws std::system_error.
    void start(int handle, Turn turn);

    // Both under the lock that turns are made under, so that no plan overtakes another.
    /// It sleeps until then.
    void plan(Instant until) { until_ = until; }
    /// There may be something to do by then. Cheap where the thread wakes earlier anyway.
    void wake_by(Instant when) {
        if (!thread_.joinable() || when >= until_.load()) return;
        until_ = when;
        bell_.ring();
    }

private:
    void run(int handle, const Turn& turn);

    const host::SteadyClock& clock_;
    host::Bell bell_;
    std::atomic<bool> ended_ = false;
    std::atomic<Instant> until_ = Instant();
    std::thread thread_;
};

}  // namespace wireproof::verbs
