// Two engines, a simulated cable that loses one frame in five, and the loop that runs them. An
// Endpoint runs the same class Connection over UDP. A Connection does not depend on the wire.
#include <array>
#include <cstdio>
#include <vector>

#include "wireproof/core/pump.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/run.hpp"

using namespace wireproof;

int main() {
    am::Config config = am::Config::ethernet();
    am::MemoryTable nothing;
    std::vector<am::Connection> nodes;
    for (const std::uint16_t node : {std::uint16_t{0}, std::uint16_t{1}}) {
        config.node = node;
        config.peer = static_cast<std::uint16_t>(1 - node);
        nodes.emplace_back(config, nothing);
    }
    sim::Network network({.nodes = 2, .faults = {.loss = 0.2}, .seed = 1});
    sim::Schedule schedule(2);

    constexpr int wanted = 1'000;
    int asked = 0;
    int arrived = 0;
    const auto step = [&](std::size_t node, Instant now) {
        const std::array<std::byte, 4> word{};
        while (node == 0 && asked < wanted &&
               nodes[0].request(am::HandlerId{1}, word) == am::PostStatus::accepted) {
            ++asked;
        }
        pump(nodes[node], network.wire(node), PeerId(1 - node), now, [&](const am::Delivery& d) {
            if (std::holds_alternative<am::Request>(d)) ++arrived;
        });
        return nodes[node].next_deadline();
    };
    const auto result = sim::run(network, schedule, step, [&] { return arrived == wanted; });
    const auto totals = network.totals();
    std::printf("%d of %d requests in %.3f ms of simulated time; %llu frames, %llu lost\n", arrived,
                wanted, result.now.since_start().seconds() * 1e3,
                static_cast<unsigned long long>(totals.frames),
                static_cast<unsigned long long>(totals.lost));
}
