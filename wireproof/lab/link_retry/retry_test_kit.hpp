// For tests: simulated points of retry, and their distance from the closed forms.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab::test {

/// Settings whose units are bad with this probability.
inline RetrySettings with_unit_error(RetrySettings settings, double p) {
    settings.bit_error = bit_error_of(p, resolve(settings).value().unit.bytes());
    return settings;
}

/// The same for flits, behind their error correction if they have one.
inline RetrySettings with_flit_error(RetrySettings settings, double p) {
    double low = 1e-15;
    double high = 1e-2;
    for (int i = 0; i < 200; ++i) {
        settings.bit_error = std::sqrt(low * high);
        const double error = foreseen_point(settings).value().unit_error;
        (error < p ? low : high) = settings.bit_error;
    }
    return settings;
}

/// Settings with no bit errors on the way back.
inline RetrySettings engine(RetryProtocol protocol, std::uint64_t loop) {
    return {.protocol = protocol, .clean_back = true, .loop = loop};
}

inline constexpr std::uint64_t seed = 20'261'121;  // of every run

inline RetryPoint run(const RetrySettings& settings, std::uint64_t packets) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const auto point = run_retry_point(settings, {.packets = packets, .seed = seed});
    EXPECT_TRUE(point) << (point ? "" : point.error().message);
    return point.value();
}

inline std::uint64_t count(const RetryPoint& point, RetryCount what) {
    return static_cast<std::uint64_t>(point.totals[what]);
}

/// The distance from the closed form, in standard errors of the closed form.
inline double away_from(const RetryPoint& point, RetryScheme scheme, const FailureCosts& costs) {
    return (point.resend_ratio() - resend_ratio(scheme, point.unit_error, costs)) /
           resend_ratio_error(scheme, point.unit_error, costs, point.packets());
}

/// Whether the point is less than four standard errors from its closed form.
inline ::testing::AssertionResult agrees(const RetryPoint& point) {
    const double deviation = point.deviation().value();
    if (std::abs(deviation) < 4) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure()
           << deviation << " standard errors from the closed form, seed " << seed;
}

}  // namespace wireproof::lab::test
