// HELLOs, and the timers that ask a silent peer and give it up.
#include "wireproof/proto/am/session/timers.hpp"

#include <algorithm>

#include "wireproof/proto/am/session/session.hpp"

namespace wireproof::am {

Handshake::Hello Session::take_hello(Instant now) {
    const Handshake::Hello hello = handshake.take_hello();
    hello_due_ = false;
    if (!established()) set_hello_timer(now);
    return hello;
}

// A HELLO leaves, or would leave if there were room.
void Session::set_hello_timer(Instant now) {
    if (timers.running(Timer::hello)) return;
    timers.set(Timer::hello, liveness.next_check(now, hello_interval_));
}

void Session::watch(Instant now, const Waits& waits) {
    if (!waits.for_any()) return liveness.stop_waiting();
    liveness.wait(now);
    if (!established()) {
        if (handshake.can_meet() && !timers.running(Timer::hello)) hello_due_ = true;
        return;
    }
    if (!watches(waits)) watch_idle(now);
}

void Session::on_hello_timer(Instant now, Instant due, const Waits& waits) {
    if (established() || !waits.for_any()) return;
    liveness.note_absence(now, due, hello_interval_);
    liveness.asks();
    if (liveness.given_up(now)) return give_up(SessionEnded::Why::silent);
    hello_interval_ = std::min(hello_interval_ * 2, config_.keepalive_max);
    hello_due_ = true;
}

bool Session::was_heard(Instant now) {
    const Instant quiet = liveness.silent_since() + config_.keepalive_after;
    if (quiet <= now) return false;
    watch_interval_ = config_.keepalive_after;
    timers.set(Timer::keepalive_request, quiet);
    return true;
}

bool Session::asks_again(Instant now, Instant due, Duration waited) {
    liveness.note_absence(now, due, waited);
    if (liveness.given_up(now)) {
        give_up(SessionEnded::Why::silent);
        return false;
    }
    if (liveness.unanswered() > 0) route_ = static_cast<std::uint8_t>((route_ + 1) % 4);  // AM-52
    liveness.asks();
    ++stats.keepalive_timeouts;
    return true;
}

void Session::ask_later(Instant now, Timer timer, Duration& interval) {
    interval = std::min(interval * 2, config_.keepalive_max);
    timers.set(timer, liveness.next_check(now, interval));
}

}  // namespace wireproof::am
