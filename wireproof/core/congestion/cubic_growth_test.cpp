#include "wireproof/core/congestion/cubic_growth.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace wireproof::congestion {
namespace {

constexpr Duration growth_rtt = Duration::milliseconds(100);

Instant growth_at(std::int64_t milliseconds) {
    return Instant(Duration::milliseconds(milliseconds));
}

// One round trip in which the whole window arrives, at `now`.
void round(CubicGrowth& growth, Instant now) {
    growth.on_arrived(now, growth.packets(), growth_rtt);
}

TEST(CubicGrowth, ComesBackToTheSizeOfTheLossAtThePlateau) {
    CubicGrowth growth(growth_at(1), 1'000, 100'000);
    growth.on_lost(growth_at(1'000), growth_rtt);
    EXPECT_EQ(growth.packets(), 750U);
    // RFC 9438: K is the cube root of 250 / 0.4, 8.55 s.
    std::uint32_t at_4_s = 0;
    for (std::int64_t ms = 1'100; ms <= 9'500; ms += 100) {
        round(growth, growth_at(ms));
        if (ms == 5'000) at_4_s = growth.packets();
    }
    EXPECT_NEAR(at_4_s, 1'000 - 0.4 * 4.45 * 4.45 * 4.45, 5);
    EXPECT_NEAR(growth.packets(), 1'000, 3);
    for (std::int64_t ms = 9'600; ms <= 14'500; ms += 100) round(growth, growth_at(ms));
    EXPECT_NEAR(growth.packets(), 1'000 + 0.4 * 5 * 5 * 5, 5);
}

TEST(CubicGrowth, ShrinksOncePerRoundTrip) {
    CubicGrowth growth(growth_at(1), 400, 1'000);
    growth.on_lost(growth_at(1'000), growth_rtt);
    growth.on_lost(growth_at(1'050), growth_rtt);
    EXPECT_EQ(growth.packets(), 300U);
    growth.on_lost(growth_at(1'101), growth_rtt);
    EXPECT_EQ(growth.packets(), 225U);
}

// A small window grows as Reno's does, by 3/7 of a packet in a round trip.
TEST(CubicGrowth, IsNotSlowerThanReno) {
    CubicGrowth growth(growth_at(1), 20, 1'000);
    growth.on_lost(growth_at(1'000), growth_rtt);
    const std::uint32_t before = growth.packets();
    for (std::int64_t round_trip = 1; round_trip <= 140; ++round_trip) {
        growth.on_arrived(growth_at(1'000 + round_trip), growth.packets(),
                          Duration::milliseconds(1));
    }
    EXPECT_NEAR(growth.packets(), before + 140 * 3 / 7, 3);
}

TEST(CubicGrowth, GrowsByAnEighthInARoundTripUntilTheFirstLossIfItIsToBeFast) {
    Instant now = Instant() + growth_rtt;
    CubicGrowth growth(now, 100, 10'000);
    for (int i = 0; i < 6; ++i) {
        now = now + growth_rtt;
        growth.on_arrived(now, growth.packets(), growth_rtt, true);
    }
    EXPECT_NEAR(growth.packets(), 100 * std::pow(1.125, 6), 3);
    growth.on_lost(now, growth_rtt);
    const std::uint32_t after = growth.packets();
    for (int i = 0; i < 6; ++i) {
        now = now + growth_rtt;
        growth.on_arrived(now, growth.packets(), growth_rtt, true);
    }
    EXPECT_LE(growth.packets(), after + after / 7);
}

// The time of the cube begins with the last fast growth: else the window would jump when it ends.
TEST(CubicGrowth, AfterFastGrowthTheCubeBeginsAtItsEnd) {
    CubicGrowth growth(growth_at(0), 80, 10'000);
    growth.on_arrived(growth_at(20'000), 80, growth_rtt, true);
    EXPECT_EQ(growth.packets(), 90U);
    round(growth, growth_at(20'100));
    EXPECT_EQ(growth.packets(), 90U);  // 3/7 of a packet more
}

TEST(CubicGrowth, StaysBetweenTwoAndItsMost) {
    CubicGrowth growth(growth_at(1), 4, 50);
    for (std::int64_t ms = 1'000; ms < 3'000; ms += 200) growth.on_lost(growth_at(ms), growth_rtt);
    EXPECT_EQ(growth.packets(), 2U);
    for (std::int64_t ms = 3'000; ms < 400'000; ms += 100) {
        round(growth, growth_at(ms));
        ASSERT_LE(growth.packets(), 50U);
    }
    EXPECT_EQ(growth.packets(), 50U);
}

TEST(CubicGrowth, AfterALongPauseTheWindowMakesNoBurst) {
    CubicGrowth growth(growth_at(1), 100, 100'000);
    growth.on_lost(growth_at(1'000), growth_rtt);
    growth.on_arrived(growth_at(500'000), 10, growth_rtt);
    EXPECT_LE(growth.packets(), 75U + 5);
}

}  // namespace
}  // namespace wireproof::congestion
