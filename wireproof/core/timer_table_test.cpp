#include "wireproof/core/timer_table.hpp"

#include <gtest/gtest.h>

namespace wireproof {
namespace {

enum class Timer : std::uint8_t { first, second };

Instant at_nanoseconds(std::int64_t nanoseconds) {
    return Instant(Duration::nanoseconds(nanoseconds));
}

TEST(TimerTable, SaysOnceThatATimerHasExpired) {
    TimerTable<Timer, 2> timers;
    EXPECT_EQ(timers.next(), never);
    timers.set(Timer::first, at_nanoseconds(5));
    timers.set(Timer::second, at_nanoseconds(3));
    EXPECT_EQ(timers.next(), at_nanoseconds(3));
    EXPECT_FALSE(timers.take_expired(Timer::second, at_nanoseconds(2)));
    EXPECT_TRUE(timers.take_expired(Timer::second, at_nanoseconds(3)));
    EXPECT_FALSE(timers.take_expired(Timer::second, at_nanoseconds(4)));
    EXPECT_FALSE(timers.running(Timer::second));
    EXPECT_EQ(timers.next(), at_nanoseconds(5));
}

TEST(TimerTable, KnowsTheSoonestDeadlineSetSinceItWasAsked) {
    TimerTable<Timer, 2> timers;
    EXPECT_EQ(timers.take_soonest_set(), never);
    timers.set(Timer::first, at_nanoseconds(5));
    timers.set(Timer::second, at_nanoseconds(7));
    timers.set(Timer::first, at_nanoseconds(9));
    EXPECT_EQ(timers.take_soonest_set(), at_nanoseconds(5)) << "a bound, though it was put off";
    EXPECT_EQ(timers.take_soonest_set(), never);
    timers.set(Timer::second, at_nanoseconds(8));
    EXPECT_EQ(timers.take_soonest_set(), at_nanoseconds(8));
    timers.stop(Timer::second);
    EXPECT_EQ(timers.take_soonest_set(), never);
}

}  // namespace
}  // namespace wireproof
