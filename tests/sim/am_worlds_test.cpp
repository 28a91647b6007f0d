// Random worlds of SP AM, each checked exactly. WIREPROOF_WORLDS says how many, WIREPROOF_SEED
// which comes first; a world that fails names the command that repeats it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "wireproof/lab/worlds/am_world.hpp"

namespace wireproof::lab {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

std::string how_to_repeat(const AmWorldResult& result) {
    return "repeat with: WIREPROOF_WORLDS=1 WIREPROOF_SEED=" + std::to_string(result.seed) +
           " wireproof_am_worlds_test --gtest_filter=AmWorlds.KeepEveryPromise";
}

TEST(AmWorlds, KeepEveryPromise) {
    const std::uint64_t first = from_environment("WIREPROOF_SEED", 1);
    const std::uint64_t worlds = from_environment("WIREPROOF_WORLDS", 800);
    AmWorldsSummary summary;
    for (std::uint64_t seed = first; seed < first + worlds; ++seed) {
        const AmWorldResult result = run_am_world(AmWorldConfig{.seed = seed});
        summary.add(result);
        EXPECT_EQ(result, run_am_world({.seed = seed, .fast_paths = false}))
            << "the general way goes another, with seed " << seed;
        EXPECT_EQ(result.violation, "")
            << "in the world of seed " << seed << " (" << result.what << ")\n"
            << how_to_repeat(result);
        if (summary.failed == 5) break;  // more would say no more
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

// AM-50, AM-53: paths that lose long packets are among them.
TEST(AmWorlds, SomePathsLoseLongPackets) {
    std::size_t drawn = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        if (!AmWorldPlan(seed).has_black_holes()) continue;
        ++drawn;
        const AmWorldResult result = run_am_world(AmWorldConfig{.seed = seed});
        EXPECT_EQ(result.violation, "") << how_to_repeat(result);
    }
    EXPECT_GT(drawn, 20U);
}

// AM-50: the node takes four packets at a time from a window of 1024, in go-back-N, on a path that
// loses them all: before its questions left first, it found a living peer silent.
TEST(AmWorlds, AQuestionLeavesBeforePacketsThatWait) {
    const AmWorldResult result = run_am_world(AmWorldConfig{.seed = 5453});
    EXPECT_EQ(result.violation, "");
}

// All that can be seen of an engine, at every turn.
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
