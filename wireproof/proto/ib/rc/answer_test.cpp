// Answers that an RC requester ignores, answers that need care, and the number of packets that it
// has outstanding.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using enum RxVerdict;

// RC-27
TEST(RcAnswer, ReservedSyndromesCompleteAndRetryNothing) {
    RcPair pair;
    pair.send(10);
    pair.a_leaving();
    // A reserved kind, NAK codes that do not exist, and one of another transport.
    for (const int byte : {0x40, 0x5F, 0x65, 0x7F, 0x64}) {
        const Syndrome syndrome{static_cast<std::uint8_t>(byte)};
        EXPECT_EQ(pair.a.give(pair.now, answer(0xFFFFFE, syndrome)), stale) << byte;
    }
    EXPECT_TRUE(pair.a_leaving().empty());
    EXPECT_TRUE(pair.a.sent().empty());
    EXPECT_EQ(pair.a.state(), QueuePairState::rts);
    EXPECT_EQ(pair.a.counters().stale, 5U);
}

TEST(RcAnswer, DataWithAReservedSyndromeIsStale) {
    RcPair pair;
    pair.read(10);
    pair.give(pair.a_leaving());
    PacketBytes response = pair.b.leaving(pair.now).at(0);
    response[Bth::size] = std::byte{0x5F};
    EXPECT_EQ(pair.a.give(pair.now, response), stale);
    EXPECT_TRUE(pair.a.sent().empty());
}

TEST(RcAnswer, DataForASendIsStale) {
    RcPair pair;
    pair.read(10);
    pair.give(pair.a_leaving());
    const auto response = pair.b.leaving(pair.now);
    pair.a.give(pair.now, response.at(0));
    pair.send(10);
    pair.a_leaving();
    const auto of_send = with_bth(response[0], [](Bth& bth) { bth.psn = Psn(0xFFFFFF); });
    EXPECT_EQ(pair.a.give(pair.now, of_send), stale);
    EXPECT_EQ(ids(pair.a.sent()), std::vector<std::uint64_t>{1});
    EXPECT_EQ(pair.a.state(), QueuePairState::rts);
}

TEST(RcAnswer, AResponseWithAWrongPadIsABadResponse) {
    RcPair pair;
    pair.read(10);
    pair.give(pair.a_leaving());
    PacketBytes response = pair.b.leaving(pair.now).at(0);
    response = with_bth(response, [](Bth& bth) { bth.pad = 1; });
    response.pop_back();  // still ten bytes
    EXPECT_EQ(pair.a.give(pair.now, response), refused);
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::bad_response});
}

// RC-8, RC-7: only the first RNR NAK counts while the requester waits.
TEST(RcAnswer, ARepeatedRnrNakCostsNoRetryAndNoTime) {
    RcPair pair(QueuePairChange{.rnr_retry = std::uint8_t{1}});
    pair.send(10);
    pair.a_leaving();
    pair.a.give(pair.now, rnr_nak(0xFFFFFE, 18));
    const Instant deadline = pair.a.port.next_deadline();
    pair.pass(Duration::nanoseconds(1000));
    for (int i = 0; i < 5; ++i) pair.a.give(pair.now, rnr_nak(0xFFFFFE, 18));
    EXPECT_EQ(pair.a.state(), QueuePairState::rts);
    EXPECT_EQ(pair.a.port.next_deadline(), deadline);
    EXPECT_EQ(pair.a.counters().rnr_waits, 1U);
}

// A loss after the wait is a new cause, different from a loss before it.
TEST(RcAnswer, AfterAnRnrNakASequenceNakStartsARetryAgain) {
    RcPair pair;
    pair.send(600);
    pair.a_leaving();
    pair.a.give(pair.now, nak(0xFFFFFE));
    EXPECT_EQ(pair.a_leaving().size(), 3U);
    pair.a.give(pair.now, rnr_nak(0xFFFFFE));
    pair.pass(rnr_wait(1));
    EXPECT_EQ(pair.a_leaving().size(), 3U);
    pair.a.give(pair.now, nak(0xFFFFFE));
    EXPECT_EQ(pair.a_leaving().size(), 3U);
    EXPECT_EQ(pair.a.counters().went_back, 2U);
}

// RC-10: a timeout also ends the earlier cause.
TEST(RcAnswer, AfterATimeoutASequenceNakStartsARetryAgain) {
    RcPair pair;
    pair.send(600);
    pair.a_leaving();
    pair.a.give(pair.now, nak(0xFFFFFE));
    EXPECT_EQ(pair.a_leaving().size(), 3U);
    pair.pass(rto);
    EXPECT_EQ(pair.a_leaving().size(), 3U);
    pair.a.give(pair.now, nak(0xFFFFFE));
    EXPECT_EQ(pair.a_leaving().size(), 3U);
}

TEST(RcAnswer, ProgressEndsTheWaitOfAnRnrNak) {
    RcPair pair;
    pair.send(10);
    pair.send(10);
    pair.a_leaving();
    pair.a.give(pair.now, rnr_nak(0xFFFFFE, 18));
    EXPECT_TRUE(pair.a_leaving().empty());
    pair.a.give(pair.now, ack(0xFFFFFE));
    EXPECT_EQ(names(pair.a_leaving()), Names{"SEND Only ffffff"});
}

std::vector<bool> asks(const std::vector<PacketBytes>& packets) {
    std::vector<bool> asks;
    for (const auto& packet : packets) asks.push_back(decoded(packet).bth().ack_request);
    return asks;
}

TEST(RcAnswer, GoingBackCountsAnewUntilAnAckIsAskedFor) {
    PairSettings settings = rc_settings();
    settings.queue_pair.ack_every = 3;
    settings.queue_pair.in_flight_max = 5;
    RcPair pair(settings);
    pair.post(Request::write, 256 * 10);
    const std::vector<bool> pattern = {false, false, true, false, false};
    EXPECT_EQ(asks(pair.a_leaving()), pattern);
    pair.a.give(pair.now, nak(0xFFFFFE));
    EXPECT_EQ(asks(pair.a_leaving()), pattern);
}

TEST(RcAnswer, ReadsAndAtomicsAskForAnAnswer) {
    RcPair pair;
    pair.read(10);
    pair.atomic(Request::fetch_add, 1);
    EXPECT_EQ(asks(pair.a_leaving()), (std::vector<bool>{true, true}));
}

// RC-1: a request that has left may have been executed or not. The request without memory was
// certainly not completed.
TEST(RcAnswer, WhereMemoryGoesAwayWhatHasLeftIsFlushed) {
    RcPair pair;
    pair.send(10);
    pair.send(600);
    pair.send(10);
    EXPECT_TRUE(pair.a.poll(pair.now));
    EXPECT_TRUE(pair.a.poll(pair.now));
    pair.a.port.memory().end_region(pair.a.key);
    EXPECT_TRUE(pair.a_leaving().empty());
    EXPECT_EQ(statuses(pair.a.sent()),
              (Statuses{CompletionStatus::flushed, CompletionStatus::local_protection_error,
                        CompletionStatus::flushed}));
}

// RC-9: the timer belongs to the oldest packet.
TEST(RcAnswer, WhatLeavesLaterDoesNotPutTheTimeoutOff) {
    RcPair pair;
    pair.send(10);
    pair.a_leaving();
    const Instant deadline = pair.now + rto;
    pair.pass(Duration::nanoseconds(1000));
    pair.send(10);
    pair.a_leaving();
    EXPECT_EQ(pair.a.port.next_deadline(), deadline);
}

TEST(RcAnswer, AnErrorCompletesThoughItsRequestIsNotSignalled) {
    RcPair pair;
    for (const std::uint64_t id : {1U, 2U}) {
        EXPECT_EQ(pair.a.post({.id = id, .signalled = false}, pair.a.piece(0, 10)),
                  PostStatus::accepted);
    }
    pair.a_leaving();
    pair.a.give(pair.now, nak(0xFFFFFF, NakCode::remote_access));
    const auto completions = pair.a.sent();
    EXPECT_EQ(ids(completions), std::vector<std::uint64_t>{2});
    EXPECT_EQ(statuses(completions), Statuses{CompletionStatus::remote_access_error});
}

/// A circle of sixteen PSNs, of which eight may be outstanding.
PairSettings small_circle() {
    PairSettings settings = rc_settings();
    settings.queue_pair.psn_modulus = 16;
    settings.queue_pair.uc_behind_max = 8;
    settings.queue_pair.in_flight_max = 8;
    settings.queue_pair.ack_every = 8;
    settings.first = {Psn(14), Psn(12)};
    return settings;
}

TEST(RcAnswer, HalfTheCircleIsOutstandingAtMost) {
    {
        RcPair pair(small_circle());
        pair.read(5 * 256);
        pair.read(3 * 256);
        EXPECT_EQ(pair.a_leaving().size(), 2U);
    }
    {
        RcPair pair(small_circle());
        pair.read(5 * 256);
        pair.read(4 * 256);
        EXPECT_EQ(pair.a_leaving().size(), 1U);
    }
    RcPair pair(small_circle());
    pair.read(6 * 256, 0x800);  // not what the Write changes
    pair.post(Request::write, 4 * 256);
    EXPECT_EQ(names(pair.a_leaving()),
              (Names{"READ Request 00000e", "WRITE First 000004", "WRITE Middle 000005"}));
}

TEST(RcAnswer, ResponsesToReadsAreNotAmongThePacketsInFlight) {
    PairSettings settings = rc_settings();
    settings.queue_pair.in_flight_max = 2;
    settings.queue_pair.ack_every = 2;
    RcPair pair(settings);
    pair.read(4 * 256, 0x800);  // not what the Write changes
    pair.post(Request::write, 5 * 256);
    EXPECT_EQ(pair.a_leaving().size(), 3U);
    // After the responses have arrived, the limit is 2 again.
    RcPair answered(settings);
    answered.read(4 * 256);
    answered.settle();
    answered.post(Request::write, 5 * 256);
    EXPECT_EQ(answered.a_leaving().size(), 2U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
