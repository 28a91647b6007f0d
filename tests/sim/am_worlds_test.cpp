// Random worlds of SP AM. All promises are checked in each world. WIREPROOF_WORLDS is the number of
// worlds, WIREPROOF_SEED the seed of the first one. If a world fails, the test prints the command
// that repeats it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/sim/environment.hpp"

#include "wireproof/base/cases_test_kit.hpp"
#include "wireproof/lab/worlds/am_world.hpp"

namespace wireproof::lab {
namespace {

std::string how_to_repeat(const AmWorldResult& result) {
    return "repeat with: WIREPROOF_WORLDS=1 WIREPROOF_SEED=" + std::to_string(result.seed) +
           " wireproof_am_worlds_test --gtest_filter=AmWorlds.KeepEveryPromise";
}

TEST(AmWorlds, KeepEveryPromise) {
    const std::uint64_t first = from_environment("WIREPROOF_SEED", 1);
    const std::uint64_t worlds = from_environment("WIREPROOF_WORLDS", cases(800));
    AmWorldsSummary summary;
    for (std::uint64_t seed = first; seed < first + worlds; ++seed) {
        const AmWorldResult result = run_am_world(AmWorldConfig{.seed = seed});
        summary.add(result);
        EXPECT_EQ(result, run_am_world({.seed = seed, .fast_paths = false}))
            << "the general way goes another, with seed " << seed;
        EXPECT_EQ(result.violation, "")
            << "in the world of seed " << seed << " (" << result.what << ")\n"
            << how_to_repeat(result);
        if (summary.failed == 5) break;  // more failures would show nothing new
    }
    if (worlds >= 100) {
        EXPECT_GT(summary.filled, 0U);
    }
    std::printf(
        "%llu worlds, %llu operations, %llu frames, %llu filled; sends for one needed packet: mean "
        "%.2f, "
        "most %.2f (seed %llu)\n",
        static_cast<unsigned long long>(summary.worlds),
        static_cast<unsigned long long>(summary.operations),
        static_cast<unsigned long long>(summary.frames),
        static_cast<unsigned long long>(summary.filled), summary.cost_mean(), summary.cost_max,
        static_cast<unsigned long long>(summary.costliest_seed));
}

// AM-50, AM-53: some worlds have paths that lose long packets.
TEST(AmWorlds, SomePathsLoseLongPackets) {
    std::size_t drawn = 0;
    for (std::uint64_t seed = 1; seed <= cases(1000); ++seed) {
        if (!AmWorldPlan(seed).has_black_holes()) continue;
        ++drawn;
        const AmWorldResult result = run_am_world(AmWorldConfig{.seed = seed});
        EXPECT_EQ(result.violation, "") << how_to_repeat(result);
    }
    EXPECT_GT(drawn, cases(20));
}

// AM-54: in some worlds routers mark packets, and in some of these the senders react.
TEST(AmWorlds, SomePathsMarkPackets) {
    std::size_t drawn = 0;
    std::size_t controlled = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        const AmWorldPlan plan(seed);
        const bool marks = std::any_of(plan.faults.begin(), plan.faults.end(),
                                       [](const FaultRates& rates) { return rates.mark > 0; });
        drawn += marks ? 1 : 0;
        controlled += marks && plan.am.congestion != am::Congestion::off ? 1 : 0;
    }
    EXPECT_GT(drawn, 100U);
    EXPECT_GT(controlled, 30U);
}

// AM-50: a node with go-back-N and a window of 1024 packets sends four packets at a time. The path
// loses them all. Its keep-alives must leave before these packets. Otherwise the node reports a
// living peer as silent.
TEST(AmWorlds, AQuestionLeavesBeforePacketsThatWait) {
    const AmWorldResult result = run_am_world(AmWorldConfig{.seed = 5453});
    EXPECT_EQ(result.violation, "");
}

// AM-53: a receiver with few places for early packets drops many, and each leaves again.
TEST(AmWorlds, PacketsThatWereNotKeptLeaveAgain) {
    const AmWorldResult result = run_am_world(AmWorldConfig{.seed = 202'318});
    EXPECT_EQ(result.violation, "");
}

// The test compares the fingerprints of the engines after each turn.
TEST(AmWorlds, AreTheSameWithoutTheFastPaths) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const AmWorldResult fast = run_am_world({.seed = seed, .fingerprints = true});
        EXPECT_EQ(fast, run_am_world({.seed = seed, .fast_paths = false, .fingerprints = true}))
            << "seed " << seed << " (" << fast.what << ")";
    }
}

TEST(AmWorlds, AreAFunctionOfTheirSeed) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        EXPECT_EQ(run_am_world(AmWorldConfig{seed}), run_am_world(AmWorldConfig{seed}))
            << "seed " << seed;
    }
    EXPECT_NE(run_am_world(AmWorldConfig{1}).digest, run_am_world(AmWorldConfig{2}).digest);
}

TEST(AmWorlds, AreMadeOfConfigurationsThatPassTheCheck) {
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        const auto checked = AmWorldPlan(seed).am.check();
        EXPECT_TRUE(checked.has_value()) << "seed " << seed << ": " << checked.error().message;
    }
}

}  // namespace
}  // namespace wireproof::lab
