#include "wireproof/cli/soak_worlds.hpp"

#include <fmt/format.h>

namespace wireproof::cli {
namespace {

using Json = SoakJson;

std::string broken(const std::string& violation, const std::string& what) {
    return violation.empty() ? "" : fmt::format("{} ({})", violation, what);
}

}  // namespace

std::string AmWorlds::run(std::uint64_t seed) const {
    const lab::AmWorldResult world = lab::run_am_world({.seed = seed, .congestion = congestion_});
    const Json text = {world.operations, world.frames,    world.filled, world.numbered,
                       world.resent,     world.violation, world.what,   world.controlled};
    return text.dump();
}

std::string AmWorlds::add(std::uint64_t seed, const std::string& text) {
    const Json figures = Json::parse(text);
    lab::AmWorldResult world;
    world.seed = seed;
    world.operations = figures.at(0);
    world.frames = figures.at(1);
    world.filled = figures.at(2);
    world.numbered = figures.at(3);
    world.resent = figures.at(4);
    world.violation = figures.at(5);
    world.what = figures.at(6);
    world.controlled = figures.at(7);
    summary_.add(world);
    return broken(world.violation, world.what);
}

void AmWorlds::add_to(Json& out) const {
    out["operations"] = summary_.operations;
    out["frames"] = summary_.frames;
    out["cost_mean"] = summary_.cost_mean();
    out["cost_max"] = summary_.cost_max;
    out["costliest_seed"] = summary_.costliest_seed;
}

std::string AmWorlds::text() const {
    return fmt::format(
        "{} operations, {} frames; packets sent for one needed: {:.2f} on average,\n"
        "{:.2f} at worst (seed {})\n",
        summary_.operations, summary_.frames, summary_.cost_mean(), summary_.cost_max,
        summary_.costliest_seed);
}

std::string IbWorlds::run(std::uint64_t seed) const {
    const lab::IbWorldResult world =
        lab::run_ib_world({.seed = seed, .transport = transport_, .congestion = congestion_});
    const Json text = {world.asked,  world.failed,    world.delivered,  world.lost,
                       world.frames, world.faults,    world.recoveries, world.violation,
                       world.what,   world.controlled};
    return text.dump();
}

std::string IbWorlds::add(std::uint64_t seed, const std::string& text) {
    const Json figures = Json::parse(text);
    const lab::IbWorldResult world{.seed = seed,
                                   .what = figures.at(8),
                                   .violation = figures.at(7),
                                   .controlled = figures.at(9),
                                   .asked = figures.at(0),
                                   .failed = figures.at(1),
                                   .delivered = figures.at(2),
                                   .lost = figures.at(3),
                                   .frames = figures.at(4),
                                   .faults = figures.at(5),
                                   .recoveries = figures.at(6)};
    summary_.add(world);
    return broken(world.violation, world.what);
}

void IbWorlds::add_to(Json& out) const {
    const lab::IbWorldResult& sum = summary_.sum;
    out["operations"] = sum.asked;
    out["operations_failed"] = sum.failed;
    out["messages_delivered"] = sum.delivered;
    out["messages_lost"] = sum.lost;
    out["frames"] = sum.frames;
    out["faults"] = sum.faults;
    out["recoveries"] = sum.recoveries;
    out["cost_max"] = summary_.cost_max;
    out["costliest_seed"] = summary_.costliest_seed;
}

std::string IbWorlds::text() const {
    const lab::IbWorldResult& sum = summary_.sum;
    return fmt::format(
        "{} operations, {} of them failed for want of an answer;\n"
        "{} messages delivered, {} of UC lost; {} frames, {} faults,\n"
        "{} recoveries: at worst {:.2f} for a fault (seed {})\n",
        sum.asked, sum.failed, sum.delivered, sum.lost, sum.frames, sum.faults, sum.recoveries,
        summary_.cost_max, summary_.costliest_seed);
}

std::string LinkWorlds::run(std::uint64_t seed) const {
    const lab::LinkWorldResult world = lab::run_link_world(engine_, {.seed = seed});
    const Json text = {world.violation, world.what,    world.submitted, world.delivered,
                       world.lost,      world.downs,   world.frames,    world.faults,
                       world.numbered,  world.resent,  world.acks,      world.naks,
                       world.replays,   world.timeouts};
    return text.dump();
}

std::string LinkWorlds::add(std::uint64_t seed, const std::string& text) {
    const Json figures = Json::parse(text);
    lab::LinkWorldResult world;
    world.seed = seed;
    world.violation = figures.at(0);
    world.what = figures.at(1);
    std::size_t at = 2;
    for (std::uint64_t* figure : {&world.submitted, &world.delivered, &world.lost, &world.downs,
                                  &world.frames, &world.faults, &world.numbered, &world.resent,
                                  &world.acks, &world.naks, &world.replays, &world.timeouts}) {
        *figure = figures.at(at++);
    }
    summary_.add(world);
    return broken(world.violation, world.what);
}

void LinkWorlds::add_to(Json& out) const {
    const lab::LinkWorldResult& sum = summary_.sum;
    out["messages_delivered"] = sum.delivered;
    out["messages_lost"] = sum.lost;
    out["link_down"] = sum.downs;
    out["frames"] = sum.frames;
    out["faults"] = sum.faults;
    out["resent"] = sum.resent;
    out["acks"] = sum.acks;
    out["naks"] = sum.naks;
    out["replays"] = sum.replays;
    out["timeouts"] = sum.timeouts;
    out["cost_max"] = summary_.cost_max;
    out["costliest_seed"] = summary_.costliest_seed;
}

std::string LinkWorlds::text() const {
    const lab::LinkWorldResult& sum = summary_.sum;
    return fmt::format(
        "{} messages delivered, {} lost when an end went down, {} times;\n"
        "{} frames, {} faults, {} replays, {} timeouts; {} frames resent,\n"
        "at worst {:.2f} for a fault (seed {})\n",
        sum.delivered, sum.lost, sum.downs, sum.frames, sum.faults, sum.replays, sum.timeouts,
        sum.resent, summary_.cost_max, summary_.costliest_seed);
}

}  // namespace wireproof::cli
