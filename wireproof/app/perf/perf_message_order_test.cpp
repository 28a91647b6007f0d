#include "wireproof/app/perf/perf_message_order.hpp"

#include <gtest/gtest.h>

namespace wireproof::app {
namespace {

using Verdict = MessageOrder::Verdict;

TEST(MessageOrder, CountsEachMessageOnceAcrossTheWrap) {
    MessageOrder order(true, 0);
    order.expect(0xFFFF'FFFE, 8);
    for (const std::uint32_t number : {0xFFFF'FFFEu, 0xFFFF'FFFFu, 0u, 1u}) {
        EXPECT_EQ(order.take(number, 8), Verdict::counts);
    }
    EXPECT_EQ(order.received(), 4u);
    EXPECT_EQ(order.take(1, 8), Verdict::not_the_next);
    EXPECT_EQ(order.received(), 4u);
}

TEST(MessageOrder, ToleratesAGapOnlyWhereMessagesAreLost) {
    MessageOrder all_come(true, 5);
    all_come.expect(5, 8);
    EXPECT_EQ(all_come.take(6, 8), Verdict::not_the_next);
    MessageOrder some_come(false, 0);
    some_come.expect(0xFFFF'FFFF, 8);
    EXPECT_EQ(some_come.take(2, 8), Verdict::counts);
    EXPECT_EQ(some_come.next(), 3u);
    EXPECT_EQ(some_come.received(), 1u);
}

TEST(MessageOrder, DoesNotCountWhatIsLate) {
    MessageOrder order(false, 0);
    order.expect(2, 8);
    EXPECT_EQ(order.take(0xFFFF'FFFF, 100), Verdict::late);
    EXPECT_EQ(order.take(1, 8), Verdict::late);
    EXPECT_EQ(order.next(), 2u);
    EXPECT_EQ(order.received(), 0u);
}

TEST(MessageOrder, RefusesAnotherLength) {
    MessageOrder order(false, 0);
    order.expect(0, 8);
    EXPECT_EQ(order.take(0, 7), Verdict::wrong_length);
    EXPECT_EQ(order.received(), 0u);
}

}  // namespace
}  // namespace wireproof::app
