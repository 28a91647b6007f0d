// Limits of the cost of recovery in a simulated world (AM-53). A protocol that repairs everything
// also hides its own defects: only the cost shows them.
#pragma once

#include <cstdint>
#include <string>

#include "wireproof/lab/worlds/am_world_plan.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/sim/cable.hpp"

namespace wireproof::lab {

/// The packets of one connection in a whole world, and the events that affected it.
struct AmSpending {
    am::Stats own;
    am::Stats peer;          // stats of the other end
    sim::CableCounts there;  // the cable that carries this end's packets
    sim::CableCounts back;
    std::uint64_t messages = 0;  // operations and answers of both ends
    std::uint64_t pauses = 0;    // of both hosts
    Duration paused;             // the sum of these pauses
    Duration duration;
};

/// The packets of one connection since the peer last received one of its packets, or since a packet
/// became the first missing one.
struct AmStandstill {
    std::uint64_t since_arrival = 0;       // numbered packets resent, of both channels
    std::uint64_t sent_since_arrival = 0;  // these, new packets and keep-alives
    Duration since = {};                   // time since that arrival
    std::uint64_t first_missing = 0;       // how often the first missing packet was resent
    Duration lasted = {};                  // time since its first resend
};

/// AM-53: a sender without progress sends less and less often. Returns the broken bound in one
/// line; empty if none.
std::string broken_bound(const am::Config& config, const AmStandstill& standstill);

/// Returns the broken bound in one line; empty if none.
std::string broken_bound(const AmWorldPlan& plan, std::size_t pair, const AmSpending& spent);

/// The same for all connections together.
std::string broken_bound(const AmWorldPlan& plan, const am::Stats& totals);

/// A world without a defect never takes longer.
Duration time_allowed(const AmWorldPlan& plan);

}  // namespace wireproof::lab
