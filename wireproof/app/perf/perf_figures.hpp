// Computes figures from measured values.
#pragma once

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "wireproof/app/perf/perf_plan.hpp"
#include "wireproof/host/ticks.hpp"

namespace wireproof::app {

inline double measure_ticks_per_second() {
    const auto from = std::chrono::steady_clock::now();
    const std::uint64_t begin = host::ticks();
    std::chrono::duration<double> passed{};
    while (passed.count() < 0.02) passed = std::chrono::steady_clock::now() - from;
    return static_cast<double>(host::ticks() - begin) / passed.count();
}

/// 0 if there are no values.
inline double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Combines all histograms with the same weight. `unit` is the meaning of a counted 1 in
/// nanoseconds.
inline PerfRun::Latency perf_latency(std::span<const Histogram> rounds, double unit) {
    const Histogram all = of_equal_weight(rounds);
    const auto percentile = [&](double share) {
        return static_cast<double>(all.percentile(share)) * unit;
    };
    return {percentile(0), all.mean() * unit, percentile(0.5), percentile(0.99), percentile(0.999)};
}

}  // namespace wireproof::app
