#include "wireproof/base/random.hpp"

#include <gtest/gtest.h>

#include <array>

namespace wireproof {
namespace {

TEST(Random, DrawsTheSameNumbersFromTheSameSeedEverywhere) {
    // First output of splitmix64 from seed 0, as published with the algorithm.
    EXPECT_EQ(mix64(0), 0xE220A8397B1DCDAFU);
    Random a(7);
    Random b(7);
    Random c(8);
    for (int i = 0; i < 100; ++i) {
        const auto draw = a.next();
        EXPECT_EQ(draw, b.next());
        EXPECT_NE(draw, c.next());
    }
}

TEST(Random, SpreadsEvenlyBelowABound) {
    Random random(1);
    std::array<int, 7> seen{};
    for (int i = 0; i < 70'000; ++i) ++seen.at(random.below(7));
    for (const int count : seen) {
        EXPECT_NEAR(count, 10'000, 500);  // five standard deviations
    }
}

TEST(Random, NeverAndAlwaysAreExact) {
    Random random(2);
    for (int i = 0; i < 1'000; ++i) {
        EXPECT_FALSE(random.chance(0.0));
        EXPECT_TRUE(random.chance(1.0));
    }
}

}  // namespace
}  // namespace wireproof
