// Limits of the cost of recovery in a random world of a link. A protocol that repairs everything
// also hides its own defects: only the cost shows them.
#pragma once

#include <cstdint>
#include <string>

#include "wireproof/lab/worlds/link_world.hpp"

namespace wireproof::lab {

/// Counters of both ends together.
struct LinkCounts {
    std::uint64_t received = 0;  // with any verdict
    std::uint64_t numbered = 0;
    std::uint64_t resent = 0;
    std::uint64_t acks = 0;
    std::uint64_t naks = 0;
    std::uint64_t replays = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t resets = 0;

    void add(const LinkStats& stats) {
        for (const std::uint64_t count : stats.received) received += count;
        numbered += stats.numbered;
        resent += stats.resent;
        acks += stats.acks;
        naks += stats.naks;
        replays += stats.replays;
        timeouts += stats.timeouts;
        resets += stats.resets;
    }
};

struct LinkCostTerms {
    std::uint64_t window = 0;
    std::uint64_t events = 0;  // of the world
    bool rests = true;         // and `echoes`: as in DrawnLink
    bool echoes = false;
};

/// Returns the broken bound in one line; empty if none.
std::string broken_bound(const LinkWorldResult& world, const LinkCostTerms& terms);

}  // namespace wireproof::lab
