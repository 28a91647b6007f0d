// The built-in scenarios of docs/rules/ue.md, frame by frame.
#include <gtest/gtest.h>

#include "wireproof/lab/ladder/ladder_test_kit.hpp"

namespace wireproof::lab {
namespace {

// LLR-5, LLR-6: L1
TEST(Ladder, UeLostFrame) {
    const Ladder ladder = run_built_in("ue-lost-frame");
    EXPECT_EQ(
        order(ladder),
        "FRAME 0, FRAME 1 lost, FRAME 2 refused, <ACK 0, <NACK 0, FRAME 1*, FRAME 2*, <ACK 2");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 2, 3}));
}

// LLR-6, LLR-8: L2
TEST(Ladder, UeDamagedFrame) {
    const Ladder ladder = run_built_in("ue-damaged-frame");
    EXPECT_EQ(order(ladder),
              "FRAME 0, FRAME 1 damaged, <ACK 0, <NACK 0, FRAME 1* damaged, FRAME 1*, <ACK 1");
    EXPECT_EQ(sum_of(ladder), (Sum{1, 2, 2}));
}

// LLR-5: L3
TEST(Ladder, UeLostAck) {
    const Ladder ladder = run_built_in("ue-lost-ack");
    EXPECT_EQ(order(ladder), "FRAME 0, <ACK 0 lost, FRAME 1, FRAME 2, <ACK 2");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 0, 3}));
}

// LLR-8: L4
TEST(Ladder, UeLostNack) {
    const Ladder ladder = run_built_in("ue-lost-nack");
    EXPECT_EQ(order(ladder),
              "FRAME 0, FRAME 1 lost, FRAME 2 refused, <ACK 0, <NACK 0 lost, FRAME 1*, FRAME 2*, "
              "<ACK 1, <ACK 2");
    EXPECT_EQ(sum_of(ladder), (Sum{1, 2, 3}));
}

// LLR-8: L5
TEST(Ladder, UeLostLast) {
    const Ladder ladder = run_built_in("ue-lost-last");
    EXPECT_EQ(order(ladder), "FRAME 0, FRAME 1 lost, <ACK 0, FRAME 1*, <ACK 1");
    EXPECT_EQ(sum_of(ladder), (Sum{1, 1, 2}));
}

// LLR-17, LLR-28: L6
TEST(Ladder, UeFlush) {
    const Ladder ladder = run_built_in("ue-flush");
    EXPECT_EQ(order(ladder),
              "FRAME 0 lost, FRAME 1 lost, FRAME 0* lost, FRAME 1* lost, INIT 2, <INIT_ECHO 2, "
              "<INIT 0, INIT_ECHO 0, FRAME 2, <ACK 2");
    EXPECT_EQ(sum_of(ladder), (Sum{2, 2, 1}));
}

}  // namespace
}  // namespace wireproof::lab
