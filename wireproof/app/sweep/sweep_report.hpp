// A sweep to be shown. As a page: curves, the ladder of a point, and a table that sorts; or the
// curves as a picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wireproof/lab/sweep/sweep_point.hpp"

namespace wireproof::cli {

/// What the page is of.
struct SweepReport {
    std::string name;
    lab::RetryPlan plan;                           // the sweep's: its seed is not the points'
    std::vector<lab::SweepPoint> points;           // finished ones
    std::size_t stopped = 0;                       // points besides
    std::optional<std::size_t> ladder_point = {};  // 1 is the first; without it, one that tells
};

/// Throws Failure if the ladder that was asked for cannot be drawn.
std::string sweep_html(const SweepReport& report);

/// The page's plots alone, as a picture.
std::string sweep_svg(const SweepReport& report);

/// Throws what `sweep_html` would before anything is simulated: no such point, or one that can have
/// no ladder.
void check_ladder_point(std::size_t point, const std::vector<lab::RetrySettings>& settings);

}  // namespace wireproof::cli
