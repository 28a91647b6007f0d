// How long to look again and again before sleeping. To be woken costs some 60 us, so it pays to
// look for about as long after traffic; but only where looking has found something lately. With
// more processes than processors it never does, since the peer cannot run meanwhile.
#pragma once

#include <algorithm>

#include "wireproof/base/instant.hpp"

namespace wireproof::host {

class SpinBudget {
public:
    static constexpr Duration most = Duration::microseconds(60);
    static constexpr Duration least = Duration::microseconds(1);

    /// Something came, or was done, now.
    void heard(Instant now) {
        if (looking_) budget_ = std::min(most, budget_ * 2);
        looking_ = false;
        heard_at_ = now;
    }

    /// Whether to look again rather than sleep. A wait that ends in sleep halves the next.
    bool look_again(Instant now) {
        if (now - heard_at_ < budget_) {
            looking_ = true;
            return true;
        }
        if (looking_) budget_ = std::max(least, Duration(budget_.picoseconds() / 2));
        looking_ = false;
        return false;
    }

private:
    Duration budget_ = most;
    Instant heard_at_{};
    bool looking_ = false;
};

}  // namespace wireproof::host
