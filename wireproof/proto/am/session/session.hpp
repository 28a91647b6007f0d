// The layer that begins and ends sessions: HELLO and UNKNOWN, the timers that ask a silent peer,
// and the report of what an ended session leaves.
#pragma once

#include "wireproof/proto/am/connection_state.hpp"

namespace wireproof::am {

class Session : protected ConnectionState {
protected:
    using ConnectionState::ConnectionState;

    RxVerdict on_hello(Instant now, const Packet& packet);
    RxVerdict on_unknown(const Packet& packet);
    void begin_session(Instant now, bool replaces);
    /// This end gives up the session. It does not begin another one by itself.
    void give_up(const SessionEnded& ended) {
        handshake_.end(ended);
        end_session(ended);
    }
    void give_up(SessionEnded::Why why) { give_up(SessionEnded{.why = why}); }
    /// Each unfinished message once and in order; the last delivery is the end of the session.
    std::optional<Delivery> draw_ending();
    static HandlerId handler_of_note(const SendWindow& window, const SendWindow::Saved& note);

    // Timers: session/timers.cpp.

    /// Called once per turn: sets the timers for what this end waits for.
    void watch_peer(Instant now);
    void watch_idle(Instant now) {
        watch_interval_ = config_.keepalive_after;
        timers_.set(Timer::keepalive_request, now + watch_interval_);
    }
    void on_hello_timer(Instant now, Instant due);
    void on_keepalive_timer(Instant now, Instant due, Channel channel);
    void release_held_acks();

private:
    void end_session(SessionEnded ended);
    void forget_session();
};

}  // namespace wireproof::am
