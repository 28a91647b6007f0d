// The points of a sweep, as readers see them: in pages, plots and tables.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "wireproof/lab/sweep/sweep_curves.hpp"
#include "wireproof/lab/sweep/sweep_point.hpp"

namespace wireproof::lab {

/// "1e-9": without the zero that C writes into the exponent.
std::string figure(double value, int digits = 6);

/// A digest, in hexadecimal digits.
std::string sixteen_digits(std::uint64_t value);

/// All points of a sweep have the same quantities in the same order. `units`: some of them have
/// flits.
std::vector<SweepQuantity> quantities_of(const RetrySettings& settings, bool units);

/// What plots need of these points.
std::vector<SweepFigures> figures_of(std::span<const SweepPoint> points);

/// The plots of the points as one picture; empty if there is nothing to draw.
std::string picture_of(std::span<const SweepFigures> points);

}  // namespace wireproof::lab
