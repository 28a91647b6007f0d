// One random simulated world of a link engine: two ends, a line that damages and loses frames, and
// users that submit messages in both directions. Every message and every byte is checked, and so is
// what the recovery costs. The seed alone determines the world.
#pragma once

#include <cstdint>
#include <string>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/link_engine.hpp"

namespace wireproof::lab {

struct LinkWorldResult {
    std::uint64_t seed = 0;
    std::string what{};           // the kind of the world, in one line
    std::string violation{};      // the first promise that was broken, in one line; empty if none
    Duration duration{};          // simulated time
    std::uint64_t turns = 0;      // of both ends
    std::uint64_t submitted = 0;  // messages
    std::uint64_t delivered = 0;
    std::uint64_t lost = 0;      // messages that were submitted before a link went down
    std::uint64_t downs = 0;     // how often an end reported that the link went down
    std::uint64_t verdicts = 0;  // how often it stayed down, until the world began a new life
    std::uint64_t frames = 0;    // given to cables
    std::uint64_t faults = 0;    // frames that the cables lost or damaged, or that an event took
    std::uint64_t numbered = 0;  // this and the rest are sums over both ends, as in LinkStats
    std::uint64_t resent = 0;
    std::uint64_t acks = 0;
    std::uint64_t naks = 0;
    std::uint64_t replays = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t resets = 0;
    Fingerprint::Value digest{};  // of all frames that arrived, and of both engines at the end

    bool ok() const { return violation.empty(); }
    friend bool operator==(const LinkWorldResult&, const LinkWorldResult&) = default;
};

struct LinkWorldConfig {
    std::uint64_t seed = 1;
};

/// `engine` is a place in LinkEngines.
LinkWorldResult run_link_world(std::size_t engine, const LinkWorldConfig& config);

/// Figures of many worlds.
struct LinkWorldsSummary {
    std::uint64_t worlds = 0;
    std::uint64_t broken = 0;  // worlds that broke a promise
    LinkWorldResult sum{};     // its numbers only
    double cost_max = 0;       // frames resent for one fault
    std::uint64_t costliest_seed = 0;

    void add(const LinkWorldResult& result);
};

}  // namespace wireproof::lab
