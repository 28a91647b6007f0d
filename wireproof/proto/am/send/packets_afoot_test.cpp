#include "wireproof/proto/am/send/packets_afoot.hpp"

#include <gtest/gtest.h>

namespace wireproof::am {
namespace {

Instant at(std::int64_t microseconds) {
    return Instant(Duration::microseconds(microseconds));
}

TEST(PacketsAfoot, CountsABundleAsOnePacket) {
    PacketsAfoot afoot(64, true);
    afoot.allow(8);
    afoot.left(0, 20);
    afoot.left(20, 1);
    EXPECT_EQ(afoot.count(), 2u);
    afoot.arrived(0, 21);
    EXPECT_EQ(afoot.count(), 0u);
    EXPECT_EQ(afoot.take_heard().arrived, 2u);
    EXPECT_EQ(afoot.take_heard().arrived, 0u);
}

TEST(PacketsAfoot, HearsOfEachPacketOnceUntilItLeavesAgain) {
    PacketsAfoot afoot(64, true);
    afoot.left(3, 1);
    afoot.lost(3);
    afoot.lost(3);
    afoot.arrived(3);
    EXPECT_EQ(afoot.count(), 0u);
    afoot.left(3, 1);
    EXPECT_EQ(afoot.count(), 1u);
    afoot.arrived(3);
    const auto heard = afoot.take_heard();
    EXPECT_EQ(heard.lost, 1u);
    EXPECT_EQ(heard.arrived, 1u);
}

TEST(PacketsAfoot, IsClosedWhileAsManyAreUnderWayAsMayBe) {
    PacketsAfoot afoot(64, true);
    afoot.allow(2);
    afoot.left(0, 1);
    EXPECT_FALSE(afoot.closed());
    afoot.left(1, 1);
    EXPECT_TRUE(afoot.closed());
    afoot.arrived(0);
    EXPECT_FALSE(afoot.closed());
}

TEST(PacketsAfoot, AsksWithEverySixteenthOnceHalfIsUnderWay) {
    PacketsAfoot afoot(256, true);
    afoot.allow(64);
    std::vector<std::uint64_t> asked;
    for (std::uint64_t i = 0; i < 64; ++i) {
        afoot.left(i, 1);
        if (!afoot.wants_answer()) continue;
        asked.push_back(i + 1);
        afoot.asked(at(0), i + 1);
    }
    EXPECT_EQ(asked, (std::vector<std::uint64_t>{32, 36, 40, 44, 48, 52, 56, 60, 64}));
}

// The window shrank below what is under way: nothing more leaves that could ask.
TEST(PacketsAfoot, WhoeverIsClosedHasAskedAboutTheLast) {
    PacketsAfoot afoot(256, true);
    afoot.allow(64);
    afoot.left(0, 1);
    EXPECT_FALSE(afoot.wants_answer());
    afoot.allow(1);
    EXPECT_TRUE(afoot.wants_answer());
    afoot.asked(at(0), 1);
    EXPECT_FALSE(afoot.wants_answer());
}

TEST(PacketsAfoot, MeasuresALoopByTheAnswerToItsQuestionAndNoOther) {
    PacketsAfoot afoot(64, true);
    afoot.asked(at(0), 10);
    afoot.asked(at(5), 20);
    afoot.asked(at(6), 30);
    afoot.asked(at(7), 30);  // its answer will look like that of the one before
    EXPECT_FALSE(afoot.answered(at(90), 5));
    EXPECT_EQ(afoot.answered(at(100), 10), Duration::microseconds(100));
    EXPECT_FALSE(afoot.answered(at(101), 10));
    EXPECT_FALSE(afoot.answered(at(102), 25)) << "that of 20 was lost";
    EXPECT_EQ(afoot.answered(at(106), 30), Duration::microseconds(100));
    EXPECT_FALSE(afoot.answered(at(107), 30));
}

TEST(PacketsAfoot, UncountedNeverClosesNorAsks) {
    PacketsAfoot afoot(64, false);
    EXPECT_FALSE(afoot.counted());
    EXPECT_FALSE(afoot.closed());
    EXPECT_FALSE(afoot.wants_answer());
}

}  // namespace
}  // namespace wireproof::am
