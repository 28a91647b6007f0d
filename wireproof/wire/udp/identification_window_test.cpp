#include "wireproof/wire/udp/identification_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace wireproof {
namespace {

std::uint16_t id(unsigned value) {
    return static_cast<std::uint16_t>(value);
}

/// The result for a packet that arrived this many milliseconds after the start, on a wire that is
/// always polled.
bool believes_at(IdentificationWindow& window, std::int64_t milliseconds,
                 std::uint16_t identification) {
    const Instant now(Duration::milliseconds(milliseconds));
    return window.believes(identification, {now, now});
}

TEST(IdentificationWindow, FollowsACounterAcrossItsWrap) {
    IdentificationWindow window;
    for (unsigned count = 65'000; count < 67'000; count += 3) {
        EXPECT_TRUE(believes_at(window, 0, id(count))) << count;
    }
}

TEST(IdentificationWindow, Believes256AndNoMore) {
    for (unsigned distance = 0; distance < 65'536; ++distance) {
        IdentificationWindow window;
        ASSERT_TRUE(believes_at(window, 0, 1));
        const std::uint16_t next = id(1 + distance);
        const bool near = distance <= 223 || distance >= 65'536 - 32 || next == 0;
        EXPECT_EQ(believes_at(window, 0, next), near) << distance;
    }
}

TEST(IdentificationWindow, WhatIsOvertakenDoesNotTakeTheWindowBack) {
    IdentificationWindow window;
    ASSERT_TRUE(believes_at(window, 0, 1000));
    ASSERT_TRUE(believes_at(window, 0, 970));
    EXPECT_TRUE(believes_at(window, 0, 1223));
    EXPECT_FALSE(believes_at(window, 0, 1190));
}

TEST(IdentificationWindow, ZeroIsAlwaysBelievedAndMovesNothing) {
    IdentificationWindow window;
    EXPECT_TRUE(believes_at(window, 0, 0));
    EXPECT_TRUE(believes_at(window, 0, 30'000));
    EXPECT_TRUE(believes_at(window, 0, 0));
    EXPECT_TRUE(believes_at(window, 0, 30'001));
}

TEST(IdentificationWindow, ACounterThatWentOnIsBelievedFromItsSecondPacketOn) {
    IdentificationWindow window;
    ASSERT_TRUE(believes_at(window, 0, 100));
    EXPECT_FALSE(believes_at(window, 0, 20'000));
    EXPECT_TRUE(believes_at(window, 0, 20'001));
    EXPECT_TRUE(believes_at(window, 0, 20'002));
    EXPECT_FALSE(believes_at(window, 0, 101));
}

TEST(IdentificationWindow, OneStrangerChangesNothing) {
    IdentificationWindow window;
    ASSERT_TRUE(believes_at(window, 0, 100));
    EXPECT_FALSE(believes_at(window, 0, 20'000));
    EXPECT_TRUE(believes_at(window, 0, 101));
    EXPECT_FALSE(
        believes_at(window, 0, 20'001));  // the two strangers did not come one after the other
    EXPECT_FALSE(believes_at(window, 0, 40'000));
}

// After a pause, the kernel adds at most one for each tick of the pause.
TEST(IdentificationWindow, IsWiderByATickForEachMillisecondOfAPause) {
    for (const std::int64_t pause : {1, 4'000, 65'279, 65'280, 65'281, 10'000'000}) {
        const std::int64_t ahead = std::min<std::int64_t>(223 + pause, 65'535 - 32);
        for (unsigned distance = 0; distance < 65'536; distance += 1) {
            IdentificationWindow window;
            ASSERT_TRUE(believes_at(window, 0, 1));
            const std::uint16_t next = id(1 + distance);
            const bool near = distance <= ahead || distance >= 65'536 - 32 || next == 0;
            ASSERT_EQ(believes_at(window, pause, next), near) << pause << " " << distance;
        }
    }
}

TEST(IdentificationWindow, ANewPacketMakesItNarrowAgain) {
    IdentificationWindow window;
    ASSERT_TRUE(believes_at(window, 0, 100));
    ASSERT_TRUE(believes_at(window, 4'000, 1'100));
    EXPECT_FALSE(believes_at(window, 4'001, 2'000));
    EXPECT_TRUE(believes_at(window, 4'001, 1'324));
}

// A receiver that slept reads packets together that were sent with a pause between them.
TEST(IdentificationWindow, APauseThatTheReceiverDidNotSeeCounts) {
    const Instant before(Duration::milliseconds(1'000));
    const Instant woken(Duration::milliseconds(6'000));
    IdentificationWindow window;
    ASSERT_TRUE(window.believes(100, {before, woken}));
    EXPECT_TRUE(window.believes(100 + 223 + 5'000, {before, woken}));
    EXPECT_FALSE(window.believes(100 + 2 * (223 + 5'000) + 1, {before, woken}));
}

}  // namespace
}  // namespace wireproof
