// Decides when an Endpoint or a device copies its counters to where readers see them. It knows the
// time only from its caller, and so it costs no reading of a clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "wireproof/base/instant.hpp"

namespace wireproof::host {

class PublishPace {
public:
    /// Copies are at least this far apart, and further if there are many rows. The row of a peer
    /// takes 55 ns if its counters are in no cache (bench/counters_cost), that of a queue pair a
    /// few times as long. So copies take less than 1 % of the time.
    static constexpr Duration period = Duration::milliseconds(10);
    static constexpr Duration period_of_a_row = Duration::microseconds(50);
    /// So many rows take less time than the system calls of a sleep.
    static constexpr std::size_t few_rows = 8;

    /// The caller has polled at `now`. True: it copies now.
    bool polled(Instant now) {
        polled_ = now;
        return now >= again_;
    }
    /// The program has done something that may have changed a value.
    void note() { noted_ = true; }
    /// The caller has copied what was counted until its last poll. `frames` is how many frames it
    /// had sent and received.
    void copied(std::size_t rows, std::uint64_t frames) {
        rows_ = rows;
        frames_ = frames;
        noted_ = false;
        again_ = polled_ + std::max(period, period_of_a_row * static_cast<std::int64_t>(rows));
    }
    /// The caller is about to sleep. True: it copies now.
    bool copies_before_sleep(std::uint64_t frames) const {
        return is_behind(frames) && rows_ <= few_rows;
    }
    /// When the caller has to wake to copy, if it sleeps now. It sleeps on if only its own wakes
    /// have polled since the last copy.
    Instant next(std::uint64_t frames) const { return is_behind(frames) ? again_ : never; }
    /// The last poll.
    Instant last() const { return polled_; }

private:
    bool is_behind(std::uint64_t frames) const { return noted_ || frames != frames_; }

    Instant polled_;
    Instant again_;
    std::size_t rows_ = 0;
    std::uint64_t frames_ = 0;
    bool noted_ = true;
};

}  // namespace wireproof::host
