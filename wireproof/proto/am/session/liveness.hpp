// Whether the peer lives: since when it is silent, and how many questions it left unanswered. A
// peer is given up (AM-50) when both are too much; Connection sets the timers and asks.
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

    /// Something of the session came.
    void heard(Instant now) {
        silent_since_ = now;
        unanswered_ = 0;
    }
    /// The peer is waited for. Silence counts from when it first is.
    void wait(Instant now) {
        if (!waits_) heard(now);
        waits_ = true;
    }
    void stop_waiting() { waits_ = false; }
    bool waits() const { return waits_; }

    /// A timer ran out that was set `waited` before `due`. Time in which nobody looked is no
    /// silence of the peer's: it could be heard only since it was asked, and not while this end was
    /// away.
    void note_absence(Instant now, Instant due, Duration waited) {
        const Instant since =
            unanswered_ == 0 ? now + waited * -1 : std::min(now, silent_since_ + (now - due));
        silent_since_ = std::max(silent_since_, since);
    }
    /// A keep-alive or HELLO is to leave, since nothing was heard.
    void asks() { ++unanswered_; }

    Instant silent_since() const { return silent_since_; }
    std::uint32_t unanswered() const { return unanswered_; }
    bool given_up(Instant now) const {
        return unanswered_ >= keepalive_limit_ && now - silent_since_ >= peer_timeout_;
    }
    /// After the interval, or at the moment the peer may be given up if that comes first.
    Instant next_check(Instant now, Duration interval) const {
        const Instant limit = silent_since_ + peer_timeout_;
        const Instant next = now + interval;
        return limit > now && limit < next ? limit : next;
    }

    /// A new session.
    void reset() {
        unanswered_ = 0;
        waits_ = false;
    }
    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add(unanswered_);
        // Beyond the peer timeout, longer silence changes nothing; nor does any before the waiting.
        sink.add(waits_);
        if (waits_) sink.add(std::min(now - silent_since_, peer_timeout_));
    }

private:
    std::uint32_t keepalive_limit_;
    Duration peer_timeout_;
    std::uint32_t unanswered_ = 0;  // keep-alives or HELLOs since anything of the session came
    // Last frame of the session, or when the waiting for the next began; later, if nobody looked.
    Instant silent_since_;
    bool waits_ = false;
};

}  // namespace wireproof::am
