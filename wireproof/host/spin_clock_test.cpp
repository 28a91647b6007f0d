#include "wireproof/host/spin_clock.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace wireproof::host {
namespace {

TEST(SpinClock, IsNeverAheadOfTheSteadyClockNorRunsBack) {
    SpinClock clock;
    Instant before;
    for (int i = 0; i < 100'000; ++i) {
        const Instant now = clock.now();
        EXPECT_GE(now, before);
        EXPECT_LE(now, clock.steady().now());
        before = now;
    }
}

TEST(SpinClock, KnowsThatTimeHasPassedWhileNobodyAsked) {
    SpinClock clock;
    const Instant before = clock.now();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_GE(clock.now() - before, Duration::milliseconds(2) - Duration::microseconds(10));
}

}  // namespace
}  // namespace wireproof::host
