// Sweeps as text: small TOML files whose lists multiply; docs/link-retry.md tells every key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wireproof/lab/retry/retry_point.hpp"

namespace wireproof::lab {

// Seconds that a point of a sweep may be given.
inline constexpr double point_seconds_min = 0.01;
inline constexpr double point_seconds_max = 1e7;

struct Sweep {
    std::string name;
    RetryPlan plan;
    double point_seconds = 0;  // after which a point is stopped; 0: no point is
    std::string loss_trace;  // a file, named as from this one's folder; empty: none. Not read here
    std::vector<RetrySettings> points;  // in the order of the keys, the last changing fastest; each
                                        // without what its protocol has not, and no two equal
};

/// `file` is what complaints call it, and lends its stem to a sweep without a name. What is wrong
/// is one line, "FILE:LINE:COLUMN: what", of the first place where anything is.
Expected<Sweep> read_sweep(std::string_view text, std::string_view file);

}  // namespace wireproof::lab
