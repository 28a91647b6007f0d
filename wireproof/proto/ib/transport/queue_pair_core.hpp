// The parts that every queue pair has, for each transport: state, queues, counters.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/core/engine.hpp"
#include "wireproof/proto/ib/transport/adapter.hpp"
#include "wireproof/proto/ib/transport/message_hold.hpp"
#include "wireproof/proto/ib/transport/queue_pair_counters.hpp"
#include "wireproof/proto/ib/transport/queue_pair_state.hpp"
#include "wireproof/proto/ib/transport/send_queue.hpp"

namespace wireproof::proto::ib {

/// 4.096 us x 2^code. Code 0 means "no timeout", which the caller must check (RC-9).
constexpr Duration ack_timeout(std::uint8_t code) {
    return Duration::nanoseconds(4096) * (std::int64_t{1} << code);
}

struct QueuePairConfig {
    Transport transport = Transport::rc;
    std::uint32_t number = 0;  // 24 bits; 0: the port chooses
    std::uint32_t domain = 0;
    CompletionQueueId send_completions = {};
    CompletionQueueId receive_completions = {};
    std::optional<SharedReceiveQueueId> shared_receives = {};
    QueueLimits limits = {};
    bool signal_all = false;  // every send gives a completion, signalled or not

    // UC. A packet is a duplicate if its PSN is behind the expected one by at most uc_behind_max.
    // Any other PSN is ahead. Off: no packet is a duplicate, as in Linux's Soft-RoCE.
    bool uc_drop_behind = true;
    std::uint32_t uc_behind_max = 65536;
    bool tell_lost = false;  // PortEvent::What::message_lost

    // RC.
    bool credits = false;  // grant one credit per posted receive, and obey the peer's credits
    std::uint32_t ack_every = 32;  // ask for an acknowledgement at least once in so many packets
    std::uint32_t in_flight_max = 256;  // Send and Write packets in flight; at least ack_every
    /// How long the requester may be silent before the responder sends an acknowledgement that it
    /// holds (ack_policy.hpp). 0: it holds none.
    Duration ack_delay = {};
    /// The responder also acknowledges messages that ask for no acknowledgement (RC-37).
    bool acks_unasked = false;
    /// How long a received message may wait for answers to Reads and Atomics that are lost (RC-40).
    /// 0: it waits for none.
    Duration message_hold = {};
    /// The requester asks a silent responder again also without congestion control (RC-34).
    bool asks_after_silence = false;
    /// The answer timeout is this factor times its nominal length, as the specification allows: 1 …
    /// 4.
    std::uint8_t timeout_factor = 1;
    /// Retries have no limit. For measurements of the cost of recovery, and for callers that use
    /// unanswered() to give up a peer.
    bool retries_unlimited = false;
    /// While no answer comes, the answer timeout doubles and only the oldest packet is sent
    /// (core/backoff.hpp). Off: every timeout has the same length, as in the specification.
    bool backs_off = false;

    // Smaller in a search of a small world, and where states must repeat soon.
    std::uint64_t psn_modulus = wire_circle.modulus();
    std::uint64_t msn_modulus = wire_circle.modulus();
};

/// As a query of a queue pair returns them.
struct Psns {
    Psn send = {};     // of the next new packet
    Psn receive = {};  // expected next; unused for datagrams
    friend bool operator==(const Psns&, const Psns&) = default;
};

/// The receive requests of a queue pair: the one that the incoming message uses, and those after
/// it.
class ReceiveQueue {
public:
    ReceiveQueue(const QueuePairConfig& config)
        : shared_(config.shared_receives),
          own_(shared_ ? 0 : config.limits.receives, config.limits.pieces) {}

    PostStatus post(const ReceiveRequest& request) {
        return shared_ ? PostStatus::not_supported : own_.post(request);
    }
    bool shared() const { return shared_.has_value(); }
    /// The number of posted own requests, including that of an open message.
    std::size_t size() const { return own_.size(); }

    /// The request for the message that begins or has begun. Null if there is none.
    const ReceiveEntry* take(Adapter& adapter);
    /// The `nth` request that a message uses from now on, counted from 1, fails with `status`
    /// instead.
    void fail(std::uint64_t nth, CompletionStatus status) { failures_.add(nth, status); }
    /// The planned status of the request that take() returns; `success` if no failure is planned.
    CompletionStatus wanted() const { return failures_.next(); }
    /// The message has used up the request of take().
    void finish();
    /// The message of the request broke off. An own request stays first in its queue. For a shared
    /// request, returns its id: the caller completes it in error.
    std::optional<std::uint64_t> give_back();
    /// Removes all requests; calls `each` with their ids.
    template <class Each>
    void flush(Each&& each) {
        if (has_shared_) each(held_.id);
        has_shared_ = false;
        for (; !own_.empty(); own_.pop()) each(own_.front().id);
    }

    void fingerprint(Fingerprint& sink) const;

private:
    std::optional<SharedReceiveQueueId> shared_;
    ReceiveRing own_;
    ReceiveEntry held_;
    bool has_shared_ = false;
    PlannedFailures failures_;
};

class QueuePairCore {
public:
    QueuePairCore(const QueuePairConfig& config)
        : config_(config),
          circle_(config.psn_modulus),
          message_circle_(config.msn_modulus),
          sends(config.limits),
          receives(config) {}

    const QueuePairConfig& config() const { return config_; }
    std::uint32_t number() const { return config_.number; }
    const QueuePairAttributes& attributes() const { return attributes_; }
    QueuePairState state() const { return state_; }
    const Circle& circle() const { return circle_; }                  // for PSNs
    const Circle& message_circle() const { return message_circle_; }  // for MSNs
    std::size_t path_mtu() const { return attributes_.path_mtu; }
    KeyBearer bearer() const { return {config_.domain, config_.number}; }

    /// Whether packets of the peer have this right on the queue pair, in addition to their key.
    bool allows(RemoteRight right) const { return ib::allows(attributes_.access, right); }

    /// Fills in the headers for a packet to the connected peer.
    void address(Headers& headers, Psn psn) const {
        headers.bth.dest_qp = attributes_.dest_queue_pair;
        headers.bth.partition = partition;
        headers.bth.psn = psn;
    }

    /// Whether the success of a send gives a completion.
    bool gives_completion(const SendEntry& entry) const {
        return entry.terms.signalled || config_.signal_all;
    }
    /// Completes the oldest send. There is a completion if the send gives one or failed.
    void complete_send(Adapter& adapter, CompletionStatus status);
    void complete_receive(Adapter& adapter, Completion completion, bool solicited);
    /// Completes messages that wait: those for which `may_complete` returns true, in order.
    template <class MayComplete>
    void complete_held(Adapter& adapter, MayComplete&& may_complete) {
        while (!held.empty() && may_complete(held.front())) {
            const MessageHold::Held one = held.front();
            held.pop();
            push_receive(adapter, one.completion, one.solicited);
        }
    }
    /// Executes a request that sends no packet.
    CompletionStatus run_local(const SendEntry& entry, Adapter& adapter) const;

    void set_state(QueuePairState state) { state_ = state; }
    /// Goes to RESET: discards all posted work, and the completions that were not polled.
    void clear(Adapter& adapter);
    /// A completion found no room in its queue; the port then puts the queue pair in error.
    bool completion_lost() const { return completion_lost_; }
    /// Completes all posted work as flushed.
    void flush_sends(Adapter& adapter);
    void flush_receives(Adapter& adapter);
    void enter_error(Adapter& adapter);
    /// For a failed send of UC or UD: the queue pair stops sending but still receives.
    void enter_send_error(Adapter& adapter);

    void apply(const QueuePairChange& change) { attributes_.apply(change); }
    void fingerprint(Fingerprint& sink) const;

private:
    void push_receive(Adapter& adapter, const Completion& completion, bool solicited);
    void complete_all_held(Adapter& adapter) {
        complete_held(adapter, [](const MessageHold::Held&) { return true; });
    }

    QueuePairConfig config_;
    QueuePairAttributes attributes_;
    Circle circle_;
    Circle message_circle_;
    QueuePairState state_ = QueuePairState::reset;
    bool completion_lost_ = false;

public:
    SendQueue sends;
    ReceiveQueue receives;
    MessageHold held;  // only RC
    QueuePairCounters counters;
    std::uint16_t partition = default_partition;
};

/// A queue pair while its port handles a packet, a deadline or a post of it, and what it shares
/// with the other queue pairs of the port. It lives no longer than the call that receives it.
struct Turn {
    QueuePairCore& core;
    Adapter& adapter;
};
struct ConstTurn {
    const QueuePairCore& core;
    const Adapter& adapter;

    ConstTurn(const QueuePairCore& of, const Adapter& shared) : core(of), adapter(shared) {}
    ConstTurn(Turn turn) : core(turn.core), adapter(turn.adapter) {}
};

}  // namespace wireproof::proto::ib
