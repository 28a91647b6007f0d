// What a sender does while its oldest unacknowledged packet leaves again and again without an
// answer, on a path that it shares with others: it waits twice as long each time, sends only that
// packet, and says for how long this has lasted; once that packet is answered, others follow in
// growing number. A physical link has fixed timers and needs none of this.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof {

/// A packet that was sent again, and to which no answer came: neither an acknowledgement nor "not
/// now".
struct Unanswered {
    Instant since = never;    // when it was first sent again; never: there is no such packet
    std::uint32_t times = 0;  // it was sent again
    std::size_t bytes = 0;    // of the frame that carries it

    /// When to give it up; never: it was not sent again often enough to judge.
    Instant deadline(Duration limit) const {
        return since == never || times < times_min ? never : since + limit;
    }
    bool lasts(Instant now, Duration limit) const { return deadline(limit) <= now; }

    /// Where 30 % of all packets and of all answers are lost, so many fail in a row once in 10^9
    /// packets. A process that slept has sent it fewer times.
    static constexpr std::uint32_t times_min = 32;
};

/// A regular value. An engine tells it when retransmission begins and when there is progress.
class Backoff {
public:
    static constexpr Duration wait_max = Duration::milliseconds(100);
    static constexpr std::uint32_t doublings_max = 16;
    static constexpr std::size_t unlimited = ~std::size_t{0};

    Backoff() = default;
    /// Off: timers stay as they are and everything is resent, however often.
    explicit Backoff(bool on) : on_(on) {}

    /// The oldest packet, and perhaps others behind it, begin to leave again.
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
    /// The oldest packet left again, in a frame of so many bytes.
    void oldest_left(std::size_t bytes) { unanswered_.bytes = bytes; }
    /// It was acknowledged with so many in all, or, with none, answered with "not now".
    void answered(std::size_t acknowledged) {
        unanswered_ = {};
        if (window_ == unlimited) return;
        window_ = window_ + acknowledged < window_full ? window_ + acknowledged : unlimited;
    }
    /// Nothing is kept any more.
    void reset() { *this = Backoff(on_); }

    /// How long to wait for an answer where `timer` is right for the first time.
    Duration wait(Duration timer) const {
        if (!on_ || timer >= wait_max) return timer;
        const std::uint32_t doublings = std::min(unanswered_.times, doublings_max);
        return std::min(timer * (std::int64_t{1} << doublings), wait_max);
    }
    /// Whether a negative acknowledgement begins a retransmission at once; else the timer does.
    bool heeds_notice() const { return !on_ || unanswered_.times < free_rounds; }
    /// So many packets, from the oldest on, may leave before an answer. The second retransmission
    /// makes that one, each packet acknowledged one more.
    std::size_t window() const { return window_; }

    const Unanswered& unanswered() const { return unanswered_; }

    void fingerprint(Fingerprint& sink) const {
        if (!on_) return;
        sink.add(std::min(unanswered_.times, doublings_max));
        sink.add(window_);
    }

private:
    static constexpr std::uint32_t free_rounds = 2;  // a packet may well be lost twice
    static constexpr std::size_t window_full = 64;   // from there on nothing limits it

    bool on_ = false;
    std::size_t window_ = unlimited;
    Unanswered unanswered_;
};

}  // namespace wireproof
