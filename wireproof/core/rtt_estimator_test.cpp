#include "wireproof/core/rtt_estimator.hpp"

#include <gtest/gtest.h>

namespace wireproof {
namespace {

constexpr Duration start = Duration::milliseconds(20);
constexpr Duration floor = Duration::milliseconds(2);

Instant measured_at(std::int64_t microseconds) {
    return Instant(Duration::microseconds(microseconds));
}

TEST(RttEstimator, BeginsWithTheGivenTimeAndFallsToThreeRoundTrips) {
    RttEstimator timer(start, floor);
    EXPECT_EQ(timer.limit(), start);
    timer.sent(measured_at(0), 1);
    timer.freed(measured_at(1'000), 1);
    EXPECT_EQ(timer.limit(), Duration::milliseconds(3));
}

TEST(RttEstimator, NeverFallsBelowItsFloorNorRisesAboveItsStart) {
    RttEstimator timer(start, floor);
    timer.sent(measured_at(0), 1);
    timer.freed(measured_at(10), 1);
    EXPECT_EQ(timer.limit(), floor);
    timer.sent(measured_at(100), 1);
    timer.freed(measured_at(100'000), 1);
    EXPECT_EQ(timer.limit(), start);
}

TEST(RttEstimator, MeasuresThePacketItBeganWithAndNoOther) {
    RttEstimator timer(start, floor);
    timer.sent(measured_at(0), 3);
    timer.sent(measured_at(900), 4);
    timer.freed(measured_at(950), 2);
    EXPECT_EQ(timer.limit(), start);
    timer.freed(measured_at(1'000), 1);
    EXPECT_EQ(timer.limit(), Duration::milliseconds(3));
}

TEST(RttEstimator, MeasuresTheLastOfABurstHoweverItIsAcknowledged) {
    for (const bool of_each : {false, true}) {
        RttEstimator timer(start, floor);
        for (std::size_t i = 1; of_each && i < 4; ++i) timer.sent_in_burst(measured_at(0), i);
        timer.sent_in_burst(measured_at(0), 4);
        timer.sent_in_burst(measured_at(900), 5);
        timer.freed(measured_at(950), 3);
        EXPECT_EQ(timer.limit(), start);
        timer.freed(measured_at(1'000), 1);
        EXPECT_EQ(timer.limit(), Duration::milliseconds(3));
    }
}

TEST(RttEstimator, DoesNotMeasureWhatWasResent) {
    RttEstimator timer(start, floor);
    timer.sent(measured_at(0), 1);
    timer.resent();
    timer.freed(measured_at(50), 1);
    EXPECT_EQ(timer.limit(), start);
}

TEST(RttEstimator, ForgetsALongRoundTripOnlySlowly) {
    RttEstimator timer(start, floor);
    timer.sent(measured_at(0), 1);
    timer.freed(measured_at(4'000), 1);
    EXPECT_EQ(timer.limit(), Duration::milliseconds(12));
    timer.sent(measured_at(5'000), 1);
    timer.freed(measured_at(5'010), 1);
    EXPECT_EQ(timer.limit(), Duration::microseconds(10'500));
}

TEST(RttEstimator, WithoutAFloorItStaysWhatItIs) {
    RttEstimator timer(start, Duration());
    timer.sent(measured_at(0), 1);
    timer.freed(measured_at(10), 1);
    EXPECT_EQ(timer.limit(), start);
}

}  // namespace
}  // namespace wireproof
