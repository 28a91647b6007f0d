// Decides whether the program polls again soon after a poll that found a completion. The next poll
// of such a program receives the packets that have arrived, so peers need not wake the keeper. A
// program that waits for its memory to change, or that computes, needs the keeper.
#pragma once

#include "wireproof/base/instant.hpp"

namespace wireproof::verbs {

class PollHabit {
public:
    /// If the next poll comes later than this, it is late.
    static constexpr Duration soon = Duration::microseconds(2);
    /// After this many polls that come soon, one after the other, the program is expected to poll
    /// again.
    static constexpr int trusted_after = 16;

    void polled(Instant now) {
        if (found_ && !comes_back_) {
            soon_in_a_row_ = now - polled_at_ < soon ? soon_in_a_row_ + 1 : 0;
            comes_back_ = soon_in_a_row_ == trusted_after;
        }
        found_ = false;
        polled_at_ = now;
    }
    void found() { found_ = true; }
    /// The keeper received packets that no poll had received.
    void keeper_received(Instant now) {
        if (!found_ || is_polling(now)) return;
        comes_back_ = false;
        soon_in_a_row_ = 0;
    }

    Instant polled_at() const { return polled_at_; }
    bool comes_back() const { return comes_back_; }

private:
    /// True if the last poll was a moment ago. Then it means nothing that the keeper was faster.
    bool is_polling(Instant now) const { return now - polled_at_ < Duration::microseconds(20); }

    Instant polled_at_{};
    bool found_ = false;  // the last poll found a completion
    bool comes_back_ = true;
    int soon_in_a_row_ = 0;  // since a poll was late, or the keeper had to receive
};

}  // namespace wireproof::verbs
