// How long an RC responder may hold an acknowledgement (ACK), so that one ACK covers more messages
// (RC-11). The responder holds an ACK only while it knows that the requester has at least twice as
// many messages outstanding as the ACK covers. The requester can then continue to send while the
// ACK is held. A requester that sends one message at a time gets every ACK at once.
//
// The responder counts the messages that ask for an ACK between two ACKs. It takes this number as
// the number of messages that the requester has outstanding. To learn whether the requester would
// send more, the responder sometimes waits for twice that number before it sends one ACK. Such an
// ACK is a trial. If the requester falls silent during a trial, it waited for the ACK, and the
// responder makes no trials for a pause. If the requester falls silent at any other time, the
// responder holds no ACK for a pause. Each pause is twice as long as the one before. It becomes
// shorter again while ACKs are held and the requester continues to send.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::proto::ib {

/// The usual delay on a host. The messages of a requester that does not wait arrive at shorter
/// intervals than this.
inline constexpr Duration usual_ack_delay = Duration::microseconds(30);

class AckHold {
public:
    static constexpr std::uint32_t messages_max = 16;  // per ACK, outside of trials
    static constexpr std::uint32_t packets_max = 32;   // per ACK, also in trials
    static constexpr std::int64_t delays_max = 4;      // delays, after the first packet that asks
    static constexpr std::uint32_t pause_least = 8;    // ACKs
    static constexpr std::uint32_t pause_most = 1024;
    static constexpr std::uint32_t good_holds = 4;  // holds until the next pause is shorter

    struct Request {
        bool ends = false;  // the packet ends its message
        bool asks = false;  // the packet asks for an ACK
    };
    /// The responder executed a packet of a request. `delay` is how long the requester may be
    /// silent before the ACK leaves; with zero, nothing is held. If a packet inside a message asks
    /// for an ACK, the ACK leaves at once: the requester may have no room to send more.
    void executed(Instant now, Request request, Duration delay) {
        if (delay == Duration()) return;
        ++packets_;
        if (request.ends && request.asks) ++messages_;
        if (request.asks && !request.ends) released_ = true;
        if (request.asks && late_at_ == never) late_at_ = now + delay * delays_max;
        silent_at_ = now + delay;
    }

    /// Whether an ACK that is due may wait.
    bool holds(Instant now) const { return deadline() != never && now < deadline(); }
    Instant deadline() const {
        return is_owed() && !released_ && !is_full() ? earliest(silent_at_, late_at_) : never;
    }
    void on_deadline(Instant now) {
        if (deadline() <= now) released_ = true;
    }

    /// The held ACK leaves at the next call of poll_transmit.
    void release() {
        if (is_owed()) released_ = true;
    }

    /// An ACK left.
    void left(Instant now) {
        if (is_owed()) learn(now);
        messages_ = packets_ = 0;
        released_ = false;
        silent_at_ = late_at_ = never;
    }

    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add(messages_);
        sink.add(packets_);
        sink.add(released_);
        sink.add_deadline(silent_at_, now);
        sink.add_deadline(late_at_, now);
        sink.add(known_);
        sink.add(held_well_);
        for (const Pause* pause : {&trials_, &holds_}) {
            sink.add(pause->left);
            sink.add(pause->next);
        }
    }

private:
    struct Pause {
        std::uint32_t left = 0;  // ACKs
        std::uint32_t next = pause_least;

        void begin() {
            left = next;
            next = std::min(next * 2, pause_most);
        }
        void pass() {
            if (left > 0) --left;
        }
        void shorten() { next = std::max(next / 2, pause_least); }
    };

    static constexpr std::uint32_t known_most = 2 * messages_max;

    bool is_owed() const { return late_at_ != never; }
    bool is_trial() const {
        return known_ > 1 && known_ < known_most && trials_.left == 0 && holds_.left == 0;
    }
    std::uint32_t limit() const {
        if (holds_.left > 0) return 0;
        return is_trial() ? 2 * known_ : known_ / 2;
    }
    void learn(Instant now) {
        const bool trial = is_trial();
        const bool waited = !is_full() && now >= silent_at_;
        const bool reached = limit() > 1 && messages_ >= limit();
        trials_.pass();
        holds_.pass();
        if (waited) {
            (trial ? trials_ : holds_).begin();
        } else if (trial) {
            reached ? trials_.shorten() : trials_.begin();
        } else if (reached && ++held_well_ == good_holds) {
            held_well_ = 0;
            holds_.shorten();
        }
        known_ = std::clamp(messages_, waited ? 1U : known_, known_most);
    }
    bool is_full() const { return messages_ >= limit() || packets_ >= packets_max; }

    std::uint32_t messages_ = 0;  // messages that asked for an ACK since the last ACK left
    std::uint32_t packets_ = 0;   // packets of requests since the last ACK left
    bool released_ = false;
    Instant silent_at_ = never;    // when the requester counts as silent; each packet moves it
    Instant late_at_ = never;      // latest time for the ACK; never: no ACK is due
    std::uint32_t known_ = 1;      // messages that the requester had outstanding at once
    std::uint32_t held_well_ = 0;  // ACKs held with success since a pause became shorter
    Pause trials_;
    Pause holds_;
};

}  // namespace wireproof::proto::ib
