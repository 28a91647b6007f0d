// The settings of a point, as readers see them: in pages, plots and tables.
#pragma once

#include <string>
#include <vector>

#include "wireproof/lab/sweep/sweep_curves.hpp"

namespace wireproof::cli {

/// "1e-9": without the zero that C writes into the exponent.
std::string figure(double value, int digits = 6);

/// All points of a sweep have the same quantities in the same order. `units`: some of them have
/// flits.
std::vector<lab::SweepQuantity> quantities_of(const lab::RetrySettings& settings, bool units);

}  // namespace wireproof::cli
