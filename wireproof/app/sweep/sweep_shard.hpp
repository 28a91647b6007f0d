// The part of a sweep that one of several independent processes simulates.
#pragma once

#include <cstdint>
#include <string>

#include "wireproof/lab/sweep/sweep_file.hpp"

namespace wireproof::cli {

/// The share of this process: the points whose index is `index` modulo `count`.
struct SweepShard {
    std::uint64_t index = 0;
    std::uint64_t count = 1;
};

/// "2/3" means the second of three. Throws Failure.
SweepShard shard_of(const std::string& text);
/// The share of this task of a Slurm array; the only one if this process belongs to no array.
SweepShard shard_from_environment();

/// NAME.results, or NAME.2-of-3.results.
std::string results_path(const lab::Sweep& sweep, const SweepShard& shard);

/// The sweep with only the points of a shard.
lab::Sweep share_of(const lab::Sweep& sweep, const SweepShard& shard);

}  // namespace wireproof::cli
