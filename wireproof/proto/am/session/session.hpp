// The session with the peer: how it begins, whether the peer lives, how it ends, and what both
// directions share: the settings, the timers and the counters.
#pragma once

#include <cstdint>

#include "wireproof/core/engine.hpp"
#include "wireproof/proto/am/arrival.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/am/session/ended.hpp"
#include "wireproof/proto/am/session/handshake.hpp"
#include "wireproof/proto/am/session/leave.hpp"
#include "wireproof/proto/am/session/liveness.hpp"
#include "wireproof/proto/am/session/timers.hpp"
#include "wireproof/proto/am/stats.hpp"

namespace wireproof::am {

class Session {
public:
    /// What this end waits for.
    struct Waits {
        bool for_peer = false;  // for something from the peer, besides acknowledgements
        bool for_acks = false;  // of its own packets, of any channel
        bool for_request_acks = false;

        bool for_any() const { return for_peer || for_acks; }
        bool only_for_peer() const { return for_peer && !for_request_acks; }
    };

    explicit Session(const Config& config)
        : handshake(config),
          liveness(config),
          config_(config),
          watch_interval_(config.keepalive_after),
          hello_interval_(config.keepalive_after),
          route_(static_cast<std::uint8_t>((config.node + config.peer) % 4)) {}

    Handshake handshake;
    Liveness liveness;
    Leave leave;
    Ended ended;
    Timers timers;
    Stats stats;

    const Config& config() const { return config_; }
    bool established() const { return handshake.established(); }
    /// There is a session, and none that has ended is still being drawn.
    bool is_open() const { return established() && !ended.active; }
    std::uint8_t route() const { return route_; }
    /// The caller waits for the peer, even if nothing is unacknowledged. False in a new session.
    void set_awaiting(bool awaiting) { awaiting_ = awaiting; }
    bool awaiting() const { return awaiting_; }

    // Beginning and end.

    RxVerdict on_hello(Instant now, const Packet& packet);
    RxVerdict on_unknown(const Packet& packet);
    /// Whether a frame with this cookie belongs to the session. It may be the first one, and then
    /// the session begins (AM-49).
    bool takes(Instant now, std::uint64_t cookie);
    /// This end gives up the session. It does not begin another one by itself.
    void give_up(const SessionEnded& how) {
        handshake.end(how);
        ended.begin(how);
    }
    void give_up(SessionEnded::Why why) { give_up(SessionEnded{.why = why}); }
    /// The rest of an ended session has been drawn.
    void reset();

    // HELLO.

    bool hello_is_due() const { return handshake.answer_due() || hello_due_; }
    Handshake::Hello take_hello(Instant now);
    /// The wire has no room for the HELLO that is due.
    void hold_hello(Instant now) {
        if (hello_due_) set_hello_timer(now);
    }

    // Timers that ask a silent peer and give it up.

    /// Called once per turn: sets the timers for what this end waits for.
    void watch(Instant now, const Waits& waits);
    void watch_idle(Instant now) {
        watch_interval_ = config_.keepalive_after;
        timers.set(Timer::keepalive_request, now + watch_interval_);
    }
    /// If this end only waits for its peer, a timer asks the peer from time to time whether it
    /// lives.
    bool watches(const Waits& waits) const {
        return !waits.only_for_peer() || timers.running(Timer::keepalive_request);
    }
    /// A question leaves before packets that wait: the peer has been silent for more than one
    /// timer.
    bool asks_first() const { return liveness.unanswered() > 1; }
    void on_hello_timer(Instant now, Instant due, const Waits& waits);
    /// The keep-alive timer of an idle connection has expired. True: the peer was heard in the
    /// meantime, and the timer is set again.
    bool was_heard(Instant now);
    /// The keep-alive timer has expired; it was set `waited` before `due`. True: the peer is asked.
    /// False: it is given up.
    bool asks_again(Instant now, Instant due, Duration waited);
    /// The next question leaves after twice the time.
    void ask_later(Instant now, Timer timer, Duration& interval);
    /// Until the next question to a peer while nothing is unacknowledged.
    Duration& watch_interval() { return watch_interval_; }

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    void begin(Instant now, bool replaces);
    void set_hello_timer(Instant now);

    Config config_;
    Duration watch_interval_;
    Duration hello_interval_;
    bool hello_due_ = false;
    bool awaiting_ = false;
    std::uint8_t route_;
};

}  // namespace wireproof::am
