// What recovery may cost in a simulated world (AM-53): a protocol that repairs everything hides its
// own defects, and they show in nothing but the price.
#pragma once

#include <cstdint>
#include <string>

#include "wireproof/lab/worlds/am_world_plan.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/sim/cable.hpp"

namespace wireproof::lab {

/// What one connection spent in a whole world, and what it met.
struct AmSpending {
    am::Stats own;
    am::Stats peer;          // of the other end
    sim::CableCounts there;  // the cable that carries our packets
    sim::CableCounts back;
    std::uint64_t messages = 0;  // asked or answered, by either end
    std::uint64_t pauses = 0;    // of either host
    Duration paused;             // together
    Duration duration;
};

/// What one connection sent again since anything of its reached the peer, or since the packet that
/// is missing first became that.
struct AmStandstill {
    std::uint64_t since_arrival = 0;       // numbered packets, of both channels
    std::uint64_t sent_since_arrival = 0;  // those, new ones, and questions
    Duration since = {};                   // that arrival
    std::uint64_t first_missing = 0;       // times that packet
    Duration lasted = {};                  // since it first left again
};

/// AM-53: a sender without progress sends ever more seldom. The bound that was broken, in one
/// line; empty: none.
std::string broken_bound(const am::Config& config, const AmStandstill& standstill);

/// The bound that was broken, in one line; empty: none.
std::string broken_bound(const AmWorldPlan& plan, std::size_t pair, const AmSpending& spent);

/// The same for all connections together.
std::string broken_bound(const AmWorldPlan& plan, const am::Stats& totals);

/// No honest world takes longer.
Duration time_allowed(const AmWorldPlan& plan);

}  // namespace wireproof::lab
