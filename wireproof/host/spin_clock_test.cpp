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

/// Reads the clock until it knows the rate of its counter.
void learn(SpinClock& clock) {
    const Instant end = clock.steady().now() + Duration::milliseconds(20);
    while (clock.now() < end) {
    }
}

TEST(SpinClock, CountsOnBetweenReadings) {
    SpinClock clock;
    learn(clock);
    constexpr int asked = 100'000;
    int later = 0;
    int behind = 0;
    Instant before = clock.now();
    for (int i = 0; i < asked; ++i) {
        const Instant real = clock.steady().now();
        const Instant now = clock.now();
        if (now > before) ++later;
        if (now + Duration::microseconds(1) < real) ++behind;
        before = now;
    }
    // If the host takes the processor away between two readings, some readings are late.
    EXPECT_GT(later, asked * 9 / 10);
    EXPECT_LT(behind, asked / 10);
}

TEST(SpinClock, IsNotAheadWhenItHasLearnt) {
    SpinClock clock;
    for (int i = 0; i < 20; ++i) {
        learn(clock);
        for (int j = 0; j < 10'000; ++j) {
            const Instant now = clock.now();
            ASSERT_LE(now, clock.steady().now());
        }
    }
}

TEST(SpinClock, KnowsThatTimeHasPassedWhileNobodyAsked) {
    SpinClock clock;
    const Instant before = clock.now();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_GE(clock.now() - before, Duration::milliseconds(2) - Duration::microseconds(10));
}

TEST(SpinClock, LooksNowAndThenInALoop) {
    SpinClock clock;
    const Instant before = clock.now();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    int rounds = 1;
    while (clock.again() == before) ++rounds;
    EXPECT_LE(rounds, 8);
    EXPECT_GE(clock.again() - before, Duration::milliseconds(2) - Duration::microseconds(10));
    const Instant last = clock.again();  // read first, because arguments have no order
    EXPECT_LE(last, clock.steady().now());
}

TEST(SpinClock, LooksEachTimeInALoopThatIsSlow) {
    SpinClock clock;
    for (int i = 0; i < 8; ++i) (void)clock.again();
    Instant before = clock.now();
    for (int i = 0; i < 20; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        const Instant now = clock.again();
        if (i > 8) {
            EXPECT_GE(now - before, Duration::microseconds(90)) << i;
        }
        before = now;
    }
}

}  // namespace
}  // namespace wireproof::host
