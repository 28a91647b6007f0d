// The public random worlds.
#include <algorithm>

#include "wireproof/core/congestion/kind.hpp"
#include "wireproof/lab.hpp"
#include "wireproof/lab/worlds/am_world.hpp"
#include "wireproof/lab/worlds/ib_world.hpp"

namespace wireproof::lab {
namespace {

WorldFindings findings_of(const AmWorldResult& world) {
    return {.what = world.what,
            .violation = world.violation,
            .controlled = world.controlled,
            .seconds = world.duration.seconds(),
            .operations = world.operations,
            .frames = world.frames,
            .faults = world.lost,
            .resent = world.resent};
}

WorldFindings findings_of(const IbWorldResult& world) {
    return {.what = world.what,
            .violation = world.violation,
            .controlled = world.controlled,
            .seconds = world.duration.seconds(),
            .operations = world.asked,
            .failed = world.failed,
            .frames = world.frames,
            .faults = world.faults,
            .resent = world.resent};
}

}  // namespace

Result<WorldFindings> run_world(const RandomWorld& world) {
    std::optional<congestion::Kind> control;
    if (!world.congestion.empty()) {
        const auto& names = congestion::kind_names;
        const auto at = std::find(names.begin(), names.end(), world.congestion);
        if (at == names.end()) {
            return Result<WorldFindings>::failure("congestion control is off, loss or path, not " +
                                                  world.congestion);
        }
        control = static_cast<congestion::Kind>(at - names.begin());
    }
    if (world.protocol == "sp-am") {
        return findings_of(run_am_world({.seed = world.seed, .congestion = control}));
    }
    IbWorldConfig config{.seed = world.seed, .congestion = control};
    if (world.protocol == "rc") {
        config.transport = proto::ib::Transport::rc;
    } else if (world.protocol == "uc") {
        config.transport = proto::ib::Transport::uc;
    } else if (world.protocol != "ib") {
        return Result<WorldFindings>::failure("there are worlds of sp-am, rc, uc and ib, not of " +
                                              world.protocol);
    }
    return findings_of(run_ib_world(config));
}

}  // namespace wireproof::lab
