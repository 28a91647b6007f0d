// When an RC responder sends its acknowledgement (ACK): at once, or later, so that one ACK covers
// more messages, or leaves behind a request of its own side. There are three reasons to wait.
//
// The requester continues to send (RC-11). The responder holds an ACK that a packet asks for only
// while it knows that the requester has at least twice as many messages outstanding as the ACK
// covers. The requester can then continue to send while the ACK is held. A requester that sends one
// message at a time gets every ACK at once. The responder counts the messages that ask for an ACK
// between two ACKs. It takes this number as the number of messages that the requester has
// outstanding. To learn whether the requester would send more, the responder sometimes waits for
// twice that number before it sends one ACK. Such an ACK is a trial. If the requester falls silent
// during a trial, it waited for the ACK, and the responder makes no trials for a pause. If the
// requester falls silent at any other time, the responder holds no ACK for a pause. Each pause is
// twice as long as the one before. It becomes shorter again while ACKs are held and the requester
// continues to send.
//
// The program answers. If it answers each message with a message, the peer waits for that answer.
// So the answer leaves first. The poll that receives the ACK at the peer then receives the answer,
// too, and no thread of the peer has to be woken. The responder holds ACKs only after the program
// has answered in time. It stops after `vain_most` ACKs in a row without an answer in time.
//
// No packet asks (RC-37). The requester does not wait for the ACK. It leaves when it covers many
// messages, when no further message has ended within the delay, or when a packet asks for an ACK.
// If programs answer each other at longer intervals than the delay, each message would draw an ACK
// that leaves alone and late, and wakes both ends. After such an ACK, the next ones leave behind
// the program's next request.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::proto::ib {

/// The usual delay on a host. The messages of a requester that does not wait arrive at shorter
/// intervals than this.
inline constexpr Duration usual_ack_delay = Duration::microseconds(30);

class AckPolicy {
public:
    static constexpr std::uint32_t messages_max = 16;  // per ACK, outside of trials
    static constexpr std::uint32_t packets_max = 32;   // per ACK that is asked for, also in trials
    static constexpr std::int64_t delays_max = 4;      // delays, after the first packet
    static constexpr std::uint32_t pause_least = 8;    // ACKs
    static constexpr std::uint32_t pause_most = 1024;
    static constexpr std::uint32_t good_holds = 4;  // holds until the next pause is shorter
    static constexpr std::uint32_t vain_most = 4;
    /// So many ACKs leave behind a request after an ACK that left late, for one message.
    static constexpr std::uint32_t behind_requests = 16;

    struct Request {
        bool ends = false;  // the packet ends its message
        bool asks = false;  // the packet asks for an ACK
    };
    struct Terms {
        Duration delay;  // for a further packet or for an answer; with zero, no ACK waits for one
        bool near = false;  // the requester is near: an ACK that is asked for waits for no packet
        bool acks_all = false;  // messages that ask for no ACK are acknowledged, too
    };

    /// The responder executed a packet of a request. If a packet inside a message asks for an ACK,
    /// the ACK leaves at once: the requester may have no room to send more. So does an ACK that
    /// was owed before a packet asked. If a second message comes, the peer does not wait for an
    /// answer of the program.
    void executed(Instant now, Request request, const Terms& terms) {
        const bool holds_asked = terms.delay > Duration() && !terms.near;
        const bool was_unasked = unasked_ > 0;
        if (request.asks && (terms.acks_all || holds_asked)) ask();
        if (terms.acks_all && request.ends && !asked_) {
            if (unasked_ == 0) late_at_ = now + terms.delay * delays_max;
            if (unasked_ < messages_max) ++unasked_;
            silent_at_ = now + terms.delay;
        }
        if (holds_asked) {
            ++packets_;
            if (request.ends && request.asks) ++messages_;
            if (request.asks && late_at_ == never) late_at_ = now + terms.delay * delays_max;
            if (request.asks && (!request.ends || was_unasked)) released_ = true;
            if (asked_) silent_at_ = now + terms.delay;
        }
        if (request.ends && terms.delay > Duration()) {
            const bool first = answer_until_ == never;
            answer_until_ = now + terms.delay;
            reply_until_ = first && vain_left_ > 0 ? answer_until_ : never;
        }
    }
    /// A request of this side left. The ACK may follow.
    void request_left(Instant now) {
        if (answer_until_ != never && now <= answer_until_) vain_left_ = vain_most;
        answer_until_ = reply_until_ = never;
        if (unasked_ == 0 || behind_ == 0) return;
        --behind_;
        unasked_ = messages_max;
    }

    /// Whether an ACK that is due may wait.
    bool holds(Instant now) const {
        return is_before(now, packet_deadline()) || (unasked_ == 0 && awaits_request(now));
    }
    /// The program usually answers a message in time, and has not answered this one.
    bool awaits_request(Instant now) const { return is_before(now, reply_until_); }
    Instant deadline() const {
        return unasked_ > 0 ? packet_deadline() : earliest(packet_deadline(), reply_until_);
    }
    void on_deadline(Instant now) {
        if (packet_deadline() <= now) {
            if (unasked_ == 1) behind_ = behind_requests;
            leave_at_once();
        }
        end_reply(now);
    }
    /// The ACK leaves at the next chance.
    void release() {
        leave_at_once();
        reply_until_ = never;
    }
    /// An ACK left. Its deadline may be over although on_deadline was not called.
    void left(Instant now) {
        if (asked_ && late_at_ != never) learn(now);
        messages_ = packets_ = unasked_ = 0;
        released_ = asked_ = false;
        silent_at_ = late_at_ = never;
        end_reply(now);
        reply_until_ = never;
    }

    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add(messages_);
        sink.add(packets_);
        sink.add(unasked_);
        sink.add(asked_);
        sink.add(released_);
        sink.add(behind_);
        sink.add_deadline(silent_at_, now);
        sink.add_deadline(late_at_, now);
        sink.add(known_);
        sink.add(held_well_);
        for (const Pause* pause : {&trials_, &holds_}) {
            sink.add(pause->left);
            sink.add(pause->next);
        }
        sink.add_deadline(answer_until_, now);
        sink.add_deadline(reply_until_, now);
        sink.add(vain_left_);
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

    static bool is_before(Instant now, Instant deadline) {
        return deadline != never && now < deadline;
    }
    /// The ACK that is asked for covers what nobody asked for, too.
    void ask() {
        asked_ = true;
        if (unasked_ == 0) return;
        unasked_ = 0;
        silent_at_ = late_at_ = never;
    }
    void leave_at_once() {
        if (unasked_ > 0) {
            unasked_ = messages_max;
        } else if (late_at_ != never) {
            released_ = true;
        }
    }
    void end_reply(Instant now) {
        if (reply_until_ > now) return;
        reply_until_ = never;
        --vain_left_;
    }
    /// How long the ACK waits for further packets.
    Instant packet_deadline() const {
        const bool full = unasked_ > 0 ? unasked_ >= messages_max : released_ || is_full();
        return late_at_ != never && !full ? earliest(silent_at_, late_at_) : never;
    }

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

    // Since the last ACK left.
    std::uint32_t messages_ = 0;  // that asked for an ACK
    std::uint32_t packets_ = 0;   // of requests
    std::uint32_t unasked_ = 0;   // messages, if none asked; messages_max: the ACK leaves at once
    bool asked_ = false;          // a packet asked for an ACK
    bool released_ = false;       // the ACK that is asked for leaves at once
    Instant silent_at_ = never;   // when the requester counts as silent; each packet moves it
    Instant late_at_ = never;     // latest time for the ACK; never: it does not wait for packets

    std::uint32_t known_ = 1;      // messages that the requester had outstanding at once
    std::uint32_t held_well_ = 0;  // ACKs held with success since a pause became shorter
    Pause trials_;
    Pause holds_;
    std::uint32_t behind_ = 0;  // unasked ACKs that leave behind a request of this side

    Instant answer_until_ = never;  // never: no message was executed since the last request left
    Instant reply_until_ = never;   // the ACK waits for the answer; never: it does not
    std::uint32_t vain_left_ = 0;   // 0: the program does not answer in time, as far as known
};

}  // namespace wireproof::proto::ib
