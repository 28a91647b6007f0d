#include "wireproof/wire/udp/identification_window.hpp"

#include <gtest/gtest.h>

namespace wireproof {
namespace {

std::uint16_t id(unsigned value) {
    return static_cast<std::uint16_t>(value);
}

TEST(IdentificationWindow, FollowsACounterAcrossItsWrap) {
    IdentificationWindow window;
    for (unsigned count = 65'000; count < 67'000; count += 3) {
        EXPECT_TRUE(window.believes(id(count))) << count;
    }
}

TEST(IdentificationWindow, Believes256AndNoMore) {
    for (unsigned distance = 0; distance < 65'536; ++distance) {
        IdentificationWindow window;
        ASSERT_TRUE(window.believes(1));
        const std::uint16_t next = id(1 + distance);
        const bool near = distance <= 223 || distance >= 65'536 - 32 || next == 0;
        EXPECT_EQ(window.believes(next), near) << distance;
    }
}

TEST(IdentificationWindow, WhatIsOvertakenDoesNotTakeTheWindowBack) {
    IdentificationWindow window;
    ASSERT_TRUE(window.believes(1000));
    ASSERT_TRUE(window.believes(970));
    EXPECT_TRUE(window.believes(1223));
    EXPECT_FALSE(window.believes(1190));
}

TEST(IdentificationWindow, ZeroIsAlwaysBelievedAndMovesNothing) {
    IdentificationWindow window;
    EXPECT_TRUE(window.believes(0));
    EXPECT_TRUE(window.believes(30'000));
    EXPECT_TRUE(window.believes(0));
    EXPECT_TRUE(window.believes(30'001));
}

TEST(IdentificationWindow, ACounterThatWentOnIsBelievedFromItsSecondPacketOn) {
    IdentificationWindow window;
    ASSERT_TRUE(window.believes(100));
    EXPECT_FALSE(window.believes(20'000));
    EXPECT_TRUE(window.believes(20'001));
    EXPECT_TRUE(window.believes(20'002));
    EXPECT_FALSE(window.believes(101));
}

TEST(IdentificationWindow, OneStrangerChangesNothing) {
    IdentificationWindow window;
    ASSERT_TRUE(window.believes(100));
    EXPECT_FALSE(window.believes(20'000));
    EXPECT_TRUE(window.believes(101));
    EXPECT_FALSE(window.believes(20'001));  // the two strangers did not come one after the other
    EXPECT_FALSE(window.believes(40'000));
}

}  // namespace
}  // namespace wireproof
