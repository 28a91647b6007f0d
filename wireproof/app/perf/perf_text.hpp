// How the figures of a measurement are written.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace wireproof::cli {

/// Three figures and a unit's prefix: 12.3 M.
std::string perf_scaled(double value);
/// Bytes: 64 Ki.
std::string perf_size(std::size_t size);
/// A time in the unit that it is read in best: 12.3 us.
std::string perf_ns(double value);
/// To four figures.
double perf_rounded(double value);
/// A table of lines of equal length, each column as wide as it must be.
std::string perf_lines(const std::vector<std::vector<std::string>>& lines);

}  // namespace wireproof::cli
