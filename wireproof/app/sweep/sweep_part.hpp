// The part of a sweep that a task of a Slurm array simulates.
#pragma once

#include <cstdint>
#include <string>

#include "wireproof/lab/sweep/sweep_file.hpp"

namespace wireproof::app {

/// The points whose index is `index` modulo `count`.
struct SweepPart {
    std::uint64_t index = 0;
    std::uint64_t count = 1;
};

/// The part of this task of a Slurm array; the whole sweep if this process belongs to no array.
/// Throws Failure if the tasks of the array cannot be counted from its first to its last index.
SweepPart part_of_array();

/// NAME.results, or NAME.2-of-3.results.
std::string results_path(const lab::Sweep& sweep, const SweepPart& part);
/// Whether a file with this name has the results of a part of the sweep.
bool is_part_of(const lab::Sweep& sweep, const std::string& name);

/// The sweep with only the points of a part.
lab::Sweep share_of(const lab::Sweep& sweep, const SweepPart& part);

}  // namespace wireproof::app
