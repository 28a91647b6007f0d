// The receiving half of a link: when it sends an Ack, a Nak or nothing (docs/rules/pcie.md).
#include <gtest/gtest.h>

#include "wireproof/proto/pcie/pair_test_kit.hpp"

namespace wireproof::pcie {
namespace {

using enum RxVerdict;

void damage(Frame& frame) {
    frame.bytes[10] ^= std::byte{1};
}

// PCIE-13
TEST(PcieReceive, DeliversEachGoodTlpInOrderOnce) {
    Pair pair;
    pair.submit(10, 33);
    for (const Frame& frame : pair.frames(pair.a))
        EXPECT_EQ(pair.b.give(pair.now, frame), accepted);
    pair.expect_all();
    EXPECT_EQ(pair.b.link.receiver().next_rcv_seq(), 4U);
}

// PCIE-14
TEST(PcieReceive, DiscardsADuplicateAndAcknowledgesItOnce) {
    Pair pair;
    pair.submit(3);
    const auto sent = pair.frames(pair.a);
    for (const Frame& frame : sent) pair.b.give(pair.now, frame);
    for (const Frame& frame : sent) EXPECT_EQ(pair.b.give(pair.now, frame), duplicate);
    EXPECT_EQ(pair.leaving(pair.b), Names{"Ack 4092"});
    pair.expect_all();
}

// PCIE-15
TEST(PcieReceive, DiscardsATlpAheadAndNaksTheLastGoodOne) {
    Pair pair;
    pair.submit(3);
    const auto sent = pair.frames(pair.a);
    pair.b.give(pair.now, sent[0]);
    EXPECT_NE(pair.b.link.next_deadline(), never);
    EXPECT_EQ(pair.b.give(pair.now, sent[2]), out_of_sequence);
    EXPECT_EQ(pair.b.link.next_deadline(), never);  // the Nak replaces the Ack
    EXPECT_EQ(pair.leaving(pair.b), Names{"Nak 4090"});
    EXPECT_EQ(pair.b.got.size(), 1U);
}

// PCIE-16: the number in a damaged TLP is not trusted.
TEST(PcieReceive, NaksADamagedTlpWhateverNumberItSeemsToHave) {
    for (std::size_t bit = 8; bit < 24; ++bit) {
        Pair pair;
        pair.submit(2);
        auto sent = pair.frames(pair.a);
        pair.b.give(pair.now, sent[0]);
        sent[1].bytes[bit / 8] ^= std::byte(1U << (bit % 8));
        EXPECT_EQ(pair.b.give(pair.now, sent[1]), corrupt);
        EXPECT_EQ(pair.leaving(pair.b), Names{"Nak 4090"});
        EXPECT_EQ(pair.b.link.stats().bad_tlps, 1U);
    }
}

// PCIE-16: a frame that the cable marks as damaged is handled like one with a wrong LCRC.
TEST(PcieReceive, BelievesACableThatSaysATlpIsDamaged) {
    Pair pair;
    pair.submit(1);
    const auto sent = pair.frames(pair.a);
    EXPECT_EQ(pair.b.give(pair.now, sent[0], Integrity::damaged), corrupt);
    EXPECT_EQ(pair.leaving(pair.b), Names{"Nak 4089"});
    EXPECT_EQ(pair.b.give(pair.now, sent[0], Integrity::intact), accepted);
}

// PCIE-17, PCIE-18
TEST(PcieReceive, SendsOneNakForOneGapHoweverManyTlpsFollowIt) {
    Pair pair;
    pair.submit(6);
    auto sent = pair.frames(pair.a);
    for (std::size_t i = 1; i < 6; ++i) pair.b.give(pair.now, sent[i]);
    EXPECT_EQ(pair.leaving(pair.b), Names{"Nak 4089"});
    EXPECT_TRUE(pair.b.link.receiver().nak_scheduled());
    damage(sent[5]);
    EXPECT_EQ(pair.b.give(pair.now, sent[5]), corrupt);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    EXPECT_EQ(pair.b.give(pair.now, sent[0]), accepted);
    EXPECT_FALSE(pair.b.link.receiver().nak_scheduled());
    EXPECT_EQ(pair.b.give(pair.now, sent[2]), out_of_sequence);
    EXPECT_EQ(pair.leaving(pair.b), Names{"Nak 4090"});
    EXPECT_EQ(pair.b.link.stats().naks, 2U);
}

// PCIE-18: kind and number are decided when it leaves.
TEST(PcieReceive, ANakThatIsOvertakenByTheTlpItWantsLeavesAsAnAck) {
    Pair pair;
    pair.submit(2);
    const auto sent = pair.frames(pair.a);
    pair.b.give(pair.now, sent[1]);
    pair.b.give(pair.now, sent[0]);
    EXPECT_EQ(pair.leaving(pair.b), Names{"Ack 4090"});
    EXPECT_EQ(pair.b.link.stats().naks, 0U);
}

// PCIE-19
TEST(PcieReceive, ANullifiedTlpLeavesNoTraceAndItsNumberIsUsedAgain) {
    Pair pair;
    pair.a.link.nullify_next();
    pair.submit(2);
    const auto sent = pair.frames(pair.a);
    ASSERT_EQ(sent.size(), 3U);
    EXPECT_EQ(sent[0].name(), "nullified TLP 4090");
    EXPECT_EQ(sent[1].name(), "TLP 4090");
    EXPECT_EQ(pair.b.give(pair.now, sent[0]), control);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    EXPECT_EQ(pair.b.link.next_deadline(), never);
    EXPECT_EQ(pair.b.give(pair.now, sent[1]), accepted);
    EXPECT_EQ(pair.b.give(pair.now, sent[2]), accepted);
    EXPECT_EQ(pair.b.link.stats().nullified, 1U);
    pair.expect_all();
}

// PCIE-19: neither EDB alone nor an inverted LCRC alone nullifies a TLP.
TEST(PcieReceive, AHalfNullifiedTlpIsABadOne) {
    Pair pair;
    pair.submit(2);
    auto sent = pair.frames(pair.a);
    sent[0].bytes.back() = static_cast<std::byte>(Symbol::edb);
    EXPECT_EQ(pair.b.give(pair.now, sent[0]), corrupt);
    for (std::size_t i = sent[1].bytes.size() - 5; i + 1 < sent[1].bytes.size(); ++i) {
        sent[1].bytes[i] = ~sent[1].bytes[i];
    }
    EXPECT_EQ(pair.b.give(pair.now, sent[1]), corrupt);
}

// PCIE-20
TEST(PcieReceive, AnAckLeavesWithinTheLatencyLimitAndCoversAllUntilThen) {
    Pair pair;
    pair.submit(3);
    const auto sent = pair.frames(pair.a);
    pair.b.give(pair.now, sent[0]);
    const Instant due = pair.now + test_config().ack_latency;
    pair.pass(Duration::nanoseconds(600));
    pair.b.give(pair.now, sent[1]);
    EXPECT_EQ(pair.b.link.next_deadline(), due);  // counted from the first unacknowledged TLP
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    pair.pass_to(due);
    EXPECT_EQ(pair.leaving(pair.b), Names{"Ack 4091"});
    EXPECT_EQ(pair.b.link.next_deadline(), never);
    pair.b.give(pair.now, sent[2]);
    EXPECT_EQ(pair.b.link.next_deadline(), pair.now + test_config().ack_latency);
}

TEST(PcieReceive, AnAckLeavesAtOnceAfterSoManyTlpsIfAskedTo) {
    Config config = test_config();
    config.ack_after = 3;
    Pair pair(config);
    pair.submit(7);
    Names acks;
    for (const Frame& frame : pair.frames(pair.a)) {
        pair.b.give(pair.now, frame);
        for (const auto& name : pair.leaving(pair.b)) acks.push_back(name);
    }
    EXPECT_EQ(acks, (Names{"Ack 4092", "Ack 4095"}));
}

// PCIE-25
TEST(PcieReceive, ADamagedReplayedHeadDrawsNoSecondNakAndWaitsForTheTimer) {
    Pair pair;
    pair.submit(3);
    auto sent = pair.frames(pair.a);
    pair.b.give(pair.now, sent[1]);
    pair.a.give(pair.now, pair.frames(pair.b).at(0));
    auto replay = pair.frames(pair.a);
    ASSERT_EQ(replay.size(), 3U);
    damage(replay[0]);
    for (const Frame& frame : replay) pair.b.give(pair.now, frame);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    pair.wait();
    EXPECT_EQ(pair.a.link.stats().timeouts, 1U);
    pair.settle();
    pair.expect_all();
    EXPECT_EQ(pair.a.link.stats().resent, 6U);
}

// PCIE-25: with this option, the receiver sends a second Nak after the time in which the resent TLP
// should have arrived.
TEST(PcieReceive, WithRenakADamagedReplayedHeadDrawsAnother) {
    Config config = test_config();
    config.renak_after = Duration::microseconds(2);
    Pair pair(config);
    pair.submit(3);
    auto sent = pair.frames(pair.a);
    pair.b.give(pair.now, sent[1]);
    EXPECT_EQ(pair.leaving(pair.b), Names{"Nak 4089"});
    pair.pass(Duration::microseconds(2));
    pair.b.give(pair.now, sent[2]);
    EXPECT_EQ(pair.leaving(pair.b), Names{});  // it must be later than renak_after
    pair.pass(Duration::nanoseconds(1));
    damage(sent[0]);
    pair.b.give(pair.now, sent[0]);
    EXPECT_EQ(pair.leaving(pair.b), Names{"Nak 4089"});
    EXPECT_EQ(pair.b.link.stats().naks, 2U);
}

// PCIE-33
TEST(PcieReceive, DuplicatesAreAcknowledgedEvenWhileANakIsScheduled) {
    Pair pair;
    pair.submit(2);
    auto sent = pair.frames(pair.a);
    pair.b.give(pair.now, sent[0]);
    pair.b.give(pair.now, sent[1]);
    pair.pass(test_config().ack_latency);
    EXPECT_EQ(pair.leaving(pair.b), Names{"Ack 4091"});  // is lost
    Frame bad = sent[0];
    damage(bad);
    EXPECT_EQ(pair.b.give(pair.now, bad), corrupt);
    EXPECT_EQ(pair.leaving(pair.b), Names{"Nak 4091"});  // is lost
    EXPECT_EQ(pair.b.give(pair.now, sent[1]), duplicate);
    EXPECT_TRUE(pair.b.link.receiver().nak_scheduled());
    const auto answer = pair.frames(pair.b);
    ASSERT_EQ(answer.size(), 1U);
    EXPECT_EQ(answer[0].name(), "Ack 4091");
    pair.a.give(pair.now, answer[0]);
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 0U);
}

// PCIE-38
TEST(PcieReceive, DistinguishesDuplicatesFromTlpsAheadAtTheBoundaries) {
    const auto verdict_at = [](std::uint32_t steps) {
        Config config = test_config();
        config.first_number = steps % 4096;
        Pair sender(config);
        sender.submit(1);
        const auto frame = sender.frames(sender.a);
        Config at_zero = test_config();
        at_zero.first_number = 0;
        Pair receiver(at_zero);
        return receiver.b.give(receiver.now, frame.at(0));
    };
    EXPECT_EQ(verdict_at(4096 - 1), duplicate);
    EXPECT_EQ(verdict_at(4096 - 2047), duplicate);
    EXPECT_EQ(verdict_at(4096 - 2048), duplicate);
    EXPECT_EQ(verdict_at(1), out_of_sequence);
    EXPECT_EQ(verdict_at(2046), out_of_sequence);
    EXPECT_EQ(verdict_at(2047), out_of_sequence);
    EXPECT_EQ(verdict_at(0), accepted);
}

TEST(PcieReceive, AnErrorFromBeforeTheLinkIsCountedAndNotDelivered) {
    Pair pair;
    pair.submit(1, 8);
    auto sent = pair.frames(pair.a);
    // Data and LCRC agree, but not the ECRC: the TLP was damaged in a switch.
    Frame& frame = sent[0];
    frame.bytes[TlpHead::size] ^= std::byte{1};
    const auto lcrc = TlpPieces::of(RxFrame{.bytes = frame.bytes})->computed_lcrc();
    store_le<std::uint32_t>(Bytes(frame.bytes).last<5>().first<4>(), lcrc);
    EXPECT_EQ(pair.b.give(pair.now, frame), corrupt);
    EXPECT_EQ(pair.b.link.stats().ecrc_errors, 1U);
    EXPECT_TRUE(pair.b.got.empty());
    EXPECT_EQ(pair.b.link.receiver().next_rcv_seq(), 4091U);
}

TEST(PcieReceive, WhatIsNoFrameOfALinkIsMalformed) {
    Pair pair;
    Random random(7);
    for (int i = 0; i < 20'000; ++i) {
        Frame frame;
        frame.bytes.resize(random.below(60));
        for (auto& byte : frame.bytes) byte = static_cast<std::byte>(random.next() & 0xFF);
        if (!frame.bytes.empty() && random.chance(0.7)) {
            frame.bytes[0] = static_cast<std::byte>(random.chance(0.5) ? Symbol::stp : Symbol::sdp);
        }
        const RxVerdict verdict = pair.b.give(pair.now, frame);
        EXPECT_TRUE(verdict == malformed || verdict == corrupt) << i;
    }
    EXPECT_TRUE(pair.b.got.empty());
    EXPECT_EQ(pair.b.link.stats().naks, 0U);
    EXPECT_EQ(pair.leaving(pair.b).size(), 1U);  // one Nak for all of them
}

TEST(PcieReceive, TheFingerprintSeesWhetherAMessageWaitsForTheUser) {
    Pair pair;
    pair.submit(1);
    const Frame frame = pair.frames(pair.a).at(0);
    const auto fingerprint = [&pair] {
        Fingerprint sink;
        pair.b.link.fingerprint(pair.now, sink);
        return sink.value();
    };
    pair.b.link.on_frame(pair.now, {.bytes = frame.bytes, .integrity = Integrity::check});
    const auto waiting = fingerprint();
    pair.b.draw();
    EXPECT_NE(fingerprint(), waiting);
}

}  // namespace
}  // namespace wireproof::pcie
