#include "wireproof/proto/ib/packet/psn.hpp"

#include <gtest/gtest.h>

#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::proto::ib {
namespace {

// UC-18
TEST(Psn, ComesAroundAfter24Bits) {
    EXPECT_EQ(wire_circle.advance(Psn(0xFFFFFF), 1), Psn(0));
    EXPECT_EQ(wire_circle.advance(Psn(0xFFFFFA), 10), Psn(4));
    EXPECT_EQ(before(Psn(0)), Psn(0xFFFFFF));
}

TEST(Psn, IsAheadByLessThanHalfTheCircleAndElseBehind) {
    EXPECT_EQ(difference(Psn(7), Psn(7)), 0);
    EXPECT_EQ(difference(Psn(2), Psn(0xFFFFFE)), 4);
    EXPECT_EQ(difference(Psn(0xFFFFFE), Psn(2)), -4);
    EXPECT_EQ(difference(Psn(0x7FFFFF), Psn(0)), 0x7FFFFF);
    EXPECT_EQ(difference(Psn(0x800000), Psn(0)), -0x800000);
    EXPECT_EQ(difference(Psn(0), Psn(0x800000)), -0x800000);
    EXPECT_EQ(difference(Psn(0x800001), Psn(0)), -0x7FFFFF);
}

TEST(Psn, KeepsItsOrderOnASmallerCircle) {
    const Circle sixteen(16);
    EXPECT_EQ(difference(Psn(1), Psn(15), sixteen), 2);
    EXPECT_EQ(difference(Psn(8), Psn(0), sixteen), -8);
    EXPECT_EQ(before(Psn(0), sixteen), Psn(15));
}

// UC-5: the number of packets.
TEST(PathMtu, AMessageTakesAsManyPacketsAsItFillsAndAtLeastOne) {
    EXPECT_EQ(packets_of(0, 256), 1U);
    for (const std::size_t mtu : path_mtus) {
        EXPECT_EQ(packets_of(1, mtu), 1U);
        EXPECT_EQ(packets_of(mtu, mtu), 1U);
        EXPECT_EQ(packets_of(mtu + 1, mtu), 2U);
        EXPECT_EQ(packets_of(3 * mtu, mtu), 3U);
    }
    EXPECT_EQ(packets_of(message_max, 256), std::uint64_t{1} << 23);
}

TEST(PathMtu, OnlyFivePathMtusExist) {
    EXPECT_TRUE(is_path_mtu(256));
    EXPECT_TRUE(is_path_mtu(4096));
    EXPECT_FALSE(is_path_mtu(0));
    EXPECT_FALSE(is_path_mtu(1500));
    EXPECT_FALSE(is_path_mtu(8192));
}

}  // namespace
}  // namespace wireproof::proto::ib
