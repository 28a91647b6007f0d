// The timers that ask a silent peer and give it up.

#include <algorithm>

#include "wireproof/proto/am/session/session.hpp"

namespace wireproof::am {
void Session::watch_peer(Instant now) {
    if (!waits_for_peer()) return liveness_.stop_waiting();
    liveness_.wait(now);
    if (!handshake_.established()) {
        if (handshake_.can_meet() && !timers_.running(Timer::hello)) hello_due_ = true;
        return;
    }
    if (expects_peer() && send_[0].window.empty() && !timers_.running(Timer::keepalive_request)) {
        watch_idle(now);
    }
}

void Session::on_hello_timer(Instant now, Instant due) {
    if (handshake_.established() || !waits_for_peer()) return;
    liveness_.note_absence(now, due, hello_interval_);
    liveness_.asks();
    if (liveness_.given_up(now)) {
        give_up(SessionEnded::Why::silent);
        return;
    }
    hello_interval_ = std::min(hello_interval_ * 2, config_.keepalive_max);
    hello_due_ = true;
}

// If a packet left in the meantime, it has acknowledged what arrived before it.
void Session::release_held_acks() {
    for (ReceiveChannel& channel : receive_) {
        if (channel.window.owed() > 0) channel.window.owe_ack();
    }
}

void Session::on_keepalive_timer(Instant now, Instant due, Channel channel) {
    if (!handshake_.established()) return;
    const SendWindow& window = sender(channel).window;
    const bool awaited = channel == Channel::request && expects_peer();
    if (window.empty()) {
        if (!awaited) return;
        const Instant quiet = liveness_.silent_since() + config_.keepalive_after;
        if (quiet > now) {  // a frame arrived in the meantime
            watch_interval_ = config_.keepalive_after;
            timers_.set(keepalive_timer(channel), quiet);
            return;
        }
    }
    Duration& interval = window.empty() ? watch_interval_ : sender(channel).keepalive_interval;
    liveness_.note_absence(now, due, interval);
    if (liveness_.given_up(now)) {
        give_up(SessionEnded::Why::silent);
        return;
    }
    if (liveness_.unanswered() > 0) route_ = static_cast<std::uint8_t>((route_ + 1) % 4);  // AM-52
    liveness_.asks();
    ++stats_.keepalive_timeouts;
    sender(channel).rtt.resent();  // what answers now was asked for
    sender(channel).on_silence(now, liveness_.unanswered(), now - liveness_.silent_since());
    // Packets that wait to leave ask as well as a keep-alive does. But if nothing was heard since
    // the last timer either, the path may lose all packets of their length.
    sender(channel).keepalive_due = window.at_rest() || asks_first();  // AM-16
    interval = std::min(interval * 2, config_.keepalive_max);
    timers_.set(keepalive_timer(channel), liveness_.next_check(now, interval));
}

}  // namespace wireproof::am
