// Shows a sweep: as a page with curves, the ladder of a point, and a table that sorts; or only the
// curves, as a picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wireproof/lab/sweep/sweep_point.hpp"

namespace wireproof::app {

/// The content of the page.
struct SweepReport {
    std::string name;
    lab::RetryPlan plan;                           // of the sweep; each point has its own seed
    std::vector<lab::SweepPoint> points;           // finished ones
    std::size_t stopped = 0;                       // number of further points
    std::optional<std::size_t> ladder_point = {};  // counted from 1; without it, a good one
};

/// Throws Failure if the chosen ladder cannot be drawn.
std::string sweep_html(const SweepReport& report);

/// Only the plots of the page, as a picture.
std::string sweep_svg(const SweepReport& report);

/// Throws the errors that `sweep_html` would throw, before any simulation: the point does not
/// exist, or cannot have a ladder.
void check_ladder_point(std::size_t point, const std::vector<lab::RetrySettings>& settings);

}  // namespace wireproof::app
