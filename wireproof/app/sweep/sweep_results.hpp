// The points of a sweep: as JSON, as lines of a results file, as CSV and as a table.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

#include "wireproof/lab/sweep/sweep_point.hpp"

namespace wireproof::cli {

using SweepJson = nlohmann::ordered_json;

/// The time that the simulation of a point took. It is never part of a results file.
struct SweepWall {
    double seconds = 0;
    double frames_per_second = 0;
};

/// The identity of a point: its settings as the user asked for them, the seed of the sweep, and its
/// end. Two lines are about the same point if their keys are equal.
SweepJson sweep_key(const lab::RetrySettings& settings, const lab::RetryPlan& plan);

/// The point as it is printed and kept, without anything that differs from run to run.
SweepJson sweep_json(const lab::SweepPoint& point, const lab::RetryPlan& plan);
/// The name of the first field in which a kept line differs from the lines that this version
/// writes; empty if none. A file may have lines of older versions.
std::string lacking(const SweepJson& line, const lab::RetrySettings& settings,
                    const lab::RetryPlan& plan);
/// The point of a line that sweep_json() made. lacking() must have returned nothing for the line.
lab::SweepPoint read_sweep_point(const SweepJson& line, const lab::RetrySettings& settings);
void add_wall(SweepJson& point, const std::optional<SweepWall>& wall);

/// The number of frames in both directions.
double sweep_frames(const lab::RetryPoint& point);

/// For 80 columns, with notes about points that could not jump and points that were stopped.
std::string sweep_table(const std::vector<lab::SweepPoint>& points);
std::string sweep_csv(const std::vector<lab::SweepPoint>& points);

/// The seed of a point, computed from the seed of the sweep and the settings of the point.
std::uint64_t point_seed(const lab::RetrySettings& settings, std::uint64_t seed);

}  // namespace wireproof::cli
