// The counters of a connection.
#pragma once

#include <array>
#include <cstdint>

#include "wireproof/core/engine.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

/// Counters of one connection since its construction. They do not influence its behaviour.
struct Stats {
    std::array<std::uint64_t, rx_verdict_names.size()> received{};  // frames by RxVerdict
    // Messages of bundles by RxVerdict, except accepted ones.
    std::array<std::uint64_t, rx_verdict_names.size()> unpacked{};
    std::uint64_t hellos_mismatched = 0;           // of the foreign frames: other configuration
    std::array<std::uint64_t, kind_count> sent{};  // packets by Kind
    std::uint64_t resent = 0;                      // of these, sent before
    std::uint64_t filled = 0;                      // of these, with filler
    std::uint64_t nacks_acted_on = 0;              // NACKs that began a resend
    std::uint64_t overruns = 0;                    // of these, because the peer's host had no room
    std::uint64_t marked = 0;                      // arrived with the mark of a router (AM-54)
    std::uint64_t marked_at_peer = 0;              // of those sent, as the peer has told
    std::uint64_t keepalive_timeouts = 0;
    std::uint64_t sessions = 0;

    std::uint64_t received_as(RxVerdict verdict) const {
        return received[static_cast<std::size_t>(verdict)];
    }
    /// Frames, or messages in bundles, with this verdict.
    std::uint64_t turned_away_as(RxVerdict verdict) const {
        return received_as(verdict) + unpacked[static_cast<std::size_t>(verdict)];
    }
    std::uint64_t sent_of(Kind kind) const { return sent[static_cast<std::size_t>(kind)]; }
};

}  // namespace wireproof::am
