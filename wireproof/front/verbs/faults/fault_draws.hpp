// Decides what happens to a packet. The decision depends only on the seed and on which packet it
// is, not on the timing of threads or on earlier packets. So the same packet has the same fate in
// every run.
//
// Programs choose the first PSN of a connection at random, and a seed of ours repeats only our own
// queue pair numbers. Therefore a packet is identified by the position of its queue pair in the
// order of creation, and by its distance from the first PSN of the connection.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/core/peer_set.hpp"
#include "wireproof/front/verbs/faults/fault_script.hpp"

namespace wireproof::verbs {

/// A packet that passes, with facts that this device's queue pair knows.
struct PassingPacket {
    Way way = Way::sent;
    PeerId peer = {};
    std::uint32_t queue_pair = 1;  // of this device, in the order of creation
    std::uint32_t first_psn = 0;   // of the connection, in the direction of its requests
    bool from_lower = false;  // the sender's address is the lower of the two: each direction of a
                              // connection has its own faults
    ConstBytes bytes = {};
};

struct PacketFate {
    Fate fate = {};
    Duration delay = {};
    std::uint64_t key = 0;   // identifies the packet, for more draws
    std::string which = {};  // "SEND Only, packet 17 of queue pair 1, attempt 2"
};

/// Counts attempts, so the caller shows each packet once each time it passes.
class FaultDraws {
public:
    FaultDraws(const FaultScript& script, std::uint64_t seed);

    PacketFate decide(const PassingPacket& packet);
    /// The next packets of peers with these numbers come from other hosts.
    void forget(const PeerSet& gone);

private:
    /// What the packets of a flow have in common: queue pair, peer, the peer's queue pair, way, and
    /// the class of packets that is counted separately.
    using FlowName = std::tuple<std::uint32_t, PeerId, std::uint32_t, Way, std::uint64_t>;
    struct Seen {
        std::uint32_t attempts = 0;
        std::uint64_t rules = 0;  // the rules that name the packet, one bit each
    };
    struct Flow {
        std::uint32_t first_psn = 0;
        std::uint32_t newest = 0;                           // of all places in `seen`
        std::unordered_map<std::uint32_t, Seen> seen = {};  // by distance from the first PSN
        std::vector<std::uint64_t> named = {};              // packets so far that each rule named
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
