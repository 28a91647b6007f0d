// Random worlds of UC and RC. All promises are checked in each world. WIREPROOF_WORLDS is the
// number of worlds, WIREPROOF_SEED the seed of the first one. If a world fails, the test prints the
// command that repeats it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/sim/environment.hpp"

#include "wireproof/base/cases_test_kit.hpp"
#include "wireproof/lab/worlds/ib_world.hpp"

namespace wireproof::lab {
namespace {

// RC-1, RC-10, UC-12, UC-17
TEST(IbWorlds, KeepEveryPromise) {
    const std::uint64_t first = from_environment("WIREPROOF_SEED", 1);
    const std::uint64_t worlds = from_environment("WIREPROOF_WORLDS", cases(400));
    IbWorldsSummary summary;
    for (std::uint64_t seed = first; seed < first + worlds && summary.broken < 5; ++seed) {
        const IbWorldResult result = run_ib_world({.seed = seed});
        EXPECT_EQ(result.violation, "")
            << "in the world of seed " << seed << " (" << result.what << ")\n"
            << "repeat with: wireproof soak --protocol ib --worlds 1 --seed " << seed;
        summary.add(result);
    }
    const IbWorldResult& sum = summary.sum;
    std::printf(
        "%llu worlds from seed %llu: %llu requests, %llu failed; %llu messages delivered, %llu of "
        "UC lost; %llu frames, %llu faults, %llu recoveries (at most %.2f a fault, seed %llu), "
        "%llu packets resent\n",
        static_cast<unsigned long long>(worlds), static_cast<unsigned long long>(first),
        static_cast<unsigned long long>(sum.asked), static_cast<unsigned long long>(sum.failed),
        static_cast<unsigned long long>(sum.delivered), static_cast<unsigned long long>(sum.lost),
        static_cast<unsigned long long>(sum.frames), static_cast<unsigned long long>(sum.faults),
        static_cast<unsigned long long>(sum.recoveries), summary.cost_max,
        static_cast<unsigned long long>(summary.costliest_seed),
        static_cast<unsigned long long>(sum.resent));
    if (worlds < 100) return;
    // Worlds without faults would prove nothing.
    EXPECT_GT(sum.faults, worlds);
    EXPECT_GT(sum.failed, 0U);
    EXPECT_GT(sum.lost, 0U);
    EXPECT_GT(sum.delivered, 5 * worlds);
    EXPECT_GT(sum.silences, 0U);
    EXPECT_GT(sum.notices, 0U);
    // Delivery exactly once does not show the cost. Most faults must cost no recovery.
    EXPECT_LT(3 * sum.recoveries, sum.faults);
}

TEST(IbWorlds, AreAFunctionOfTheirSeed) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        EXPECT_EQ(run_ib_world({.seed = seed}), run_ib_world({.seed = seed})) << "seed " << seed;
    }
    EXPECT_NE(run_ib_world({.seed = 1}).digest, run_ib_world({.seed = 2}).digest);
}

TEST(IbWorlds, AreOfOneTransportIfAsked) {
    IbWorldsSummary rc;
    IbWorldsSummary uc;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        rc.add(run_ib_world({.seed = seed, .transport = proto::ib::Transport::rc}));
        uc.add(run_ib_world({.seed = seed, .transport = proto::ib::Transport::uc}));
    }
    EXPECT_EQ(rc.broken + uc.broken, 0U);
    EXPECT_EQ(rc.sum.lost, 0U);
    EXPECT_GT(rc.sum.recoveries, 0U);
    EXPECT_GT(uc.sum.lost, 0U);
    EXPECT_EQ(uc.sum.recoveries, 0U);
}

// The cable holds few packets and loses all packets of a flush. The next packets must leave anyway:
// no frame arrives that could wake the sender, because UC has no acknowledgements.
TEST(IbWorlds, AFlushThatLosesAllLeavesRoomForTheNext) {
    for (const std::uint32_t seed : {201'030U, 119'155U, 311'264U, 804'688U}) {
        const IbWorldResult result =
            run_ib_world({.seed = seed, .transport = proto::ib::Transport::uc});
        EXPECT_TRUE(result.ok()) << result.violation << ", seed " << seed;
    }
}

}  // namespace
}  // namespace wireproof::lab
