// One random simulated world of SP AM: a machine, a network with faults, and programs that ask all
// they can of one another, checked message by message and byte by byte. A function of its seed.
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
    bool fingerprints = false;  // of all engines, each turn, are in the digest: slow
};

struct AmWorldResult {
    std::uint64_t seed = 0;
    std::string what;       // what kind of world, in one line
    std::string violation;  // the first rule that was broken, in one line; empty: none
    Duration duration;      // in the world
    std::uint64_t turns = 0;
    std::uint64_t operations = 0;  // requests, stores and gets
    std::uint64_t answers = 0;
    std::uint64_t frames = 0;    // handed to cables
    std::uint64_t lost = 0;      // by cables, or damaged there
    std::uint64_t numbered = 0;  // of the frames; control packets are the others
    std::uint64_t resent = 0;    // of the numbered
    std::uint64_t filled = 0;    // of the numbered, made as long as others
    std::uint64_t nacks_acted_on = 0;
    std::uint64_t keepalives = 0;
    Fingerprint::Value digest;  // of every frame, its time and its verdict

    bool ok() const { return violation.empty(); }
    std::uint64_t needed() const { return numbered - resent; }
    /// Numbered packets sent for one that was needed.
    double cost() const {
        return needed() == 0 ? 1 : static_cast<double>(numbered) / static_cast<double>(needed());
    }

    friend bool operator==(const AmWorldResult&, const AmWorldResult&) = default;
};

AmWorldResult run_am_world(const AmWorldConfig& config);
/// The same for a world that was drawn and then changed.
AmWorldResult run_am_world(const AmWorldPlan& plan);

/// Figures of many worlds.
struct AmWorldsSummary {
    std::uint64_t worlds = 0;
    std::uint64_t failed = 0;
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
