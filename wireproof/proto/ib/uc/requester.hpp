// The sending half of a UC queue pair (docs/rules/ib.md, UC requester). It sends each packet once
// and keeps nothing. A request completes when its last packet has been given to the wire. There is
// no answer and no timer.
#pragma once

#include "wireproof/proto/ib/transport/queue_pair_core.hpp"

namespace wireproof::proto::ib {

class UcRequester {
public:
    static constexpr Transport transport = Transport::uc;
    /// The requests that have UC opcodes, and the local ones, which need no opcode (UC-7).
    static constexpr bool supports(Request request) {
        return !wants_data(request) && request != Request::send_invalidate;
    }

    void start(const QueuePairCore& core) { next_ = core.attributes().send_psn; }
    void reset() { *this = {}; }
    void leave(Turn) {}
    void arrive(Turn) {}
    bool poll_transmit(Instant now, Turn turn, TxFrame& out);
    RxVerdict on_response(Instant, const Packet&, Turn turn) {
        ++turn.core.counters.not_allowed;
        return RxVerdict::refused;
    }
    void on_deadline(Instant, Turn) {}
    Instant next_deadline() const { return never; }
    bool idle(const QueuePairCore&) const { return index_ == 0; }
    bool amid_message(const QueuePairCore&) const { return index_ != 0; }
    Psn next() const { return next_; }
    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    Psn next_ = {};
    std::uint32_t index_ = 0;  // index of the next packet in the oldest request
};

}  // namespace wireproof::proto::ib
