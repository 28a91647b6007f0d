// Computes how long an engine waits for an acknowledgement before it asks or retransmits, if the
// round trip is not known in advance. The wait is three times the longest recent round trip, but at
// least `floor`, because hosts may sleep, and at most `start`. If `floor` is zero, nothing is
// measured and the wait is always `start`.
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

    /// The sender has sent a packet for the first time. It is the last of `outstanding`
    /// unacknowledged packets.
    void sent(Instant now, std::size_t outstanding) {
        if (floor_ == Duration() || ahead_ > 0) return;
        ahead_ = outstanding;
        since_ = now;
    }
    /// The same for packets that the sender sends at one instant as a burst: the last packet of the
    /// burst is measured. The caller may report each packet or only the last one, with the same
    /// result.
    void sent_in_burst(Instant now, std::size_t outstanding) {
        if (ahead_ > 0 && now == since_) {
            ahead_ = outstanding;
        } else {
            sent(now, outstanding);
        }
    }
    /// The peer acknowledged the oldest `count` packets.
    void freed(Instant now, std::size_t count) {
        if (ahead_ == 0) return;
        ahead_ -= std::min(ahead_, count);
        // The value falls slowly, by at most 1/8 per measurement, because the next round trip may
        // be long again.
        if (ahead_ == 0) rtt_ = std::max(now - since_, rtt_ - Duration(rtt_.picoseconds() / 8));
    }
    /// The sender has retransmitted packets. An acknowledgement may now belong to either copy, so
    /// the measurement is given up.
    void resent() { ahead_ = 0; }
    /// The path may have changed: forgets what was measured.
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
    Duration rtt_{};  // the longest recent one; zero: not measured
    std::size_t ahead_ = 0;
    Instant since_;
};

}  // namespace wireproof
