// The thread that moves packets while the program makes no call. The target of a Write or a Read
// calls no verb, and a program may wait for its memory to change. rdma_cm has another thread of
// this kind, which opens files and asks the kernel (cm/looks).
#pragma once

#include <array>
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
    /// Makes the progress that is possible, or leaves it to the program, and plans when to look
    /// again without a packet. Returns false if another thread makes progress, or if an error
    /// occurred.
    using Turn = std::function<bool()>;

    /// All deadlines are times of `clock`.
    explicit Keeper(const host::SteadyClock& clock) : clock_(clock) {}
    /// Ends the thread. Do not destroy a keeper in a forked child: the thread does not exist there.
    ~Keeper();

    /// Starts the thread, unless it runs. The thread calls `turn` and then sleeps until the planned
    /// time or until it is woken. If it listens, its sleep also ends when a handle is readable.
    /// Throws std::system_error.
    void start(std::array<int, 2> handles, Turn turn);

    // Call these only under the lock of the turns, so that no plan overtakes another. The thread
    // itself may plan without the lock.
    /// The thread sleeps until then, and listens or not.
    void plan(Instant until, bool listens) {
        until_ = until;
        listens_ = listens;
    }
    /// There may be something to do at `when`. The call is cheap if the thread wakes earlier
    /// anyway.
    void wake_by(Instant when) {
        if (thread_.joinable() && when < until_.load()) replan(when, listens_);
    }
    /// The thread listens from now on, and wakes at `when` at the latest. The call is cheap if it
    /// does so already.
    void listen(Instant when) {
        if (thread_.joinable() && (!listens_ || when < until_.load())) replan(when, true);
    }

private:
    void run(std::array<int, 2> handles, const Turn& turn);
    void replan(Instant until, bool listens) {
        plan(until, listens);
        bell_.ring();
    }

    const host::SteadyClock& clock_;
    host::Bell bell_;
    std::atomic<bool> ended_ = false;
    std::atomic<Instant> until_ = Instant();
    std::atomic<bool> listens_ = true;
    std::thread thread_;
};

}  // namespace wireproof::verbs
