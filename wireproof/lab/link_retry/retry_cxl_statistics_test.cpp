// Simulated points of CXL's link layer retry, compared with the closed form: N = 1 + Lp + 6 flits
// for each bad one, and TIMEOUT for each retry of which a flit is bad.
#include <gtest/gtest.h>

#include <cmath>

#include "wireproof/lab/link_retry/retry_test_kit.hpp"

namespace wireproof::lab {
namespace {

using namespace test;

constexpr double flit = 68;

RetrySettings cxl_flits(double loop, double timeout) {
    RetrySettings settings =
        engine(*retry_protocol("cxl-llr"), static_cast<std::uint64_t>(loop * flit));
    settings.payload = 60;
    settings.timer = static_cast<std::uint64_t>(timeout * flit);
    settings.buffer = 253;
    return settings;
}

// CXL-9: errors in both directions. The window is longer than TIMEOUT, so the sender never waits.
TEST(RetryCxl, AgreesWithItsClosedForm) {
    for (const double p : {1e-4, 1e-3, 3e-3, 1e-2}) {
        RetrySettings settings = with_unit_error(cxl_flits(50, 100), p);
        settings.clean_back = false;
        const RetryPoint point = run(settings, 1'000'000);
        ASSERT_EQ(point.link.scheme, RetryScheme::fresh_notice);
        ASSERT_EQ(point.link.costs.by_notice, 57);
        ASSERT_NEAR(point.link.costs.notice_loss, 1 - std::pow(1 - p, 12), 1e-9);
        EXPECT_TRUE(agrees(point)) << p;
        EXPECT_EQ(point.has_closed_form, true);
    }
}

// A clean way back: only the six flits of the answer can be bad.
TEST(RetryCxl, AgreesWithItsClosedFormWithACleanWayBack) {
    for (const double loop : {10.0, 50.0}) {
        for (const double p : {1e-3, 1e-2}) {
            const RetryPoint point = run(with_unit_error(cxl_flits(loop, 100), p), 1'000'000);
            ASSERT_NEAR(point.link.costs.notice_loss, 1 - std::pow(1 - p, 6), 1e-9);
            EXPECT_TRUE(agrees(point)) << p << " " << loop;
        }
    }
}

// CXL-25: a long TIMEOUT. The window stops the sender, which wastes time instead of flits.
TEST(RetryCxl, ALongTimeoutCostsTimeAndAWindow) {
    RetrySettings settings = with_unit_error(cxl_flits(50, 4096), 3e-3);
    settings.clean_back = false;
    const RetryPoint point = run(settings, 1'000'000);
    EXPECT_TRUE(agrees(point));
    const double timeouts = static_cast<double>(count(point, RetryCount::timeouts));
    const double expected = 12 * 3e-3 * 3e-3 * 1e6;
    EXPECT_NEAR(timeouts, expected, 5 * std::sqrt(expected) + 0.05 * expected);
    // Section 8 of the rules counts time: S of another model was 1.653 with five flits of the
    // request that take time on the way back.
    const double slots = static_cast<double>(point.totals[RetryCount::time]) / flit / 1e6;
    const double sigma = 4096 * std::sqrt(expected) / 1e6;
    EXPECT_NEAR(slots, 1.653 - 5 * 3e-3, 4 * std::sqrt(2.0) * sigma);
}

TEST(RetryCxl, JumpsChangeNothing) {
    RetrySettings settings = with_unit_error(cxl_flits(50, 4096), 1e-6);
    settings.clean_back = false;
    const auto at = [&](bool jump) {
        return run_retry_point(settings, {.packets = 4'000'000, .jump = jump, .seed = seed})
            .value();
    };
    const RetryPoint with = at(true);
    const RetryPoint without = at(false);
    EXPECT_GT(with.jumped, Wide{1'000'000});
    for (std::size_t i = 0; i < static_cast<std::size_t>(RetryCount::count_); ++i) {
        const auto what = static_cast<RetryCount>(i);
        EXPECT_EQ(count(with, what), count(without, what)) << i;
    }
}

TEST(RetryCxl, ALoadedWayBackLosesNothing) {
    RetrySettings settings = with_unit_error(cxl_flits(20, 200), 1e-3);
    settings.clean_back = false;
    settings.loaded_back = true;
    const RetryPoint point = run(settings, 300'000);
    EXPECT_EQ(count(point, RetryCount::accepted), 300'000U);
    EXPECT_NEAR(point.resend_ratio(), 0.04, 0.02);
}

TEST(RetryCxl, RefusesWhatCannotWork) {
    const auto complaint = [](RetrySettings settings) {
        const auto link = resolve(settings);
        return link ? "" : link.error().message;
    };
    EXPECT_EQ(complaint(cxl_flits(50, 4096)), "");
    EXPECT_NE(complaint(cxl_flits(50, 60)).find("timer of cxl-llr"), std::string::npos);
    RetrySettings wide = cxl_flits(50, 4096);
    wide.buffer = 254;
    EXPECT_EQ(complaint(wide), "replay buffer of cxl-llr is 2 to 253");
}

}  // namespace
}  // namespace wireproof::lab
