#include "wireproof/proto/ib/rc/flow.hpp"

#include <gtest/gtest.h>

namespace wireproof::proto::ib::test {
namespace {

Instant at(std::int64_t microseconds) {
    return Instant(Duration::microseconds(microseconds));
}

/// `psns` are acknowledged; `in_flight` remain.
void answer_to(RcFlow& flow, Instant now, std::uint32_t psns, std::uint32_t in_flight) {
    flow.arrived(psns);
    flow.apply(now, in_flight);
}

TEST(RcFlow, LimitsNothingIfItIsOff) {
    RcFlow flow;
    flow.left(at(0), {.asks = true});
    answer_to(flow, at(10), 1, 0);
    flow.timed_out(at(10));
    flow.marked();
    flow.apply(at(10), 1);
    EXPECT_EQ(flow.room(100'000), ~std::uint32_t{0});
    EXPECT_EQ(flow.ack_every(0), ~std::uint32_t{0});
    EXPECT_EQ(flow.next_deadline(), never);
}

// RC-33
TEST(RcFlow, HasRoomForTheWindowAndNoMore) {
    RcFlow flow(Congestion::by_path, 256);
    EXPECT_EQ(flow.packets(), 10U);
    for (std::uint32_t i = 0; i < 10; ++i) {
        EXPECT_EQ(flow.room(i), 10 - i);
        flow.left(at(0), {.in_flight = i, .asks = true});
    }
    EXPECT_EQ(flow.room(10), 0U);
    answer_to(flow, at(100), 4, 6);
    EXPECT_EQ(flow.packets(), 14U);  // it doubles
    EXPECT_EQ(flow.room(6), 8U);
}

// RC-33
TEST(RcFlow, TheWindowGrowsByWhatArrivedAlsoIfNoQuestionIsAnswered) {
    for (const Congestion kind : {Congestion::by_path, Congestion::by_loss}) {
        RcFlow flow(kind, 256);
        for (std::uint32_t i = 0; i < 10; ++i) {
            flow.left(at(0), {.in_flight = i, .asks = i == 9});
        }
        answer_to(flow, at(100), 4, 6);
        EXPECT_EQ(flow.packets(), 14U);
    }
}

// The window became smaller after packets had left that did not ask.
// RC-33
TEST(RcFlow, AClosedWindowLetsOnePacketLeaveIfNoAnswerIsOwed) {
    RcFlow flow(Congestion::by_path, 256);
    for (std::uint32_t i = 0; i < 9; ++i) flow.left(at(0), {.in_flight = i});
    flow.marked();
    flow.apply(at(1), 9);
    EXPECT_EQ(flow.packets(), 5U);
    EXPECT_EQ(flow.ack_every(9), 1U);
    EXPECT_EQ(flow.room(9), 1U);
    flow.left(at(1), {.in_flight = 9, .asks = true});
    EXPECT_EQ(flow.room(10), 0U);
    answer_to(flow, at(2), 10, 0);
    EXPECT_GT(flow.room(0), 0U);
}

// RC-33
TEST(RcFlow, AsksEightTimesInAWindowAndInThePacketThatClosesIt) {
    RcFlow flow(Congestion::by_path, 32);
    std::uint32_t left = 0;
    for (std::int64_t i = 0; flow.packets() < 32; ++i) {
        flow.left(at(100 * i), {.psns = flow.packets(), .asks = true});
        answer_to(flow, at(100 * i + 100), flow.packets(), 0);
    }
    EXPECT_EQ(flow.ack_every(left), 4U);
    EXPECT_EQ(flow.ack_every(30), 4U);
    EXPECT_EQ(flow.ack_every(31), 1U);
}

// Karn's rule: the answer could be to either copy.
TEST(RcFlow, MeasuresNoRoundTripIfAnEarlierCopyMayHaveArrived) {
    RcFlow flow(Congestion::by_path, 256);
    flow.left(at(0), {.asks = true});
    flow.went_back(RcFlow::Earlier::unknown);
    flow.left(at(50), {.asks = true});
    answer_to(flow, at(60), 1, 0);
    flow.left(at(100), {.asks = true});
    EXPECT_EQ(flow.next_deadline(), never);  // without a round trip there is no such timer
    answer_to(flow, at(600), 1, 0);
    flow.left(at(1000), {.asks = true});
    EXPECT_EQ(flow.next_deadline(), at(1000 + 3 * 500));
}

// Otherwise a path on which each window has a loss would never be measured.
TEST(RcFlow, MeasuresTheSecondCopyIfTheFirstWasDiscarded) {
    RcFlow flow(Congestion::by_path, 256);
    flow.left(at(0), {.asks = true});
    flow.went_back(RcFlow::Earlier::discarded);
    flow.left(at(50), {.asks = true});
    answer_to(flow, at(550), 1, 0);
    flow.left(at(1000), {.asks = true});
    EXPECT_EQ(flow.next_deadline(), at(1000 + 3 * 500));
}

// RC-34
TEST(RcFlow, AsksAgainAfterSilenceMoreAndMoreSeldom) {
    RcFlow flow(Congestion::by_path, 256);
    flow.left(at(0), {.asks = true});
    answer_to(flow, at(100), 1, 0);
    flow.left(at(200), {.asks = true});
    EXPECT_EQ(flow.next_deadline(), at(200) + RcFlow::silence_least);
    EXPECT_TRUE(flow.on_deadline(at(1200)));
    EXPECT_TRUE(flow.wants_again());
    EXPECT_FALSE(flow.asked_again());
    flow.left_again(at(1200));
    EXPECT_FALSE(flow.wants_again());
    EXPECT_TRUE(flow.asked_again());
    EXPECT_GT(flow.packets(), 1U);  // one question or its answer may be lost without congestion
    EXPECT_EQ(flow.next_deadline(), at(1200 + 2000));
    EXPECT_TRUE(flow.on_deadline(at(3200)));
    flow.left_again(at(3200));
    EXPECT_EQ(flow.packets(), 1U);
    EXPECT_EQ(flow.next_deadline(), at(3200 + 4000));
    answer_to(flow, at(3300), 1, 0);
    EXPECT_FALSE(flow.asked_again());
    EXPECT_EQ(flow.next_deadline(), never);
}

// RC-34: without congestion control, too.
TEST(RcFlow, AsksNobodyAgainIfNothingIsUnderWay) {
    RcFlow flow(Congestion::off, 256, true);
    flow.left(at(0), {.asks = true});
    flow.left(at(0), {.in_flight = 1, .asks = true});
    answer_to(flow, at(10), 1, 1);
    EXPECT_EQ(flow.next_deadline(), at(10) + RcFlow::silence_uncontrolled);
    answer_to(flow, at(20), 1, 0);
    EXPECT_EQ(flow.next_deadline(), never);
}

// 8 ms round trip: while the window doubles, four windows leave in it, 11 packets at once.
TEST(RcFlow, ThePacerHoldsPacketsBackUntilItsIntervalEnds) {
    RcFlow flow(Congestion::by_path, 256);
    flow.left(at(0), {.psns = 10, .asks = true});
    answer_to(flow, at(8000), 10, 0);
    EXPECT_EQ(flow.packets(), 20U);
    constexpr std::uint32_t burst = 11;
    for (std::uint32_t i = 0; i < burst; ++i) {
        EXPECT_EQ(flow.room(i), 20 - i);
        flow.left(at(8000), {.in_flight = i});
    }
    EXPECT_EQ(flow.room(burst), 0U);
    EXPECT_EQ(flow.next_deadline(), at(9'100));
    EXPECT_FALSE(flow.on_deadline(at(9'100)));
    EXPECT_EQ(flow.room(burst), 20 - burst);
    EXPECT_EQ(flow.next_deadline(), never) << "no timer is needed while there is room";
}

}  // namespace
}  // namespace wireproof::proto::ib::test
