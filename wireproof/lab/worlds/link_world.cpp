#include "wireproof/lab/worlds/link_world.hpp"

#include "wireproof/lab/engines/link_engines.hpp"
#include "wireproof/lab/worlds/link_world_costs.hpp"

namespace wireproof::lab {

LinkWorldResult run_link_world(std::size_t engine, const LinkWorldConfig& config) {
    return LinkEngines::visit(engine, [&]<class Adapter>() { return Adapter::run_world(config); });
}

void LinkWorldsSummary::add(const LinkWorldResult& result) {
    ++worlds;
    broken += result.ok() ? 0U : 1U;
    sum.duration = sum.duration + result.duration;
    sum.turns += result.turns;
    sum.submitted += result.submitted;
    sum.delivered += result.delivered;
    sum.lost += result.lost;
    sum.downs += result.downs;
    sum.verdicts += result.verdicts;
    sum.frames += result.frames;
    sum.faults += result.faults;
    sum.numbered += result.numbered;
    sum.resent += result.resent;
    sum.acks += result.acks;
    sum.naks += result.naks;
    sum.replays += result.replays;
    sum.timeouts += result.timeouts;
    sum.resets += result.resets;
    if (result.faults == 0) return;
    const double cost = static_cast<double>(result.resent) / static_cast<double>(result.faults);
    if (cost <= cost_max) return;
    cost_max = cost;
    costliest_seed = result.seed;
}

}  // namespace wireproof::lab
