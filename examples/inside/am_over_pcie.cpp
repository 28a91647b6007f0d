// A link engine over a wire is a wire again. Here SP AM runs over PCI Express on a cable. The cable
// loses and damages frames. The link repairs this, and SP AM does not notice it.
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "wireproof/core/pump.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/proto/pcie/link.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/run.hpp"
#include "wireproof/wire/retry/retry_wire.hpp"

using namespace wireproof;

/// The wire below the link. It borrows the wire of a simulated node.
class Cable {
public:
    explicit Cable(sim::NodeWire& wire) : wire_(&wire) {}
    sim::Cable& lane(PeerId peer) { return wire_->lane(peer); }
    std::optional<RxFrame> receive(Instant now) { return wire_->receive(now); }
    void flush(Instant now) { wire_->flush(now); }
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return wire_->next_event(); }
    Instant next_deadline() const { return wire_->next_deadline(); }

private:
    sim::NodeWire* wire_;
};

int main() {
    const pcie::LinkRate rate{pcie::Speed::gen1, 4};
    const pcie::Config link = pcie::Config::of_link(rate, 2048);
    sim::NetworkConfig cable;
    cable.frame_max = link.payload_max + pcie::tlp_overhead;
    cable.bytes_per_second = rate.bytes_per_second();
    cable.latency = Duration::nanoseconds(50);
    cable.one_at_a_time = true;
    cable.faults = {.loss = 0.02, .bit_error = 1e-6};
    cable.seed = 1;
    sim::Network network(cable);

    am::MemoryTable nothing;
    std::vector<am::Connection> nodes;
    std::vector<std::unique_ptr<RetryWire<pcie::Link, Cable>>> wires;
    for (const std::uint16_t node : {std::uint16_t{0}, std::uint16_t{1}}) {
        am::Config config = am::Config::ethernet();
        config.node = node;
        config.peer = static_cast<std::uint16_t>(1 - node);
        nodes.emplace_back(config, nothing);
        wires.push_back(std::make_unique<RetryWire<pcie::Link, Cable>>(
            pcie::Link(link), Cable(network.wire(node)), PeerId{config.peer}));
    }

    // The world for sim::run: the network, with the deadlines of the links and of the cables.
    struct World {
        std::size_t nodes() const { return 2; }
        const RetryWire<pcie::Link, Cable>& wire(std::size_t node) const { return *wires[node]; }
        std::vector<std::unique_ptr<RetryWire<pcie::Link, Cable>>>& wires;
    } world{wires};
    sim::Schedule schedule(2);
    constexpr int wanted = 1'000;
    int asked = 0;
    int arrived = 0;
    const auto step = [&](std::size_t node, Instant now) {
        const std::array<std::byte, 1000> words{};
        while (node == 0 && asked < wanted &&
               nodes[0].request(am::HandlerId{1}, words) == am::PostStatus::accepted) {
            ++asked;
        }
        pump(nodes[node], *wires[node], PeerId(1 - node), now, [&](const am::Delivery& d) {
            if (std::holds_alternative<am::Request>(d)) ++arrived;
        });
        return nodes[node].next_deadline();
    };
    const auto result = sim::run(world, schedule, step, [&] { return arrived == wanted; });
    std::printf("%d of %d requests in %.3f ms of simulated time\n", arrived, wanted,
                result.now.since_start().seconds() * 1e3);
    std::printf("the link resent %llu TLPs; SP AM resent %llu packets\n",
                static_cast<unsigned long long>(wires[0]->link().stats().resent),
                static_cast<unsigned long long>(nodes[0].stats().resent));
    return arrived == wanted && nodes[0].stats().resent == 0 ? 0 : 1;
}
