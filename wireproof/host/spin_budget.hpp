// How long to look again and again before sleeping. To be woken costs some 60 us, so it pays to
// look for about as long after traffic; but mostly where looking has found something lately. With
// more processes than processors it seldom does, since the peer cannot run meanwhile.
//
// A program that sleeps at once learns nothing of what a look would have found. So after some
// sleeps that were short it tries once what a long look finds: answers that take 10 us are then
// looked for again even if the first ones, of a peer that was just starting, took a second. Where
// both ends sleep in each round trip, the answer takes as long as the peer is woken, and the try
// outlasts that. Then one end looks, the other's sleeps become short, and it looks as well.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wireproof/base/instant.hpp"

namespace wireproof::host {

class SpinBudget {
public:
    static constexpr Duration most = Duration::microseconds(60);
    /// A try, and looks after one that found something.
    static constexpr Duration longest = Duration::microseconds(120);
    static constexpr Duration least = Duration::microseconds(1);
    /// Short sleeps between two tries: fewer after one that found something, more after one that
    /// did not.
    static constexpr std::uint32_t pause_least = 16;
    static constexpr std::uint32_t pause_most = 1024;

    /// Something came, or was done, now.
    void heard(Instant now) {
        const Duration took = now - heard_at_;
        const bool soon = took < longest * 2;  // though both ends had to be woken
        // A try is over once it looked for longer than the budget would have.
        const bool tried = trying_ && looking_ && took >= budget_;
        if (looking_ && soon) {  // else that look was given up long ago
            if (tried) pause_ = std::max(pause_least, pause_ / 2);
            budget_ =
                std::min(tried ? longest : std::max(most, budget_), (tried ? took : budget_) * 2);
        } else if (slept_ && soon) {
            ++short_sleeps_;
        }
        if (tried) trying_ = false;
        if (!trying_ && budget_ < most && short_sleeps_ >= pause_) {
            trying_ = true;
            short_sleeps_ = 0;
        }
        looking_ = slept_ = false;
        heard_at_ = now;
    }

    /// Whether to look again rather than sleep. A look that found nothing halves the next; a try
    /// doubles the sleeps before the next one.
    bool look_again(Instant now) {
        if (now - heard_at_ < (trying_ ? longest : budget_)) {
            looking_ = true;
            return true;
        }
        if (looking_) {
            if (trying_) {
                pause_ = std::min(pause_most, pause_ * 2);
            } else {
                budget_ = std::max(least, Duration(budget_.picoseconds() / 2));
            }
            looking_ = trying_ = false;
        }
        slept_ = true;
        return false;
    }

private:
    Duration budget_ = most;
    Instant heard_at_{};
    bool looking_ = false;  // in the wait under way it looked at least once more
    bool trying_ = false;   // the next look that finds nothing within the budget is the longest
    bool slept_ = false;
    std::uint32_t short_sleeps_ = 0;  // since the last try
    std::uint32_t pause_ = pause_least;
};

}  // namespace wireproof::host
