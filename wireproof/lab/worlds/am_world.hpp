// One random simulated world of SP AM: a machine, a network with faults, and programs that post as
// many operations as they can. Every message and every byte is checked. The seed alone determines
// the world.
#pragma once

#include <cstdint>
#include <string>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/lab/worlds/am_world_plan.hpp"

namespace wireproof::lab {

struct AmWorldConfig {
    std::uint64_t seed = 1;
    bool fast_paths = true;     // am::Config::fast_paths of all engines
    bool fingerprints = false;  // the digest has those of all engines in each turn; slow
    std::optional<am::Congestion> congestion = {};  // see AmWorldPlan
};

struct AmWorldResult {
    std::uint64_t seed = 0;
    std::string what;         // the kind of the world, in one line
    std::string violation;    // the first rule that was broken, in one line; empty if none
    bool controlled = false;  // with congestion control
    Duration duration;        // simulated time
    std::uint64_t turns = 0;
    std::uint64_t operations = 0;  // requests, stores and gets
    std::uint64_t answers = 0;
    std::uint64_t frames = 0;    // given to cables
    std::uint64_t lost = 0;      // frames that cables lost or damaged
    std::uint64_t numbered = 0;  // frames with a number; the others are control packets
    std::uint64_t resent = 0;    // of the numbered frames
    std::uint64_t filled = 0;    // numbered frames that were filled up to the length of others
    std::uint64_t nacks_acted_on = 0;
    std::uint64_t keepalives = 0;
    Fingerprint::Value digest;  // of each frame, its time and its verdict

    bool ok() const { return violation.empty(); }
    std::uint64_t needed() const { return numbered - resent; }
    /// Numbered packets that were sent for each one that was needed.
    double cost() const {
        return needed() == 0 ? 1 : static_cast<double>(numbered) / static_cast<double>(needed());
    }

    friend bool operator==(const AmWorldResult&, const AmWorldResult&) = default;
};

AmWorldResult run_am_world(const AmWorldConfig& config);
/// Runs a world whose plan was drawn and then changed.
AmWorldResult run_am_world(const AmWorldPlan& plan);

/// Figures of many worlds.
struct AmWorldsSummary {
    std::uint64_t worlds = 0;
    std::uint64_t failed = 0;
    std::uint64_t controlled = 0;  // with congestion control
    std::uint64_t operations = 0;
    std::uint64_t frames = 0;
    std::uint64_t filled = 0;
    double cost_sum = 0;
    double cost_max = 0;
    std::uint64_t costliest_seed = 0;

    void add(const AmWorldResult& result);
    double cost_mean() const { return worlds == 0 ? 0 : cost_sum / static_cast<double>(worlds); }
};

}  // namespace wireproof::lab
