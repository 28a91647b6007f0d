#include "wireproof/front/verbs/device/poll_turns.hpp"

#include <gtest/gtest.h>

namespace wireproof::verbs {
namespace {

/// Polls the queue. Returns whether the poll made a turn.
bool poll(PollTurns& turns, PollTurns::Seen& queue) {
    if (turns.covers(queue)) return false;
    turns.make(queue);
    return true;
}

TEST(PollTurns, AQueueThatIsPolledAloneMakesATurnEachTime) {
    PollTurns turns;
    PollTurns::Seen queue;
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(poll(turns, queue));
}

TEST(PollTurns, QueuesThatArePolledOneAfterTheOtherShareATurn) {
    PollTurns turns;
    PollTurns::Seen receives;
    PollTurns::Seen sends;
    PollTurns::Seen others;
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(poll(turns, receives));
        EXPECT_FALSE(poll(turns, sends));
        EXPECT_FALSE(poll(turns, others));
    }
}

TEST(PollTurns, AQueueDoesNotWaitForAnotherThatIsNoLongerPolled) {
    PollTurns turns;
    PollTurns::Seen first;
    PollTurns::Seen second;
    EXPECT_TRUE(poll(turns, first));
    EXPECT_FALSE(poll(turns, second));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(poll(turns, second));
}

}  // namespace
}  // namespace wireproof::verbs
