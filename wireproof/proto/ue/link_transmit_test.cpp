// The sending half of a link: numbers, window, ACK and NACK, replays, the timer
// (docs/rules/ue.md). Numbers start 6 before the wrap.
#include <gtest/gtest.h>

#include <algorithm>

#include "wireproof/proto/ue/pair_test_kit.hpp"

namespace wireproof::ue {
namespace {

using enum RxVerdict;
using State = Transmitter::State;
constexpr std::uint32_t first = Config::numbers - 6;

Names frames_from(std::uint32_t number, std::size_t count) {
    Names names;
    for (std::size_t i = 0; i < count; ++i) {
        names.push_back("FRAME " + std::to_string((number + i) % Config::numbers));
    }
    return names;
}

// LLR-1
TEST(UeTransmit, NumbersFramesByOneAcrossTheWrapAndKeepsThemInAReplay) {
    Pair pair;
    pair.submit(9);
    const auto sent = pair.frames(pair.a);
    ASSERT_EQ(sent.size(), 9U);
    EXPECT_EQ(sent[5].name(), "FRAME 1048575");
    EXPECT_EQ(sent[6].name(), "FRAME 0");
    EXPECT_EQ(pair.a.give(pair.now, nack(first - 1)), control);
    const auto again = pair.frames(pair.a);
    ASSERT_EQ(again.size(), 9U);
    for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_EQ(again[i].bytes, sent[i].bytes);
        EXPECT_FALSE(sent[i].resent);
        EXPECT_TRUE(again[i].resent);
    }
    EXPECT_EQ(pair.a.link.transmitter().tx_seq(), 3U);
}

// LLR-2
TEST(UeTransmit, NeverHasMoreFramesOutstandingThanTheLimit) {
    Config config = test_config();
    config.outstanding_seq_max = 5;
    Pair pair(config);
    pair.submit(9);
    EXPECT_EQ(pair.leaving(pair.a).size(), 5U);
    EXPECT_TRUE(pair.a.link.quiet());
    EXPECT_EQ(pair.a.give(pair.now, ack(first + 1)), control);
    EXPECT_EQ(pair.leaving(pair.a).size(), 2U);
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 5U);
}

// LLR-2: a frame leaves if the sum with it is within the limit.
TEST(UeTransmit, NeverHasMoreBytesOutstandingThanTheLimit) {
    Config config = test_config();
    config.outstanding_data_max = 64 * 3 + 84;
    Pair pair(config);
    pair.submit(3, 10);
    pair.submit(1, 64);  // 84 bytes
    pair.submit(1, 10);
    EXPECT_EQ(pair.leaving(pair.a).size(), 4U);
    EXPECT_EQ(pair.a.link.transmitter().outstanding_data(), config.outstanding_data_max);
    EXPECT_EQ(pair.a.give(pair.now, ack(first)), control);
    EXPECT_EQ(pair.leaving(pair.a).size(), 1U);

    config.outstanding_data_max -= 1;
    Pair other(config);
    other.submit(3, 10);
    other.submit(1, 64);
    EXPECT_EQ(other.leaving(other.a).size(), 3U);
    EXPECT_EQ(other.a.give(other.now, nack(first + 2)), control);
    EXPECT_EQ(other.leaving(other.a).size(), 1U);
}

// LLR-4: also numbers that are not on the circle, and those one beyond each end.
TEST(UeTransmit, ANumberThatIsNotOutstandingIsCountedAndChangesNothing) {
    Config config = test_config();
    config.modulus = 16;
    config.first_number = 14;
    config.outstanding_seq_max = 8;
    Pair pair(config);
    pair.submit(4);
    pair.leaving(pair.a);
    const auto print = [&] {
        Fingerprint sink;
        pair.a.link.fingerprint(pair.now, sink);
        return sink.value();
    };
    const auto before = print();
    for (const std::uint32_t wrong : {12U, 2U, 9U, 16U, 1'048'575U}) {
        EXPECT_EQ(pair.a.give(pair.now, ack(wrong)), stale) << wrong;
        EXPECT_EQ(pair.a.give(pair.now, nack(wrong)), stale) << wrong;
    }
    EXPECT_EQ(pair.a.stats().rx_ack_nack_seq_error, 10U);
    EXPECT_EQ(print(), before);
    EXPECT_EQ(pair.a.give(pair.now, ack(13)), control);  // frees nothing
    EXPECT_EQ(pair.a.give(pair.now, ack(1)), control);   // frees all
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 0U);
}

// LLR-5
TEST(UeTransmit, AnAckFreesAndNeverReplays) {
    Pair pair;
    pair.submit(4);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, ack(first + 1)), control);
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 2U);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    EXPECT_EQ(pair.a.link.transmitter().acked_seq(), first + 1);
}

// LLR-5
TEST(UeTransmit, ANackFreesAndReplaysTheRestBeforeAnyNewFrame) {
    Pair pair;
    pair.submit(4);
    pair.leaving(pair.a);
    pair.submit(2);
    EXPECT_EQ(pair.a.give(pair.now, nack(first)), control);
    EXPECT_EQ(pair.a.link.transmitter().state(), State::replay);
    const auto left = pair.frames(pair.a);
    ASSERT_EQ(left.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(left[i].number(), (first + 1 + i) % Config::numbers);
        EXPECT_EQ(left[i].resent, i < 3);
    }
    EXPECT_EQ(pair.a.stats().tx_replay, 1U);
    EXPECT_EQ(pair.a.stats().resent, 3U);
    EXPECT_EQ(pair.a.stats().replayed_bytes, 3U * 64);
    EXPECT_EQ(pair.a.stats().tx_ok, 9U);
}

// LLR-8, LLR-11: the timer runs from the end of the frame that started it, later frames do not put
// it off, and progress restarts it.
TEST(UeTransmit, TheTimerReplaysWhatHasNoAnswer) {
    Config config = test_config();
    config.byte_time = Duration::nanoseconds(1);
    config.ctl_spacing = config.ack_spacing = 0;
    Pair pair(config);
    pair.submit(1);
    pair.leaving(pair.a);
    const Instant due = pair.now + Duration::nanoseconds(72) + config.replay_timer_max;
    EXPECT_EQ(pair.a.link.next_deadline(), due);
    pair.pass(Duration::microseconds(4));
    pair.submit(2);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.link.next_deadline(), due);
    EXPECT_EQ(pair.a.give(pair.now, ack(first)), control);
    EXPECT_EQ(pair.a.link.next_deadline(), pair.now + config.replay_timer_max);
    pair.wait();
    EXPECT_EQ(pair.a.link.transmitter().state(), State::replay);
    EXPECT_EQ(pair.a.link.transmitter().replay_ct(), 1U);
    EXPECT_EQ(pair.a.link.next_deadline(), never);  // it stands still while frames leave again
    EXPECT_EQ(pair.leaving(pair.a), frames_from(first + 1, 2));
    EXPECT_EQ(pair.a.link.next_deadline(),
              pair.now + Duration::nanoseconds(72) + config.replay_timer_max);
    EXPECT_EQ(pair.a.give(pair.now, ack(first + 2)), control);
    EXPECT_EQ(pair.a.link.next_deadline(), never);
    EXPECT_EQ(pair.a.stats().timeouts, 1U);
}

// LLR-5: an ACK without progress restarts neither timer nor count.
TEST(UeTransmit, AnAckWithoutProgressRestartsNothing) {
    Pair pair;
    pair.submit(2);
    pair.leaving(pair.a);
    pair.wait();
    pair.leaving(pair.a);
    const Instant due = pair.a.link.next_deadline();
    pair.pass(Duration::microseconds(3));
    EXPECT_EQ(pair.a.give(pair.now, ack(first - 1)), control);
    EXPECT_EQ(pair.a.link.next_deadline(), due);
    EXPECT_EQ(pair.a.link.transmitter().replay_ct(), 1U);
}

// LLR-11
TEST(UeTransmit, ProgressByAckOrNackClearsTheCount) {
    for (const bool by_nack : {false, true}) {
        Pair pair;
        pair.submit(3);
        pair.leaving(pair.a);
        for (int i = 0; i < 3; ++i) {
            pair.wait();
            pair.leaving(pair.a);
        }
        EXPECT_EQ(pair.a.link.transmitter().replay_ct(), 3U);
        EXPECT_EQ(pair.a.give(pair.now, by_nack ? nack(first) : ack(first)), control);
        EXPECT_EQ(pair.a.link.transmitter().replay_ct(), 0U);
        pair.leaving(pair.a);
        for (int i = 0; i < 3; ++i) {
            pair.wait();
            pair.leaving(pair.a);
        }
        EXPECT_EQ(pair.a.stats().flushes, 0U);
        EXPECT_EQ(pair.a.stats().timeouts, 6U);
    }
}

// LLR-12
TEST(UeTransmit, ANackDuringAReplayBeginsItAnewBehindItsNumber) {
    Pair pair;
    pair.submit(6);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, nack(first - 1)), control);
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(pair.a.poll(pair.now));
    EXPECT_EQ(pair.a.give(pair.now, nack(first + 1)), control);
    EXPECT_EQ(pair.leaving(pair.a), frames_from(first + 2, 4));
    EXPECT_EQ(pair.a.stats().tx_replay, 1U);
    EXPECT_EQ(pair.a.stats().replays, 2U);
}

// LLR-12
TEST(UeTransmit, AnAckDuringAReplayMovesItOnAndResendsNothingBelow) {
    Pair pair;
    pair.submit(6);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, nack(first - 1)), control);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(pair.a.poll(pair.now));
    EXPECT_EQ(pair.a.give(pair.now, ack(first)), control);  // below the pointer
    EXPECT_EQ(pair.a.poll(pair.now)->number(), first + 2);
    EXPECT_EQ(pair.a.give(pair.now, ack(first + 4)), control);  // covers it
    EXPECT_EQ(pair.leaving(pair.a), frames_from(first + 5, 1));
    EXPECT_EQ(pair.a.stats().tx_replay, 1U);
    EXPECT_EQ(pair.a.stats().resent, 4U);
}

// LLR-12
TEST(UeTransmit, AnAckOfEverythingEndsAReplay) {
    Pair pair;
    pair.submit(3);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, nack(first - 1)), control);
    EXPECT_TRUE(pair.a.poll(pair.now));
    EXPECT_EQ(pair.a.give(pair.now, ack(first + 2)), control);
    EXPECT_EQ(pair.a.link.transmitter().state(), State::advance);
    EXPECT_EQ(pair.a.stats().tx_replay, 1U);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    EXPECT_EQ(pair.a.link.next_deadline(), never);
}

// LLR-13
TEST(UeTransmit, ANackThatFreesEverythingReplaysNothing) {
    Pair pair;
    pair.submit(3);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, nack(first + 2)), control);
    EXPECT_EQ(pair.a.link.transmitter().state(), State::advance);
    EXPECT_EQ(pair.a.stats().tx_replay, 0U);
    EXPECT_EQ(pair.a.stats().replays, 0U);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
}

// LLR-23
TEST(UeTransmit, TheCountFlushesAfterItsMaximum) {
    for (const std::uint32_t max : {0U, 1U, 3U}) {
        Config config = test_config();
        config.replay_ct_max = max;
        Pair pair(config);
        pair.submit(2);
        pair.leaving(pair.a);
        for (std::uint32_t i = 0; i < max; ++i) {
            pair.wait();
            EXPECT_EQ(pair.leaving(pair.a).size(), 2U);
        }
        EXPECT_EQ(pair.a.stats().flushes, 0U);
        pair.wait();
        EXPECT_EQ(pair.a.stats().flushes, 1U);
        EXPECT_EQ(pair.a.stats().tx_replay, max);
        EXPECT_EQ(pair.a.stats().tx_discard, 2U);
    }
}

// LLR-23
TEST(UeTransmit, TheCountOf255NeverFlushes) {
    Config config = test_config();
    config.replay_ct_max = Config::replay_ct_none;
    Pair pair(config);
    pair.submit(1);
    pair.leaving(pair.a);
    for (int i = 0; i < 600; ++i) {
        pair.wait();
        EXPECT_EQ(pair.leaving(pair.a).size(), 1U);
    }
    EXPECT_EQ(pair.a.stats().flushes, 0U);
    EXPECT_EQ(pair.a.stats().tx_replay, 600U);
}

// LLR-29
TEST(UeTransmit, ReplaysByNackCountOnlyIfTheyShould) {
    for (const bool counts : {false, true}) {
        Config config = test_config();
        config.nack_counts = counts;
        Pair pair(config);
        pair.submit(2);
        pair.leaving(pair.a);
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(pair.a.give(pair.now, nack(first - 1)), control);
            pair.leaving(pair.a);
        }
        EXPECT_EQ(pair.a.link.transmitter().replay_ct(), counts ? 3U : 0U);
        EXPECT_EQ(pair.a.give(pair.now, nack(first - 1)), control);
        EXPECT_EQ(pair.a.stats().flushes, counts ? 1U : 0U);
    }
}

// LLR-10: poisoned, replayed, still poisoned; and the next frame is not.
TEST(UeTransmit, APoisonedFrameStaysPoisonedInAReplay) {
    Pair pair;
    pair.a.link.poison_next();
    pair.submit(2);
    const auto sent = pair.frames(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, nack(first - 1)), control);
    const auto again = pair.frames(pair.a);
    ASSERT_EQ(again.size(), 2U);
    EXPECT_EQ(again[0].bytes, sent[0].bytes);
    EXPECT_EQ(pair.a.stats().tx_poisoned, 2U);
    EXPECT_EQ(pair.a.stats().tx_ok, 2U);
    const auto fcs = [](const Frame& frame) {
        return load_le<std::uint32_t>(ConstBytes(frame.bytes).last<4>());
    };
    const auto pieces = FramePieces::of(RxFrame{.bytes = sent[0].bytes});
    EXPECT_EQ(fcs(sent[0]), pieces->computed_fcs(false) ^ 0xAAAAAAAA);
    EXPECT_EQ(pair.b.give(pair.now, sent[0]), accepted);
    EXPECT_EQ(pair.b.give(pair.now, sent[1]), accepted);
    EXPECT_EQ(pair.b.got.size(), 1U);
}

// LLR-20
TEST(UeTransmit, IneligibleFramesTakeNoNumberAndPassBetweenNumberedOnes) {
    for (const bool held : {false, true}) {
        Config config = test_config();
        config.replay_holds_ineligible = held;
        Pair pair(config);
        pair.submit(2);
        pair.leaving(pair.a);
        EXPECT_EQ(pair.a.give(pair.now, nack(first - 1)), control);
        EXPECT_TRUE(pair.a.poll(pair.now));
        EXPECT_EQ(pair.a.link.submit_ineligible(message(8, 77)), SubmitStatus::accepted);
        const Names wanted =
            held ? Names{"FRAME 1048571", "PLAIN"} : Names{"PLAIN", "FRAME 1048571"};
        EXPECT_EQ(pair.leaving(pair.a), wanted);
        EXPECT_EQ(pair.a.link.transmitter().outstanding(), 2U);
        EXPECT_EQ(pair.a.stats().tx_ineligible, 1U);
    }
}

// LLR-20: they are never resent, and their receiver never answers.
TEST(UeTransmit, IneligibleFramesHaveNoAnswer) {
    Pair pair;
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(pair.a.link.submit_ineligible(message(20, i)), SubmitStatus::accepted);
    }
    const auto sent = pair.frames(pair.a);
    EXPECT_EQ(pair.b.give(pair.now, sent[0]), accepted);
    EXPECT_EQ(pair.b.give(pair.now, sent[1], Integrity::damaged), corrupt);
    EXPECT_EQ(pair.b.give(pair.now, sent[2]), accepted);
    EXPECT_EQ(pair.b.got, (std::vector{message(20, 0), message(20, 2)}));
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    EXPECT_EQ(pair.b.stats().rx_ineligible, 2U);
    EXPECT_EQ(pair.b.stats().rx_ineligible_bad, 1U);
    EXPECT_EQ(pair.b.stats().rx_ok, 0U);
    EXPECT_EQ(std::min(pair.a.link.next_deadline(), pair.b.link.next_deadline()), never);
}

TEST(UeTransmit, FullQueuesAndLongMessagesAreRefused) {
    Config config = test_config();
    config.replay_slots = 4;
    config.ineligible_slots = 2;
    Pair pair(config);
    pair.submit(4);
    EXPECT_FALSE(pair.a.link.has_room());
    EXPECT_EQ(pair.a.link.submit(message(8)), SubmitStatus::no_room);
    EXPECT_EQ(pair.a.link.submit(message(65)), SubmitStatus::too_long);
    EXPECT_EQ(pair.a.link.submit_ineligible(message(65)), SubmitStatus::too_long);
    for (int i = 0; i < 2; ++i) (void)pair.a.link.submit_ineligible(message(8));
    EXPECT_EQ(pair.a.link.submit_ineligible(message(8)), SubmitStatus::no_room);
    pair.settle();
    EXPECT_EQ(pair.b.got.size(), 6U);
    pair.submit(4);
}

TEST(UeTransmit, LentMessagesLeaveFromTheirPlace) {
    Config config = test_config();
    config.payload_lent = true;
    Pair pair(config);
    auto lent = message(40, 3);
    EXPECT_EQ(pair.a.link.submit(lent), SubmitStatus::accepted);
    pair.leaving(pair.a);
    std::ranges::copy(message(40, 4), lent.begin());
    pair.wait();
    pair.settle();
    EXPECT_EQ(pair.b.got.at(0), message(40, 4));
}

// LLR-30
TEST(UeTransmit, OverDatagramsTheTimerFollowsTheRoundTripAndReplaysBackOff) {
    Config config = Config::of_datagrams(1400);
    config.checks_numbers = false;  // the NACK of this test has no check
    Pair pair(config);
    pair.submit(1);
    const auto sent = pair.frames(pair.a);
    EXPECT_EQ(pair.a.link.next_deadline() - pair.now, Duration::milliseconds(20));
    pair.b.give(pair.now, sent.at(0));
    pair.pass(Duration::milliseconds(1));
    pair.carry(pair.b, pair.a);
    pair.submit(8);
    pair.leaving(pair.a);
    Duration wait = Duration::milliseconds(3);
    EXPECT_EQ(pair.a.link.next_deadline() - pair.now, wait);
    pair.wait();
    EXPECT_EQ(pair.leaving(pair.a).size(), 8U);  // the first replay is whole
    for (int i = 0; i < 6; ++i) {
        wait = std::min(wait * 2, Duration::milliseconds(100));
        EXPECT_EQ(pair.a.link.next_deadline() - pair.now, wait);
        pair.wait();
        EXPECT_EQ(pair.leaving(pair.a).size(), 1U);
    }
    EXPECT_EQ(pair.a.give(pair.now, nack(0)), control);
    EXPECT_EQ(pair.leaving(pair.a).size(), 0U);  // only the timer begins a replay now
    EXPECT_EQ(pair.a.link.unanswered().times, 7U);
    EXPECT_EQ(pair.a.give(pair.now, ack(1)), control);
    EXPECT_EQ(pair.leaving(pair.a), (Names{"FRAME 2", "FRAME 3"}));  // step by step
    EXPECT_NE(pair.a.link.next_deadline(), never);
    pair.settle();
    EXPECT_EQ(pair.a.link.unanswered().since, never);
}

}  // namespace
}  // namespace wireproof::ue
