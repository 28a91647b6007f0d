// Decides whether an RC responder holds an acknowledgement (ACK) until the next request of its own
// side has left. If a program answers each message with a message, the peer waits for that answer.
// So the answer leaves first. The poll that receives the ACK at the peer then receives the answer,
// too, and no thread of the peer has to be woken.
//
// The responder holds ACKs only after the program has answered in time. It stops after `vain_most`
// ACKs in a row without an answer in time.
#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::proto::ib {

class ReplyHold {
public:
    static constexpr std::uint32_t vain_most = 4;

    /// The responder executed a message of the peer. `delay` is how long its ACK may wait for an
    /// answer; with zero, nothing is held. A second message shows that the peer does not wait for
    /// an answer, so its ACK leaves at once.
    void executed(Instant now, Duration delay) {
        if (delay == Duration()) return;
        const bool first = in_time_until_ == never;
        in_time_until_ = now + delay;
        held_until_ = first && vain_left_ > 0 ? in_time_until_ : never;
    }
    /// A request of this side left. The held ACK may follow.
    void request_left(Instant now) {
        if (in_time_until_ != never && now <= in_time_until_) vain_left_ = vain_most;
        in_time_until_ = held_until_ = never;
    }

    bool holds(Instant now) const { return held_until_ != never && now < held_until_; }
    /// When the held ACK leaves without an answer.
    Instant deadline() const { return held_until_; }
    void on_deadline(Instant now) {
        if (held_until_ > now) return;
        held_until_ = never;
        --vain_left_;
    }
    /// An ACK left. Its deadline may be over although on_deadline was not called.
    void left(Instant now) {
        on_deadline(now);
        release();
    }
    /// The held ACK leaves at the next chance.
    void release() { held_until_ = never; }

    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add_deadline(in_time_until_, now);
        sink.add_deadline(held_until_, now);
        sink.add(vain_left_);
    }

private:
    Instant in_time_until_ = never;  // never: no message was executed since the last request left
    Instant held_until_ = never;     // never: nothing is held
    std::uint32_t vain_left_ = 0;    // 0: the program does not answer in time, as far as known
};

}  // namespace wireproof::proto::ib
