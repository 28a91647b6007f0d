// Simulated points of the flit engine, compared with their closed forms.
#include <gtest/gtest.h>

#include <cmath>

#include "wireproof/lab/link_retry/retry_test_kit.hpp"

namespace wireproof::lab {
namespace {

using namespace test;

RetrySettings flits(std::string_view sweep, std::uint64_t loop) {
    RetrySettings settings = engine(*retry_protocol(sweep), loop);
    settings.payload = 235;
    return settings;
}

struct Loop {
    std::uint64_t bytes;
    double flits;  // rounded up
};
constexpr std::array<Loop, 3> loops = {{{2'000, 8}, {12'800, 50}, {25'600, 100}}};

// FLIT-8, FLIT-21: Lp + 1 flits for a bad one, and the ignore window for a bad head of a replay.
TEST(RetryFlit, StandardNaksAreInTheClosedForm) {
    for (const Loop& loop : loops) {
        for (const double p : {1e-4, 1e-3, 4e-3}) {
            if (p * loop.flits > 0.25) continue;
            const RetryPoint point = run(with_flit_error(flits("flit", loop.bytes), p), 1'000'000);
            ASSERT_EQ(point.link.scheme, RetryScheme::patient_notice);
            ASSERT_EQ(point.link.costs.by_notice, loop.flits + 2);
            ASSERT_EQ(point.link.costs.head_timer, loop.flits + 5);
            EXPECT_TRUE(agrees(point)) << p << " " << loop.bytes;
            EXPECT_EQ(count(point, RetryCount::timeouts), 0U);
        }
    }
}

// The published figure: at a retry probability of 5e-6, a line of 16 lanes at 64 GT/s with a loop
// of 100 ns (50 flits) loses 0.0255 % of its bandwidth. That loop ends with the first flit that is
// sent again, `loop` ends before it.
TEST(RetryFlit, AFlitRetryOf5PerMillionCostsWhatIsPublished) {
    const RetryPoint point = run(with_flit_error(flits("flit", 49 * 256), 5e-6), 400'000'000);
    const double without = run(flits("flit", 49 * 256), 100'000).throughput();
    EXPECT_NEAR(1 - point.closed_etr().value() / without, 2.55e-4, 0.01 * 2.55e-4);
    EXPECT_TRUE(agrees(point));
    EXPECT_NEAR(1 - point.throughput() / without, 2.55e-4, 0.1 * 2.55e-4);
}

// UCIE-2: one flit less.
TEST(RetryFlit, UcieIsInTheClosedForm) {
    for (const Loop& loop : loops) {
        for (const double p : {1e-4, 1e-3, 4e-3}) {
            const RetryPoint point = run(with_flit_error(flits("ucie", loop.bytes), p), 1'000'000);
            ASSERT_EQ(point.link.costs.by_notice, loop.flits + 1);
            EXPECT_TRUE(agrees(point)) << p << " " << loop.bytes;
        }
    }
}

// FLIT-13, FLIT-14: where a loop has few errors.
TEST(RetryFlit, SelectiveNaksAreInTheClosedForm) {
    for (const Loop& loop : loops) {
        for (const double p : {1e-4, 5e-4, 1e-3}) {
            if (p * loop.flits > 0.1) continue;
            const RetryPoint point =
                run(with_flit_error(flits("flit-selective", loop.bytes), p), 2'000'000);
            ASSERT_EQ(point.link.scheme, RetryScheme::stored_notice);
            EXPECT_TRUE(agrees(point)) << p << " " << loop.bytes;
            EXPECT_EQ(count(point, RetryCount::timeouts), 0U);
        }
    }
}

// Selective Naks win while errors are rare, and lose above one error in a loop.
TEST(RetryFlit, SelectiveNaksLoseAboveOneErrorInALoop) {
    const auto ratio = [](std::string_view sweep, double p) {
        return run(with_flit_error(flits(sweep, 12'800), p), 200'000).resend_ratio();
    };
    EXPECT_LT(ratio("flit-selective", 1e-3), 0.2 * ratio("flit", 1e-3));
    EXPECT_GT(ratio("flit-selective", 3e-2), 1.2 * ratio("flit", 3e-2));
}

// The sweep of the specification: with and without correction.
TEST(RetryFlit, CorrectionMakesErrorsRare) {
    struct Row {
        double bit_error;
        double with;
        double without;
    };
    for (const Row& row : {Row{1e-7, 3.52e-7, 0.01045}, Row{1e-6, 3.52e-5, 0.1046}}) {
        for (const bool corrects : {true, false}) {
            RetrySettings settings = flits("flit", 12'800);
            settings.fec = corrects ? RetryFec::on : RetryFec::off;
            settings.bit_error = row.bit_error;
            const RetryPoint point = run(settings, corrects ? 2'000'000'000 : 400'000);
            EXPECT_TRUE(agrees(point)) << row.bit_error;
            // The rows count one flit less, and no ignore window.
            const double expected = corrects ? row.with : row.without;
            EXPECT_NEAR(point.closed_ratio().value(), expected, 0.03 * expected);
        }
    }
}

// The line back and the second direction change nothing that matters while errors are rare.
TEST(RetryFlit, BothWaysLoadedNothingIsLostAndTheCostIsAlike) {
    for (const std::string_view sweep : {"flit", "flit-selective", "flit-cxl", "ucie", "ucie-68"}) {
        RetrySettings settings = with_flit_error(flits(sweep, 12'800), 1e-3);
        settings.clean_back = false;
        settings.loaded_back = true;
        const RetryPoint loaded = run(settings, 300'000);
        settings.clean_back = true;
        settings.loaded_back = false;
        const RetryPoint one_way = run(settings, 300'000);
        EXPECT_NEAR(loaded.resend_ratio(), one_way.resend_ratio(), 0.5 * one_way.resend_ratio())
            << sweep;
    }
}

}  // namespace
}  // namespace wireproof::lab
