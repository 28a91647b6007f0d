// The points of a sweep as JSON: what the command prints and keeps, and what lab.hpp returns.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>

#include "wireproof/lab/sweep/sweep_point.hpp"

namespace wireproof::lab {

using SweepJson = nlohmann::ordered_json;

/// The identity of a point: its settings as the user asked for them, the seed of the sweep, and its
/// end. Two lines are about the same point if their keys are equal.
SweepJson sweep_key(const RetrySettings& settings, const RetryPlan& plan);

/// The point as it is printed and kept, without anything that differs from run to run.
SweepJson sweep_json(const SweepPoint& point, const RetryPlan& plan);
/// The seed of a point, computed from the seed of the sweep and the settings of the point.
std::uint64_t point_seed(const RetrySettings& settings, std::uint64_t seed);

}  // namespace wireproof::lab
