// What happens to a packet: a function of the seed and of which packet it is, whatever threads do
// and whatever came before. So the same packet meets the same fate in every run.
//
// Programs draw the first PSN of a connection, and a seed of ours repeats only our own queue pair
// numbers: a packet is told by the queue pair's place in the order of creation, and by how far it
// is from the connection's first PSN.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/front/verbs/fault_script.hpp"

namespace wireproof::verbs {

/// A packet as it passes, with what its queue pair of this device knows.
struct PassingPacket {
    Way way = Way::sent;
    PeerId peer = {};
    std::uint32_t queue_pair = 1;  // of this device, in the order of creation
    std::uint32_t first_psn = 0;   // of the connection, in the direction of its requests
    bool from_lower = false;  // whether its sender's address is the lower of both: told, for each
                              // direction of a connection meets faults of its own
    ConstBytes bytes = {};
};

struct PacketFate {
    Fate fate = {};
    Duration delay = {};
    std::uint64_t key = 0;   // of which packet it is, for more draws
    std::string which = {};  // "SEND Only, packet 17 of queue pair 1, attempt 2"
};

/// Counts attempts, so each packet is to be shown once each time it passes.
class FaultDraws {
public:
    FaultDraws(const FaultScript& script, std::uint64_t seed);

    PacketFate decide(const PassingPacket& packet);

private:
    /// What its packets have in common: queue pair, peer, the peer's queue pair, way, and what kind
    /// of packet has a count of its own.
    using FlowName = std::tuple<std::uint32_t, PeerId, std::uint32_t, Way, std::uint64_t>;
    struct Seen {
        std::uint32_t attempts = 0;
        std::uint64_t rules = 0;  // those that name it, by bit
    };
    struct Flow {
        std::uint32_t first_psn = 0;
        std::uint32_t newest = 0;                           // of all below
        std::unordered_map<std::uint32_t, Seen> seen = {};  // by distance from the first PSN
        std::vector<std::uint64_t> named = {};              // packets so far, by rule
    };
    struct Identity {
        std::uint64_t flow = 0;
        std::uint32_t place = 0;
        std::uint32_t attempt = 0;
        std::uint64_t key(std::uint64_t seed) const;
    };

    Flow& flow_of(const FlowName& name, std::uint32_t first_psn);
    Seen& note(Flow& flow, std::uint32_t place);
    std::uint64_t rules_for(const PassingPacket& packet, FrameInfo info, Flow& flow);
    bool rule_decides(const Seen& seen, PacketFate& decided) const;
    bool in_burst(const FaultChances& chances, const Identity& packet) const;

    FaultScript script_;
    std::uint64_t seed_;
    std::map<FlowName, Flow> flows_;
};

}  // namespace wireproof::verbs
