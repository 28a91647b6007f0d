// What a sender does while it retransmits its oldest unacknowledged packet again and again without
// an answer, on a path that it shares with other flows. The sender doubles its wait each time,
// retransmits only that packet, and reports for how long this has lasted. When the peer answers,
// the sender sends more packets again, step by step. A physical link has fixed timers and does not
// need this.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof {

/// A packet that the sender has retransmitted and that has no answer: neither an acknowledgement
/// nor "not now" (for example, receiver not ready).
struct Unanswered {
    Instant since = never;    // first retransmission; never: there is no such packet
    std::uint32_t times = 0;  // number of retransmissions
    std::size_t bytes = 0;    // length of its frame

    /// When the sender gives up the packet; never: it was not retransmitted often enough to judge.
    Instant deadline(Duration limit) const {
        return since == never || times < times_min ? never : since + limit;
    }
    bool lasts(Instant now, Duration limit) const { return deadline(limit) <= now; }

    /// If 30 % of all packets and of all answers are lost, one packet in 10^9 fails this many times
    /// in a row. A process that slept has retransmitted fewer times.
    static constexpr std::uint32_t times_min = 32;
};

/// A regular value. The engine reports when retransmission begins and when there is progress.
class Backoff {
public:
    static constexpr Duration wait_max = Duration::milliseconds(100);
    static constexpr std::uint32_t doublings_max = 16;
    static constexpr std::size_t unlimited = ~std::size_t{0};

    Backoff() = default;
    /// If `on` is false, timers stay as they are and all packets are retransmitted each time.
    explicit Backoff(bool on) : on_(on) {}

    /// The sender begins to retransmit the oldest packet, and perhaps later ones.
    void retransmits(Instant now) {
        if (unanswered_.since == never) unanswered_.since = now;
        ++unanswered_.times;
        if (!on_) return;
        if (unanswered_.times >= free_rounds) {
            window_ = 1;
        } else if (window_ != unlimited) {
            window_ = std::max<std::size_t>(window_ / 2, 1);
        }
    }
    /// The sender has retransmitted the oldest packet in a frame of `bytes` bytes.
    void oldest_left(std::size_t bytes) { unanswered_.bytes = bytes; }
    /// The peer acknowledged the oldest packet, and `acknowledged` packets in total. 0: the peer
    /// answered "not now".
    void answered(std::size_t acknowledged) {
        unanswered_ = {};
        if (window_ == unlimited) return;
        window_ = window_ + acknowledged < window_full ? window_ + acknowledged : unlimited;
    }
    /// The sender has no unacknowledged packets any more: back to the start.
    void reset() { *this = Backoff(on_); }

    /// How long to wait for an answer. `timer` is the wait before the first retransmission.
    Duration wait(Duration timer) const {
        if (!on_ || timer >= wait_max) return timer;
        const std::uint32_t doublings = std::min(unanswered_.times, doublings_max);
        return std::min(timer * (std::int64_t{1} << doublings), wait_max);
    }
    /// Whether a negative acknowledgement starts a retransmission at once. If not, only the timer
    /// starts it.
    bool acts_on_notice() const { return !on_ || unanswered_.times < free_rounds; }
    /// How many packets, from the oldest on, the sender may send before an answer. The second
    /// retransmission reduces this to one; then each acknowledged packet adds one.
    std::size_t window() const { return window_; }

    const Unanswered& unanswered() const { return unanswered_; }

    void fingerprint(Fingerprint& sink) const {
        if (!on_) return;
        sink.add(std::min(unanswered_.times, doublings_max));
        sink.add(window_);
    }

private:
    static constexpr std::uint32_t free_rounds = 2;  // a packet may well be lost twice by chance
    static constexpr std::size_t window_full = 64;   // from there on there is no limit

    bool on_ = false;
    std::size_t window_ = unlimited;
    Unanswered unanswered_;
};

}  // namespace wireproof
