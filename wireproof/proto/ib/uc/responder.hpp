// The receiving half of a UC queue pair (docs/rules/ib.md, UC responder). It delivers whole
// messages in order, or drops them. It never answers the sender.
#pragma once

#include "wireproof/proto/ib/transport/incoming_message.hpp"

namespace wireproof::proto::ib {

class UcResponder {
public:
    void start(const QueuePairCore& core) { expected_ = core.attributes().receive_psn; }
    void reset() { *this = {}; }
    RxVerdict on_request(Instant now, const Packet& packet, Turn turn);
    RxVerdict on_reserved(const Bth&, Turn turn) {
        ++turn.core.counters.not_allowed;
        return RxVerdict::malformed;
    }
    /// It never sends a packet (UC-11).
    bool poll_transmit(Instant, Turn, TxFrame&) { return false; }
    void on_deadline(Instant) {}
    void request_left(Instant) {}
    void release_acks() {}
    Instant next_deadline() const { return never; }
    void on_error() {
        message_.forget();
        dropping_ = false;
    }
    void fingerprint(Instant now, Fingerprint& sink) const;

    Psn expected() const { return expected_; }

private:
    RxVerdict on_begin(const Packet& packet, Turn turn);
    RxVerdict on_rest(const Packet& packet, Turn turn);
    RxVerdict execute(const Packet& packet, Turn turn);
    void drop_message(Turn turn);
    void tell_lost(Turn turn) const;

    IncomingMessage message_;
    Psn expected_ = {};
    bool dropping_ = false;  // until the next First or Only
};

}  // namespace wireproof::proto::ib
