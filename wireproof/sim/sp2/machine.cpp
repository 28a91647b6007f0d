// The switch is a network whose cables have no limit on bandwidth. The bytes of a packet take time
// once, on the link into the switch. They take time again only if the packet waits for the link out
// of the switch.
#include "wireproof/sim/sp2/machine.hpp"

#include "wireproof/base/check.hpp"

namespace wireproof::sp2 {
namespace {

sim::NetworkConfig fabric_config(const Config& config) {
    WIREPROOF_CHECK(config.check().has_value());
    sim::NetworkConfig fabric;
    fabric.nodes = config.nodes;
    fabric.frame_max = entry_size;
    fabric.bytes_per_second = 0;
    fabric.latency = config.costs.switch_latency;
    fabric.hold_limit = config.hold_limit;
    fabric.faults = config.faults;
    fabric.seed = config.seed;
    fabric.describe = config.describe;
    return fabric;
}

}  // namespace

Machine::Machine(const Config& config) : fabric_(fabric_config(config)), on_the_way_(config.nodes) {
    for (std::size_t i = 0; i < config.nodes; ++i) {
        nodes_.push_back(
            std::make_unique<Node>(config, static_cast<std::uint16_t>(i), fabric_, on_the_way_));
    }
}

}  // namespace wireproof::sp2
