// For tests: a world that carries the frames of a pair with faults, tick by tick, and counts the
// cost.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <utility>

#include "wireproof/core/fault_plan.hpp"
#include "wireproof/core/hold_back.hpp"
#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {

/// Carries the frames of a pair with faults, one tick per turn, until `done` or a time limit. Each
/// end sends `per_tick` frames per tick; they arrive `delay` ticks later.
struct World {
    explicit World(Pair& carried, FaultRates rates = {}, std::uint64_t seed = 1)
        : pair(carried), plans{FaultPlan(rates, seed), FaultPlan(rates, seed + 0x10000)} {}

    bool run(const std::function<bool()>& done, std::uint64_t ticks_max = 2'000'000) {
        while (!done()) {
            if (ticks == ticks_max) return false;
            turn();
        }
        return true;
    }

    void turn() {
        ++ticks;
        pair.wait(tick);
        for (std::size_t i = 0; i < 2; ++i) {
            Node& node = i == 0 ? pair.a : pair.b;
            if (each_tick) each_tick(node);
            if (ticks % poll_every[i] == 0) {
                auto& in = flights[i];
                for (; !in.empty() && in.front().at <= pair.now; in.pop_front()) {
                    if (tells_overrun && in.front().after_overrun) {
                        pair.give_after_overrun(node, in.front().frame);
                    } else if (in.front().frame.marked) {
                        pair.give_marked(node, in.front().frame);
                    } else {
                        pair.give(node, in.front().frame);
                    }
                }
            }
            for (const Frame& frame : node.take(pair.now, per_tick)) send(1 - i, frame);
            holds[1 - i].expire(pair.now, [&](const Frame& frame) { fly(1 - i, frame); });
        }
    }

    void send(std::size_t to, const Frame& frame) {
        ++sent;
        const Fate fate = plans[to].decide({});
        if (!fate.lost) {
            Frame copy = frame;
            copy.marked = fate.marked;
            if (fate.damaged) plans[to].damage(copy.bytes);
            if (fate.held_behind > 0) {
                holds[to].hold(copy, fate.held_behind, pair.now + tick * (2 * delay));
            } else {
                fly(to, copy);
                if (fate.duplicated) fly(to, copy);
                holds[to].pass([&](const Frame& held) { fly(to, held); });
            }
        }
    }

    void fly(std::size_t to, const Frame& frame) {
        if (flights[to].size() == fifo_max) {
            overran[to] = true;
        } else {
            flights[to].push_back(
                {frame, pair.now + tick * delay, std::exchange(overran[to], false)});
        }
    }

    struct Flight {
        Frame frame;
        Instant at;
        bool after_overrun = false;
    };

    Pair& pair;
    Duration tick = Duration::microseconds(1);
    std::int64_t delay = 10;
    std::size_t per_tick = 1;
    std::size_t fifo_max = 1'000'000;
    bool tells_overrun = false;  // the host reports that its FIFO was full
    std::array<std::uint64_t, 2> poll_every{1, 1};
    std::function<void(Node&)> each_tick;
    std::uint64_t ticks = 0;
    std::uint64_t sent = 0;
    std::array<FaultPlan, 2> plans;  // towards a, towards b
    std::array<std::deque<Flight>, 2> flights;
    std::array<HoldBack<Frame>, 2> holds;
    std::array<bool, 2> overran{};
};

}  // namespace wireproof::am::test
