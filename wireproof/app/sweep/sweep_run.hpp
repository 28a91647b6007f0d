// A sweep of many points: runs on all cores and on all ranks of a job, continues after an
// interruption, and can be split over the tasks of a Slurm array. The results file has one JSON
// object in each line for each finished point. Its content does not differ from run to run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wireproof/app/sweep/sweep_part.hpp"
#include "wireproof/app/task_pool/task_pool.hpp"
#include "wireproof/lab/sweep/sweep_file.hpp"
#include "wireproof/lab/sweep/sweep_point.hpp"

namespace wireproof::app {

/// A sweep as the user asked for it.
struct SweepTask {
    std::string file;  // its name, for messages
    std::string text;  // what is in the file
    lab::Sweep sweep;  // with the values that options replace
    bool jump = true;  // as in lab::RetryPlan
};

/// A function for a point that begins now: returns true when its time is over. Empty for 0 seconds,
/// which means no limit.
std::function<bool()> out_of_time_after(double seconds);

/// Runs the points of the part that are not in its results file, and leaves the file sorted. For
/// the whole sweep, it takes the points that are in NAME.K-of-N.results, too. Returns all points of
/// the part in the order of the sweep. Stopped points are not in the file. Throws Failure or
/// std::runtime_error with one line: a point that cannot be simulated, a file of another sweep, or
/// a file that another run has. For rank 0 of `pool`.
std::vector<lab::SweepPoint> run_sweep(const SweepTask& task, const SweepPart& part,
                                       task_pool::TaskPool& pool);
/// For the other ranks: simulates points of run_sweep() until rank 0 needs no more.
void help_with_sweep(task_pool::TaskPool& pool);

}  // namespace wireproof::app
