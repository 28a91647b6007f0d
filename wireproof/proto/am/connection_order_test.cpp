// In order and exactly once: what the receiver does with numbers that are expected, ahead, behind
// or far away.
#include <gtest/gtest.h>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

// AM-15
TEST(AmConnection, DeliversRequestsAndRepliesInOrderAcrossTheWrap) {
    for (const Config& config : all()) {
        Pair pair(config);
        reply_to_all(pair.b);
        for (std::uint32_t i = 0; i < 40; ++i) {
            ASSERT_EQ(request(pair.a, 7, {i, 1000 + i}), PostStatus::accepted);
            pair.settle();
            const std::string arguments =
                "(" + std::to_string(i) + "," + std::to_string(1000 + i) + ")";
            ASSERT_EQ(pair.b.take_log(), Log{"REQ 7" + arguments});
            ASSERT_EQ(pair.a.take_log(), Log{"REP 2" + arguments});
        }
        EXPECT_EQ(pair.a.engine.stats().resent + pair.b.engine.stats().resent, 0);
    }
}

// AM-33
TEST(AmConnection, NumbersPassZero) {
    for (const Config& config : all().without_questions()) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 6);
        std::vector<std::uint32_t> numbers;
        for (const Frame& frame : frames) numbers.push_back(frame.header.number);
        const auto last = static_cast<std::uint32_t>(config.modulus - 1);
        EXPECT_EQ(numbers, (std::vector<std::uint32_t>{last - 2, last - 1, last, 0, 1, 2}));
        EXPECT_EQ(pair.give(pair.b, frames), Verdicts(6, accepted));
        EXPECT_EQ(pair.b.engine.stats().received_as(stale), 0);
    }
}

// AM-9, AM-10
// Only go-back-N drops; HoldsWhatIsAheadAndResendsOnlyWhatIsMissing tests the configurations of
// users.
TEST(AmConnection, DropsWhatIsAheadAndNamesWhatItExpects) {
    Pair pair(sp2());
    requests(pair.a, 5);
    const Frames frames = pair.a.take(pair.now);
    EXPECT_EQ(pair.give(pair.b, frames[0]), accepted);
    EXPECT_EQ(pair.give(pair.b, frames[2]), out_of_sequence);
    EXPECT_EQ(pair.b.take_log(), Log{"REQ 1(0)"});
    EXPECT_EQ(pair.taken(pair.b), "NACK 1");
    EXPECT_EQ(pair.taken(pair.b), "");
}

// AM-10, AM-39
TEST(AmConnection, SendsOneNackForOneGapHoweverManyPacketsFollowItInATurn) {
    for (const Config& config : all().without_questions()) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 75);
        ASSERT_EQ(frames.size(), 75);
        for (std::size_t i = 1; i < 75; ++i) {
            EXPECT_EQ(pair.give(pair.b, frames[i]), ahead(config));
        }
        EXPECT_EQ(pair.b.log, Log{});
        const Frames answer = pair.b.take(pair.now);
        ASSERT_EQ(answer.size(), 1);
        EXPECT_EQ(answer[0].header.kind, Kind::nack);
        EXPECT_EQ(answer[0].header.number, pair.number(Channel::request, 0));
    }
}

// AM-39
TEST(AmConnection, OwesAtMostOneFrameForAThousandReceived) {
    for (const Config& config : all()) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 10);
        for (int i = 0; i < 1000; ++i) pair.give(pair.b, frames[0]);
        EXPECT_EQ(pair.taken(pair.b), "ACK 1 0");
        for (int i = 0; i < 1000; ++i)
            pair.give(pair.b, frames[static_cast<std::size_t>(2 + i % 8)]);
        const Frames answer = pair.b.take(pair.now);
        ASSERT_EQ(answer.size(), 1);
        EXPECT_EQ(answer[0].header.kind, Kind::nack);
    }
}

// AM-10: in go-back-N the packet ahead was dropped, so it is still missing when the gap has filled.
TEST(AmConnection, StillComplainsWhenTheGapFillsInTheSameTurn) {
    Pair pair(sp2());
    requests(pair.a, 2);
    const Frames frames = pair.a.take(pair.now);
    EXPECT_EQ(pair.give(pair.b, frames[1]), out_of_sequence);
    EXPECT_EQ(pair.give(pair.b, frames[0]), accepted);
    EXPECT_EQ(pair.carry(pair.b), "NACK 1");
    EXPECT_EQ(pair.carry(pair.a), "REQ 1*");
    EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(0)", "REQ 1(1)"}));
}

// AM-10: a NACK that is no longer needed is not sent.
TEST(AmConnection, WithdrawsTheComplaintWhenAllThatDrewItHasArrived) {
    for (const Config& config : all()) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 2);
        pair.give(pair.b, frames[1]);
        pair.give(pair.b, frames[0]);
        pair.give(pair.b, frames[1]);
        EXPECT_EQ(pair.b.log.size(), 2);
        EXPECT_EQ(pair.taken(pair.b), config.recovery == Recovery::selective ? "ACK 2 0" : "");
    }
}

// AM-34
TEST(AmConnection, AnswersADuplicateWithAnAckAndCausesNoResend) {
    for (const Config& config : all()) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 3);
        EXPECT_EQ(pair.give(pair.b, frames), Verdicts(3, accepted));
        EXPECT_EQ(pair.give(pair.b, frames[1]), duplicate);
        EXPECT_EQ(pair.carry(pair.b), "ACK 3 0");
        EXPECT_EQ(pair.taken(pair.a), "");
        EXPECT_EQ(pair.a.engine.stats().resent, 0);
        EXPECT_EQ(pair.b.take_log().size(), 3);
    }
}

// AM-34: behind means the whole half circle before what is expected, not only the window.
TEST(AmConnection, KnowsADuplicateFromFarBehind) {
    for (const Config& config : all()) {
        const auto half = static_cast<std::int64_t>(config.modulus / 2);
        const std::int64_t window = config.window[0];
        Pair pair(config);
        requests(pair.a, 1);
        const Frame old = pair.a.take(pair.now)[0];
        pair.give(pair.b, old);
        for (const std::int64_t behind :
             {std::int64_t{1}, window - 1, window, window + 1, half / 33, half}) {
            const Frame late = pair.forged(
                old, [&](Header& h) { h.number = pair.number(Channel::request, 1 - behind); });
            EXPECT_EQ(pair.give(pair.b, late), duplicate) << behind;
            EXPECT_EQ(pair.taken(pair.b), "ACK 1 0");
        }
        EXPECT_EQ(pair.b.take_log().size(), 1);
    }
}

// AM-48
TEST(AmConnection, DropsANumberAWholeWindowAheadWithoutANack) {
    for (const Config& config : all()) {
        const std::uint32_t window = config.window[0];
        Pair pair(config);
        requests(pair.a, 1);
        const Frame first = pair.a.take(pair.now)[0];
        const std::int64_t half = static_cast<std::int64_t>(config.modulus / 2);
        for (const std::int64_t ahead :
             {std::int64_t{window}, std::int64_t{window} + 1, half - 1}) {
            const Frame far = pair.forged(
                first, [&](Header& h) { h.number = pair.number(Channel::request, ahead); });
            EXPECT_EQ(pair.give(pair.b, far), stale) << ahead;
            EXPECT_EQ(pair.taken(pair.b), "");
        }
        const Frame last = pair.forged(
            first, [&](Header& h) { h.number = pair.number(Channel::request, window - 1); });
        EXPECT_NE(pair.give(pair.b, last), stale);
        EXPECT_EQ(pair.b.take(pair.now).size(), 1);
    }
}

// AM-15
TEST(AmConnection, DropsADamagedFrameAndRecovers) {
    for (const Config& config : all()) {
        Pair pair(config);
        Frames frames = one_a_turn(pair.a, pair.now, 2);
        frames[0].bytes.back() ^= std::byte{1};
        EXPECT_EQ(pair.give(pair.b, frames[0]), corrupt);
        EXPECT_EQ(pair.b.log, Log{});
        pair.give(pair.b, frames[1]);
        pair.settle();
        EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(0)", "REQ 1(1)"}));
        EXPECT_EQ(pair.a.engine.stats().nacks_acted_on, 1);
    }
}

// AM-15: a carrier may say that its frames are intact, or that one is damaged.
TEST(AmConnection, BelievesTheCarrierAboutIntegrity) {
    for (const Config& config : all()) {
        Pair pair(config);
        requests(pair.a, 1);
        Frame frame = pair.a.take(pair.now)[0];
        EXPECT_EQ(pair.b.give(pair.now, frame.bytes, Integrity::damaged), corrupt);
        store_checksum(config.layout, frame.bytes, 0);
        EXPECT_EQ(pair.b.give(pair.now, frame.bytes, Integrity::intact), accepted);
    }
}

// AM-15: each channel keeps its own order.
TEST(AmConnection, OneChannelDoesNotWaitForTheOther) {
    for (const Config& config : all()) {
        Pair pair(config);
        reply_to_all(pair.b);
        requests(pair.a, 1);
        pair.carry(pair.a);
        Frames frames = pair.b.take(pair.now);
        for (const Frame& frame : one_a_turn(pair.b, pair.now, 2)) frames.push_back(frame);
        ASSERT_EQ(pair.text(frames), "REP 0 | REQ 0..1");
        EXPECT_EQ(pair.give(pair.a, frames[2]), ahead(config));
        EXPECT_EQ(pair.give(pair.a, frames[0]), accepted);
        EXPECT_EQ(pair.a.take_log(), Log{"REP 2(0)"});
        EXPECT_EQ(pair.taken(pair.a), nack(config, 0, "<1 [01]"));
    }
}

// While both channels have packets, they take turns: none waits until the other has sent all.
TEST(AmConnection, TheChannelsTakeTurns) {
    for (const bool fast : {true, false}) {
        Config config = bare();
        config.fast_paths = fast;
        Pair pair(config);
        reply_to_all(pair.b);
        requests(pair.a, 3);
        pair.carry(pair.a);
        requests(pair.b, 3);
        std::vector<Channel> order;
        for (const Frame& frame : pair.b.take(pair.now)) order.push_back(frame.header.channel);
        using enum Channel;
        EXPECT_EQ(order, (std::vector<Channel>{reply, request, reply, request, reply, request}));
    }
}

}  // namespace
}  // namespace wireproof::am::test
