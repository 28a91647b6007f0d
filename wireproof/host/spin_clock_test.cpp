#include "wireproof/host/spin_clock.hpp"

#include <gtest/gtest.h>

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

/// A machine whose time the test knows. Each reading of its clock or its counter takes time.
struct Machine {
    std::int64_t picoseconds = 0;
    std::int64_t a_tick = 0;  // picoseconds
    std::uint64_t readings = 0;
    std::uint64_t interrupted_each = 0;  // readings; 0: never

    std::int64_t read(std::int64_t takes) {
        picoseconds += takes;
        // The processor is taken away just before a reading, for 3 ms.
        if (interrupted_each != 0 && ++readings % interrupted_each == 0)
            picoseconds += 3'000'000'000;
        return picoseconds;
    }
};
Machine machine;

struct MachineClock {
    static Instant now() { return Instant(Duration(machine.read(25'000))); }
};
struct MachineTicks {
    static std::uint64_t now() {
        return static_cast<std::uint64_t>(machine.read(8'000) / machine.a_tick);
    }
    static bool are_steady() { return true; }
};
using ModelledSpinClock = SpinClockOf<MachineClock, MachineTicks>;

constexpr std::int64_t ticks_of_processors[] = {200, 333, 400, 1'000};

TEST(ASpinClock, CountsOnBetweenReadingsAndIsAtMostAMicrosecondBehind) {
    for (const std::int64_t tick : ticks_of_processors) {
        machine = {.a_tick = tick};
        ModelledSpinClock clock;
        while (machine.picoseconds < (std::int64_t{5} << 20) * tick) (void)clock.now();
        Instant before = clock.now();
        for (int i = 0; i < 20'000; ++i) {
            const Instant real{Duration(machine.picoseconds)};
            const Instant now = clock.now();
            ASSERT_GT(now, before) << i;
            ASSERT_GT(now + Duration::microseconds(1), real) << i;
            before = now;
        }
    }
}

TEST(ASpinClock, IsNeverAheadAlsoWhenTheProcessorIsTakenAway) {
    for (const std::int64_t tick : ticks_of_processors) {
        const std::int64_t learnt = (std::int64_t{5} << 20) * tick;
        for (const std::uint64_t each : {0U, 2U, 3U, 101U, 9'973U}) {
            machine = {.a_tick = tick, .interrupted_each = each};
            ModelledSpinClock clock;
            Instant before;
            int ahead = 0;
            int back = 0;
            for (int i = 0; i < 20'000 || machine.picoseconds < learnt; ++i) {
                const Instant now = clock.now();
                ahead += now > Instant(Duration(machine.picoseconds)) ? 1 : 0;
                back += now < before ? 1 : 0;
                before = now;
            }
            EXPECT_EQ(ahead, 0) << tick << ", " << each;
            EXPECT_EQ(back, 0) << tick << ", " << each;
        }
    }
}

void pass(Duration time) {
    machine.picoseconds += time.picoseconds();
}

class ASpinClockAtRest : public testing::Test {
protected:
    ASpinClockAtRest() { machine = {.a_tick = 400}; }

    static constexpr Duration rest = Duration::milliseconds(2);
};

TEST_F(ASpinClockAtRest, KnowsThatTimeHasPassedWhileNobodyAsked) {
    ModelledSpinClock clock;
    const Instant before = clock.now();
    pass(rest);
    EXPECT_GE(clock.now() - before, rest);
}

TEST_F(ASpinClockAtRest, LooksNowAndThenInALoop) {
    ModelledSpinClock clock;
    for (int i = 0; i < 8; ++i) (void)clock.again();
    const Instant before = clock.again();
    pass(rest);
    int rounds = 1;
    while (clock.again() == before) ++rounds;
    EXPECT_LE(rounds, 8);
    EXPECT_GE(clock.again() - before, rest);
    EXPECT_LE(clock.again(), Instant(Duration(machine.picoseconds)));
}

TEST_F(ASpinClockAtRest, LooksEachTimeInALoopThatIsSlow) {
    ModelledSpinClock clock;
    for (int i = 0; i < 8; ++i) (void)clock.again();
    Instant before = clock.now();
    for (int i = 0; i < 20; ++i) {
        pass(Duration::microseconds(100));
        const Instant now = clock.again();
        if (i > 8) {
            EXPECT_GE(now - before, Duration::microseconds(99)) << i;
        }
        before = now;
    }
}

}  // namespace
}  // namespace wireproof::host
