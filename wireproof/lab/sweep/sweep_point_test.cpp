#include "wireproof/lab/sweep/sweep_point.hpp"

#include <gtest/gtest.h>

namespace wireproof::lab {
namespace {

TEST(SweepPointTest, HasTheFiguresOfWhatWasSimulated) {
    const RetrySettings settings{.protocol = RetryProtocol::go_back_n, .bit_error = 1e-6};
    const RetryPoint simulated = run_retry_point(settings, {.packets = 10'000}).value();
    const SweepPoint point = sweep_point(settings, simulated);
    EXPECT_EQ(point.settings.payload, settings.payload);
    EXPECT_EQ(point.packets, 10'000U);
    EXPECT_EQ(point.sent, simulated.totals[RetryCount::units]);
    EXPECT_EQ(point.resent, simulated.totals[RetryCount::resent]);
    EXPECT_EQ(point.etr, simulated.etr());
    EXPECT_EQ(point.closed_etr, simulated.closed_etr());
    EXPECT_EQ(point.latency, simulated.latency);
    EXPECT_FALSE(point.stopped);
}

TEST(SweepPointTest, ReportsLossesOnlyWhereNothingIsResent) {
    RetryPoint point;
    point.totals[RetryCount::accepted] = 90;
    point.totals[RetryCount::wasted] = 10;
    EXPECT_EQ(sweep_point({.protocol = RetryProtocol::uc}, point).lost, 10U);
    EXPECT_EQ(sweep_point({.protocol = RetryProtocol::rc}, point).lost, 0U);
}

TEST(SweepPointTest, HasNoFiguresWhereNoUnitWasTaken) {
    RetryPoint point;
    point.stopped = true;
    const SweepPoint stopped = sweep_point({}, point);
    EXPECT_TRUE(stopped.stopped);
    EXPECT_FALSE(stopped.throughput);
    EXPECT_FALSE(stopped.resend_ratio);
}

TEST(SweepPointTest, OfFlitsReportsWhatTheLineDid) {
    RetrySettings settings{.bit_error = 1e-6};
    RetryPoint point;
    EXPECT_FALSE(sweep_line(settings, point)) << "no flits";
    point.link.line = UnitLineTerms();
    point.unit_error = unit_failure(*point.link.line, settings.bit_error);
    point.line_counts = {.detected = 20, .miscorrected = 10};
    const SweepLine unknown_rate = sweep_line(settings, point).value();
    EXPECT_FALSE(unknown_rate.failures_in_time);
    point.link.bytes_per_second = 128e9;
    const SweepLine line = sweep_line(settings, point).value();
    EXPECT_NEAR(line.event, 2.0459e-3, 1e-7);
    EXPECT_EQ(line.failure, point.unit_error);
    EXPECT_EQ(line.undetected, unit_undetected(line.terms, settings.bit_error));
    EXPECT_NEAR(*line.failures_in_time, 9.9096e-18, 1e-21);
    EXPECT_EQ(line.counts.detected + line.counts.miscorrected, 30U);
}

}  // namespace
}  // namespace wireproof::lab
