// The timers of an engine. Each has a name from an enum and a deadline.
#pragma once

#include <array>
#include <utility>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof {

/// `Name` is an enum class with `Count` values, which count from 0.
template <class Name, std::size_t Count>
class TimerTable {
public:
    TimerTable() { deadlines_.fill(never); }

    void set(Name timer, Instant deadline) {
        at(timer) = deadline;
        soonest_set_ = earliest(soonest_set_, deadline);
    }
    void stop(Name timer) { at(timer) = never; }
    bool running(Name timer) const { return deadline(timer) != never; }
    Instant deadline(Name timer) const { return deadlines_[static_cast<std::size_t>(timer)]; }
    Instant next() const {
        Instant next = never;
        for (const Instant deadline : deadlines_) next = earliest(next, deadline);
        return next;
    }
    /// Returns the earliest deadline that was set since the last call. The earlier of it and the
    /// next() of that time is a lower bound of next() now, and takes fewer steps.
    Instant take_soonest_set() { return std::exchange(soonest_set_, never); }

    /// True if the deadline of the timer has come. This also stops the timer, so the next call
    /// returns false.
    bool take_expired(Name timer, Instant now) {
        if (deadline(timer) == never || deadline(timer) > now) return false;
        stop(timer);
        return true;
    }

    void fingerprint(Instant now, Fingerprint& sink) const {
        for (const Instant deadline : deadlines_) sink.add_deadline(deadline, now);
    }

private:
    Instant& at(Name timer) { return deadlines_[static_cast<std::size_t>(timer)]; }

    std::array<Instant, Count> deadlines_;
    Instant soonest_set_ = never;
};

}  // namespace wireproof
