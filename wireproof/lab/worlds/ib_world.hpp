// One random simulated world of UC and RC: two ports, a few queue pairs, cables with faults, and
// users that post as much work as they can. Every message and every byte is checked. The seed alone
// determines the world.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/congestion/kind.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/ib/packet/opcode.hpp"

namespace wireproof::lab {

struct IbWorldResult {
    std::uint64_t seed = 0;
    std::string what{};            // the kind of the world, in one line
    std::string violation{};       // the first promise that was broken, in one line; empty if none
    Duration duration{};           // simulated time
    bool controlled = false;       // a queue pair has congestion control
    std::uint64_t asked = 0;       // work requests
    std::uint64_t failed = 0;      // of these, on RC
    std::uint64_t delivered = 0;   // messages that used a receive
    std::uint64_t lost = 0;        // UC messages that should have used a receive and did not
    std::uint64_t frames = 0;      // given to cables
    std::uint64_t faults = 0;      // frames that a cable lost, damaged, repeated or held back
    std::uint64_t recoveries = 0;  // of RC: for a NAK, a missing response, or a timeout
    std::uint64_t resent = 0;      // packets of requests
    std::uint64_t silences = 0;    // of these, alone, to a silent responder
    std::uint64_t notices = 0;     // congestion notifications that changed a window
    Fingerprint::Value digest{};   // of both ports at the end

    bool ok() const { return violation.empty(); }
    friend bool operator==(const IbWorldResult&, const IbWorldResult&) = default;
};

struct IbWorldConfig {
    std::uint64_t seed = 1;
    /// For every queue pair. If it is empty, each draws its own.
    std::optional<proto::ib::Transport> transport = {};  // RC or UC
    /// For every queue pair of RC, in place of what the seed says.
    std::optional<congestion::Kind> congestion = {};
};

IbWorldResult run_ib_world(const IbWorldConfig& config);

/// Figures of many worlds.
struct IbWorldsSummary {
    std::uint64_t worlds = 0;
    std::uint64_t broken = 0;      // worlds that broke a promise
    std::uint64_t controlled = 0;  // with congestion control
    IbWorldResult sum{};           // its numbers only
    double cost_max = 0;           // recoveries for one fault
    std::uint64_t costliest_seed = 0;

    void add(const IbWorldResult& result);
};

}  // namespace wireproof::lab
