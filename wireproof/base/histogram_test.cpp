#include "wireproof/base/histogram.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "wireproof/base/random.hpp"

namespace wireproof {
namespace {

TEST(Histogram, HasNoValuesToBeginWith) {
    const Histogram none;
    EXPECT_EQ(none.count(), 0U);
    EXPECT_EQ(none.percentile(0.5), 0U);
    EXPECT_EQ(none.mean(), 0);
}

TEST(Histogram, SmallValuesAreExact) {
    Histogram histogram;
    for (std::uint64_t value = 0; value < 100; ++value) histogram.add(value);
    EXPECT_EQ(histogram.percentile(0.5), 49U);
    EXPECT_EQ(histogram.percentile(0.99), 98U);
    EXPECT_EQ(histogram.percentile(1), 99U);
    EXPECT_EQ(histogram.percentile(0), 0U);
    EXPECT_EQ(histogram.mean(), 49.5);
}

TEST(Histogram, EveryValueIsWithinAHundredAndTwentyEighthOfWhereItIsCounted) {
    for (std::uint64_t value = 1; value < std::numeric_limits<std::uint64_t>::max() / 3;
         value += 1 + value / 97) {
        Histogram histogram;
        histogram.add(value);
        histogram.add(std::numeric_limits<std::uint64_t>::max());
        const double counted = static_cast<double>(histogram.percentile(0.5));
        EXPECT_NEAR(counted, static_cast<double>(value), static_cast<double>(value) / 128 + 0.5);
    }
}

TEST(Histogram, PercentilesAreThoseOfTheSortedValues) {
    Random random(11);
    std::vector<std::uint64_t> values;
    Histogram histogram;
    for (int i = 0; i < 10'000; ++i) {
        values.push_back(random.next() >> (20 + random.next() % 40));
        histogram.add(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const unsigned permille : {10U, 500U, 900U, 990U, 999U}) {
        const double exact = static_cast<double>(values[permille * values.size() / 1000 - 1]);
        EXPECT_NEAR(static_cast<double>(histogram.percentile(permille / 1000.0)), exact,
                    exact / 100 + 1);
    }
    EXPECT_EQ(histogram.percentile(1), histogram.largest());
}

TEST(Histogram, OfEqualWeightTheMedianIsThatOfMostAndPercentilesAscend) {
    std::vector<Histogram> rounds(3);
    rounds[0].add(100, 1'000'000);
    rounds[1].add(250, 400'000);
    rounds[2].add(260, 300'000);
    EXPECT_EQ(of_equal_weight(rounds).percentile(0.3), 100U);
    EXPECT_NEAR(static_cast<double>(of_equal_weight(rounds).percentile(0.5)), 250, 2);
    EXPECT_NEAR(of_equal_weight(rounds).mean(), (100 + 250 + 260) / 3.0, 1);

    // In one round the machine was busy with something else: it has one value.
    rounds = {Histogram(), Histogram(), Histogram()};
    rounds[0].add(90, 3'000);
    rounds[1].add(4'000'000);
    const Histogram all = of_equal_weight(rounds);
    EXPECT_EQ(all.percentile(0.5), 90U);
    EXPECT_EQ(all.percentile(0.999), 4'000'000U);
    EXPECT_EQ(all.largest(), 4'000'000U);
    EXPECT_EQ(of_equal_weight({}).count(), 0U);
}

TEST(Histogram, TwoTogetherAreOneOfAll) {
    Histogram small;
    Histogram large;
    small.add(10);
    small.add(20);
    large.add(1'000'000);
    small.add(large);
    EXPECT_EQ(small.count(), 3U);
    EXPECT_EQ(small.largest(), 1'000'000U);
    EXPECT_EQ(small.percentile(0.5), 20U);
    EXPECT_NEAR(small.mean(), 333'343.3, 0.1);
}

}  // namespace
}  // namespace wireproof
