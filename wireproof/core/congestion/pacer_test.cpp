#include "wireproof/core/congestion/pacer.hpp"

#include <gtest/gtest.h>

#include "wireproof/core/congestion/limits.hpp"

namespace wireproof::congestion {
namespace {

constexpr Burst ten{10, Duration::milliseconds(1)};

Instant paced_at(std::int64_t microseconds) {
    return Instant() + Duration::microseconds(microseconds);
}

Pacer with(Burst burst, Instant now) {
    Pacer pacer;
    pacer.allow(now, burst);
    return pacer;
}

TEST(Pacer, HasNoLimitBeforeThereIsABurst) {
    Pacer pacer;
    pacer.left(1'000'000);
    EXPECT_TRUE(pacer.open());
    EXPECT_EQ(pacer.next(paced_at(0)), never);
    EXPECT_TRUE(pacer.open());
    pacer.allow(paced_at(10), ten);
    EXPECT_TRUE(pacer.open()) << "a whole burst may leave now";
    pacer.left(10);
    EXPECT_EQ(pacer.next(paced_at(20)), paced_at(1'010));
}

TEST(Pacer, LetsABurstLeaveInEachInterval) {
    Pacer pacer = with(ten, paced_at(100));
    pacer.left(4);
    EXPECT_EQ(pacer.next(paced_at(100)), never);
    pacer.left(5);
    EXPECT_EQ(pacer.next(paced_at(300)), never);
    pacer.left(1);
    EXPECT_FALSE(pacer.open());
    EXPECT_EQ(pacer.next(paced_at(400)), paced_at(1'100));
    pacer.refill(paced_at(1'100));
    EXPECT_TRUE(pacer.open());
    pacer.left(15);
    EXPECT_FALSE(pacer.open());
    EXPECT_EQ(pacer.next(paced_at(1'200)), paced_at(2'100));
}

// A caller may learn the time only after several packets have left.
TEST(Pacer, AnIntervalBeginsWithItsFirstPacketWhenTheTimeIsKnownLater) {
    Pacer together = with(ten, paced_at(0));
    Pacer single = together;
    together.left(6);
    EXPECT_EQ(together.next(paced_at(5'000)), never);
    for (int i = 0; i < 6; ++i) {
        single.left(1);
        EXPECT_EQ(single.next(paced_at(5'000)), never);
    }
    for (Pacer* pacer : {&together, &single}) {
        pacer->left(3);
        EXPECT_EQ(pacer->next(paced_at(5'000)), never);
        pacer->left(1);
        EXPECT_EQ(pacer->next(paced_at(5'000)), paced_at(6'000));
    }
}

// Also if more room is left over than a burst has, after a late timer or because the burst became
// smaller.
TEST(Pacer, RoomThatIsLeftOverServesPacketsTogetherOrOneByOne) {
    Pacer together = with(ten, paced_at(0));
    together.left(10);
    (void)together.next(paced_at(0));
    together.refill(paced_at(2'000));
    together.allow(paced_at(2'100), {5, Duration::milliseconds(1)});
    Pacer single = together;
    together.left(20);
    EXPECT_EQ(together.next(paced_at(9'000)), paced_at(10'000));
    for (int i = 0; i < 19; ++i) {
        single.left(1);
        EXPECT_EQ(single.next(paced_at(9'000)), never) << i;
    }
    single.left(1);
    EXPECT_EQ(single.next(paced_at(9'000)), paced_at(10'000));
}

TEST(Pacer, ALateTimerAddsAtMostOneMoreBurst) {
    for (const auto& [late, most] : {std::pair{500, 15U}, {1'000, 20U}, {90'000, 20U}}) {
        Pacer pacer = with(ten, paced_at(0));
        pacer.left(10);
        (void)pacer.next(paced_at(0));
        pacer.refill(paced_at(1'000 + late));
        pacer.left(most - 1);
        EXPECT_TRUE(pacer.open()) << late;
        pacer.left(1);
        EXPECT_FALSE(pacer.open()) << late;
    }
}

TEST(Pacer, NeedsNoTimerWhileThereIsRoom) {
    Pacer pacer = with(ten, paced_at(0));
    pacer.left(9);
    EXPECT_EQ(pacer.next(paced_at(0)), never);
    pacer.left(9);
    EXPECT_EQ(pacer.next(paced_at(1'000)), never) << "a new interval";
    pacer.left(1);
    EXPECT_EQ(pacer.next(paced_at(1'999)), paced_at(2'000));
}

TEST(Pacer, HasNoLimitAnyMoreOnAShortPath) {
    Pacer pacer = with(ten, paced_at(0));
    pacer.left(10);
    (void)pacer.next(paced_at(0));
    EXPECT_FALSE(pacer.open());
    pacer.allow(paced_at(500), {});
    EXPECT_TRUE(pacer.open());
    pacer.left(100);
    EXPECT_EQ(pacer.next(paced_at(1'000)), never);
    EXPECT_TRUE(pacer.open());
}

// A clock that jumps, or a host that slept for hours, may show any round trip.
TEST(Pacer, ARoundTripOfAnyLengthCountsAsTenSeconds) {
    constexpr Duration longest = Duration::milliseconds(10'000);
    for (const bool doubles : {false, true}) {
        for (const std::uint32_t window : {1U, Limits().most}) {
            const Burst expected = burst_of(window, longest, doubles);
            for (const Duration rtt : {longest + Duration(1), longest * 3'600, never - Instant()}) {
                const Burst burst = burst_of(window, rtt, doubles);
                EXPECT_EQ(burst.packets, expected.packets) << window;
                EXPECT_EQ(burst.interval, expected.interval) << window;
            }
        }
    }
}

TEST(Pacer, NeverWaitsForEver) {
    Pacer pacer = with({1, Duration::milliseconds(2)}, paced_at(0));
    pacer.left(1);
    (void)pacer.next(paced_at(0));
    EXPECT_FALSE(pacer.open());
    pacer.refill(paced_at(1));
    EXPECT_TRUE(pacer.open()) << "the engine called too early";
}

TEST(Pacer, WhatItKnowsIsInItsFingerprint) {
    const auto print = [](const Pacer& pacer, Instant now) {
        Fingerprint sink;
        pacer.fingerprint(now, sink);
        return sink.value();
    };
    Pacer a;
    Pacer b;
    EXPECT_EQ(print(a, paced_at(1)), print(b, paced_at(2)));
    a.allow(paced_at(1), ten);
    EXPECT_NE(print(a, paced_at(1)), print(b, paced_at(1)));
    b.allow(paced_at(5), ten);
    EXPECT_EQ(print(a, paced_at(2)), print(b, paced_at(6)));
    EXPECT_NE(print(a, paced_at(6)), print(b, paced_at(6)));
    b.left(1);
    (void)b.next(paced_at(6));
    EXPECT_NE(print(a, paced_at(2)), print(b, paced_at(6)));
}

}  // namespace
}  // namespace wireproof::congestion
