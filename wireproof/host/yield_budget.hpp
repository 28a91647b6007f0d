// Decides whether a caller that found nothing gives its processor to other threads before it
// sleeps. With more ranks than processors, the peer that it waits for is often ready to run on the
// same processor. Then a yield takes a few microseconds, but a sleep and a wake of both sides take
// about 60 us each.
#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/host/doubling_pause.hpp"

namespace wireproof::host {

class YieldBudget {
public:
    /// A yield that is shorter than this found no other thread to run.
    static constexpr Duration alone = Duration::nanoseconds(1500);
    /// A wait yields for at most this time.
    static constexpr Duration most = Duration::microseconds(300);
    /// A yield that is longer than this gave the processor to a thread that does not give it back.
    /// A sleeper would have preempted that thread.
    static constexpr Duration taken = Duration::milliseconds(1);

    /// Something has arrived, or was done: the next yield begins another wait.
    void heard() {
        if (waiting_ && !asleep_) pause_.shorten();
        waiting_ = false;
    }

    /// True: the caller yields, calls back(), and polls again. False: it sleeps.
    bool yield(Instant now) {
        if (!waiting_) {
            waiting_ = true;
            began_ = now;
            asleep_ = pause_left_ > 0;
            if (asleep_) --pause_left_;
        }
        if (now - began_ >= most) asleep_ = true;
        yielded_at_ = now;
        return !asleep_;
    }

    /// The yield has returned.
    void back(Instant now) {
        const Duration took = now - yielded_at_;
        crowded_ = took >= alone && took < taken;
        if (took < alone) asleep_ = true;
        if (took < taken) return;
        asleep_ = true;
        pause_left_ = pause_.waits();
        pause_.lengthen();
    }

    /// In the last yield, other threads ran and gave the processor back. So a wait should yield at
    /// once: a poll before that keeps the peer from running.
    bool crowded() const { return crowded_; }

private:
    Instant began_{};
    Instant yielded_at_{};
    bool waiting_ = false;
    bool crowded_ = false;
    bool asleep_ = false;  // the rest of this wait does not yield
    DoublingPause pause_;  // after such a thread was met, so many waits do not yield
    std::uint32_t pause_left_ = 0;
};

}  // namespace wireproof::host
