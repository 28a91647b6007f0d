// The attack of shm_hostile_test.cpp, for ten minutes.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "wireproof/front/am/shm_hostile_test_kit.hpp"

namespace wireproof::am::test {
namespace {

TEST(ShmHostileLong, APeerThatChangesFramesForTenMinutesReachesNothingElse) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::minutes(10);
    Scribbler scribbler;
    std::uint64_t seed = 0;
    std::uint64_t handled = 0;
    while (Clock::now() < end && !HasFailure()) {
        Attack attack(++seed);
        attack.run(scribbler, 100);
        handled += attack.handled();
    }
    EXPECT_FALSE(HasFailure()) << "seed " << seed;
    EXPECT_GT(handled, seed);
    std::printf("%llu pairs, %llu messages, %llu changes\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(handled),
                static_cast<unsigned long long>(scribbler.changes()));
}

}  // namespace
}  // namespace wireproof::am::test
