// Reads sweeps from text: small TOML files with lists whose combinations are the points.
// docs/guide/links/sweeps.md explains every key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {

// Limits of the seconds that a point of a sweep may take.
inline constexpr double point_seconds_min = 0.01;
inline constexpr double point_seconds_max = 1e7;

struct Sweep {
    std::string name;
    RetryPlan plan;
    double point_seconds = 0;  // limit for each point; 0: none
    std::string loss_trace;    // a file, relative to this one's folder; empty: none. Not read here
    std::vector<RetrySettings> points;  // in the order of the keys, the last changing fastest; no
                                        // two are equal after unsupported settings are removed
};

/// `file` is the name in error messages; its stem is the name of a sweep that has none. An error is
/// one line, "FILE:LINE:COLUMN: what", about the first wrong place.
Expected<Sweep> read_sweep(std::string_view text, std::string_view file);

}  // namespace wireproof::lab
