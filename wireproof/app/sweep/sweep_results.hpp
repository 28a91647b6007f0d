// The points of a sweep as JSON, as lines of a results file, as CSV and as a table.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

#include "wireproof/lab/sweep/sweep_point.hpp"

namespace wireproof::cli {

using SweepJson = nlohmann::ordered_json;

/// How long a point took to simulate; nothing of it goes into a results file.
struct SweepWall {
    double seconds = 0;
    double frames_per_second = 0;
};

/// What a point is: its settings as asked for, the seed of the sweep and when it ends. Two lines
/// are of one point if these are equal.
SweepJson sweep_key(const lab::RetrySettings& settings, const lab::RetryPlan& plan);

/// The point as it is printed and kept; nothing that differs from run to run.
SweepJson sweep_json(const lab::SweepPoint& point, const lab::RetryPlan& plan);
/// The first field in which a line that was kept is not one of such a point as it is written now,
/// or nothing: lines outlive the versions that wrote them.
std::string lacking(const SweepJson& line, const lab::RetrySettings& settings,
                    const lab::RetryPlan& plan);
/// The point that sweep_json() has made such a line of, which lacks nothing.
lab::SweepPoint read_sweep_point(const SweepJson& line, const lab::RetrySettings& settings);
void add_wall(SweepJson& point, const std::optional<SweepWall>& wall);

/// Frames of both directions.
double sweep_frames(const lab::RetryPoint& point);

/// For 80 columns, with notes of what could not be jumped over and of what was stopped.
std::string sweep_table(const std::vector<lab::SweepPoint>& points);
std::string sweep_csv(const std::vector<lab::SweepPoint>& points);

/// A seed of a point's own: a function of the sweep's and of the settings.
std::uint64_t point_seed(const lab::RetrySettings& settings, std::uint64_t seed);

}  // namespace wireproof::cli
