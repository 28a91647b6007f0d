#include "wireproof/base/ring.hpp"

#include <gtest/gtest.h>

namespace wireproof {
namespace {

TEST(Ring, KeepsOrderAcrossItsOwnEnd) {
    Ring<int> ring(3);
    for (int i = 0; i < 100; ++i) {
        ring.push(2 * i);
        ring.push(2 * i + 1);
        EXPECT_EQ(ring.size(), 2U);
        EXPECT_EQ(ring[1], 2 * i + 1);
        EXPECT_EQ(ring.front(), 2 * i);
        ring.pop();
        EXPECT_EQ(ring.front(), 2 * i + 1);
        ring.pop();
    }
    EXPECT_TRUE(ring.empty());
}

TEST(RingDeathTest, RefusesWhatItCannotHold) {
    Ring<int> ring(1);
    ring.push(1);
    EXPECT_TRUE(ring.full());
    EXPECT_DEATH(ring.push(2), "internal error");
    ring.pop();
    EXPECT_DEATH(ring.pop(), "internal error");
}

}  // namespace
}  // namespace wireproof
