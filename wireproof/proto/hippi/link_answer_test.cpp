// Which received units are dropped, and what goes back: acknowledgements, notices and nulls. Both
// directions start at 250, so positions 0 to 4 have the numbers 250 to 254, and position 5 has
// number 0.
#include <gtest/gtest.h>

#include "wireproof/proto/hippi/pair_test_kit.hpp"

namespace wireproof::hippi::test {
namespace {

using enum RxVerdict;

// HIPPI-13
TEST(HippiLink, ABadUnitIsDroppedAndTheExpectedNumberGoesBack) {
    Pair pair = Pair::started();
    pair.a.submit(3);
    const Frames frames = pair.take(pair.a);
    EXPECT_EQ(pair.give(pair.b, frames[0]), accepted);
    Frame bad = frames[1];
    bad.bytes[17] ^= std::byte{4};
    EXPECT_EQ(pair.give(pair.b, bad), corrupt);
    EXPECT_EQ(pair.carry(pair.b), "null/1 null/1");
    EXPECT_EQ(pair.b.engine.stats().naks, 2);
    EXPECT_EQ(pair.carry(pair.a), "1..2*");
    EXPECT_EQ(pair.b.numbers(), (std::vector<std::uint64_t>{0, 1, 2}));
}

// HIPPI-13: a unit that the carrier says is intact is not checked, and one that it says is damaged
// is bad even if its check is right.
TEST(HippiLink, TrustsTheCarrierWhereTheCarrierVouches) {
    Pair pair = Pair::started();
    pair.a.submit(2);
    Frames frames = pair.take(pair.a);
    frames[0].bytes[39] ^= std::byte{1};
    EXPECT_EQ(pair.b.give(pair.now, frames[0].bytes, Integrity::intact), accepted);
    EXPECT_EQ(pair.b.give(pair.now, frames[1].bytes, Integrity::damaged), corrupt);
    EXPECT_EQ(pair.give(pair.b, frames[1]), accepted);
}

// HIPPI-14
TEST(HippiLink, AUnitAheadIsDroppedAndTheExpectedNumberGoesBack) {
    Pair pair = Pair::started();
    pair.a.submit(5);
    const Frames frames = pair.take(pair.a);
    EXPECT_EQ(pair.give(pair.b, frames[0]), accepted);
    EXPECT_EQ(pair.give(pair.b, frames[3]), out_of_sequence);
    EXPECT_EQ(pair.give(pair.b, frames[4]), out_of_sequence);
    EXPECT_EQ(pair.carry(pair.b), "null/1 null/1");
    EXPECT_EQ(pair.carry(pair.a), "1..4*");
    EXPECT_EQ(pair.a.engine.stats().replays, 1);
    EXPECT_EQ(pair.b.messages.size(), 5);
}

// HIPPI-15, HIPPI-16
TEST(HippiLink, CarriesANumberAtMostTwiceAndThenNothing) {
    Pair pair = Pair::started();
    pair.a.submit(4);
    const Frames frames = pair.take(pair.a);
    pair.give(pair.b, frames[0]);
    pair.wait_for_null();
    EXPECT_EQ(pair.taken(pair.b), "null/1");  // first as an acknowledgement
    pair.damage(pair.b, frames[1]);
    EXPECT_EQ(pair.taken(pair.b), "null/1");  // and then as a notice
    for (int i = 0; i < 5; ++i) {
        pair.give(pair.b, frames[2]);
        pair.damage(pair.b, frames[3]);
        pair.wait_for_null();
        EXPECT_EQ(pair.taken(pair.b), "");
    }
    pair.b.submit(3);
    EXPECT_EQ(pair.taken(pair.b), "0..2");
}

// HIPPI-16
TEST(HippiLink, ReverseUnitsCarryAnAcknowledgementOnceAndThen255) {
    Pair pair = Pair::started();
    pair.a.submit(1);
    pair.carry(pair.a);
    pair.b.submit(3);
    EXPECT_EQ(pair.taken(pair.b), "0/1 1..2");
    pair.wait_for_null();
    EXPECT_EQ(pair.taken(pair.b), "");
}

// HIPPI-17
TEST(HippiLink, ANullWithANoticeLeavesAtOnceAndOneWithAnAckLater) {
    Pair pair = Pair::started();
    pair.a.submit(3);
    const Frames frames = pair.take(pair.a);
    pair.give(pair.b, frames[0]);
    EXPECT_EQ(pair.taken(pair.b), "");
    pair.wait(pair.config.null_after - Duration(1));
    pair.give(pair.b, frames[1]);  // does not restart the wait
    EXPECT_EQ(pair.taken(pair.b), "");
    pair.wait(Duration(1));
    EXPECT_EQ(pair.taken(pair.b), "null/2");
    pair.damage(pair.b, frames[2]);
    EXPECT_EQ(pair.taken(pair.b), "null/2");
    EXPECT_EQ(pair.b.engine.stats().nulls, 2);
}

// HIPPI-17
TEST(HippiLink, WithNoWaitANullLeavesInTheSameTurn) {
    Config config = near_wrap();
    config.null_after = Duration{};
    Pair pair = Pair::started(config);
    pair.a.submit(1);
    pair.carry(pair.a);
    EXPECT_EQ(pair.b.engine.next_deadline(), never);
    EXPECT_EQ(pair.taken(pair.b), "null/1");
}

// HIPPI-18
TEST(HippiLink, ANullIsNeitherKeptNorAcknowledgedNorMissed) {
    Pair pair = Pair::started();
    pair.a.submit(2);
    pair.carry(pair.a);
    pair.wait_for_null();
    const Frames null = pair.take(pair.b);
    ASSERT_EQ(pair.text(null), "null/2");
    EXPECT_EQ(pair.b.engine.outstanding(), 0);
    EXPECT_EQ(pair.b.engine.next_deadline(), never);
    EXPECT_EQ(pair.give(pair.a, null[0]), control);
    pair.wait_for_null();
    EXPECT_EQ(pair.taken(pair.a), "");
    // A damaged null is only a bad unit: the receiver sends a notice, which causes no replay at the
    // peer.
    EXPECT_EQ(pair.damage(pair.a, null[0]), corrupt);
    EXPECT_EQ(pair.carry(pair.a), "null/0 null/0");
    EXPECT_EQ(pair.taken(pair.b), "");
    EXPECT_EQ(pair.b.engine.stats().replays, 0);
}

// HIPPI-32
TEST(HippiLink, AStatusNullAcknowledgesButNeverStartsAReplay) {
    Pair pair = Pair::started();
    pair.a.submit(4);
    pair.take(pair.a);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(pair.give(pair.a, made(Type::status_null, no_number, pair.number(2))), control);
    }
    EXPECT_EQ(pair.a.engine.outstanding(), 2);
    EXPECT_EQ(pair.taken(pair.a), "");
    EXPECT_EQ(pair.a.engine.stats().replays, 0);
}

// HIPPI-32: the status null replaces an acknowledgement that still waits.
TEST(HippiLink, ADuplicateIsAnsweredByOneStatusNullInsteadOfTheCopyThatWaits) {
    Pair pair = Pair::started();
    pair.a.submit(3);
    const Frames frames = pair.take(pair.a);
    pair.give(pair.b, frames);
    for (const Frame& frame : frames) EXPECT_EQ(pair.give(pair.b, frame), duplicate);
    EXPECT_EQ(pair.taken(pair.b), "status/3");
    pair.wait_for_null();
    EXPECT_EQ(pair.taken(pair.b), "");
    // One copy is left, and it is the notice.
    pair.b.take(pair.now);
    EXPECT_EQ(pair.damage(pair.b, frames[0]), corrupt);
    EXPECT_EQ(pair.taken(pair.b), "null/3");
}

TEST(HippiLink, AHeadOfANewNoticeStillCountsWhenTheStatusNullWasTheFirstCopy) {
    Pair pair = Pair::started();
    pair.a.submit(4);
    const Frames frames = pair.take(pair.a);
    pair.give(pair.b, {frames[0], frames[1], frames[0], frames[3]});
    EXPECT_EQ(pair.carry(pair.b), "status/2 null/2");
    EXPECT_EQ(pair.carry(pair.a), "2..3*");
    EXPECT_EQ(pair.b.messages.size(), 4);
}

}  // namespace
}  // namespace wireproof::hippi::test
