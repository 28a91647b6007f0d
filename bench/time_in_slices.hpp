// Measures an operation that all ranks of a job call. The programs for Wireproof and for MPI
// include this file, so both measure in the same way.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>

/// Calls `operation` 1.1 * `count` times, at each rank equally often. Returns the nanoseconds of
/// one call: the median of the means of 25 slices. The first calls warm up and are not counted.
template <class Operation>
double time_in_slices(Operation&& operation, int count) {
    using Clock = std::chrono::steady_clock;
    std::array<double, 25> slices{};
    const int each = std::max(1, count / static_cast<int>(slices.size()));
    for (int i = 0; i < count / 10; ++i) operation();
    for (double& slice : slices) {
        const auto begin = Clock::now();
        for (int i = 0; i < each; ++i) operation();
        slice = std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / each;
    }
    std::sort(slices.begin(), slices.end());
    return slices[slices.size() / 2];
}
