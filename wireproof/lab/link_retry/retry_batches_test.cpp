#include "wireproof/lab/link_retry/retry_batches.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "wireproof/base/random.hpp"

namespace wireproof::lab {
namespace {

TEST(RetryBatches, IndependentUnitsHaveTheVarianceOfOne) {
    Random dice(5);
    RetryBatches batches;
    EXPECT_EQ(batches.variance(), std::nullopt);
    for (int i = 0; i < 300'000; ++i) batches.take(1, dice.chance(0.1) ? 3 : 0);
    EXPECT_NEAR(batches.variance().value() / (9 * 0.1 * 0.9), 1, 0.5);
}

// Each waste is followed by nine of the same: the batches vary ten times as much.
TEST(RetryBatches, UnitsThatFollowOneAnotherHaveMore) {
    Random dice(6);
    RetryBatches batches;
    for (int i = 0; i < 30'000; ++i) {
        const bool bad = dice.chance(0.1);
        for (int k = 0; k < 10; ++k) batches.take(1, bad ? 3 : 0);
    }
    EXPECT_NEAR(batches.variance().value() / (10 * 9 * 0.1 * 0.9), 1, 0.5);
}

// Each third of a batch depends on the next one: a chain of failures that is as long as a batch.
TEST(RetryBatches, NeighboursThatDependOnOneAnotherCount) {
    Random dice(8);
    double sum = 0;
    for (int i = 0; i < 40; ++i) {
        RetryBatches batches;
        for (int chain = 0; chain < 128; ++chain) {
            const bool bad = dice.chance(0.5);
            for (int k = 0; k < 100; ++k) batches.take(1, bad ? 1 : 0);
        }
        sum += batches.variance().value();
    }
    EXPECT_NEAR(sum / 40 / 25, 1, 0.15);
}

TEST(RetryBatches, AStretchThatRepeatsCountsAsItsUnits) {
    Random dice(7);
    for (int i = 0; i < 200; ++i) {
        RetryBatches repeated;
        repeated.keep_stretch(true);
        const std::uint64_t before = dice.below(300);
        repeated.take_in_stretch(before, dice.below(2));
        repeated.take_stretch();
        std::uint64_t units = 0;
        for (std::uint64_t part = 1 + dice.below(5); part > 0; --part) {
            const std::uint64_t some = 1 + dice.below(40);
            repeated.take_in_stretch(some, dice.chance(0.5) ? dice.below(9) : 0);
            units += some;
        }
        const RetryBatches::Wastes stretch = repeated.take_stretch();
        RetryBatches one_by_one = repeated;
        const std::uint64_t times = dice.below(2'000);
        repeated.repeat(stretch, units, times);
        for (std::uint64_t k = 0; k < times; ++k) {
            std::uint64_t rest = units;
            for (const auto& [clean, wasted] : stretch) {
                for (std::uint64_t one = 0; one < clean; ++one) one_by_one.take(1, 0);
                one_by_one.take(1, wasted);
                rest -= clean + 1;
            }
            for (; rest > 0; --rest) one_by_one.take(1, 0);
        }
        EXPECT_EQ(repeated.variance(), one_by_one.variance());
    }
}

}  // namespace
}  // namespace wireproof::lab
