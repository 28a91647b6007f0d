// Whether the peer lives: since when it has been silent, and how many questions it has not
// answered. When both exceed their limits, the peer is given up (AM-50). Session sets the timers
// and asks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/am/config.hpp"

namespace wireproof::am {

class Liveness {
public:
    explicit Liveness(const Config& config)
        : keepalive_limit_(config.keepalive_limit), peer_timeout_(config.peer_timeout) {}

    /// A frame of the session arrived.
    void heard(Instant now) {
        silent_since_ = now;
        unanswered_ = 0;
    }
    /// This end waits for the peer. Silence counts from the first such call.
    void wait(Instant now) {
        if (!waits_) heard(now);
        waits_ = true;
    }
    void stop_waiting() { waits_ = false; }
    bool waits() const { return waits_; }

    /// A timer expired; it was set `waited` before `due`. Silence counts only from the time when
    /// the peer was asked, and without the time by which the timer is late: this end could not hear
    /// the peer then.
    void note_absence(Instant now, Instant due, Duration waited) {
        const Instant since =
            unanswered_ == 0 ? now + waited * -1 : std::min(now, silent_since_ + (now - due));
        silent_since_ = std::max(silent_since_, since);
    }
    /// Nothing was heard, so a keep-alive or HELLO is to leave.
    void asks() { ++unanswered_; }

    Instant silent_since() const { return silent_since_; }
    std::uint32_t unanswered() const { return unanswered_; }
    bool given_up(Instant now) const {
        return unanswered_ >= keepalive_limit_ && now - silent_since_ >= peer_timeout_;
    }
    /// After the interval, or earlier if the peer may be given up earlier.
    Instant next_check(Instant now, Duration interval) const {
        const Instant limit = silent_since_ + peer_timeout_;
        const Instant next = now + interval;
        return limit > now && limit < next ? limit : next;
    }

    /// For a new session.
    void reset() {
        unanswered_ = 0;
        waits_ = false;
    }
    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add(unanswered_);
        // Silence longer than the peer timeout changes nothing; nor does silence before the wait
        // began.
        sink.add(waits_);
        if (waits_) sink.add(std::min(now - silent_since_, peer_timeout_));
    }

private:
    std::uint32_t keepalive_limit_;
    Duration peer_timeout_;
    std::uint32_t unanswered_ = 0;  // keep-alives or HELLOs since the last frame of the session
    // When the last frame of the session arrived or the wait began; later if this end was away.
    Instant silent_since_;
    bool waits_ = false;
};

}  // namespace wireproof::am
