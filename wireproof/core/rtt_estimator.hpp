// How long an engine waits for an acknowledgement before it asks or resends, where the round trip
// is not known beforehand: three times the longest round trip seen lately, at most the start value,
// at least a floor for hosts that sleep. Without a floor it stays at the start value.
#pragma once

#include <algorithm>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof {

class RttEstimator {
public:
    RttEstimator(Duration start, Duration floor) : start_(start), floor_(floor) {}

    Duration limit() const {
        if (rtt_ == Duration()) return start_;
        return std::min(start_, std::max(floor_, rtt_ * 3));
    }

    /// A packet left for the first time, the last of so many unacknowledged ones.
    void sent(Instant now, std::size_t outstanding) {
        if (floor_ == Duration() || ahead_ > 0) return;
        ahead_ = outstanding;
        since_ = now;
    }
    /// The same where those that leave at one instant are a burst: the last of them is measured, so
    /// it is the same whether the caller says so of each or of the last alone.
    void sent_in_burst(Instant now, std::size_t outstanding) {
        if (ahead_ > 0 && now == since_) {
            ahead_ = outstanding;
        } else {
            sent(now, outstanding);
        }
    }
    /// So many of the oldest were acknowledged.
    void freed(Instant now, std::size_t count) {
        if (ahead_ == 0) return;
        ahead_ -= std::min(ahead_, count);
        // What shrinks does so slowly: a round trip that is short now may be long again.
        if (ahead_ == 0) rtt_ = std::max(now - since_, rtt_ - Duration(rtt_.picoseconds() / 8));
    }
    /// An acknowledgement may now be of either departure, so it measures nothing.
    void resent() { ahead_ = 0; }
    /// The path may be another: nothing was measured.
    void forget() {
        rtt_ = {};
        ahead_ = 0;
    }

    void fingerprint(Instant now, Fingerprint& sink) const {
        if (floor_ == Duration()) return;
        sink.add(rtt_);
        sink.add(ahead_);
        sink.add(ahead_ > 0 ? now - since_ : Duration());
    }

private:
    Duration start_;
    Duration floor_;
    Duration rtt_{};  // the longest lately; none: not measured
    std::size_t ahead_ = 0;
    Instant since_;
};

}  // namespace wireproof
