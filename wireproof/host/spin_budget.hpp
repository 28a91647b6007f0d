// Decides how long a caller polls before it sleeps. To wake a sleeping thread costs about 60 us, so
// it pays to poll for about as long after traffic; but mostly if polling has found something
// lately. With more processes than processors it seldom does, because the peer cannot run
// meanwhile.
//
// A caller that sleeps at once does not learn what a poll would have found. So after some short
// sleeps it tries one long poll. Answers that take 10 us are then polled for again, even if the
// first ones took a second because the peer was just starting. If both ends sleep in each round
// trip, an answer takes as long as it takes to wake the peer, and the try lasts longer than that.
// Then one end polls, the sleeps of the other end become short, and it polls as well.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/host/doubling_pause.hpp"

namespace wireproof::host {

class SpinBudget {
public:
    static constexpr Duration most = Duration::microseconds(60);
    /// The length of a try, and of the polls after a try that found something.
    static constexpr Duration longest = Duration::microseconds(120);
    static constexpr Duration least = Duration::microseconds(1);

    /// Something has arrived, or was done, now.
    void heard(Instant now) {
        const Duration took = now - heard_at_;
        const bool soon = took < longest * 2;  // even if both ends had to be woken
        // A try has taken place only if the caller polled for at least the budget.
        const bool tried = trying_ && looking_ && took >= budget_;
        if (looking_ && soon) {  // otherwise, the caller gave up that poll long ago
            if (tried) pause_.shorten();
            budget_ =
                std::min(tried ? longest : std::max(most, budget_), (tried ? took : budget_) * 2);
        } else if (slept_ && soon) {
            ++short_sleeps_;
        }
        if (tried) trying_ = false;
        if (!trying_ && budget_ < most && short_sleeps_ >= pause_.waits()) {
            trying_ = true;
            short_sleeps_ = 0;
        }
        looking_ = slept_ = false;
        heard_at_ = now;
    }

    /// True: the caller polls again. False: it sleeps. A poll that found nothing halves the budget;
    /// a try that found nothing doubles the number of sleeps before the next try.
    bool look_again(Instant now) {
        if (now - heard_at_ < (trying_ ? longest : budget_)) {
            looking_ = true;
            return true;
        }
        if (looking_) {
            if (trying_) {
                pause_.lengthen();
            } else {
                budget_ = std::max(least, Duration(budget_.picoseconds() / 2));
            }
            looking_ = trying_ = false;
        }
        slept_ = true;
        return false;
    }

    /// The caller yielded instead of a sleep. What it finds then does not show that sleeps are
    /// short.
    void yielded() { slept_ = false; }

private:
    Duration budget_ = most;
    Instant heard_at_{};
    bool looking_ = false;  // in the present wait, the caller has polled again
    bool trying_ = false;   // the next poll goes on beyond the budget, up to `longest`
    bool slept_ = false;
    std::uint32_t short_sleeps_ = 0;  // since the last try
    DoublingPause pause_;             // in short sleeps, from one try to the next
};

}  // namespace wireproof::host
