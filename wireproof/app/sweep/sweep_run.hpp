// A sweep of many points: on all cores, resumable, split over machines and gathered again. Finished
// points stand in a results file, one JSON object a line, and nothing in them differs from run to
// run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/lab/sweep/sweep_file.hpp"
#include "wireproof/lab/sweep/sweep_point.hpp"

namespace wireproof::cli {

/// This process's share of the points: those whose place is `index` modulo `count`.
struct SweepShard {
    std::uint64_t index = 0;
    std::uint64_t count = 1;
};

/// "2/3" is the second of three; throws Failure.
SweepShard shard_of(const std::string& text);
/// As Slurm's arrays, Open MPI and PMI tell their processes; one of one if nobody says anything.
SweepShard shard_from_environment();

/// NAME.results, or NAME.2-of-3.results.
std::string results_path(const lab::Sweep& sweep, const SweepShard& shard);

/// The sweep with the points of a shard only.
lab::Sweep share_of(const lab::Sweep& sweep, const SweepShard& shard);

/// What a point that begins now asks whether its time is over; nothing if it has no limit, which is
/// 0 seconds.
std::function<bool()> out_of_time_after(double seconds);

/// Runs the points that the results file lacks, and leaves it sorted; returns all points of the
/// shard in the order of the sweep. Those that were stopped are not in the file. Throws Failure
/// with one line: what cannot be simulated, or a file of another sweep. `jump` as in
/// lab::RetryPlan.
std::vector<lab::SweepPoint> run_sweep(const lab::Sweep& sweep, const SweepShard& shard, bool jump);

/// Gathers NAME.K-of-N.results into NAME.results; throws if points are missing.
std::vector<lab::SweepPoint> merge_sweep(const lab::Sweep& sweep);

}  // namespace wireproof::cli
