// The half of send/acknowledge.cpp that each packet runs. The end of sender.hpp; not to be included
// alone.
#pragma once

#include "wireproof/proto/am/send/sender.hpp"

namespace wireproof::am {
inline void Sender::refill(Channel channel) {
    const BulkSender& bulk = sender(channel).bulk;
    const bool nothing =
        bulk.active() == 0 && !bulk.waits() && (channel == Channel::request || replies_.empty());
    if (!nothing) refill_waiting(channel);
}

[[gnu::always_inline]] inline void Sender::note_freed(Instant now, Channel channel,
                                                      std::uint32_t packets) {
    const SendWindow& window = sender(channel).window;
    sender(channel).rtt.freed(now, packets);
    sender(channel).steer(now);
    sender(channel).keepalive_interval = sender(channel).rto();
    sender(channel).keepalive_due = false;
    if (!window.empty()) {
        timers_.set(keepalive_timer(channel), now + sender(channel).rto());
    } else if (channel == Channel::request && expects_peer()) {
        watch_idle(now);
    } else {
        timers_.stop(keepalive_timer(channel));
        if (!waits_for_peer()) liveness_.stop_waiting();
    }
    refill(channel);
}

/// All that is out on the channel was acknowledged, and that is all there is.
[[gnu::always_inline]] inline void Sender::end_all(Instant now, Channel channel) {
    SendWindow& window = sender(channel).window;
    WIREPROOF_CHECK(window.settled());
    const std::uint32_t freed = window.under_way();
    window.drop_all();
    note_freed(now, channel, freed);
}

/// In light traffic all is acknowledged that there is: with the channel known, half of the
/// instructions go.
[[gnu::always_inline]] inline void Sender::apply_ack(Instant now, Channel channel,
                                                     std::uint32_t expected) {
    const SendWindow& window = sender(channel).window;
    if (expected == window.first_unacknowledged()) return;
    if (!window.ends_all(expected)) return on_ack(now, channel, expected);
    end_all(now, channel);
}

/// A packet of the session came whole: its sender lives, and has what its acks say. What else it
/// says is applied by the function that accepts it: a number is passed, a verdict counted.
[[gnu::always_inline]] inline void Sender::commit(Instant now, const Acks& acks) {
    liveness_.heard(now);
    apply_ack(now, Channel::request, acks[0]);
    apply_ack(now, Channel::reply, acks[1]);
}

}  // namespace wireproof::am
