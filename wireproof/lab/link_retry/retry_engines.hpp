// Runs a point with two engines. All times are bytes on the line.
#pragma once

#include <vector>

#include "wireproof/lab/link_retry/retry_goal.hpp"
#include "wireproof/lab/link_retry/retry_run.hpp"

namespace wireproof::lab {

/// The memory from which the engines of a point and their copies send, and to which they write. It
/// must outlive them all.
struct RetryMemory {
    explicit RetryMemory(std::size_t payload)
        : source(payload, std::byte{0x5A}), landing(payload) {}

    std::vector<std::byte> source;
    std::vector<std::byte> landing;
};

// Payload bytes of a unit that its frame does not contain, if the frame carries only one word for
// them.
template <RetryEnd End>
std::size_t not_shown(const RetrySettings& s) {
    if constexpr (requires { End::shown; }) return (s.payload + 3) / 4 * 4 - End::shown;
    return 0;
}

/// Runs the point with the engines that `build` makes: `build(s, link, memory, node)` returns the
/// end of node 0 (the sender) or of node 1. Only the source file of an engine includes this,
/// because it takes long to compile.
template <RetryEnd End, class Build>
Expected<RetryPoint> run_engines(const RetrySettings& s, const RetryPlan& plan,
                                 const RetryLink& link, Build&& build) {
    RetryMemory memory(s.payload);
    const auto unit = static_cast<std::size_t>(link.unit.bytes());
    typename RetryWorld<End>::Config world;
    world.forward = {.frame_max = std::max(unit - static_cast<std::size_t>(link.gap), End::own_max),
                     .payload = memory.source,
                     .framing = link.framing,
                     .not_shown = not_shown<End>(s) + static_cast<std::size_t>(link.gap)};
    world.back = world.forward;
    world.back.delay = line_time(s.loop);
    world.back.takes_time = s.loaded_back;
    world.window = std::max(link.buffer, 2U);  // uc has none: one unit in flight, one waiting
    world.loaded_back = s.loaded_back;
    RetryWorld<End> start(world, build(s, link, memory, 0), build(s, link, memory, 1));
    if (!start.start()) return unexpected("the link does not come up");
    constexpr std::size_t states_memory = std::size_t{128} << 20;
    const std::size_t world_size = 16'384 + link.buffer * 400;
    RetryGoal goal(plan, s);
    RetryRun<End> run({.unit = unit,
                       .jumps = plan.jump,
                       .states_max = states_memory / world_size,
                       .pulse = goal.pulse()},
                      start, faults_of(s, link, plan.seed));
    RetryPoint point = point_of(s, link);
    const auto measured = [&] {
        take_counts(run, point);
        return point.relative_error();
    };
    bool records = false;
    const auto advance = [&](std::uint64_t n) {
        if (plan.trace != nullptr && !records) {
            if (!run.advance(plan.trace_after)) return false;
            run.record(plan.trace);
            records = true;
        }
        return run.advance(n);
    };
    const bool runs = goal.reach(point, advance, measured);
    if (!runs) return unexpected("the link has come to rest");
    take_figures(run, point);
    if (plan.jump) point.cannot_jump = jump_obstacle(s);
    return point;
}

}  // namespace wireproof::lab
