// The sending half of an RC queue pair (docs/rules/ib.md, RC requester and Credits). It keeps each
// request until the request is answered. If something is missing, it goes back to the oldest
// unanswered PSN.
//
//   oldest_ ≤ cursor_ ≤ next_        unanswered ≤ to be sent next ≤ never sent
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "wireproof/base/ring.hpp"
#include "wireproof/core/backoff.hpp"
#include "wireproof/core/timer_table.hpp"
#include "wireproof/proto/ib/rc/flow.hpp"
#include "wireproof/proto/ib/transport/queue_pair_core.hpp"

namespace wireproof::proto::ib {

class RcRequester {
public:
    static constexpr Transport transport = Transport::rc;
    static constexpr bool supports(Request) { return true; }

    RcRequester() : asked_(0) {}

    void start(const QueuePairCore& core);
    void reset() { *this = {}; }
    /// It has nothing in flight with its peer any more.
    void leave(Turn turn);
    /// Its peer has another address since leave(). What is in flight counts for the new one.
    void arrive(Turn turn) { count_under_way(turn); }
    /// Sets how many Read requests and Atomics may be outstanding from now on.
    void allow_data_requests(std::size_t count);
    /// The oldest packet, if it was sent again and neither an answer nor an RNR NAK came.
    Unanswered unanswered() const { return backoff_.unanswered(); }
    /// The request was posted just now.
    static void posted(SendEntry& entry, ConstTurn turn) {
        if (!takes_receive(entry.terms.request)) return;
        entry.after = turn.adapter.owed.newest(turn.core.attributes().address);
    }
    bool poll_transmit(Instant now, Turn turn, TxFrame& out);
    RxVerdict on_response(Instant now, const Packet& packet, Turn turn);
    /// A response of a Read that now arrives has a mark of a router.
    void marked() { flow_.marked(); }
    /// A congestion notification arrived (RC-36).
    void on_notification(Instant now, QueuePairCore& core) {
        if (!flow_.on()) return;
        ++core.counters.cnps_handled;
        flow_.marked();
        flow_.apply(now, in_flight(core));
    }
    void on_deadline(Instant now, Turn turn);
    /// The PSN after the last Read or Atomic whose answer may be lost: it is outstanding, and the
    /// path has lost packets lately (RC-40).
    std::optional<Psn> missing_data(ConstTurn turn) const;
    /// The peer has not executed the requests from there on, or all before it are answered.
    bool has(Psn psn, const QueuePairCore& core) const {
        return timers_.running(Timer::not_ready) || difference(psn, oldest_, core.circle()) <= 0;
    }
    Instant next_deadline() const { return earliest(timers_.next(), flow_.next_deadline()); }
    /// The end of the answer timeout or of an RNR wait.
    Instant next_timeout() const { return timers_.next(); }
    /// The packets that may be in flight under congestion control (RC-33).
    const RcFlow& flow() const { return flow_; }
    bool idle(const QueuePairCore& core) const {
        return oldest_ == next_ && (core.sends.empty() || !core.sends[0].begun);
    }
    /// Whether the next packet is not the first of its message.
    bool amid_message(const QueuePairCore& core) const;
    /// The packets in flight that were sent since a packet asked for an acknowledgement.
    std::uint32_t unasked(const QueuePairCore& core) const {
        return std::min(since_ack_request_, in_flight(core));
    }
    void fingerprint(Instant now, Fingerprint& sink, ConstTurn turn) const;

    Psn oldest() const { return oldest_; }
    Psn next() const { return next_; }
    /// The number of the last message that credits allow; empty if there is no limit.
    std::optional<Msn> limit() const { return unlimited_ ? std::nullopt : std::optional(limit_); }

private:
    enum class Timer : std::uint8_t { answer, not_ready };
    struct Asked {
        Psn end;       // the PSN after it
        Reth of = {};  // what the whole Read reads; empty for an Atomic
    };

    // Sending.
    bool may_ask(const QueuePairCore& core) const;
    bool may_begin(const SendEntry& entry, const QueuePairCore& core) const;
    bool changes_what_is_read(const SendEntry& entry) const;
    static bool waits_for_answers(const SendEntry& entry, Turn turn);
    bool begin(SendEntry& entry, Turn turn);
    bool may_send_packet(const SendEntry& entry, const QueuePairCore& core) const;
    bool send_packet(Instant now, const SendEntry& entry, std::uint32_t psns, Turn turn,
                     TxFrame& out);
    bool send_oldest_again(Instant now, Turn turn, TxFrame& out);
    void send_message_packet(const SendEntry& entry, const PayloadPieces& payload, Turn turn,
                             TxFrame& out);
    bool wants_ack(const SendEntry& entry, ConstTurn turn) const;
    std::uint32_t ack_every(ConstTurn turn) const;
    std::uint32_t in_flight(const QueuePairCore& core) const {
        return core.circle().steps_after(cursor_, oldest_);
    }
    bool controlled(ConstTurn turn) const {
        return flow_.on() && !turn.adapter.windows.is_near(turn.core.attributes().address);
    }
    bool watched(ConstTurn turn) const {
        return flow_.watches() && !turn.adapter.windows.is_near(turn.core.attributes().address);
    }
    std::uint32_t flow_room(ConstTurn turn) const {
        return controlled(turn) ? flow_.room(in_flight(turn.core)) : ~std::uint32_t{0};
    }
    std::uint32_t asked_part(const QueuePairCore& core) const;
    std::uint32_t responses_to_ask(const SendEntry& entry, Turn turn) const;
    bool has_room(std::uint32_t packets, Turn turn) const;
    void send_data_request(const SendEntry& entry, std::uint32_t responses, QueuePairCore& core,
                           TxFrame& out);
    void sent(Instant now, const SendEntry& entry, std::uint32_t psns, Turn turn, TxFrame& out);

    void await_answer(Instant now, const QueuePairCore& core);

    // Answers.
    RxVerdict on_ack(Instant now, const Packet& packet, Turn turn);
    RxVerdict on_nak(Instant now, const Packet& packet, Turn turn);
    RxVerdict on_not_ready(Instant now, const Packet& packet, Turn turn);
    RxVerdict on_data(Instant now, const Packet& packet, Turn turn);
    std::optional<CompletionStatus> take_data(const Packet& packet, SendEntry& entry,
                                              ConstTurn turn) const;
    bool acknowledge_before(Instant now, Psn psn, Turn turn);
    void progress(Instant now, Psn oldest, Turn turn);
    void take_credits(const Aeth& aeth, const Circle& circle);
    void count_under_way(Turn turn);

    // Recovery.
    void retry(Instant now, Turn turn);
    bool take_retry(Turn turn);
    void lost(Instant now, Turn turn);
    void go_back(RcFlow::Earlier earlier);
    void retire(Turn turn);
    void fail(CompletionStatus status, Turn turn);

    Psn oldest_ = {};
    Psn cursor_ = {};
    Psn next_ = {};
    std::size_t cursor_entry_ = 0;  // index of the request that contains cursor_, from the oldest
    Ring<Asked> asked_;             // the Read requests and Atomics without an answer
    std::uint64_t data_psns_ = 0;  // PSNs of Reads and Atomics that have begun and are not answered
    std::uint32_t since_ack_request_ = 0;  // packets sent without AckReq

    Msn message_ = {};  // number of the last message that has begun (SSN)
    Msn limit_ = {};    // LSN
    bool unlimited_ = true;

    std::uint8_t retries_left_ = 0;
    std::uint8_t rnr_retries_left_ = 0;
    bool went_back_ = false;   // because something is missing, and no progress since then
    std::uint32_t lossy_ = 0;  // answers to Reads and Atomics until the path counts as good again
    std::uint32_t under_way_ = 0;  // packets in flight that PeerWindows counts for this queue pair
    Backoff backoff_;
    TimerTable<Timer, 2> timers_;
    RcFlow flow_;
};

}  // namespace wireproof::proto::ib
