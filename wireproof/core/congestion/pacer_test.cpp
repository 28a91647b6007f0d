#include "wireproof/core/congestion/pacer.hpp"

#include <gtest/gtest.h>

namespace wireproof::congestion {
namespace {

constexpr Burst ten{10, Duration::milliseconds(1)};

Instant at(std::int64_t microseconds) {
    return Instant() + Duration::microseconds(microseconds);
}

TEST(Pacer, HasNoLimitBeforeThereIsABurst) {
    Pacer pacer;
    pacer.left(1'000'000);
    EXPECT_TRUE(pacer.open());
    EXPECT_EQ(pacer.next(at(0), {}), never);
    EXPECT_TRUE(pacer.open());
}

TEST(Pacer, LetsABurstLeaveInEachInterval) {
    Pacer pacer;
    EXPECT_EQ(pacer.next(at(100), ten), at(1'100));
    pacer.left(9);
    EXPECT_TRUE(pacer.open());
    EXPECT_EQ(pacer.next(at(300), ten), at(1'100)) << "the interval that runs";
    pacer.left(1);
    EXPECT_FALSE(pacer.open());
    ASSERT_TRUE(pacer.refill(at(1'100), ten));
    EXPECT_EQ(pacer.next(at(1'100), ten), at(2'100));
    pacer.left(9);
    EXPECT_TRUE(pacer.open());
    pacer.left(5);
    EXPECT_FALSE(pacer.open()) << "more than the rest may leave at once, never less than none";
}

TEST(Pacer, ALateTimerAddsAtMostOneMoreBurst) {
    for (const auto& [late, most] : {std::pair{500, 15U}, {1'000, 20U}, {90'000, 20U}}) {
        Pacer pacer;
        (void)pacer.next(at(0), ten);
        pacer.left(10);
        ASSERT_TRUE(pacer.refill(at(1'000 + late), ten));
        pacer.left(most - 1);
        EXPECT_TRUE(pacer.open()) << late;
        pacer.left(1);
        EXPECT_FALSE(pacer.open()) << late;
    }
}

TEST(Pacer, NeedsNoTimerWhileNothingLeaves) {
    Pacer pacer;
    (void)pacer.next(at(0), ten);
    EXPECT_FALSE(pacer.refill(at(1'000), ten));
    EXPECT_TRUE(pacer.open());
    EXPECT_EQ(pacer.next(at(50'000), ten), at(51'000)) << "a new interval";
}

TEST(Pacer, HasNoLimitAnyMoreOnAShortPath) {
    Pacer pacer;
    (void)pacer.next(at(0), ten);
    pacer.left(10);
    EXPECT_FALSE(pacer.open());
    EXPECT_EQ(pacer.next(at(10), {}), never);
    EXPECT_TRUE(pacer.open());
    (void)pacer.next(at(20), ten);
    pacer.left(10);
    EXPECT_FALSE(pacer.refill(at(1'020), {}));
    EXPECT_TRUE(pacer.open());
}

TEST(Pacer, NeverWaitsForEver) {
    Pacer pacer;
    constexpr Burst one{1, Duration::milliseconds(2)};
    (void)pacer.next(at(0), one);
    pacer.left(1);
    ASSERT_TRUE(pacer.refill(at(1), one)) << "a caller that comes too early";
    EXPECT_TRUE(pacer.open());
}

TEST(Pacer, WhatItKnowsIsInItsFingerprint) {
    const auto print = [](const Pacer& pacer, Instant now) {
        Fingerprint sink;
        pacer.fingerprint(now, sink);
        return sink.value();
    };
    Pacer a;
    Pacer b;
    EXPECT_EQ(print(a, at(1)), print(b, at(2)));
    (void)a.next(at(1), ten);
    EXPECT_NE(print(a, at(1)), print(b, at(1)));
    (void)b.next(at(5), ten);
    EXPECT_EQ(print(a, at(2)), print(b, at(6)));
    EXPECT_NE(print(a, at(6)), print(b, at(6)));
    b.left(1);
    EXPECT_NE(print(a, at(2)), print(b, at(6)));
}

}  // namespace
}  // namespace wireproof::congestion
