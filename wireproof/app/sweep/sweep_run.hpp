// A sweep of many points: runs on all cores, continues after an interruption, can be split over
// machines and merged. The results file has one JSON object in each line for each finished point.
// Its content does not differ from run to run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/lab/sweep/sweep_file.hpp"
#include "wireproof/lab/sweep/sweep_point.hpp"

namespace wireproof::cli {

/// The share of this process: the points whose index is `index` modulo `count`.
struct SweepShard {
    std::uint64_t index = 0;
    std::uint64_t count = 1;
};

/// "2/3" means the second of three. Throws Failure.
SweepShard shard_of(const std::string& text);
/// The share that Slurm's arrays, Open MPI or PMI give to their processes; the only one if none of
/// them started this process.
SweepShard shard_from_environment();

/// NAME.results, or NAME.2-of-3.results.
std::string results_path(const lab::Sweep& sweep, const SweepShard& shard);

/// The sweep with only the points of a shard.
lab::Sweep share_of(const lab::Sweep& sweep, const SweepShard& shard);

/// A function for a point that begins now: returns true when its time is over. Empty for 0 seconds,
/// which means no limit.
std::function<bool()> out_of_time_after(double seconds);

/// Runs the points that are not in the results file, and leaves the file sorted. Returns all points
/// of the shard in the order of the sweep. Stopped points are not in the file. Throws Failure with
/// one line: a point that cannot be simulated, or a file of another sweep. `jump` as in
/// lab::RetryPlan.
std::vector<lab::SweepPoint> run_sweep(const lab::Sweep& sweep, const SweepShard& shard, bool jump);

/// Merges all NAME.K-of-N.results into NAME.results. Throws if points are missing.
std::vector<lab::SweepPoint> merge_sweep(const lab::Sweep& sweep);

}  // namespace wireproof::cli
