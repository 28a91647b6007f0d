// The points of a sweep: as lines of a results file, as CSV and as a table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wireproof/lab/sweep/sweep_json.hpp"

namespace wireproof::app {

using lab::SweepJson;

/// The time that the simulation of a point took. It is never part of a results file.
struct SweepWall {
    double seconds = 0;
    double frames_per_second = 0;
};

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

}  // namespace wireproof::app
