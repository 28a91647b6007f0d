// The part of send/acknowledge.cpp that runs for each packet. The end of sender.hpp includes this
// file; no other file may.
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

/// Everything that has left on the channel is acknowledged, and nothing waits.
[[gnu::always_inline]] inline void Sender::end_all(Instant now, Channel channel) {
    SendWindow& window = sender(channel).window;
    WIREPROOF_CHECK(window.settled());
    const std::uint32_t freed = window.under_way();
    window.drop_all();
    note_freed(now, channel, freed);
}

/// In light traffic an acknowledgement covers all packets of its channel. The short code for this
/// case knows the channel and takes half of the instructions.
[[gnu::always_inline]] inline void Sender::apply_ack(Instant now, Channel channel,
                                                     std::uint32_t expected) {
    const SendWindow& window = sender(channel).window;
    if (expected == window.first_unacknowledged()) return;
    if (!window.ends_all(expected)) return on_ack(now, channel, expected);
    end_all(now, channel);
}

/// An undamaged packet of the session arrived: its sender lives, and its acknowledgements apply.
/// The function that accepts the packet applies the rest: it passes the number and counts the
/// verdict.
[[gnu::always_inline]] inline void Sender::commit(Instant now, const Acks& acks) {
    liveness_.heard(now);
    apply_ack(now, Channel::request, acks[0]);
    apply_ack(now, Channel::reply, acks[1]);
}

}  // namespace wireproof::am
