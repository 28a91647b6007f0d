// Two ends of a link engine on two simulated cables that carry one frame at a time, and a user at
// each end. Only the frames in flight form a queue, and only the two engines have timers, so a turn
// needs no list of events.
#pragma once

#include <algorithm>
#include <array>

#include "wireproof/core/link_engine.hpp"
#include "wireproof/core/pump.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/run.hpp"

namespace wireproof::lab {

/// `network` always gets two nodes, whatever number of nodes it names.
template <LinkEngine E>
class LinkPair {
public:
    LinkPair(sim::NetworkConfig network, const E& end) : LinkPair(network, end, end) {}
    LinkPair(sim::NetworkConfig network, const E& left, const E& right)
        : network_(two_nodes(network)), ends_{left, right} {}
    // A world that forks copies each engine and each cable itself.
    LinkPair(const LinkPair&) = delete;
    LinkPair& operator=(const LinkPair&) = delete;
    ~LinkPair() = default;

    E& end(std::size_t node) { return ends_[node]; }
    const E& end(std::size_t node) const { return ends_[node]; }
    sim::Network& network() { return network_; }
    Instant now() const { return now_; }
    /// The node has something to do now, for example because its user wants to send.
    void wake(std::size_t node) { wanted_[node] = now_; }

    /// `deliver(node, delivery)` gets what an end delivers. `feed(node)` submits what the node
    /// wants to send, and returns when the pair must call it again even if nothing happens. The
    /// pair calls `done()` before each turn.
    template <class Deliver, class Feed, class Done>
    sim::RunResult run(Deliver&& deliver, Feed&& feed, Done&& done, sim::RunLimits limits = {}) {
        sim::RunResult result;
        std::array<Instant, 2> due = {due_of(0), due_of(1)};
        while (true) {
            result.now = now_;
            if (done()) {
                result.end = sim::RunEnd::done;
                return result;
            }
            const std::size_t node = due[1] < due[0] ? 1 : 0;
            if (due[node] == never) {
                result.end = sim::RunEnd::idle;
                return result;
            }
            if (due[node] > limits.until) {
                now_ = std::max(now_, limits.until);
                result.now = now_;
                result.end = sim::RunEnd::time_limit;
                return result;
            }
            if (result.turns == limits.turns) {
                result.end = sim::RunEnd::turn_limit;
                return result;
            }
            now_ = std::max(now_, due[node]);
            ++result.turns;
            turn(node, deliver, feed);
            due[node] = due_of(node);
            due[1 - node] = earliest(due[1 - node], cable(node).next_arrival());
        }
    }

private:
    static sim::NetworkConfig two_nodes(sim::NetworkConfig network) {
        network.nodes = 2;
        return network;
    }

    // The cable from this node to the other.
    sim::Cable& cable(std::size_t node) { return *cables_[node]; }

    Instant due_of(std::size_t node) {
        deadline_[node] = ends_[node].next_deadline();
        return earliest(deadline_[node], wanted_[node], cable(1 - node).next_arrival(),
                        cable(node).room_since());
    }

    template <class Deliver, class Feed>
    void turn(std::size_t node, Deliver& deliver, Feed& feed) {
        E& engine = ends_[node];
        const auto draw = [&] {
            while (const auto delivery = engine.next_delivery()) deliver(node, *delivery);
        };
        sim::Cable& in = cable(1 - node);
        while (const auto frame = in.take(now_)) {
            engine.on_frame(now_, *frame);
            draw();
        }
        if (deadline_[node] <= now_) {
            engine.on_deadline(now_);
            draw();
        }
        wanted_[node] = feed(node);
        sim::Cable& out = cable(node);
        out.look(now_);
        send(engine, out);
        out.flush(now_);
    }

    // Does the same as core/pump. But if the engine can say that it is quiet, the pair need not
    // wake it when the cable is free again.
    void send(E& engine, sim::Cable& out) {
        while (TxFrame* room = out.claim()) {
            if (!engine.poll_transmit(now_, *room)) return;
            out.commit();
        }
        if constexpr (requires { engine.quiet(); }) {
            if (engine.quiet()) out.look(now_);
        }
    }

    sim::Network network_;
    std::array<sim::Cable*, 2> cables_ = {&network_.cable(0, 1), &network_.cable(1, 0)};
    std::array<E, 2> ends_;
    Instant now_;
    std::array<Instant, 2> deadline_{};  // of the engines
    std::array<Instant, 2> wanted_{};    // the pair asks both at the start
};

}  // namespace wireproof::lab
