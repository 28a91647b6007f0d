#include "wireproof/core/congestion/loss_window.hpp"

#include <gtest/gtest.h>

namespace wireproof::congestion {
namespace {

constexpr Duration window_rtt = Duration::milliseconds(4);

Instant window_at(std::int64_t milliseconds) {
    return Instant(Duration::milliseconds(milliseconds));
}

// A window that has met a full queue at a hundred packets.
LossWindow grown_up() {
    LossWindow window({.start = 100});
    window.on_rtt(window_at(0), window_rtt);
    window.on_rtt(window_at(1), window_rtt * 3);
    return window;
}

void calm(LossWindow& window) {
    for (int i = 0; i < 40; ++i) window.on_rtt(window_at(2), window_rtt);
}

TEST(LossWindow, DoublesEachRoundTripUntilTheLoopGrows) {
    LossWindow window({.start = 10});
    window.on_rtt(window_at(0), window_rtt);
    window.on_arrived(window_at(2), 10, 10);
    EXPECT_EQ(window.packets(), 20u);
    window.on_rtt(window_at(4), window_rtt);
    window.on_arrived(window_at(2), 20, 20);
    EXPECT_EQ(window.packets(), 40u);
    EXPECT_TRUE(window.is_starting());
    window.on_rtt(window_at(8), window_rtt * 2);
    EXPECT_FALSE(window.is_starting());
    window.on_arrived(window_at(2), 40, 40);
    EXPECT_EQ(window.packets(), 41u);
}

TEST(LossWindow, GrowsByOneARoundTripHoweverManyArriveAtOnce) {
    LossWindow window = grown_up();
    for (int i = 0; i < 10; ++i) window.on_arrived(window_at(2), 10, 100);
    EXPECT_EQ(window.packets(), 101u);
    window.on_arrived(window_at(2), 100, 100);
    EXPECT_EQ(window.packets(), 101u);
    window.on_arrived(window_at(2), 1, 100);
    EXPECT_EQ(window.packets(), 102u);
}

TEST(LossWindow, DoesNotGrowForAFlowThatDoesNotFillIt) {
    LossWindow window({.start = 10});
    for (int i = 0; i < 100; ++i) window.on_arrived(window_at(2), 5, 5);
    EXPECT_EQ(window.packets(), 10u);
}

TEST(LossWindow, NeverGrowsBeyondItsMost) {
    LossWindow window({.start = 10, .most = 30});
    for (int i = 0; i < 100; ++i) window.on_arrived(window_at(2), 30, 30);
    EXPECT_EQ(window.packets(), 30u);
}

TEST(LossWindow, GivesBackHalfOnceARoundTripAndAHalfWhenTheQueueIsFull) {
    LossWindow window = grown_up();
    window.on_lost(window_at(2), 1);
    EXPECT_EQ(window.packets(), 50u);
    window.on_lost(window_at(3), 5);
    window.on_lost(window_at(10), 1);
    EXPECT_EQ(window.packets(), 50u);
    window.on_lost(window_at(12), 1);  // the smoothed round trip is 6 ms
    EXPECT_EQ(window.packets(), 25u);
}

TEST(LossWindow, GivesBackOnlyWhatWasLostWhereTheLoopHasNotGrown) {
    LossWindow window = grown_up();
    calm(window);
    ASSERT_FALSE(window.rtt_has_grown());
    window.on_lost(window_at(3), 1);
    EXPECT_EQ(window.packets(), 99u);
    window.on_lost(window_at(4), 4);
    EXPECT_EQ(window.packets(), 95u);
}

TEST(LossWindow, TakesALossOfAQuarterForAFullQueueWhateverTheLoop) {
    LossWindow window = grown_up();
    calm(window);
    window.on_lost(window_at(3), 20);
    EXPECT_EQ(window.packets(), 80u);
    window.on_lost(window_at(4), 6);
    EXPECT_EQ(window.packets(), 50u);
}

// Losses that lie more than one and a half round trips apart are no quarter together.
TEST(LossWindow, CountsALaterLossByItself) {
    LossWindow window = grown_up();
    calm(window);
    window.on_lost(window_at(3), 20);
    EXPECT_EQ(window.packets(), 80u);
    window.on_lost(window_at(10), 6);
    EXPECT_EQ(window.packets(), 74u);
}

TEST(LossWindow, LossAloneDoesNotEndTheStart) {
    LossWindow window({.start = 40});
    window.on_rtt(window_at(0), window_rtt);
    window.on_lost(window_at(1), 1);
    EXPECT_EQ(window.packets(), 39u);
    EXPECT_TRUE(window.is_starting());
}

TEST(LossWindow, BeginsAnewAfterSilenceOfTwoLoops) {
    LossWindow window = grown_up();
    window.on_silence(Duration::milliseconds(11));
    EXPECT_EQ(window.packets(), 100u);
    window.on_silence(Duration::milliseconds(12));
    EXPECT_EQ(window.packets(), 1u);
    window.on_arrived(window_at(2), 1, 1);
    EXPECT_EQ(window.packets(), 2u);
    EXPECT_TRUE(window.is_starting()) << "up to half of what it was";
    for (std::uint32_t n = 2; n < 64; n *= 2) window.on_arrived(window_at(2), n, n);
    EXPECT_FALSE(window.is_starting());
}

TEST(LossWindow, ASilenceThatGoesOnForgetsNoMore) {
    LossWindow window = grown_up();
    for (const int silence : {12, 24, 48}) window.on_silence(Duration::milliseconds(silence));
    for (std::uint32_t n = 1; n < 50; n *= 2) {
        EXPECT_TRUE(window.is_starting()) << n;
        window.on_arrived(window_at(2), n, n);
    }
    EXPECT_EQ(window.packets(), 64u) << "it doubled up to half of what it was";
}

TEST(LossWindow, AllowsTwoHoweverMuchIsLost) {
    LossWindow window({.start = 10});
    for (int i = 0; i < 100; ++i) window.on_lost(window_at(100 * i), 10);
    EXPECT_EQ(window.packets(), 2u);
}

// A route that has become longer must not look like a full queue for ever.
TEST(LossWindow, ForgetsALowestLoopOfLongAgo) {
    LossWindow window({.start = 10});
    window.on_rtt(window_at(5'000), window_rtt);
    for (int i = 0; i < 100; ++i) window.on_rtt(window_at(5'001 + i), window_rtt * 2);
    EXPECT_TRUE(window.rtt_has_grown());
    window.on_rtt(window_at(11'000), window_rtt * 2);
    EXPECT_TRUE(window.rtt_has_grown());
    window.on_rtt(window_at(17'000), window_rtt * 2);
    EXPECT_FALSE(window.rtt_has_grown());
}

TEST(LossWindow, WhatItKnowsIsInItsFingerprint) {
    const auto print = [](const LossWindow& window) {
        Fingerprint sink;
        window.fingerprint(window_at(20), sink);
        return sink.value();
    };
    const LossWindow window = grown_up();
    LossWindow other = window;
    EXPECT_EQ(print(window), print(other));
    other.on_arrived(window_at(2), 1, 100);
    EXPECT_NE(print(window), print(other));
    other = window;
    other.on_lost(window_at(19), 1);
    EXPECT_NE(print(window), print(other));
}

TEST(LossWindow, WhenItAllHappenedIsNotInItsFingerprint) {
    const auto print = [](const LossWindow& window, Instant now) {
        Fingerprint sink;
        window.fingerprint(now, sink);
        return sink.value();
    };
    LossWindow window({.start = 10});
    EXPECT_EQ(print(window, window_at(1)), print(window, window_at(7'000)))
        << "nothing was measured yet";
    LossWindow later = window;
    window.on_rtt(window_at(1), window_rtt);
    later.on_rtt(window_at(7'000), window_rtt);
    EXPECT_EQ(print(window, window_at(3)), print(later, window_at(7'002)));
    EXPECT_NE(print(window, window_at(3)), print(window, window_at(4))) << "its period ends sooner";
    EXPECT_EQ(print(window, window_at(6'000)), print(window, window_at(7'000))) << "it is over";
}

// RFC 3168: the sender answers a mark as it answers a loss by a full queue.
TEST(LossWindow, AMarkTakesHalfOnceInARoundTripAndAHalf) {
    LossWindow window({.start = 100, .most = 1000});
    Instant now = Instant() + window_rtt;
    window.on_rtt(now, window_rtt);
    window.on_marked(now, 1);
    EXPECT_EQ(window.packets(), 50U);
    EXPECT_FALSE(window.is_starting());
    window.on_marked(now + window_rtt, 3);
    EXPECT_EQ(window.packets(), 50U);
    window.on_marked(now + window_rtt * 2, 1);
    EXPECT_EQ(window.packets(), 25U);
}

// A receiver without room counts as a full queue, even if the round trip is short.
TEST(LossWindow, AnOverrunTakesHalfOnceInARoundTripAndAHalf) {
    LossWindow window({.start = 100, .most = 1000});
    Instant now = Instant() + window_rtt;
    window.on_rtt(now, window_rtt);
    ASSERT_FALSE(window.rtt_has_grown());
    window.on_overrun(now, 1);
    EXPECT_EQ(window.packets(), 50U);
    window.on_overrun(now + window_rtt, 1);
    EXPECT_EQ(window.packets(), 50U);
    EXPECT_FALSE(window.is_starting());
    window.on_overrun(now + window_rtt * 2, 1);
    EXPECT_EQ(window.packets(), 25U);
}

// Without congestion control, the round trip is not measured. Many NACKs may still report one
// overrun.
TEST(LossWindow, AnOverrunTakesHalfOnceThoughNoLoopIsKnown) {
    LossWindow window({.start = 1000, .most = 1024});
    const Instant now = Instant() + window_rtt;
    for (int i = 0; i < 9; ++i) window.on_overrun(now + Duration::microseconds(i), 1);
    EXPECT_EQ(window.packets(), 500U);
    window.on_overrun(now + Duration::milliseconds(2), 1);
    EXPECT_EQ(window.packets(), 250U);
}

}  // namespace
}  // namespace wireproof::congestion
