// Runs a simulated world: the node that is due first takes the next turn, until the world is done.
// A turn is atomic: other nodes see what a node sends only in later turns. Only deadlines move
// time, so an hour in which no node is due costs nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof::sim {

/// When the nodes of a world are due. It outlives a run, so that several runs can continue one
/// world.
class Schedule {
public:
    /// Every node is due at `start`.
    explicit Schedule(std::size_t nodes, Instant start = Instant())
        : nodes_(nodes, Node{start, start}), now_(start) {}

    Instant now() const { return now_; }
    std::size_t size() const { return nodes_.size(); }

    /// The node takes no turn before `until`, even if it is due.
    void pause(std::size_t node, Instant until) { nodes_[node].paused_until = until; }
    /// The node has something to do at `at`, for instance because its user posted work.
    void wake(std::size_t node, Instant at) {
        nodes_[node].deadline = std::min(nodes_[node].deadline, at);
    }

    // For run().
    void clear(std::size_t node) { nodes_[node].deadline = never; }
    Instant deadline(std::size_t node) const { return nodes_[node].deadline; }
    Instant paused_until(std::size_t node) const { return nodes_[node].paused_until; }
    void advance(Instant to) { now_ = std::max(now_, to); }

private:
    struct Node {
        Instant deadline;
        Instant paused_until;
    };

    std::vector<Node> nodes_;
    Instant now_;
};

struct RunLimits {
    Instant until = never;  // a turn that is due later is not taken
    std::uint64_t turns = std::numeric_limits<std::uint64_t>::max();
};

enum class RunEnd : std::uint8_t {
    done,        // done() returned true
    idle,        // no node will ever be due
    time_limit,  // the next turn is due after `until`
    turn_limit,
};

struct RunResult {
    RunEnd end = RunEnd::done;
    Instant now;              // of the last turn, or the time limit that was reached
    std::uint64_t turns = 0;  // of this run
};

/// When a node is due: at the earlier of its own deadline and its wire's, but not while it is
/// paused. In worlds where hosts take time, also not while its host is busy.
template <class World>
Instant due(const World& world, const Schedule& schedule, std::size_t node) {
    const Instant first = std::min(schedule.deadline(node), world.wire(node).next_deadline());
    if (first == never) return never;
    Instant ready = schedule.paused_until(node);
    if constexpr (requires { world.busy_until(node); }) {
        ready = std::max(ready, world.busy_until(node));
    }
    return std::max(first, ready);
}

/// `step(node, now)` gives a node one turn and returns the deadline of its engines (`never`: none).
/// run() itself asks the wire for its deadline, and calls `done()` before each turn. If several
/// nodes are due at the same time, the lowest one goes first.
template <class World, class Step, class Done>
RunResult run(World& world, Schedule& schedule, Step&& step, Done&& done, RunLimits limits = {}) {
    WIREPROOF_CHECK(schedule.size() == world.nodes());
    RunResult result;
    while (true) {
        result.now = schedule.now();
        if (done()) {
            result.end = RunEnd::done;
            return result;
        }
        std::size_t chosen = 0;
        Instant at = never;
        for (std::size_t node = 0; node < schedule.size(); ++node) {
            const Instant then = due(world, schedule, node);
            if (then < at) {
                at = then;
                chosen = node;
            }
        }
        if (at == never) {
            result.end = RunEnd::idle;
            return result;
        }
        if (at > limits.until) {
            schedule.advance(limits.until);
            result.now = schedule.now();
            result.end = RunEnd::time_limit;
            return result;
        }
        if (result.turns == limits.turns) {
            result.end = RunEnd::turn_limit;
            return result;
        }
        schedule.advance(at);
        ++result.turns;
        // The step may wake its node at an earlier time than it returns.
        schedule.clear(chosen);
        schedule.wake(chosen, step(chosen, schedule.now()));
    }
}

}  // namespace wireproof::sim
