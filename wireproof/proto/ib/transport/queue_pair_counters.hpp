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

/// A counter with its name and the unit of a count.
struct QueuePairCounter {
    std::string_view name;
    std::string_view unit;
    std::uint64_t QueuePairCounters::*count;
};

/// Counters of received packets. Each packet is in one of them, except those in `resumed`, which
/// are in two.
inline constexpr std::array<QueuePairCounter, 15> reception_counters = {{
    {"executed", "packets", &QueuePairCounters::executed},
    {"answers", "packets", &QueuePairCounters::answers},
    {"duplicates", "packets", &QueuePairCounters::duplicates},
    {"gaps", "packets", &QueuePairCounters::gaps},
    {"rest_dropped", "packets", &QueuePairCounters::rest_dropped},
    {"sequence_broken", "packets", &QueuePairCounters::sequence_broken},
    {"not_ready", "packets", &QueuePairCounters::not_ready},
    {"bad_length", "packets", &QueuePairCounters::bad_length},
    {"bad_key", "packets", &QueuePairCounters::bad_key},
    {"not_allowed", "packets", &QueuePairCounters::not_allowed},
    {"receive_faulty", "packets", &QueuePairCounters::receive_faulty},
    {"no_room_to_answer", "packets", &QueuePairCounters::no_room_to_answer},
    {"wrong_state", "packets", &QueuePairCounters::wrong_state},
    {"bad_qkey", "packets", &QueuePairCounters::bad_qkey},
    {"stale", "packets", &QueuePairCounters::stale},
}};

inline constexpr std::array<QueuePairCounter, 20> more_counters = {{
    {"resumed", "messages", &QueuePairCounters::resumed},
    {"sent", "packets", &QueuePairCounters::sent},
    {"resent", "packets", &QueuePairCounters::resent},
    {"acks_sent", "packets", &QueuePairCounters::acks_sent},
    {"naks_sent", "packets", &QueuePairCounters::naks_sent},
    {"rnr_naks_sent", "packets", &QueuePairCounters::rnr_naks_sent},
    {"responses_sent", "packets", &QueuePairCounters::responses_sent},
    {"replayed", "requests", &QueuePairCounters::replayed},
    {"resource_gone", "packets", &QueuePairCounters::resource_gone},
    {"reads_broken", "requests", &QueuePairCounters::reads_broken},
    {"timeouts", "times", &QueuePairCounters::timeouts},
    {"went_back", "times", &QueuePairCounters::went_back},
    {"silences", "times", &QueuePairCounters::silences},
    {"rnr_waits", "times", &QueuePairCounters::rnr_waits},
    {"probes", "times", &QueuePairCounters::probes},
    {"messages_lost", "losses", &QueuePairCounters::messages_lost},
    {"abandoned", "messages", &QueuePairCounters::abandoned},
    {"marked", "packets", &QueuePairCounters::marked},
    {"cnps_sent", "packets", &QueuePairCounters::cnps_sent},
    {"cnps_handled", "packets", &QueuePairCounters::cnps_handled},
}};

inline std::uint64_t QueuePairCounters::received() const {
    std::uint64_t packets = 0;
    for (const QueuePairCounter& counter : reception_counters) packets += this->*counter.count;
    return packets - resumed;
}

inline QueuePairCounters& QueuePairCounters::operator+=(const QueuePairCounters& other) {
    for (const auto& one : reception_counters) this->*one.count += other.*one.count;
    for (const auto& one : more_counters) this->*one.count += other.*one.count;
    return *this;
}

}  // namespace wireproof::proto::ib
