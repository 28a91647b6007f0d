// What every queue pair has, of whatever transport: its state, its queues, its figures.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wireproof/core/engine.hpp"
#include "wireproof/proto/ib/adapter.hpp"
#include "wireproof/proto/ib/queue_pair_state.hpp"
#include "wireproof/proto/ib/send_queue.hpp"

namespace wireproof::ib {

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

/// Counted for the reason named. Each packet received is in one of those up to `stale`; a First or
/// Only of UC behind a gap is in `gaps`, in what became of it, and in `resumed`.
struct QueuePairCounters {
    std::uint64_t executed = 0;           // requests' packets, in order
    std::uint64_t answers = 0;            // responses that counted
    std::uint64_t duplicates = 0;         // requests' packets seen before
    std::uint64_t gaps = 0;               // packets behind which others are missing
    std::uint64_t rest_dropped = 0;       // UC: Middles and Lasts of a message that is lost anyway
    std::uint64_t sequence_broken = 0;    // opcodes that do not continue what is open
    std::uint64_t not_ready = 0;          // no receive request for it
    std::uint64_t bad_length = 0;         // payload, pad or RETH length, or a Send too long
    std::uint64_t bad_key = 0;            // key, bounds or rights of the memory that a peer named
    std::uint64_t not_allowed = 0;        // operations not enabled here, reserved ones
    std::uint64_t receive_faulty = 0;     // our own receive request names memory it may not write
    std::uint64_t no_room_to_answer = 0;  // more asked at once than resources allow; dropped
    std::uint64_t wrong_state = 0;        // nothing is received, or nothing answered, in it
    std::uint64_t bad_qkey = 0;
    std::uint64_t stale = 0;    // responses to nothing that is outstanding, or bad ones
    std::uint64_t resumed = 0;  // UC: messages that begin behind a gap

    std::uint64_t sent = 0;       // requests' packets
    std::uint64_t resent = 0;     // of those
    std::uint64_t acks_sent = 0;  // answers other than the next three
    std::uint64_t naks_sent = 0;
    std::uint64_t rnr_naks_sent = 0;
    std::uint64_t responses_sent = 0;  // to Reads and Atomics
    std::uint64_t replayed = 0;        // Reads and Atomics answered again
    std::uint64_t resource_gone = 0;   // duplicate Reads and Atomics that cannot be
    std::uint64_t reads_broken = 0;    // Reads of ours answered in part: the memory went away
    std::uint64_t timeouts = 0;
    std::uint64_t went_back = 0;  // for a NAK or a missing response
    std::uint64_t rnr_waits = 0;
    std::uint64_t probes = 0;
    std::uint64_t messages_lost = 0;  // UC: times that at least one message was lost
    std::uint64_t abandoned = 0;      // of those, messages that had begun here

    /// Packets that came to this queue pair.
    std::uint64_t received() const;
};

/// As a query of a queue pair tells them.
struct Psns {
    Psn send = {};     // of the next packet that was never sent
    Psn receive = {};  // expected next; of datagrams none is
    friend bool operator==(const Psns&, const Psns&) = default;
};

/// A counter of received packets, and the name of its reason.
struct ReceptionCounter {
    std::string_view name;
    std::uint64_t QueuePairCounters::*count;
};

inline constexpr std::array<ReceptionCounter, 15> reception_counters = {{
    {"executed", &QueuePairCounters::executed},
    {"answers", &QueuePairCounters::answers},
    {"duplicates", &QueuePairCounters::duplicates},
    {"gaps", &QueuePairCounters::gaps},
    {"rest_dropped", &QueuePairCounters::rest_dropped},
    {"sequence_broken", &QueuePairCounters::sequence_broken},
    {"not_ready", &QueuePairCounters::not_ready},
    {"bad_length", &QueuePairCounters::bad_length},
    {"bad_key", &QueuePairCounters::bad_key},
    {"not_allowed", &QueuePairCounters::not_allowed},
    {"receive_faulty", &QueuePairCounters::receive_faulty},
    {"no_room_to_answer", &QueuePairCounters::no_room_to_answer},
    {"wrong_state", &QueuePairCounters::wrong_state},
    {"bad_qkey", &QueuePairCounters::bad_qkey},
    {"stale", &QueuePairCounters::stale},
}};

inline std::uint64_t QueuePairCounters::received() const {
    std::uint64_t packets = 0;
    for (const ReceptionCounter& counter : reception_counters) packets += this->*counter.count;
    return packets - resumed;
}

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

}  // namespace wireproof::ib
