// The layer that begins and ends sessions: HELLO and UNKNOWN, the timers that ask a silent peer,
// and what an ended session leaves to be drawn.
#pragma once

#include "wireproof/proto/am/connection_state.hpp"

namespace wireproof::am {

class Session : protected ConnectionState {
protected:
    using ConnectionState::ConnectionState;

    RxVerdict on_hello(Instant now, const Header& header, ConstBytes data);
    RxVerdict on_unknown(const Header& header, ConstBytes data);
    void begin_session(Instant now, bool replaces);
    /// This end ends the session, and begins no other by itself.
    void give_up(const SessionEnded& ended) {
        handshake_.end(ended);
        end_session(ended);
    }
    void give_up(SessionEnded::Why why) { give_up(SessionEnded{.why = why}); }
    /// Every message that has not ended, once and in order; the last is the end itself.
    std::optional<Delivery> draw_ending();
    static HandlerId handler_of_note(const SendWindow& window, const SendWindow::Saved& note);

    // Timers: session/timers.cpp.

    /// Once a turn: the timers follow what is waited for.
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
