// Messages of RC that ask for no acknowledgement: which they are, and when the responder
// acknowledges them all the same (RC-37).
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

constexpr Duration unasked_delay = Duration::microseconds(20);
constexpr Duration unasked_moment = Duration::nanoseconds(1);

PairSettings unasked(std::uint8_t timeout = 14) {
    PairSettings settings = rc_settings({.timeout = timeout});
    settings.queue_pair.ack_delay = unasked_delay;
    settings.queue_pair.acks_unasked = true;
    settings.queue_pair.limits = {.sends = 64, .receives = 64, .pieces = 2};
    settings.peer_window = {.start = 40};
    return settings;
}

struct UnaskedPair : RcPair {
    explicit UnaskedPair(const PairSettings& settings) : RcPair(settings) {
        a.port.neighbours().set_acks_unasked(other_end, true);
        b.port.neighbours().set_acks_unasked(other_end, true);
    }

    /// A Write from `from` to `to`.
    void write(End& from, const End& to, bool signalled, std::size_t length = 8) {
        const WorkTerms terms{.id = ++posted,
                              .request = Request::write,
                              .signalled = signalled,
                              .remote_address = End::base + 0x4000,
                              .remote_key = to.key};
        ASSERT_EQ(from.post(terms, from.piece(0, length)), PostStatus::accepted);
    }
};

/// Of each packet, whether it asks for an acknowledgement.
std::string ack_requests(const std::vector<PacketBytes>& packets) {
    std::string ack_requests;
    for (const PacketBytes& packet : packets) {
        ack_requests += decoded(packet).bth().ack_request ? '1' : '0';
    }
    return ack_requests;
}

class RcUnasked : public testing::Test {
protected:
    /// Whether the packets of a Write of `a` ask.
    std::string asks_of(bool signalled, std::size_t length = 8) {
        pair.write(pair.a, pair.b, signalled, length);
        return ack_requests(pair.a_leaving());
    }
    /// `count` Writes of `a` arrive together, perhaps with an ACK. None asks.
    void writes_arrive(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) pair.write(pair.a, pair.b, false);
        for (const RxVerdict verdict : pair.give(pair.a_leaving())) {
            ASSERT_TRUE(verdict == RxVerdict::accepted || verdict == RxVerdict::control);
        }
    }
    /// The acknowledgements of `b` reach `a`. Returns their number.
    std::size_t acks_leave() {
        const auto packets = pair.b.leaving(pair.now);
        for (const PacketBytes& packet : packets) pair.a.give(pair.now, packet);
        return packets.size();
    }
    std::size_t unanswered() { return pair.a.port.queue_pair(pair.a.number)->sends.size(); }

    UnaskedPair pair{unasked()};
};

// RC-37
TEST_F(RcUnasked, AMessageAsksIfItGivesACompletion) {
    EXPECT_EQ(asks_of(false), "0");
    EXPECT_EQ(asks_of(true), "1");
    EXPECT_EQ(asks_of(false, 3 * 256), "000");
    EXPECT_EQ(asks_of(true, 3 * 256), "001");
}

// RC-37
TEST_F(RcUnasked, EachMessageAsksIfThePeerIsNotKnownToAcknowledgeIt) {
    pair.a.port.neighbours().set_acks_unasked(other_end, false);
    EXPECT_EQ(asks_of(false), "1");
}

TEST(RcUnaskedSettings, EachMessageAsksIfEachGivesACompletion) {
    PairSettings settings = unasked();
    settings.queue_pair.signal_all = true;
    UnaskedPair pair(settings);
    pair.write(pair.a, pair.b, false);
    EXPECT_EQ(ack_requests(pair.a_leaving()), "1");
}

// RC-37
TEST(RcUnaskedSettings, OneOfAckEveryPacketsInFlightAsks) {
    PairSettings settings = unasked();
    settings.queue_pair.ack_every = 4;
    UnaskedPair pair(settings);
    for (int i = 0; i < 9; ++i) pair.write(pair.a, pair.b, false);
    const auto packets = pair.a_leaving();
    EXPECT_EQ(ack_requests(packets), "000100010");
    // Packets that are answered do not count.
    pair.give(packets);
    pair.pass(unasked_delay * 4);
    pair.settle();
    for (int i = 0; i < 3; ++i) pair.write(pair.a, pair.b, false);
    EXPECT_EQ(ack_requests(pair.a_leaving()), "000");
}

// RC-37: the peer may have no process any more that acknowledges what does not ask.
TEST(RcUnaskedSettings, WhatIsSentAgainAsks) {
    UnaskedPair pair(unasked(4));
    pair.write(pair.a, pair.b, false);
    EXPECT_EQ(ack_requests(pair.a_leaving()), "0");
    pair.pass(rto);
    EXPECT_EQ(ack_requests(pair.a_leaving()), "1");
}

// RC-37, across the wrap of PSNs.
TEST_F(RcUnasked, OneAckLeavesWhenTheRequesterHasBeenSilentForTheDelay) {
    for (int i = 0; i < 3; ++i) {
        pair.pass(unasked_delay - unasked_moment);
        writes_arrive(1);
        EXPECT_EQ(acks_leave(), 0U);
    }
    EXPECT_EQ(pair.b.port.next_deadline(), pair.now + unasked_delay);
    pair.pass(unasked_delay - unasked_moment);
    EXPECT_EQ(acks_leave(), 0U);
    EXPECT_EQ(unanswered(), 3U);
    pair.pass(unasked_moment);
    EXPECT_EQ(pair.b.port.next_deadline(), never) << "the ACK waits for room, not for a deadline";
    EXPECT_EQ(acks_leave(), 1U);
    EXPECT_EQ(unanswered(), 0U);
    pair.pass(unasked_delay * 100);
    EXPECT_EQ(acks_leave(), 0U);
}

// RC-37
TEST_F(RcUnasked, SixteenMessagesDrawAnAckAtOnce) {
    for (int i = 0; i < 5; ++i) {
        writes_arrive(15);
        ASSERT_EQ(acks_leave(), 0U) << i;
        writes_arrive(1);
        ASSERT_EQ(acks_leave(), 1U) << i;
        EXPECT_EQ(unanswered(), 0U);
    }
}

// RC-37
TEST_F(RcUnasked, FromTheFirstMessageOnTheAckWaitsForFourDelaysAtMost) {
    const Instant first = pair.now;
    for (int i = 0; i < 5; ++i) {
        writes_arrive(1);
        EXPECT_EQ(acks_leave(), 0U);
        pair.pass(i < 4 ? unasked_delay - unasked_moment : first + unasked_delay * 4 - pair.now);
    }
    EXPECT_EQ(acks_leave(), 1U);
}

// RC-37
TEST_F(RcUnasked, AMessageThatAsksDrawsTheAckForAllAtOnce) {
    writes_arrive(5);
    EXPECT_EQ(acks_leave(), 0U);
    pair.write(pair.a, pair.b, true);
    pair.give(pair.a_leaving());
    writes_arrive(1);  // does not delay the ACK that was asked for
    EXPECT_EQ(acks_leave(), 1U);
    EXPECT_EQ(unanswered(), 0U);
    EXPECT_EQ(pair.a.sent().size(), 1U);
    writes_arrive(1);
    EXPECT_EQ(acks_leave(), 0U);
}

// RC-11: what does not ask shows nothing about how many messages the requester sends before it
// waits.
TEST_F(RcUnasked, AMessageThatAsksAfterManyThatDoNotDrawsAnAckAtOnce) {
    for (int i = 0; i < 20; ++i) {
        writes_arrive(8);
        pair.write(pair.a, pair.b, true);
        pair.give(pair.a_leaving());
        ASSERT_EQ(acks_leave(), 1U) << i;
        pair.write(pair.a, pair.b, true);
        pair.give(pair.a_leaving());
        ASSERT_EQ(acks_leave(), 1U) << i;
    }
}

// RC-11: the ACK for the message that asks waits for the program's answer, as it does after other
// messages.
TEST_F(RcUnasked, TheAckThatWasAskedForFollowsTheAnswer) {
    writes_arrive(1);
    pair.write(pair.b, pair.a, false);
    EXPECT_EQ(pair.b.leaving(pair.now).size(), 1U);
    pair.write(pair.a, pair.b, true);
    pair.give(pair.a_leaving());
    EXPECT_EQ(pair.b.leaving(pair.now).size(), 0U);
    pair.write(pair.b, pair.a, false);
    EXPECT_EQ(pair.b.leaving(pair.now).size(), 2U);
}

TEST_F(RcUnasked, WhatIsHeldLeavesWhenItIsReleased) {
    pair.b.port.release_acks(pair.b.number);
    EXPECT_EQ(acks_leave(), 0U);
    writes_arrive(1);
    pair.b.port.release_acks(pair.b.number);
    EXPECT_EQ(acks_leave(), 1U);
    EXPECT_EQ(unanswered(), 0U);
}

TEST(RcUnaskedSettings, OtherRespondersAcknowledgeOnlyWhatAsks) {
    PairSettings settings = unasked();
    settings.queue_pair.acks_unasked = false;
    UnaskedPair pair(settings);
    for (int i = 0; i < 10; ++i) pair.write(pair.a, pair.b, false);
    pair.give(pair.a_leaving());
    pair.pass(unasked_delay * 100);
    EXPECT_EQ(pair.b_says(), Names{});
}

TEST(RcUnaskedSettings, WithoutADelayEachAckLeavesAtOnce) {
    PairSettings settings = unasked();
    settings.queue_pair.ack_delay = {};
    UnaskedPair pair(settings);
    for (int i = 0; i < 3; ++i) {
        pair.write(pair.a, pair.b, false);
        pair.give(pair.a_leaving());
        EXPECT_EQ(pair.b_says().size(), 1U);
    }
}

// The answer of a program need not wait for the answers to other packets.
TEST_F(RcUnasked, WhileThePeerWaitsForAnAnswerPacketsThatDoNotAskAreNotUnderWay) {
    const auto under_way = [this] {
        return pair.a.port.packets_under_way(pair.now, pair.a.number);
    };
    const auto message_of_b = [this] {
        pair.write(pair.b, pair.a, false);
        for (const PacketBytes& packet : pair.b.leaving(pair.now)) pair.a.give(pair.now, packet);
    };
    message_of_b();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(asks_of(false), "0");
    EXPECT_EQ(under_way(), 3U);
    message_of_b();
    EXPECT_EQ(under_way(), 0U);
    pair.pass(unasked_delay);
    EXPECT_EQ(under_way(), 3U) << "the program has not answered in time";
    EXPECT_EQ(pair.a_leaving().size(), 1U) << "an ACK for b";
    EXPECT_EQ(asks_of(true), "1");
    message_of_b();
    EXPECT_EQ(under_way(), 4U);
    EXPECT_EQ(asks_of(false), "0");
    message_of_b();
    EXPECT_EQ(under_way(), 4U);
}

// Two programs that answer each other at longer intervals than the delay. An ACK that leaves alone
// would wake both ends.
TEST_F(RcUnasked, AfterALateAckForOneMessageTheNextOnesFollowTheAnswers) {
    const auto answer_of_b = [this] {
        pair.write(pair.b, pair.a, false);
        return acks_leave();  // with it
    };
    for (int i = 0; i < 2; ++i) {
        writes_arrive(1);
        EXPECT_EQ(answer_of_b(), 1U);
        pair.pass(unasked_delay);
        EXPECT_EQ(acks_leave(), 1U);
        for (std::uint32_t n = 0; n < AckPolicy::behind_requests; ++n) {
            writes_arrive(1);
            ASSERT_EQ(answer_of_b(), 2U) << n;
            pair.pass(unasked_delay * 10);
            ASSERT_EQ(acks_leave(), 0U) << n;
        }
    }
}

// RC-37: messages that ask can make the responder hold ACKs. An ACK that is owed for longer is not
// held again.
TEST_F(RcUnasked, AMessageThatAsksDoesNotDelayAnAckThatIsOwed) {
    for (int i = 0; i < 8; ++i) pair.write(pair.a, pair.b, true);
    pair.give(pair.a_leaving());
    EXPECT_EQ(acks_leave(), 1U);
    pair.write(pair.a, pair.b, true);
    pair.give(pair.a_leaving());
    EXPECT_EQ(acks_leave(), 0U) << "eight were outstanding, so this one is held";
    pair.pass(unasked_delay);
    EXPECT_EQ(acks_leave(), 1U);
    for (int i = 0; i < 32; ++i) pair.write(pair.a, pair.b, true);
    pair.give(pair.a_leaving());
    pair.settle();
    writes_arrive(1);
    pair.write(pair.a, pair.b, true);
    pair.give(pair.a_leaving());
    EXPECT_EQ(acks_leave(), 1U);
}

// RC-37: other queue pairs may wait for room.
TEST_F(RcUnasked, WhereHalfOfTheWindowIsInFlightEachMessageAsks) {
    std::string all;
    for (int i = 0; i < 24; ++i) all += asks_of(false);
    EXPECT_EQ(all, "000000000000000000010111");
}

TEST(RcUnaskedSettings, WithCongestionControlEachMessageAsks) {
    PairSettings settings = unasked();
    settings.connection.congestion = Congestion::by_loss;
    UnaskedPair pair(settings);
    for (int round = 0; round < 50; ++round) {  // the window grows
        for (int i = 0; i < 32; ++i) pair.write(pair.a, pair.b, true);
        pair.settle();
        pair.pass(Duration::microseconds(10));
        pair.settle();
        pair.a.sent();
    }
    for (int i = 0; i < 4; ++i) pair.write(pair.a, pair.b, false);
    EXPECT_EQ(ack_requests(pair.a_leaving()), "1111");
}

// RC-37: two programs that answer each other, with one completion in 64 messages.
TEST_F(RcUnasked, AThousandRoundTripsDrawFewAcks) {
    for (int i = 0; i < 1000; ++i) {
        pair.write(pair.a, pair.b, i % 64 == 63);
        for (const PacketBytes& packet : pair.a_leaving()) pair.b.give(pair.now, packet);
        pair.pass(Duration::microseconds(2));
        pair.write(pair.b, pair.a, i % 64 == 63);
        for (const PacketBytes& packet : pair.b.leaving(pair.now)) pair.a.give(pair.now, packet);
        pair.pass(Duration::microseconds(2));
        pair.a.sent();
        pair.b.sent();
    }
    for (const End* end : {&pair.a, &pair.b}) {
        EXPECT_EQ(end->counters().executed, 1000U);
        EXPECT_LE(end->counters().acks_sent, 1000U / 16 + 1000U / 64 + 1);
        EXPECT_EQ(end->counters().resent + end->counters().timeouts, 0U);
    }
}

TEST_F(RcUnasked, WhatIsHeldIsInTheFingerprint) {
    const auto print = [this] {
        Fingerprint sink;
        pair.b.port.fingerprint(pair.now, sink);
        return sink.value();
    };
    writes_arrive(1);
    const auto held = print();
    pair.b.port.release_acks(pair.b.number);
    EXPECT_NE(print(), held);
    pair.b.port.neighbours().set_acks_unasked(other_end, false);
    const auto other = print();
    pair.b.port.neighbours().set_acks_unasked(other_end, true);
    EXPECT_NE(print(), other);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
