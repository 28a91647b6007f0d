#include "wireproof/proto/am/send/packets_in_flight.hpp"

#include <gtest/gtest.h>

namespace wireproof::am {
namespace {

Instant at(std::int64_t microseconds) {
    return Instant(Duration::microseconds(microseconds));
}

TEST(PacketsInFlight, CountsABundleAsOnePacket) {
    PacketsInFlight in_flight(64, true);
    in_flight.allow(8);
    in_flight.left(0, 20);
    in_flight.left(20, 1);
    EXPECT_EQ(in_flight.count(), 2u);
    in_flight.arrived(0, 21);
    EXPECT_EQ(in_flight.count(), 0u);
    EXPECT_EQ(in_flight.take_heard().arrived, 2u);
    EXPECT_EQ(in_flight.take_heard().arrived, 0u);
}

TEST(PacketsInFlight, CountsTheFateOfEachPacketOnceUntilItIsResent) {
    PacketsInFlight in_flight(64, true);
    in_flight.left(3, 1);
    in_flight.lost(3);
    in_flight.lost(3);
    in_flight.arrived(3);
    EXPECT_EQ(in_flight.count(), 0u);
    in_flight.left(3, 1);
    EXPECT_EQ(in_flight.count(), 1u);
    in_flight.arrived(3);
    const auto heard = in_flight.take_heard();
    EXPECT_EQ(heard.lost, 1u);
    EXPECT_EQ(heard.arrived, 1u);
}

TEST(PacketsInFlight, IsClosedWhileAsManyAreUnderWayAsMayBe) {
    PacketsInFlight in_flight(64, true);
    in_flight.allow(2);
    in_flight.left(0, 1);
    EXPECT_FALSE(in_flight.closed());
    in_flight.left(1, 1);
    EXPECT_TRUE(in_flight.closed());
    in_flight.arrived(0);
    EXPECT_FALSE(in_flight.closed());
}

TEST(PacketsInFlight, AsksWithEverySixteenthOnceHalfIsUnderWay) {
    PacketsInFlight in_flight(256, true);
    in_flight.allow(64);
    std::vector<std::uint64_t> asked;
    for (std::uint64_t i = 0; i < 64; ++i) {
        in_flight.left(i, 1);
        if (!in_flight.wants_answer()) continue;
        asked.push_back(i + 1);
        in_flight.asked(at(0), i + 1);
    }
    EXPECT_EQ(asked, (std::vector<std::uint64_t>{32, 36, 40, 44, 48, 52, 56, 60, 64}));
}

// The window has shrunk below the number in flight: no packet may leave that would cause a
// question.
TEST(PacketsInFlight, AClosedWindowHasAskedAboutTheLast) {
    PacketsInFlight in_flight(256, true);
    in_flight.allow(64);
    in_flight.left(0, 1);
    EXPECT_FALSE(in_flight.wants_answer());
    in_flight.allow(1);
    EXPECT_TRUE(in_flight.wants_answer());
    in_flight.asked(at(0), 1);
    EXPECT_FALSE(in_flight.wants_answer());
}

// Too few packets have left since the last question for another one, but the window closes.
TEST(PacketsInFlight, AWindowThatClosesAsksEvenAboutOnePacket) {
    PacketsInFlight in_flight(256, true);
    in_flight.allow(64);
    for (std::uint64_t i = 0; i < 60; ++i) in_flight.left(i, 1);
    in_flight.asked(at(0), 60);
    EXPECT_TRUE(in_flight.answered(at(1), 60));
    in_flight.left(60, 1);
    EXPECT_FALSE(in_flight.wants_answer());
    in_flight.allow(50);
    EXPECT_TRUE(in_flight.wants_answer());
}

TEST(PacketsInFlight, MeasuresARoundTripByTheAnswerToItsQuestionAndNoOther) {
    PacketsInFlight in_flight(64, true);
    in_flight.asked(at(0), 10);
    in_flight.asked(at(5), 20);
    in_flight.asked(at(6), 30);
    in_flight.asked(at(7), 30);  // its answer will look like that of the question before
    EXPECT_FALSE(in_flight.answered(at(90), 5));
    EXPECT_EQ(in_flight.answered(at(100), 10), Duration::microseconds(100));
    EXPECT_FALSE(in_flight.answered(at(101), 10));
    EXPECT_FALSE(in_flight.answered(at(102), 25)) << "that of 20 was lost";
    EXPECT_EQ(in_flight.answered(at(106), 30), Duration::microseconds(100));
    EXPECT_FALSE(in_flight.answered(at(107), 30));
}

// On a path whose round trip is longer than the keep-alive timer, the timer expires before the
// first answer.
TEST(PacketsInFlight, QuestionsMeasureTheRoundTripAlthoughATimerHasAskedAgain) {
    PacketsInFlight in_flight(64, true);
    in_flight.asked(at(0), 10);
    in_flight.asked(at(5), 20);
    in_flight.ask_again(20);
    in_flight.asked(at(50), 20);
    EXPECT_EQ(in_flight.answered(at(100), 10), Duration::microseconds(100));
    EXPECT_FALSE(in_flight.answered(at(105), 20)) << "it could answer the second question";
}

TEST(PacketsInFlight, UncountedNeverClosesNorAsks) {
    PacketsInFlight in_flight(64, false);
    EXPECT_FALSE(in_flight.counted());
    EXPECT_FALSE(in_flight.closed());
    EXPECT_FALSE(in_flight.wants_answer());
}

}  // namespace
}  // namespace wireproof::am
