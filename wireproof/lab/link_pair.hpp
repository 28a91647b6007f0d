// Two ends of a link engine on two simulated cables that carry one frame at a time, and a user at
// each end. What flies is a queue, what waits are two engines: a turn costs no event list.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "wireproof/core/link_engine.hpp"
#include "wireproof/core/pump.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/run.hpp"

namespace wireproof::lab {

/// `network` is made of two nodes whatever it says. Not copyable: see sim::Network for worlds that
/// fork.
template <LinkEngine E>
class LinkPair {
public:
    LinkPair(sim::NetworkConfig network, const E& end) : LinkPair(network, end, end) {}
    LinkPair(sim::NetworkConfig network, const E& left, const E& right)
        : network_(two_nodes(network)), ends_{left, right} {}

    E& end(std::size_t node) { return ends_[node]; }
    const E& end(std::size_t node) const { return ends_[node]; }
    sim::Network& network() { return network_; }
    Instant now() const { return schedule_.now(); }
    sim::Schedule& schedule() { return schedule_; }

    /// `deliver(node, delivery)` hears what an end hands up; `feed(node)` submits what it wants to
    /// send and returns when it wants to be asked again though nothing happens.
    template <class Deliver, class Feed, class Done>
    sim::RunResult run(Deliver&& deliver, Feed&& feed, Done&& done, sim::RunLimits limits = {}) {
        const auto step = [&](std::size_t node, Instant now) {
            E& engine = ends_[node];
            sim::NodeWire& wire = network_.wire(node);
            const PeerId peer{static_cast<std::uint16_t>(1 - node)};
            while (const auto frame = wire.receive(now)) {
                engine.on_frame(now, *frame);
                while (const auto delivery = engine.next_delivery()) deliver(node, *delivery);
            }
            if (engine.next_deadline() <= now) {
                engine.on_deadline(now);
                while (const auto delivery = engine.next_delivery()) deliver(node, *delivery);
            }
            const Instant wanted = feed(node);
            transmit(engine, wire.lane(peer), now);
            wire.flush(now);
            return std::min(wanted, engine.next_deadline());
        };
        return sim::run(network_, schedule_, step, std::forward<Done>(done), limits);
    }

private:
    static sim::NetworkConfig two_nodes(sim::NetworkConfig network) {
        network.nodes = 2;
        return network;
    }

    sim::Network network_;
    std::array<E, 2> ends_;
    sim::Schedule schedule_{2};
};

}  // namespace wireproof::lab
