// Random worlds of each link engine. All promises are checked in each world. WIREPROOF_WORLDS is
// the number of worlds of each engine, WIREPROOF_SEED the seed of the first one. If a world fails,
// the test prints the command that repeats it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/sim/environment.hpp"

#include "wireproof/base/cases_test_kit.hpp"
#include "wireproof/lab/engines/link_engines.hpp"
#include "wireproof/lab/worlds/link_world.hpp"

namespace wireproof::lab {
namespace {

std::string name_of_engine(std::size_t engine) {
    return LinkEngines::visit(engine, []<class A>() { return std::string(A::name); });
}

/// The parameter is a place in LinkEngines.
class LinkWorlds : public testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Each, LinkWorlds, testing::Range<std::size_t>(0, LinkEngines::size),
                         [](const auto& place) {
                             std::string name = name_of_engine(place.param);
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

// PCIE-27, HIPPI-27, FLIT-19, LLR-36, CXL-12
TEST_P(LinkWorlds, KeepEveryPromise) {
    const std::uint64_t first = from_environment("WIREPROOF_SEED", 1);
    const std::uint64_t worlds = from_environment("WIREPROOF_WORLDS", cases(100));
    LinkWorldsSummary summary;
    for (std::uint64_t seed = first; seed < first + worlds && summary.broken < 5; ++seed) {
        const LinkWorldResult result = run_link_world(GetParam(), {.seed = seed});
        EXPECT_EQ(result.violation, "")
            << "in the world of seed " << seed << " (" << result.what << ")\n"
            << "repeat with: wireproof soak --protocol " << name_of_engine(GetParam())
            << " --worlds 1 --seed " << seed;
        summary.add(result);
    }
    const LinkWorldResult& sum = summary.sum;
    const auto number = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
    std::printf(
        "%llu worlds from seed %llu: %llu messages delivered, %llu lost; %llu frames, %llu faults, "
        "%llu replays, %llu timeouts, %llu frames resent (at most %.2f a fault, seed %llu)\n",
        number(worlds), number(first), number(sum.delivered), number(sum.lost), number(sum.frames),
        number(sum.faults), number(sum.replays), number(sum.timeouts), number(sum.resent),
        summary.cost_max, number(summary.costliest_seed));
    if (worlds < 100) return;
    // Worlds without faults, or without messages, would prove nothing.
    EXPECT_GT(sum.faults, 5 * worlds);
    EXPECT_GT(sum.delivered, 50 * worlds);
    EXPECT_GT(sum.replays, worlds);
    EXPECT_GT(sum.timeouts, worlds / 10);
    EXPECT_GT(sum.downs, worlds / 10);
    EXPECT_GT(sum.lost, 0U);
}

TEST_P(LinkWorlds, AreAFunctionOfTheirSeed) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        EXPECT_EQ(run_link_world(GetParam(), {.seed = seed}),
                  run_link_world(GetParam(), {.seed = seed}))
            << "seed " << seed;
    }
    EXPECT_NE(run_link_world(GetParam(), {.seed = 1}).digest,
              run_link_world(GetParam(), {.seed = 2}).digest);
}

}  // namespace
}  // namespace wireproof::lab
