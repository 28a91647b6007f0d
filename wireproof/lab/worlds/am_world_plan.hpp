// What a world is made of, all of it drawn from one seed: machine, network, faults, programs.
//
// Worlds are honest: what a peer may not survive by the rules is not in them. No frame is overtaken
// by more numbers than the sequence numbers can tell apart, keep-alives outlast the longest silence
// that the faults make likely, and timers are above two round trips.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wireproof/core/fault_plan.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/sim/network.hpp"

namespace wireproof::lab {

/// Of the operations that one node asks of another; the shares of requests, stores, gets are
/// relative to their sum.
struct AmTrafficPlan {
    std::uint32_t packets = 0;  // numbered ones that all operations together are worth
    std::uint32_t threads = 1;  // each posts one operation after the other
    std::uint32_t burst = 1;    // operations a turn and thread
    double requests = 1;
    double stores = 0;
    double gets = 0;
    double answered = 0.5;        // share of requests and stores whose handler replies
    double refused = 0;           // share that names a missing handler or memory that is not theirs
    std::size_t message_max = 0;  // bytes
    std::uint64_t bytes_max = 0;  // of a transfer
};

struct AmWorldPlan {
    explicit AmWorldPlan(std::uint64_t seed);

    std::size_t nodes() const { return network.nodes; }
    std::size_t pair(std::size_t from, std::size_t to) const { return from * nodes() + to; }

    std::uint64_t seed;
    std::string what;  // one line for people
    am::Config am;
    sim::NetworkConfig network;
    std::vector<FaultRates> faults;      // by pair: of the cable
    std::vector<bool> loses_long;        // by pair: no frame beyond short_frame arrives
    std::vector<AmTrafficPlan> traffic;  // by pair
    std::vector<Duration> rhythm;        // by node: from a turn to the next at the earliest
    double pause_chance = 0;             // a turn
    /// Bytes of a frame that arrives everywhere: control packets do, with the map of any window.
    static constexpr std::size_t short_frame = 200;
    Duration pause_max{};

    /// A round trip with full queues and sleepy hosts.
    Duration round_trip{};

    /// Some path loses long packets, so sessions may end.
    bool has_black_holes() const;

    /// How many packets leave between one that makes a gap and the resend that fills it: a lane
    /// full is on its way when the NACK comes, another while the resend goes out.
    double pipeline() const;
    /// The chance that a packet of the pair is missed when the next ones arrive: lost, damaged, or
    /// overtaken.
    double gap_rate(std::size_t pair) const;
    /// What a needed packet costs in sends on the average, or more (AM-53).
    double expected_cost(std::size_t pair) const;
};

}  // namespace wireproof::lab
