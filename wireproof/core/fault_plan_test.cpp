// Checks rates to within five standard deviations, and scripts frame by frame. Every seed is fixed,
// so a test that passes once passes always.
#include "wireproof/core/fault_plan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

namespace wireproof {
namespace {

FrameInfo frame_of(std::size_t length) {
    return {.length = length};
}

FrameInfo numbered(std::string_view kind, std::uint32_t number) {
    return {.kind = kind, .number = number, .length = 64};
}

/// Five standard deviations of a count of `tries` independent events.
double five_sigma(double tries, double probability) {
    return 5 * std::sqrt(tries * probability * (1 - probability));
}

std::size_t bits_set(ConstBytes bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0},
                           [](std::size_t sum, std::byte byte) {
                               const auto bits = std::to_integer<unsigned>(byte);
                               return sum + static_cast<std::size_t>(std::popcount(bits));
                           });
}

std::vector<bool> losses(FaultPlan& plan, std::size_t frames) {
    std::vector<bool> result;
    for (std::size_t i = 0; i < frames; ++i) result.push_back(plan.decide(frame_of(100)).lost);
    return result;
}

TEST(FaultPlan, WithoutRatesOrRulesTouchesNothing) {
    FaultPlan plan;
    for (int i = 0; i < 1'000; ++i) EXPECT_EQ(plan.decide(frame_of(1'000)), Fate{});
    EXPECT_EQ(plan.counts().frames, 1'000U);
    EXPECT_EQ(plan.counts().lost + plan.counts().damaged, 0U);
    EXPECT_EQ(plan.counts().duplicated + plan.counts().held, 0U);
}

TEST(FaultPlan, KeepsItsRates) {
    constexpr int frames = 100'000;
    FaultPlan plan({.loss = 0.02, .duplicate = 0.03, .reorder = 0.05}, 1);
    for (int i = 0; i < frames; ++i) plan.decide(frame_of(100));
    const FaultCounts& counts = plan.counts();
    const double left = 1 - 0.02;  // a lost frame has no other fault
    EXPECT_NEAR(double(counts.lost), frames * 0.02, five_sigma(frames, 0.02));
    EXPECT_NEAR(double(counts.duplicated), frames * 0.03 * left, five_sigma(frames, 0.03 * left));
    EXPECT_NEAR(double(counts.held), frames * 0.05 * left, five_sigma(frames, 0.05 * left));
    EXPECT_EQ(counts.damaged, 0U);
}

TEST(FaultPlan, MarksFramesThatItDoesNotLose) {
    constexpr int frames = 100'000;
    FaultPlan plan({.loss = 0.1, .mark = 0.05}, 4);
    FaultPlan again = plan;
    int marked = 0;
    for (int i = 0; i < frames; ++i) {
        const Fate fate = plan.decide(frame_of(100));
        ASSERT_EQ(again.decide(frame_of(100)), fate);
        ASSERT_FALSE(fate.lost && fate.marked);
        marked += fate.marked ? 1 : 0;
    }
    EXPECT_NEAR(marked, frames * 0.05 * 0.9, five_sigma(frames, 0.05 * 0.9));
    EXPECT_EQ(plan.counts().marked, static_cast<std::uint64_t>(marked));
    FaultPlan only_marks({.mark = 1}, 4);
    EXPECT_FALSE(only_marks.passes(100));
    EXPECT_EQ(only_marks.decide(frame_of(100)), Fate{.marked = true});
}

TEST(FaultPlan, HoldsFramesBehindAnyNumberUpToTheMostEquallyOften) {
    FaultPlan plan({.reorder = 1, .hold_max = 4}, 2);
    std::array<int, 6> seen{};
    for (int i = 0; i < 40'000; ++i) ++seen.at(plan.decide(frame_of(10)).held_behind);
    EXPECT_EQ(seen[0], 0);
    for (std::size_t behind = 1; behind <= 4; ++behind) {
        EXPECT_NEAR(seen.at(behind), 10'000, five_sigma(40'000, 0.25)) << behind;
    }
    EXPECT_EQ(seen[5], 0);
}

TEST(FaultPlan, FlipsAsManyBitsAsItsRateSays) {
    for (const double rate : {1e-5, 1e-3, 0.3}) {
        for (const std::size_t size : {1U, 7U, 1'000U}) {
            FaultPlan plan({.bit_error = rate}, 3);
            const std::size_t frames = 400'000 / size;
            std::size_t flipped = 0;
            for (std::size_t i = 0; i < frames; ++i) {
                std::vector<std::byte> frame(size);
                if (plan.decide(frame_of(size)).damaged) plan.damage(frame);
                flipped += bits_set(frame);
            }
            const double bits = double(frames * size * 8);
            EXPECT_NEAR(double(flipped), bits * rate, five_sigma(bits, rate))
                << rate << " on frames of " << size;
        }
    }
}

TEST(FaultPlan, AtRateOneEveryBitIsFlipped) {
    FaultPlan plan({.bit_error = 1}, 4);
    for (int i = 0; i < 10; ++i) {
        std::vector<std::byte> frame(9);
        ASSERT_TRUE(plan.decide(frame_of(9)).damaged);
        plan.damage(frame);
        EXPECT_EQ(bits_set(frame), 72U);
    }
}

TEST(FaultPlan, AGapBetweenBitErrorsRunsOnOverFrames) {
    // The first error is at the same bit, however the stream is divided into frames.
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::vector<std::size_t> first_errors;
        for (const std::size_t size : {1U, 13U, 64U, 20'000U}) {
            FaultPlan plan({.bit_error = 1e-3}, seed);
            std::size_t before = 0;
            while (!plan.decide(frame_of(size)).damaged) before += size * 8;
            std::vector<std::byte> frame(size);
            plan.damage(frame);
            std::size_t bit = 0;
            while ((frame[bit / 8] >> (bit % 8) & std::byte{1}) == std::byte{0}) ++bit;
            first_errors.push_back(before + bit);
        }
        for (const std::size_t error : first_errors) EXPECT_EQ(error, first_errors.front());
    }
}

TEST(FaultPlan, LosesFramesInBurstsOfTheLengthSaid) {
    constexpr std::size_t frames = 200'000;
    FaultPlan plan(FaultRates{}, 5);
    plan.set_bursts({.begin = 0.01, .end = 0.25});
    const std::vector<bool> lost = losses(plan, frames);
    const auto count = double(plan.counts().lost);
    double bursts = 0;
    for (std::size_t i = 0; i < frames; ++i) bursts += lost[i] && (i == 0 || !lost[i - 1]) ? 1 : 0;
    // The expected values: the share of frames in the bad state, and the mean of geometric lengths.
    // Neighbouring frames are correlated by 1 - begin - end = 0.74. This increases the variance of
    // the first value by a factor of (1 + 0.74) / (1 - 0.74).
    const double share = 0.01 / 0.26;
    EXPECT_NEAR(count, frames * share, five_sigma(frames, share) * std::sqrt(1.74 / 0.26));
    EXPECT_NEAR(count / bursts, 4, 5 * std::sqrt(0.75) / 0.25 / std::sqrt(bursts));
}

TEST(FaultPlan, LosesOnlyTheShareSaidWithinABurst) {
    FaultPlan plan(FaultRates{}, 6);
    plan.set_bursts({.begin = 1, .end = 0, .loss_in_burst = 0.4});
    losses(plan, 50'000);
    EXPECT_NEAR(double(plan.counts().lost), 20'000, five_sigma(50'000, 0.4));
}

TEST(FaultPlan, ACopyMeetsTheSameFuture) {
    const FaultRates all{.loss = 0.1, .bit_error = 1e-3, .duplicate = 0.1, .reorder = 0.1};
    FaultPlan plan(all, 7);
    losses(plan, 1'000);
    FaultPlan copy = plan;
    FaultPlan other(all, 8);
    int different = 0;
    for (int i = 0; i < 1'000; ++i) {
        const Fate fate = plan.decide(frame_of(100));
        EXPECT_EQ(copy.decide(frame_of(100)), fate);
        different += other.decide(frame_of(100)) == fate ? 0 : 1;
    }
    EXPECT_GT(different, 100);
}

TEST(FaultPlan, ARuleNamesFramesByTheirCount) {
    FaultPlan plan;
    plan.add_rule({.nth_first = 3, .nth_last = 4, .fate = {.lost = true}});
    const std::vector<bool> wanted{false, false, true, true, false, false};
    EXPECT_EQ(losses(plan, 6), wanted);
    EXPECT_EQ(plan.counts().lost, 2U);
}

TEST(FaultPlan, ARuleCountsOnlyFramesOfItsKindAndChannel) {
    FaultPlan plan;
    plan.add_rule(
        {.kind = "ACK", .channel = 2, .nth_first = 2, .nth_last = 2, .fate = {.duplicated = true}});
    const auto duplicated = [&plan](std::string_view kind, std::uint32_t channel) {
        return plan.decide({.kind = kind, .channel = channel}).duplicated;
    };
    EXPECT_FALSE(duplicated("ACK", 2));
    EXPECT_FALSE(duplicated("REQ", 2));
    EXPECT_FALSE(duplicated("ACK", 1));
    EXPECT_TRUE(duplicated("ACK", 2));
    EXPECT_FALSE(duplicated("ACK", 2));
}

TEST(FaultPlan, ARangeOfNumbersMayRunAcrossTheWrap) {
    FaultPlan plan;
    plan.add_rule({.number_first = 254, .number_last = 1, .fate = {.lost = true}});
    const auto lost = [&plan](std::uint32_t number) {
        return plan.decide(numbered("REQ", number)).lost;
    };
    EXPECT_FALSE(lost(253));
    EXPECT_TRUE(lost(254));
    EXPECT_TRUE(lost(255));
    EXPECT_TRUE(lost(0));
    EXPECT_TRUE(lost(1));
    EXPECT_FALSE(lost(2));
}

TEST(FaultPlan, AFrameWithoutANumberIsInNoRangeButTheFullOne) {
    FaultPlan plan;
    plan.add_rule({.number_first = 0, .number_last = 9, .fate = {.lost = true}});
    EXPECT_FALSE(plan.decide(frame_of(10)).lost);
    EXPECT_TRUE(plan.decide(numbered("REQ", 9)).lost);
    plan.add_rule({.fate = {.lost = true}});
    EXPECT_TRUE(plan.decide(frame_of(10)).lost);
}

TEST(FaultPlan, TheFirstRuleThatMatchesDecidesAndTheOthersCountOn) {
    FaultPlan plan;
    plan.add_rule({.nth_first = 1, .nth_last = 1, .fate = {.held_behind = 2}});
    plan.add_rule({.nth_first = 1, .nth_last = 2, .fate = {.lost = true}});
    EXPECT_EQ(plan.decide(frame_of(10)), Fate{.held_behind = 2});
    EXPECT_EQ(plan.decide(frame_of(10)), Fate{.lost = true});
    EXPECT_EQ(plan.decide(frame_of(10)), Fate{});
}

TEST(FaultPlan, ARuleChangesTheFateOfItsFrameAndOfNoOther) {
    constexpr int named = 20;
    for (const Fate fate : {Fate{}, Fate{.lost = true}, Fate{.damaged = true},
                            Fate{.duplicated = true}, Fate{.held_behind = 3}}) {
        const FaultRates rates{.loss = 0.1, .bit_error = 1e-4, .duplicate = 0.1, .reorder = 0.1};
        FaultPlan plain(rates, 9);
        FaultPlan ruled(rates, 9);
        plain.set_bursts({.begin = 0.05, .end = 0.5});
        ruled.set_bursts({.begin = 0.05, .end = 0.5});
        ruled.add_rule({.nth_first = named, .nth_last = named, .fate = fate});
        for (int i = 1; i <= 500; ++i) {
            const Fate wanted = plain.decide(frame_of(100));
            const Fate met = ruled.decide(frame_of(100));
            EXPECT_EQ(met, i == named ? fate : wanted) << i;
            std::vector<std::byte> wanted_bytes(100);
            std::vector<std::byte> bytes(100);
            if (wanted.damaged) plain.damage(wanted_bytes);
            if (met.damaged) ruled.damage(bytes);
            if (i == named) {
                ASSERT_FALSE(wanted.damaged);  // so that the rule has to draw its own bit
                EXPECT_EQ(bits_set(bytes), fate.damaged ? 1U : 0U);
            } else {
                EXPECT_EQ(bytes, wanted_bytes) << i;
            }
        }
    }
}

TEST(FaultPlan, ARuleThatDamagesFlipsOneBitOfAnyFrameThatHasOne) {
    FaultPlan plan;
    plan.add_rule({.fate = {.damaged = true}});
    std::vector<std::size_t> bytes_hit(10);
    for (int i = 0; i < 200; ++i) {
        std::vector<std::byte> frame(10);
        ASSERT_TRUE(plan.decide(frame_of(10)).damaged);
        plan.damage(frame);
        EXPECT_EQ(bits_set(frame), 1U);
        for (std::size_t at = 0; at < 10; ++at)
            bytes_hit[at] += bits_set(Bytes(frame).subspan(at, 1));
    }
    for (const std::size_t hits : bytes_hit) EXPECT_GT(hits, 0U);
    plan.decide(frame_of(0));
    plan.damage({});
}

TEST(FaultPlan, ALostFrameIsNothingElse) {
    FaultPlan plan;
    plan.add_rule({.fate = {.lost = true, .damaged = true, .duplicated = true, .held_behind = 2}});
    EXPECT_EQ(plan.decide(frame_of(10)), Fate{.lost = true});
    EXPECT_EQ(plan.counts().lost, 1U);
    EXPECT_EQ(plan.counts().damaged + plan.counts().duplicated + plan.counts().held, 0U);
}

TEST(FaultPlan, ARuleMayLeaveTheFrontOfAFrameIntact) {
    FaultPlan plan({.bit_error = 0.2}, 3);
    plan.add_rule({.fate = {.damaged = true, .intact_front = 7}});
    std::vector<std::size_t> bytes_hit(10);
    for (int i = 0; i < 200; ++i) {
        std::vector<std::byte> frame(10);
        const Fate fate = plan.decide(frame_of(10));
        ASSERT_EQ(fate.intact_front, 7U);
        plan.damage(frame, fate.intact_front);
        EXPECT_EQ(bits_set(frame), 1U);
        for (std::size_t at = 0; at < 10; ++at)
            bytes_hit[at] += bits_set(Bytes(frame).subspan(at, 1));
    }
    for (std::size_t at = 0; at < 10; ++at) EXPECT_EQ(bytes_hit[at] > 0, at >= 7) << at;
    std::vector<std::byte> frame(7);
    plan.decide(frame_of(7));
    plan.damage(frame, 7);  // nothing is behind the front
    EXPECT_EQ(bits_set(frame), 0U);
}

TEST(FaultPlan, EverySecondDamagedFrameMayKeepItsFront) {
    FaultPlan plan({.bit_error = 0.02}, 4);
    plan.keep_fronts(4);
    plan.add_rule({.nth_first = 8, .nth_last = 8, .fate = {.damaged = true, .intact_front = 2}});
    FaultPlan without = plan;
    without.keep_fronts(0);
    std::size_t damaged = 0;
    for (int i = 1; i <= 100; ++i) {
        const Fate fate = plan.decide(frame_of(10));
        EXPECT_EQ(without.decide(frame_of(10)).damaged, fate.damaged) << i;
        if (fate.damaged) ++damaged;
        const std::size_t every_second = fate.damaged && damaged % 2 == 0 ? 4 : 0;
        EXPECT_EQ(fate.intact_front, i == 8 ? 2 : every_second) << i;
    }
    EXPECT_GT(damaged, 20U);
    FaultPlan of_short_frames;
    of_short_frames.keep_fronts(4);
    of_short_frames.add_rule({.fate = {.damaged = true}});
    EXPECT_EQ(of_short_frames.decide(frame_of(3)).intact_front, 0U);
    EXPECT_EQ(of_short_frames.decide(frame_of(3)).intact_front, 3U);
}

TEST(FaultPlan, OnALineThatLosesNothingTheSameFramesAreDamaged) {
    FaultPlan losing({.loss = 0.1, .duplicate = 0.1}, 5);
    losing.set_bursts({.begin = 0.01, .end = 0.2});
    losing.add_rule({.nth_first = 7, .nth_last = 7, .fate = {.lost = true}});
    FaultPlan damaging = losing;
    damaging.damage_what_would_be_lost();
    std::array<std::byte, 16> bytes{};
    for (int i = 1; i <= 10'000; ++i) {
        const Fate loss = losing.decide(frame_of(bytes.size()));
        const Fate fate = damaging.decide(frame_of(bytes.size()));
        EXPECT_FALSE(fate.lost);
        EXPECT_EQ(fate.damaged, loss.lost);
        EXPECT_TRUE(fate.damaged || i != 7);
        if (!fate.damaged) continue;
        bytes = {};
        damaging.damage(bytes);
        EXPECT_EQ(bits_set(bytes), 1U);
    }
    EXPECT_EQ(damaging.counts().lost, 0U);
    EXPECT_EQ(damaging.counts().damaged, losing.counts().lost);
    EXPECT_GT(losing.counts().lost, 1'000U);
}

TEST(FaultPlan, WhatIsSkippedMeetsTheSameErrorsAfterwards) {
    FaultPlan walking({.bit_error = 1e-6}, 11);
    FaultPlan skipping({.bit_error = 1e-6}, 11);
    std::uint64_t damaged = 0;
    for (int round = 0; round < 200; ++round) {
        const std::uint64_t clean = skipping.clean_bits() / (8 * 100);
        for (std::uint64_t i = 0; i < clean; ++i) {
            ASSERT_EQ(walking.decide({.length = 100}), Fate());
        }
        skipping.skip(clean, clean * 8 * 100);
        const Fate fate = walking.decide({.length = 100});
        ASSERT_EQ(fate, skipping.decide({.length = 100}));
        damaged += fate.damaged ? 1 : 0;
        ASSERT_EQ(walking.clean_bits(), skipping.clean_bits());
        ASSERT_EQ(walking.counts().frames, skipping.counts().frames);
    }
    EXPECT_EQ(damaged, 200U);
    EXPECT_EQ(FaultPlan({.loss = 0.1}, 1).clean_bits(), 0U);
    FaultPlan bursts;
    bursts.set_bursts({.begin = 0.1});
    EXPECT_EQ(bursts.clean_bits(), 0U);
}

}  // namespace
}  // namespace wireproof
