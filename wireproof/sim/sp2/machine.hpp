// A small IBM SP: nodes with a processor and an adapter each, and the switch between them. It is a
// world for sim::run. A node's turn is atomic. So a turn that is longer than a packet's flight
// (about 20 us) may miss a packet that another node sends meanwhile; the next poll sees it.
#pragma once

#include <memory>
#include <vector>

#include "wireproof/sim/network.hpp"
#include "wireproof/sim/sp2/adapter.hpp"
#include "wireproof/sim/sp2/config.hpp"
#include "wireproof/sim/sp2/host.hpp"

namespace wireproof::sp2 {

struct Node {
    Node(const Config& config, std::uint16_t node, sim::Network& fabric, OnTheWay& on_the_way)
        : adapter(config, node, host, fabric, on_the_way) {}

    Host host;
    Adapter adapter;
};

class Machine {
public:
    /// `config` must pass its check().
    explicit Machine(const Config& config);
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine() = default;

    std::size_t nodes() const { return nodes_.size(); }
    Node& node(std::size_t index) { return *nodes_[index]; }
    const Node& node(std::size_t index) const { return *nodes_[index]; }
    Host& host(std::size_t index) { return node(index).host; }

    // For sim::run.
    Adapter& wire(std::size_t index) { return node(index).adapter; }
    const Adapter& wire(std::size_t index) const { return node(index).adapter; }
    Instant busy_until(std::size_t index) const { return node(index).host.now(); }

    /// The switch: a cable for each ordered pair of nodes, to cut, count and record. The adapters
    /// model the links and send the packets. The cables add the latency and the faults of the
    /// switch.
    sim::Network& fabric() { return fabric_; }
    FaultPlan& faults(std::size_t from, std::size_t to) { return fabric_.faults(from, to); }

private:
    sim::Network fabric_;
    OnTheWay on_the_way_;
    std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace wireproof::sp2
