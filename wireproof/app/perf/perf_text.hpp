// Formats the figures of a measurement.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace wireproof::app {

/// Three digits and the prefix of a unit: 12.3 M.
std::string perf_scaled(double value);
/// Bytes: 64 Ki.
std::string perf_size(std::size_t size);
/// A time in the unit that is easiest to read: 12.3 us.
std::string perf_ns(double value);
/// Rounded to four digits.
double perf_rounded(double value);
/// A table of lines with the same number of columns. Each column is as wide as it needs.
std::string perf_lines(const std::vector<std::vector<std::string>>& lines);

}  // namespace wireproof::app
