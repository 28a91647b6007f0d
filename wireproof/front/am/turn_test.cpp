#include "wireproof/front/am/turn.hpp"

#include <gtest/gtest.h>

namespace wireproof::am {
namespace {

TEST(AmTurn, RunsUntilAllIsHandled) {
    Turn turn;
    EXPECT_FALSE(turn.runs());
    {
        Turn::Running running(turn);
        EXPECT_TRUE(turn.runs());
        EXPECT_FALSE(turn.in_handler());
        EXPECT_FALSE(running.resumes());
        running.complete();
    }
    EXPECT_FALSE(turn.runs());
    EXPECT_FALSE(turn.was_interrupted());
}

TEST(AmTurn, KnowsInAHandlerWhoseMessageItHandlesAndWhetherThatCameAlone) {
    Turn turn;
    const Turn::Running running(turn);
    for (const bool alone : {true, false}) {
        {
            const Turn::Handling handling(turn, 3, alone);
            EXPECT_TRUE(turn.runs());
            EXPECT_TRUE(turn.in_handler());
            EXPECT_EQ(turn.in_lone_handler(), alone);
            EXPECT_EQ(turn.peer(), 3U);
        }
        EXPECT_TRUE(turn.runs());
        EXPECT_FALSE(turn.in_handler());
        EXPECT_FALSE(turn.in_lone_handler());
    }
}

TEST(AmTurn, AnExceptionOfAHandlerInterruptsItAndTheNextResumesIt) {
    Turn turn;
    const auto throwing = [&] {
        const Turn::Running running(turn);
        const Turn::Handling handling(turn, 0, true);
        throw 7;
    };
    EXPECT_THROW(throwing(), int);
    EXPECT_FALSE(turn.runs());
    EXPECT_FALSE(turn.in_handler());
    EXPECT_TRUE(turn.was_interrupted());
    EXPECT_THROW(throwing(), int) << "and is interrupted again";
    {
        Turn::Running running(turn);
        EXPECT_TRUE(running.resumes());
        EXPECT_FALSE(turn.was_interrupted()) << "while it runs";
        running.complete();
    }
    EXPECT_FALSE(turn.was_interrupted());
}

TEST(AmTurn, TellsTheTimeSinceTheOneBefore) {
    Turn turn;
    const Instant first{Duration::microseconds(5)};
    (void)Turn::Running(turn).begin(first);
    EXPECT_EQ(turn.time(), first);
    EXPECT_EQ(Turn::Running(turn).begin(first + Duration::microseconds(2)),
              Duration::microseconds(2));
}

}  // namespace
}  // namespace wireproof::am
