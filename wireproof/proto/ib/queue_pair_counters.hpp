// What one queue pair counts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace wireproof::proto::ib {

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
    QueuePairCounters& operator+=(const QueuePairCounters& other);
};

/// A counter and its name.
struct QueuePairCounter {
    std::string_view name;
    std::uint64_t QueuePairCounters::*count;
};

/// Of received packets, each of which counts once but for `resumed`.
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

/// All others.
inline constexpr std::array<QueuePairCounter, 16> more_counters = {{
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
    {"rnr_waits", &QueuePairCounters::rnr_waits},
    {"probes", &QueuePairCounters::probes},
    {"messages_lost", &QueuePairCounters::messages_lost},
    {"abandoned", &QueuePairCounters::abandoned},
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
