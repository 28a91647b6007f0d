// The sending half of a link: numbers, Acks, replay, timers (docs/rules/pcie.md).
#include <gtest/gtest.h>

#include "wireproof/proto/pcie/pair_test_kit.hpp"

namespace wireproof::pcie {
namespace {

using enum RxVerdict;

Frame dllp(const Dllp& packet) {
    Frame frame;
    frame.bytes.resize(Dllp::size);
    packet.encode(Bytes(frame.bytes).first<Dllp::size>(), true);
    return frame;
}

Frame ack(std::uint32_t number) {
    return dllp(Dllp::ack(number));
}
Frame nak(std::uint32_t number) {
    return dllp(Dllp::nak(number));
}

// PCIE-3
TEST(PcieTransmit, BeginsWithTheResetValues) {
    const Link link((Config()));
    EXPECT_EQ(link.transmitter().next_transmit_seq(), 0U);
    EXPECT_EQ(link.transmitter().ackd_seq(), 0xFFFU);
    EXPECT_EQ(link.transmitter().replay_num(), 0U);
    EXPECT_EQ(link.receiver().next_rcv_seq(), 0U);
    EXPECT_FALSE(link.receiver().nak_scheduled());
}

// PCIE-4
TEST(PcieTransmit, NumbersTlpsByOneAcrossTheWrapAndKeepsThemInReplay) {
    Pair pair;
    pair.submit(8);
    const Names numbers = {"TLP 4090", "TLP 4091", "TLP 4092", "TLP 4093",
                           "TLP 4094", "TLP 4095", "TLP 0",    "TLP 1"};
    const auto first = pair.frames(pair.a);
    ASSERT_EQ(first.size(), 8U);
    EXPECT_EQ(pair.a.give(pair.now, nak(4089)), control);
    const auto again = pair.frames(pair.a);
    ASSERT_EQ(again.size(), 8U);
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(first[i].name(), numbers[i]);
        EXPECT_EQ(again[i].bytes, first[i].bytes);  // with the same LCRC
        EXPECT_FALSE(first[i].resent);
        EXPECT_TRUE(again[i].resent);
    }
}

// PCIE-5
TEST(PcieTransmit, BlocksThe2048thUnacknowledgedTlp) {
    Config config = test_config();
    config.replay_slots = 3000;
    config.payload_max = 4;
    Pair pair(config);
    pair.submit(2500, 0);
    EXPECT_EQ(pair.leaving(pair.a).size(), 2047U);
    EXPECT_EQ(pair.a.give(pair.now, ack(4090)), control);
    EXPECT_EQ(pair.leaving(pair.a), Names{"TLP 2041"});
}

// PCIE-6, PCIE-7
TEST(PcieTransmit, AnAckPurgesAllUpToItsNumberAndNoMore) {
    Pair pair;
    pair.submit(5);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, ack(4090)), control);
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 4U);
    EXPECT_EQ(pair.a.give(pair.now, ack(4093)), control);
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 1U);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    EXPECT_EQ(pair.a.give(pair.now, nak(4093)), control);
    EXPECT_EQ(pair.leaving(pair.a), Names{"TLP 4094"});
}

// PCIE-8
TEST(PcieTransmit, ANakPurgesAndThenReplaysTheRestInOrder) {
    Pair pair;
    pair.submit(4);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, nak(4091)), control);
    EXPECT_EQ(pair.a.link.transmitter().replay_num(), 1U);
    EXPECT_EQ(pair.leaving(pair.a), (Names{"TLP 4092", "TLP 4093"}));
    EXPECT_EQ(pair.a.link.stats().resent, 2U);
}

// PCIE-9
TEST(PcieTransmit, ANakWithNothingToPurgeReplaysUnlessTheBufferIsEmpty) {
    Pair pair;
    pair.submit(2);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, nak(4089)), control);
    EXPECT_EQ(pair.a.link.transmitter().replay_num(), 1U);
    EXPECT_EQ(pair.leaving(pair.a), (Names{"TLP 4090", "TLP 4091"}));
    EXPECT_EQ(pair.a.give(pair.now, nak(4091)), control);  // purges all
    EXPECT_EQ(pair.a.give(pair.now, nak(4091)), control);
    EXPECT_EQ(pair.a.link.transmitter().replay_num(), 0U);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    EXPECT_EQ(pair.a.link.stats().replays, 1U);
}

// PCIE-10
TEST(PcieTransmit, AnAckWithoutProgressRestartsNeitherTimerNorCount) {
    Pair pair;
    pair.submit(2);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, nak(4089)), control);
    pair.leaving(pair.a);
    const Instant due = pair.a.link.next_deadline();
    pair.pass(Duration::microseconds(3));
    EXPECT_EQ(pair.a.give(pair.now, ack(4089)), control);
    EXPECT_EQ(pair.a.link.next_deadline(), due);
    EXPECT_EQ(pair.a.link.transmitter().replay_num(), 1U);
    EXPECT_EQ(pair.a.give(pair.now, ack(4090)), control);
    EXPECT_EQ(pair.a.link.next_deadline(), pair.now + test_config().replay_after);
    EXPECT_EQ(pair.a.link.transmitter().replay_num(), 0U);
}

// PCIE-11
TEST(PcieTransmit, AnAckOfWhatIsNotOutstandingIsAnErrorAndChangesNothing) {
    Pair pair;
    pair.submit(3);
    pair.leaving(pair.a);
    pair.a.give(pair.now, ack(4090));
    pair.submit(2);  // they have the next numbers, but are not sent
    for (const std::uint32_t number : {4093U, 4088U, 4089U, 0U, 2000U}) {
        EXPECT_EQ(pair.a.give(pair.now, ack(number)), stale) << number;
        EXPECT_EQ(pair.a.give(pair.now, nak(number)), stale) << number;
    }
    EXPECT_EQ(pair.a.link.stats().protocol_errors, 10U);
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 2U);
    EXPECT_EQ(pair.leaving(pair.a), (Names{"TLP 4093", "TLP 4094"}));
}

// PCIE-12
TEST(PcieTransmit, ADamagedDllpChangesNothing) {
    Pair pair;
    pair.submit(2);
    pair.leaving(pair.a);
    Frame frame = nak(4090);
    frame.bytes[3] ^= std::byte{0x10};
    EXPECT_EQ(pair.a.give(pair.now, frame), corrupt);
    EXPECT_EQ(pair.a.give(pair.now, nak(4090), Integrity::damaged), corrupt);
    EXPECT_EQ(pair.a.link.stats().bad_dllps, 2U);
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 2U);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
}

// PCIE-21
TEST(PcieTransmit, ReplaysWhenNothingArrivesForTheLimit) {
    Config config = test_config();
    config.byte_time = Duration::nanoseconds(4);
    Pair pair(config);
    pair.submit(2);
    pair.leaving(pair.a);
    // The timer starts at the last symbol of the first TLP: 36 bytes of 4 ns.
    const Instant due = pair.now + config.replay_after + Duration::nanoseconds(144);
    EXPECT_EQ(pair.a.link.next_deadline(), due);
    pair.pass_to(due + Duration(-1));
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    pair.pass_to(due);
    EXPECT_EQ(pair.leaving(pair.a), (Names{"TLP 4090", "TLP 4091"}));
    EXPECT_EQ(pair.a.link.stats().timeouts, 1U);
}

// PCIE-21: the timer is that of the oldest TLP.
TEST(PcieTransmit, ALaterTlpDoesNotPutTheTimerOff) {
    Pair pair;
    pair.submit(1);
    pair.leaving(pair.a);
    const Instant due = pair.now + test_config().replay_after;
    pair.pass(Duration::microseconds(3));
    pair.submit(1);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.link.next_deadline(), due);
}

// On a shared path: the first replay resends all TLPs, later ones only the first TLP, each after a
// longer wait.
TEST(PcieTransmit, BacksOffIfItMayAndGoesOnWithTheRestOnceTheFirstIsAcknowledged) {
    Config config = test_config();
    config.backs_off = true;
    Pair pair(config);
    pair.submit(4);
    pair.frames(pair.a);
    EXPECT_EQ(pair.a.link.unanswered().since, never);
    std::vector<Duration> waits;
    std::vector<Names> left;
    for (std::size_t round = 0; round < 8; ++round) {
        const Instant before = pair.now;
        pair.pass_to(pair.a.link.next_deadline());
        // When REPLAY_NUM wraps, the link retrains first.
        if (pair.a.link.transmitter().retraining()) pair.pass(config.retrain_time);
        waits.push_back(pair.now - before);
        left.push_back(pair.leaving(pair.a));
        // The receiver still lacks the TLP. Another Nak for it does not cause another replay.
        if (round > 0) {
            EXPECT_EQ(pair.a.give(pair.now, nak(4089)), control);
        }
        EXPECT_EQ(pair.leaving(pair.a), Names());
    }
    EXPECT_EQ(left[0], (Names{"TLP 4090", "TLP 4091", "TLP 4092", "TLP 4093"}));
    for (std::size_t round = 1; round < 8; ++round)
        EXPECT_EQ(left[round], Names{"TLP 4090"}) << round;
    for (std::size_t round = 0; round < 8; ++round) {
        const Duration retrain = round % 4 == 3 ? config.retrain_time : Duration();
        EXPECT_EQ(waits[round], config.replay_after * (1 << round) + retrain) << round;
    }
    const Unanswered lost = pair.a.link.unanswered();
    EXPECT_EQ(lost.times, 8U);
    EXPECT_EQ(lost.since, Instant(config.replay_after));
    EXPECT_EQ(lost.bytes, (TlpHead{0, FlowType::posted, 8}.frame_size()));

    EXPECT_EQ(pair.a.give(pair.now, ack(4090)), control);
    EXPECT_EQ(pair.a.link.unanswered().since, never);
    // Each acknowledged TLP permits one more TLP than before. New TLPs come after the rest of the
    // replay.
    pair.submit(4);
    EXPECT_EQ(pair.leaving(pair.a), (Names{"TLP 4091", "TLP 4092"}));
    EXPECT_EQ(pair.a.link.next_deadline(), pair.now + config.replay_after);
    EXPECT_EQ(pair.a.give(pair.now, ack(4092)), control);
    EXPECT_EQ(pair.leaving(pair.a), (Names{"TLP 4093", "TLP 4094", "TLP 4095", "TLP 0"}));
}

// If more TLPs follow, the replay is held. With a single TLP the replay is finished, and a Nak
// could begin another.
TEST(PcieTransmit, BacksOffFromTheNaksOfALoneTlp) {
    Config config = test_config();
    config.backs_off = true;
    Pair pair(config);
    pair.submit(1);
    pair.frames(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, nak(4089)), control);
    EXPECT_EQ(pair.leaving(pair.a), Names{"TLP 4090"});
    pair.wait();
    EXPECT_EQ(pair.leaving(pair.a), Names{"TLP 4090"});
    const Instant due = pair.a.link.next_deadline();
    for (int i = 0; i < 10; ++i) {
        pair.pass(Duration::microseconds(1));
        EXPECT_EQ(pair.a.give(pair.now, nak(4089)), control);
        EXPECT_EQ(pair.leaving(pair.a), Names());
    }
    EXPECT_EQ(pair.a.link.next_deadline(), due);
    EXPECT_EQ(pair.a.link.stats().replays, 2U);
}

// PCIE-21, if the round trip is not known beforehand.
TEST(PcieTransmit, TheTimerFallsWithTheMeasuredLoopIfItMay) {
    Config config = test_config();
    config.replay_after = Duration::milliseconds(20);
    config.replay_floor = Duration::milliseconds(2);
    Pair pair(config);
    pair.submit(1);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.link.next_deadline(), pair.now + Duration::milliseconds(20));
    pair.pass(Duration::milliseconds(1));
    EXPECT_EQ(pair.a.give(pair.now, ack(4090)), control);
    pair.submit(1);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.link.next_deadline(), pair.now + Duration::milliseconds(3));
}

// PCIE-22
TEST(PcieTransmit, RetrainsBeforeTheFourthReplayAndKeepsBufferAndNumbers) {
    Pair pair;
    pair.submit(1);
    EXPECT_EQ(pair.leaving(pair.a), Names{"TLP 4090"});
    for (int replay = 1; replay <= 3; ++replay) {
        pair.wait();
        EXPECT_EQ(pair.leaving(pair.a), Names{"TLP 4090"}) << replay;
        EXPECT_EQ(pair.a.link.stats().retrains, 0U);
    }
    pair.wait();
    EXPECT_EQ(pair.a.link.stats().retrains, 1U);
    EXPECT_TRUE(pair.a.link.transmitter().retraining());
    pair.submit(1);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    EXPECT_EQ(pair.a.link.next_deadline(), pair.now + test_config().retrain_time);
    pair.wait();
    EXPECT_EQ(pair.leaving(pair.a), (Names{"TLP 4090", "TLP 4091"}));
    EXPECT_EQ(pair.a.link.stats().timeouts, 4U);
    EXPECT_EQ(pair.a.link.stats().resets, 1U);
}

// PCIE-22: progress resets the count, so replays with progress between them never cause retraining.
TEST(PcieTransmit, ProgressBetweenReplaysKeepsTheLinkFromRetraining) {
    Pair pair;
    for (int i = 0; i < 20; ++i) {
        pair.submit(1);
        pair.leaving(pair.a);
        pair.wait();
        pair.settle();
        pair.wait();  // for the Ack
        pair.settle();
    }
    EXPECT_EQ(pair.a.link.stats().timeouts, 20U);
    EXPECT_EQ(pair.a.link.stats().retrains, 0U);
    pair.expect_all();
}

// PCIE-23
TEST(PcieTransmit, FreezesTheReplayTimerWhileRetraining) {
    Pair pair;
    pair.submit(1);
    pair.leaving(pair.a);
    pair.pass(Duration::microseconds(4));
    pair.a.link.retrain(pair.now);
    const Instant retrained = pair.now + test_config().retrain_time;
    EXPECT_EQ(pair.a.link.next_deadline(), retrained);
    pair.pass_to(retrained);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    EXPECT_EQ(pair.a.link.next_deadline(), retrained + Duration::microseconds(6));
    EXPECT_EQ(pair.a.link.stats().timeouts, 0U);
}

// PCIE-21, PCIE-23: the frozen timer was that of the TLPs before the replay, so it is not
// continued.
TEST(PcieTransmit, ANakWhileRetrainingHoldsTheTimerUntilItsReplayLeaves) {
    Pair pair;
    pair.submit(1);
    pair.leaving(pair.a);
    pair.pass(Duration::microseconds(4));
    pair.a.link.retrain(pair.now);
    EXPECT_EQ(pair.a.give(pair.now, nak(4089)), control);
    pair.pass(test_config().retrain_time);
    EXPECT_EQ(pair.a.link.next_deadline(), never);
    EXPECT_EQ(pair.leaving(pair.a), Names{"TLP 4090"});
    EXPECT_EQ(pair.a.link.next_deadline(), pair.now + test_config().replay_after);
}

// PCIE-26
TEST(PcieTransmit, NoNewTlpLeavesBetweenANakAndTheEndOfItsReplay) {
    Pair pair;
    pair.submit(3);
    pair.leaving(pair.a);
    pair.submit(2);
    EXPECT_EQ(pair.a.give(pair.now, nak(4090)), control);
    EXPECT_EQ(pair.leaving(pair.a), (Names{"TLP 4091", "TLP 4092", "TLP 4093", "TLP 4094"}));
    EXPECT_EQ(pair.a.link.stats().resent, 2U);
}

// PCIE-27, PCIE-34
TEST(PcieTransmit, AnAckDuringAReplayMovesItsPointerAndResendsNothingBelow) {
    Pair pair;
    pair.submit(5);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, nak(4089)), control);
    EXPECT_EQ(pair.a.poll(pair.now)->name(), "TLP 4090");
    EXPECT_EQ(pair.a.give(pair.now, ack(4092)), control);
    EXPECT_EQ(pair.leaving(pair.a), (Names{"TLP 4093", "TLP 4094"}));
    EXPECT_EQ(pair.a.link.stats().replays, 1U);
}

// PCIE-34: an Ack of all TLPs ends the replay, and the timer is free for the next TLP.
TEST(PcieTransmit, AnAckOfEverythingEndsAReplay) {
    Pair pair;
    pair.submit(3);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, nak(4089)), control);
    EXPECT_EQ(pair.a.give(pair.now, ack(4092)), control);
    EXPECT_FALSE(pair.a.link.transmitter().replaying());
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    EXPECT_EQ(pair.a.link.next_deadline(), never);
    pair.submit(1);
    EXPECT_EQ(pair.leaving(pair.a), Names{"TLP 4093"});
    EXPECT_EQ(pair.a.link.next_deadline(), pair.now + test_config().replay_after);
}

// PCIE-35
TEST(PcieTransmit, ANakDuringAReplayIsOneMoreReplayAfterIt) {
    Pair pair;
    pair.submit(3);
    pair.leaving(pair.a);
    pair.a.give(pair.now, nak(4089));
    pair.a.poll(pair.now);
    pair.a.give(pair.now, nak(4089));
    pair.a.give(pair.now, nak(4089));
    EXPECT_EQ(pair.leaving(pair.a),
              (Names{"TLP 4091", "TLP 4092", "TLP 4090", "TLP 4091", "TLP 4092"}));
    EXPECT_EQ(pair.a.link.stats().replays, 2U);
}

// PCIE-35
TEST(PcieTransmit, ProgressDuringAReplayCancelsARememberedNak) {
    Pair pair;
    pair.submit(3);
    pair.leaving(pair.a);
    pair.a.give(pair.now, nak(4089));
    pair.a.poll(pair.now);
    pair.a.give(pair.now, nak(4089));
    pair.a.give(pair.now, ack(4090));
    EXPECT_EQ(pair.leaving(pair.a), (Names{"TLP 4091", "TLP 4092"}));
    EXPECT_EQ(pair.a.link.stats().replays, 1U);
}

// PCIE-21: the timer is held until the first TLP of a replay has left.
TEST(PcieTransmit, TheTimerOfAReplayRunsFromItsFirstTlp) {
    Pair pair;
    pair.submit(3);
    pair.leaving(pair.a);
    pair.a.give(pair.now, nak(4090));
    EXPECT_EQ(pair.a.link.next_deadline(), never);
    pair.pass(Duration::microseconds(500));
    pair.a.poll(pair.now);
    EXPECT_EQ(pair.a.link.next_deadline(), pair.now + test_config().replay_after);
}

TEST(PcieTransmit, TheTimerOfAReplayRunsFromTheLastSymbolOfItsFirstTlp) {
    Config config = test_config();
    config.byte_time = Duration::nanoseconds(4);
    Pair pair(config);
    pair.submit(2);
    pair.leaving(pair.a);
    pair.a.give(pair.now, nak(4089));
    pair.a.poll(pair.now);
    EXPECT_EQ(pair.a.link.next_deadline(),
              pair.now + config.replay_after + Duration::nanoseconds(144));
}

TEST(PcieTransmit, ATimeoutDuringALongReplayIsOneMoreReplayAfterIt) {
    Pair pair;
    pair.submit(3);
    pair.leaving(pair.a);
    pair.a.give(pair.now, nak(4089));
    pair.a.poll(pair.now);
    pair.wait();
    EXPECT_EQ(pair.leaving(pair.a),
              (Names{"TLP 4091", "TLP 4092", "TLP 4090", "TLP 4091", "TLP 4092"}));
    EXPECT_EQ(pair.a.link.stats().timeouts, 1U);
}

TEST(PcieTransmit, LentMessagesAreReadAgainForAReplay) {
    Config config = test_config();
    config.payload_lent = true;
    Pair pair(config);
    const auto lent = message(20);
    ASSERT_EQ(pair.a.link.submit(lent), SubmitStatus::accepted);
    pair.leaving(pair.a);
    pair.wait();
    pair.settle();
    ASSERT_EQ(pair.b.got.size(), 1U);
    EXPECT_EQ(pair.b.got[0], lent);
}

TEST(PcieTransmit, RefusesWhatIsTooLongAndWhatItHasNoRoomFor) {
    Config config = test_config();
    config.replay_slots = 2;
    Pair pair(config);
    EXPECT_EQ(pair.a.link.submit(message(65)), SubmitStatus::too_long);
    pair.submit(2);
    EXPECT_FALSE(pair.a.link.has_room());
    EXPECT_EQ(pair.a.link.submit(message(1)), SubmitStatus::no_room);
    pair.settle();
    pair.wait();
    pair.settle();
    EXPECT_TRUE(pair.a.link.has_room());
    pair.expect_all();
}

// PCIE-29: a TLP uses credit once, and not again in a replay.
TEST(PcieTransmit, AReplayTakesNoCredit) {
    Config config = test_config();
    config.credits[0] = {3, 12};
    Pair pair(config);
    pair.submit(4, 64);
    EXPECT_EQ(pair.leaving(pair.a).size(), 3U);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(pair.a.give(pair.now, nak(4089)), control);
        EXPECT_EQ(pair.leaving(pair.a), (Names{"TLP 4090", "TLP 4091", "TLP 4092"}));
    }
    pair.wait();
    for (int i = 0; i < 4; ++i) {
        pair.settle();
        pair.wait();
    }
    pair.settle();
    pair.expect_all();
}

}  // namespace
}  // namespace wireproof::pcie
