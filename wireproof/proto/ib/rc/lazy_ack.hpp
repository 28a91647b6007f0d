// When an RC responder acknowledges messages that ask for no acknowledgement (RC-37). Their
// requester does not wait for the acknowledgement (ACK), so one ACK covers many messages. It leaves
// when they are many, when no further message has ended within the delay, or when a packet asks for
// an ACK.
//
// If programs answer each other at longer intervals than the delay, each message would draw an ACK
// that leaves alone and late, and wakes both ends. After such an ACK, the next ones leave behind
// the program's next request.
#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/ib/rc/ack_hold.hpp"

namespace wireproof::proto::ib {

class LazyAck {
public:
    static constexpr std::uint32_t messages_max = 16;  // per ACK
    static constexpr std::int64_t delays_max = 4;      // delays, after the first message
    /// So many ACKs leave behind a request after an ACK that left late, for one message.
    static constexpr std::uint32_t behind_requests = 16;

    /// The responder executed a packet of a request. `delay` is how long an ACK that nobody asks
    /// for waits for a further message. An ACK that a packet asks for does not wait here, and
    /// covers all messages until it leaves.
    void executed(Instant now, AckHold::Request request, Duration delay) {
        if (request.asks) {
            asked_ = true;
            messages_ = 0;
        }
        if (asked_ || !request.ends) return;
        if (messages_ == 0) late_at_ = now + delay * delays_max;
        if (messages_ < messages_max) ++messages_;
        silent_at_ = now + delay;
    }

    /// An ACK is owed, but no packet asks for it.
    bool is_owed() const { return messages_ > 0; }
    /// Whether that ACK may wait.
    bool holds(Instant now) const { return deadline() != never && now < deadline(); }
    Instant deadline() const {
        return is_owed() && messages_ < messages_max ? earliest(silent_at_, late_at_) : never;
    }
    void on_deadline(Instant now) {
        if (deadline() > now) return;
        if (messages_ == 1) behind_ = behind_requests;
        release();
    }
    /// A request of this side left.
    void request_left() {
        if (!is_owed() || behind_ == 0) return;
        --behind_;
        release();
    }
    /// The ACK leaves at the next chance.
    void release() {
        if (is_owed()) messages_ = messages_max;
    }
    /// An ACK left.
    void left() {
        messages_ = 0;
        asked_ = false;
    }

    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add(messages_);
        sink.add(asked_);
        sink.add(behind_);
        sink.add_deadline(is_owed() ? silent_at_ : never, now);
        sink.add_deadline(is_owed() ? late_at_ : never, now);
    }

private:
    std::uint32_t messages_ = 0;  // since the last ACK left
    bool asked_ = false;          // since the last ACK left
    std::uint32_t behind_ = 0;    // ACKs that leave behind a request of this side
    Instant silent_at_ = never;
    Instant late_at_ = never;
};

}  // namespace wireproof::proto::ib
