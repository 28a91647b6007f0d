// Whether an RC responder holds an acknowledgement (ACK) back until its own side's next request has
// left. Where a program answers each message with one of its own, the peer waits for the answer, so
// the answer leaves first. The peer's poll that receives the ACK receives the answer with it, and
// no thread of the peer has to be woken.
//
// ACKs are held only after the program answered in time, and no longer after `vain_most` ACKs in a
// row got no answer in time.
#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::proto::ib {

class ReplyHold {
public:
    static constexpr std::uint32_t vain_most = 4;

    /// A message from the peer was executed. `delay` is how long its ACK may wait for an answer;
    /// zero: nothing is held. A second message shows that the peer does not wait for an answer:
    /// its ACK leaves at once.
    void executed(Instant now, Duration delay) {
        if (delay == Duration()) return;
        const bool first = in_time_until_ == never;
        in_time_until_ = now + delay;
        held_until_ = first && vain_left_ > 0 ? in_time_until_ : never;
    }
    /// A request of the own side left. What is held may follow.
    void request_left(Instant now) {
        if (in_time_until_ != never && now <= in_time_until_) vain_left_ = vain_most;
        in_time_until_ = held_until_ = never;
    }

    bool holds(Instant now) const { return held_until_ != never && now < held_until_; }
    /// When what is held leaves all the same.
    Instant deadline() const { return held_until_; }
    void on_deadline(Instant now) {
        if (held_until_ > now) return;
        held_until_ = never;
        --vain_left_;
    }
    /// An ACK left, perhaps because its time was over before anybody called on_deadline.
    void left(Instant now) {
        on_deadline(now);
        release();
    }
    /// What is held leaves at the next chance.
    void release() { held_until_ = never; }

    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add_deadline(in_time_until_, now);
        sink.add_deadline(held_until_, now);
        sink.add(vain_left_);
    }

private:
    Instant in_time_until_ = never;  // never: nothing was executed since a request left
    Instant held_until_ = never;     // never: nothing is held
    std::uint32_t vain_left_ = 0;    // 0: the program is not known to answer
};

}  // namespace wireproof::proto::ib
