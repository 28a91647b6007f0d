// Nodes, and a cable for each ordered pair of nodes. Each node has a wire on which peer i is node
// i; a node has no cable to itself. The seed and the calls of the nodes determine a run.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/core/wire.hpp"
#include "wireproof/sim/cable.hpp"

namespace wireproof::sim {

class Network;

/// One node's end of all its cables; a Wire.
class NodeWire {
public:
    NodeWire(Network* network, std::size_t node) : network_(network), node_(node) {}

    Cable& lane(PeerId peer);

    /// Returns frames in order of arrival over all cables. If several arrive at the same time, the
    /// frame of the lower node comes first.
    std::optional<RxFrame> receive(Instant now);
    void flush(Instant now);
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return std::nullopt; }

    /// The next arrival at this node, or the time at which a lane that refused room has room again.
    Instant next_deadline() const;

private:
    friend class Network;

    Network* network_;
    std::size_t node_;
    Instant now_;
};

static_assert(Wire<NodeWire>);

/// The fields of CableConfig apply to every cable.
struct NetworkConfig {
    std::size_t nodes = 2;
    std::size_t frame_max = CableConfig().frame_max;
    std::uint64_t bytes_per_second = CableConfig().bytes_per_second;
    Duration latency = CableConfig().latency;
    Duration jitter = CableConfig().jitter;
    Duration hold_limit = CableConfig().hold_limit;
    std::size_t queue_max = CableConfig().queue_max;
    std::size_t mark_above = CableConfig().mark_above;
    std::size_t in_flight_max = CableConfig().in_flight_max;
    bool flip_bits = CableConfig().flip_bits;
    bool lend_payload = CableConfig().lend_payload;
    bool one_at_a_time = CableConfig().one_at_a_time;
    bool prefers_equal_sizes = CableConfig().prefers_equal_sizes;
    FaultRates faults{};
    std::uint64_t seed = 0;
    Describe describe = describe_nothing;  // for fault scripts and traces
};

/// A copy behaves the same from then on and has its own wires. Both record to the same trace until
/// the caller changes it.
class Network {
public:
    using Config = NetworkConfig;

    explicit Network(const Config& config);
    Network(const Network& other);
    Network& operator=(const Network& other);
    ~Network() = default;

    std::size_t nodes() const { return wires_.size(); }
    NodeWire& wire(std::size_t node) { return wires_[node]; }
    const NodeWire& wire(std::size_t node) const { return wires_[node]; }

    Cable& cable(std::size_t from, std::size_t to) { return cables_[index(from, to)]; }
    const Cable& cable(std::size_t from, std::size_t to) const { return cables_[index(from, to)]; }
    FaultPlan& faults(std::size_t from, std::size_t to) { return cable(from, to).faults(); }
    const CableCounts& counts(std::size_t from, std::size_t to) const {
        return cable(from, to).counts();
    }
    CableCounts totals() const;

    /// Cuts one direction. To separate two nodes, cut both directions.
    void cut(std::size_t from, std::size_t to) { cable(from, to).cut(); }
    void mend(std::size_t from, std::size_t to) { cable(from, to).mend(); }

    /// Records every frame that is sent from now on; nullptr stops.
    void record(Trace* trace);

private:
    friend class NodeWire;

    // The cables to one node are adjacent, as receive() needs them.
    std::size_t index(std::size_t from, std::size_t to) const {
        WIREPROOF_CHECK(from != to && from < nodes() && to < nodes());
        return to * nodes() + from;
    }
    void adopt_wires();

    std::vector<Cable> cables_;
    std::vector<NodeWire> wires_;
};

}  // namespace wireproof::sim
