#include "wireproof/front/am/waiting.hpp"

#include <gtest/gtest.h>

namespace wireproof::am {
namespace {

constexpr Duration short_time = Duration::microseconds(10);
constexpr Duration long_time = Duration::microseconds(50);

Config config_of_three() {
    Config config;
    config.poll_every = 3;
    config.coalesce_for = long_time;
    return config;
}

class AmWaiting : public testing::Test {
protected:
    Waiting waiting{config_of_three()};
    Instant now{Duration::milliseconds(1)};
};

TEST_F(AmWaiting, ATurnIsDueAfterSoManyCallsWhateverBecameOfThem) {  // AM-21
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(waiting.wants_turn());
        waiting.asked();
        EXPECT_TRUE(waiting.any_asked());
    }
    EXPECT_TRUE(waiting.wants_turn());
    EXPECT_FALSE(waiting.keeps_back()) << "nothing was queued";
    waiting.taken();
    EXPECT_FALSE(waiting.wants_turn());
    EXPECT_FALSE(waiting.any_asked());
}

TEST_F(AmWaiting, ATurnHoldsBackOnlyIfTheProgramMadeMessagesSinceTheLastOne) {
    EXPECT_FALSE(waiting.begin_turn(short_time));
    waiting.queued();
    EXPECT_TRUE(waiting.keeps_back());
    EXPECT_TRUE(waiting.begin_turn(short_time));
    EXPECT_FALSE(waiting.begin_turn(short_time));
}

TEST_F(AmWaiting, ATurnHoldsNothingBackIfTheLastOneWasLongAgo) {
    waiting.queued();
    EXPECT_FALSE(waiting.begin_turn(long_time));
}

TEST_F(AmWaiting, MessagesOfATurnWaitForTheNextOne) {
    waiting.queued();
    ASSERT_TRUE(waiting.begin_turn(short_time));
    waiting.queued();  // by a callback
    waiting.sent(never);
    EXPECT_TRUE(waiting.keeps_back());
    EXPECT_TRUE(waiting.begin_turn(short_time));
}

TEST_F(AmWaiting, WhatIsHeldBackCountsFromWhenTheFirstWas) {
    EXPECT_EQ(waiting.held_since(now), now);
    waiting.sent(waiting.held_since(now));
    EXPECT_TRUE(waiting.keeps_back());
    EXPECT_EQ(waiting.held_since(now + short_time), now);
    waiting.sent(waiting.held_since(now + short_time));
    EXPECT_EQ(waiting.held_since(now + long_time), now);
    waiting.sent(never);
    EXPECT_FALSE(waiting.keeps_back());
    EXPECT_EQ(waiting.held_since(now + long_time), now + long_time);
}

TEST_F(AmWaiting, NothingIsKeptBackAfterAllHasLeft) {
    waiting.asked();
    waiting.queued();
    waiting.left();
    EXPECT_FALSE(waiting.any_asked());
    EXPECT_FALSE(waiting.keeps_back());
    waiting.asked();
    waiting.queued();
    waiting.pushed();
    EXPECT_FALSE(waiting.keeps_back());
    EXPECT_TRUE(waiting.any_asked()) << "a push is no turn";
}

}  // namespace
}  // namespace wireproof::am
