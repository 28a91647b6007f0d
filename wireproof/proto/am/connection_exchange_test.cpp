// Messages that draw one another are only counted while each is followed by one that leaves. The
// lives of connection_calm_test.cpp compare that with the ordinary way; here is what they may miss.
#include <gtest/gtest.h>

#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

Config one_by_one() {
    Config config = Config::shared_memory();
    config.cookie = 0xC00C1E;
    config.bundle_max = 0;
    return config;
}

TEST(AmConnectionExchange, WhatNothingFollowedIsTakenInBeforeTheNext) {
    Pair pair(one_by_one());
    const auto give = [&](const Frame& frame) {
        EXPECT_EQ(pair.b.give(pair.now, frame.bytes, Integrity::intact), RxVerdict::accepted);
    };
    requests(pair.a, 3);
    const Frames frames = pair.a.take(pair.now);
    ASSERT_EQ(frames.size(), 3U);
    give(frames[0]);
    Connection counting = pair.b.engine.alone();
    PlainMessage message;
    ASSERT_TRUE(counting.foresee());
    ASSERT_TRUE(counting.take_next(pair.now, frames[1].bytes, message));
    EXPECT_FALSE(counting.take_next(pair.now, frames[2].bytes, message));
    EXPECT_EQ(counting.only_counted(), 1U);
    counting.heed();
    ASSERT_TRUE(counting.take_next(pair.now, frames[2].bytes, message));
    counting.heed();
    EXPECT_TRUE(counting.nothing_drawn());

    give(frames[1]);
    give(frames[2]);
    Fingerprint counted;
    counting.fingerprint(pair.now, counted);
    EXPECT_EQ(counted.value(), pair.b.fingerprint(pair.now));
}

}  // namespace
}  // namespace wireproof::am::test
