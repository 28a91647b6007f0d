// What every queue pair has, of whatever transport: its state, its queues, its figures.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/core/engine.hpp"
#include "wireproof/proto/ib/adapter.hpp"
#include "wireproof/proto/ib/queue_pair_counters.hpp"
#include "wireproof/proto/ib/queue_pair_state.hpp"
#include "wireproof/proto/ib/send_queue.hpp"

namespace wireproof::proto::ib {

/// 4.096 us x 2^code; code 0 is for ever (RC-9).
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
    bool signal_all = false;  // every send completes, signalled or not

    // UC. A packet whose PSN is behind the expected one by up to behind_max is a duplicate; else,
    // and all beyond, it is ahead. Off: what Linux's Soft-RoCE does.
    bool uc_drop_behind = true;
    std::uint32_t uc_behind_max = 65536;
    bool tell_lost = false;  // PortEvent::What::message_lost

    // RC.
    bool credits = false;          // grant as many as receives are posted, and obey the peer's
    std::uint32_t ack_every = 32;  // packets without AckReq, at most
    std::uint32_t in_flight_max =
        256;  // Send and Write packets unacknowledged; not below ack_every
    /// How long the requester may be silent before an acknowledgement that is held leaves
    /// (ack_hold.hpp). 0: none is held.
    Duration ack_delay = {};
    /// The answer timeout is so many times its nominal length, as the specification allows: 1 … 4.
    std::uint8_t timeout_factor = 1;
    /// retry_count has no limit: for measurements of what recovery costs, and for callers that give
    /// a peer up by unanswered() instead.
    bool retries_unlimited = false;
    /// The answer timeout doubles and only the oldest packet leaves while no answer comes
    /// (core/backoff.hpp). Off: every timeout is as long as the first, as the specification has it.
    bool backs_off = false;

    // Smaller in a search over small worlds, and where a state is to be met again soon.
    std::uint64_t psn_modulus = wire_circle.modulus();
    std::uint64_t msn_modulus = wire_circle.modulus();
};

/// As a query of a queue pair tells them.
struct Psns {
    Psn send = {};     // of the next packet that was never sent
    Psn receive = {};  // expected next; of datagrams none is
    friend bool operator==(const Psns&, const Psns&) = default;
};

/// The receive request that an incoming message uses, and those behind it.
class ReceiveQueue {
public:
    ReceiveQueue(const QueuePairConfig& config)
        : shared_(config.shared_receives),
          own_(shared_ ? 0 : config.limits.receives, config.limits.pieces) {}

    PostStatus post(const ReceiveRequest& request) {
        return shared_ ? PostStatus::not_supported : own_.post(request);
    }
    bool shared() const { return shared_.has_value(); }
    /// How many own ones are posted, that of an open message included.
    std::size_t size() const { return own_.size(); }

    /// The one for the message that begins, or has begun; null: there is none.
    const ReceiveEntry* take(Adapter& adapter);
    /// The nth that is used up from now on, counted from 1, fails with that status instead.
    void fail(std::uint64_t nth, CompletionStatus status) { failures_.add(nth, status); }
    /// How the one that take() gives is to end, if not by itself.
    CompletionStatus wanted() const { return failures_.next(); }
    /// It is used up.
    void finish();
    /// Its message broke off. An own one is first again; a shared one's id is given out, to be
    /// completed in error.
    std::optional<std::uint64_t> give_back();
    /// Forgets all; with `each` of their ids.
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
    const Circle& circle() const { return circle_; }                  // of PSNs
    const Circle& message_circle() const { return message_circle_; }  // of MSNs
    std::size_t path_mtu() const { return attributes_.path_mtu; }
    KeyBearer bearer() const { return {config_.domain, config_.number}; }

    /// What a peer's packet may do here beside what its key allows.
    bool allows(RemoteRight right) const { return ib::allows(attributes_.access, right); }

    /// Headers to the connected peer.
    void address(Headers& headers, Psn psn) const {
        headers.bth.dest_qp = attributes_.dest_queue_pair;
        headers.bth.partition = partition;
        headers.bth.psn = psn;
    }

    /// The oldest send completes: told if it is signalled or failed.
    void complete_send(Adapter& adapter, CompletionStatus status);
    void complete_receive(Adapter& adapter, Completion completion, bool solicited);
    /// Runs a request for which no packet leaves.
    CompletionStatus run_local(const SendEntry& entry, Adapter& adapter) const;

    void set_state(QueuePairState state) { state_ = state; }
    /// To RESET: everything posted is forgotten, and so are completions that nobody has polled.
    void clear(Adapter& adapter);
    /// A completion found no room in its queue, which ends in error.
    bool completion_lost() const { return completion_lost_; }
    /// Everything posted ends as flushed.
    void flush_sends(Adapter& adapter);
    void flush_receives(Adapter& adapter);
    void enter_error(Adapter& adapter);
    /// A failed send of UC or UD stops sending alone.
    void enter_send_error(Adapter& adapter);

    void apply(const QueuePairChange& change) { attributes_.apply(change); }
    void fingerprint(Fingerprint& sink) const;

private:
    QueuePairConfig config_;
    QueuePairAttributes attributes_;
    Circle circle_;
    Circle message_circle_;
    QueuePairState state_ = QueuePairState::reset;
    bool completion_lost_ = false;

public:
    SendQueue sends;
    ReceiveQueue receives;
    QueuePairCounters counters;
    std::uint16_t partition = default_partition;
};

}  // namespace wireproof::proto::ib
