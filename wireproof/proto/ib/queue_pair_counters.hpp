// The counters of one queue pair.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace wireproof::proto::ib {

/// Each counter counts for the reason in its comment. Each received packet is in one of the
/// counters up to `stale`. Exception: a First or Only of UC after a gap is in `gaps`, in the
/// counter of its result, and in `resumed`.
struct QueuePairCounters {
    std::uint64_t executed = 0;           // packets of requests, executed in order
    std::uint64_t answers = 0;            // valid responses
    std::uint64_t duplicates = 0;         // packets of requests that were executed before
    std::uint64_t gaps = 0;               // packets that arrive after missing packets
    std::uint64_t rest_dropped = 0;       // UC: Middles and Lasts of a message that is already lost
    std::uint64_t sequence_broken = 0;    // opcodes that do not continue the open message
    std::uint64_t not_ready = 0;          // no receive request
    std::uint64_t bad_length = 0;         // payload, pad or RETH length, or a Send too long
    std::uint64_t bad_key = 0;            // key, bounds or rights of the memory that a peer named
    std::uint64_t not_allowed = 0;        // operations that are not enabled, and reserved opcodes
    std::uint64_t receive_faulty = 0;     // our own receive request names memory it may not write
    std::uint64_t no_room_to_answer = 0;  // more requests at once than resources allow; dropped
    std::uint64_t wrong_state = 0;  // the state does not allow to receive requests or responses
    std::uint64_t bad_qkey = 0;
    std::uint64_t stale = 0;    // responses to no outstanding request, or bad ones
    std::uint64_t resumed = 0;  // UC: messages that begin after a gap

    std::uint64_t sent = 0;       // packets of requests
    std::uint64_t resent = 0;     // packets of requests sent again
    std::uint64_t acks_sent = 0;  // answers other than the next three
    std::uint64_t naks_sent = 0;
    std::uint64_t rnr_naks_sent = 0;
    std::uint64_t responses_sent = 0;  // to Reads and Atomics
    std::uint64_t replayed = 0;        // Reads and Atomics answered again
    std::uint64_t resource_gone = 0;   // duplicate Reads and Atomics that cannot be answered again
    std::uint64_t reads_broken = 0;    // Reads answered only in part: the memory was gone
    std::uint64_t timeouts = 0;
    std::uint64_t went_back = 0;  // times that a NAK or a missing response caused retransmission
    std::uint64_t silences = 0;   // oldest packets sent again before the answer timeout
    std::uint64_t rnr_waits = 0;
    std::uint64_t probes = 0;
    std::uint64_t messages_lost = 0;  // UC: losses, each of one message or more
    std::uint64_t abandoned = 0;      // messages that broke off after their first packet

    std::uint64_t marked = 0;        // received packets that a router marked (ECN)
    std::uint64_t cnps_sent = 0;     // congestion notifications
    std::uint64_t cnps_handled = 0;  // received ones that changed the window

    /// The packets that this queue pair received.
    std::uint64_t received() const;
    QueuePairCounters& operator+=(const QueuePairCounters& other);
};

/// A counter and its name.
struct QueuePairCounter {
    std::string_view name;
    std::uint64_t QueuePairCounters::*count;
};

/// Counters of received packets. Each packet is in one of them, except those in `resumed`, which
/// are in two.
inline constexpr std::array<QueuePairCounter, 15> reception_counters = {{
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

inline constexpr std::array<QueuePairCounter, 20> more_counters = {{
    {"resumed", &QueuePairCounters::resumed},
    {"sent", &QueuePairCounters::sent},
    {"resent", &QueuePairCounters::resent},
    {"acks_sent", &QueuePairCounters::acks_sent},
    {"naks_sent", &QueuePairCounters::naks_sent},
    {"rnr_naks_sent", &QueuePairCounters::rnr_naks_sent},
    {"responses_sent", &QueuePairCounters::responses_sent},
    {"replayed", &QueuePairCounters::replayed},
    {"resource_gone", &QueuePairCounters::resource_gone},
    {"reads_broken", &QueuePairCounters::reads_broken},
    {"timeouts", &QueuePairCounters::timeouts},
    {"went_back", &QueuePairCounters::went_back},
    {"silences", &QueuePairCounters::silences},
    {"rnr_waits", &QueuePairCounters::rnr_waits},
    {"probes", &QueuePairCounters::probes},
    {"messages_lost", &QueuePairCounters::messages_lost},
    {"abandoned", &QueuePairCounters::abandoned},
    {"marked", &QueuePairCounters::marked},
    {"cnps_sent", &QueuePairCounters::cnps_sent},
    {"cnps_handled", &QueuePairCounters::cnps_handled},
}};

inline std::uint64_t QueuePairCounters::received() const {
    std::uint64_t packets = 0;
    for (const QueuePairCounter& counter : reception_counters) packets += this->*counter.count;
    return packets - resumed;
}

inline QueuePairCounters& QueuePairCounters::operator+=(const QueuePairCounters& other) {
    for (const auto& [name, count] : reception_counters) this->*count += other.*count;
    for (const auto& [name, count] : more_counters) this->*count += other.*count;
    return *this;
}

}  // namespace wireproof::proto::ib
