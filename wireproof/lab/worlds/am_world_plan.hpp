// The parts of a world, all drawn from one seed: machine, network, faults, programs.
//
// A world has only conditions that the rules require a peer to survive. No frame is overtaken by
// more numbers than sequence numbers can tell apart. Keep-alives continue for longer than the
// longest silence that the faults make likely. Timers are longer than two round trips.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/core/fault_plan.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/sim/network.hpp"

namespace wireproof::lab {

/// The operations of one node on another. The shares of requests, stores and gets are relative to
/// their sum.
struct AmTrafficPlan {
    std::uint32_t packets = 0;  // numbered packets of all operations together
    std::uint32_t threads = 1;  // each posts one operation after another
    std::uint32_t burst = 1;    // operations for each turn and thread
    double requests = 1;
    double stores = 0;
    double gets = 0;
    double answered = 0.5;        // share of requests and stores whose handler replies
    double refused = 0;           // share with a missing handler, or with memory without permission
    std::size_t message_max = 0;  // bytes
    std::uint64_t bytes_max = 0;  // of a transfer
};

struct AmWorldPlan {
    /// `congestion`: in place of what the seed says, in worlds with selective recovery. The others
    /// have no congestion control.
    explicit AmWorldPlan(std::uint64_t seed, std::optional<am::Congestion> congestion = {});

    std::size_t nodes() const { return network.nodes; }
    std::size_t pair(std::size_t from, std::size_t to) const { return from * nodes() + to; }

    std::uint64_t seed;
    std::string what;  // one line for readers
    am::Config am;
    sim::NetworkConfig network;
    std::vector<FaultRates> faults;      // by pair: faults of the cable
    std::vector<bool> loses_long;        // by pair: no frame longer than short_frame arrives
    std::vector<AmTrafficPlan> traffic;  // by pair
    std::vector<Duration> rhythm;        // by node: shortest time between two turns
    double pause_chance = 0;             // for each turn
    /// The longest frame that arrives everywhere. Control packets are shorter, even with the map of
    /// a window.
    static constexpr std::size_t short_frame = 200;
    Duration pause_max{};

    /// The duration of a round trip with full queues and hosts that sleep.
    Duration round_trip{};

    /// Whether a path loses long packets. Then sessions may end.
    bool has_black_holes() const;

    /// How many packets leave between a packet that is lost and its resend: the packets of a full
    /// lane are in flight when the NACK arrives, and as many while the resend is on the way.
    double pipeline() const;
    /// The probability that a packet of the pair is missing when the next ones arrive: lost,
    /// damaged or overtaken.
    double gap_rate(std::size_t pair) const;
    /// An upper estimate of the mean number of sends for each needed packet (AM-53).
    double expected_cost(std::size_t pair) const;
};

}  // namespace wireproof::lab
