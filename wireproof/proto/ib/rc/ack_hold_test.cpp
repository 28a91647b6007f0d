// Acknowledgements that RC holds, so that one covers more messages: how long, for which requesters,
// and what leaves before them (RC-11, RC-25).
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

constexpr Duration delay = Duration::microseconds(20);
constexpr Duration moment = Duration::nanoseconds(1);
constexpr std::uint8_t usual_timeout = 14;  // 67 ms

PairSettings holding(std::uint8_t timeout = usual_timeout) {
    PairSettings settings = rc_settings({.timeout = timeout});
    settings.queue_pair.ack_delay = delay;
    settings.queue_pair.limits = {.sends = 64, .receives = 64, .pieces = 2};
    return settings;
}

class RcAckHold : public testing::Test {
protected:
    /// `count` Writes of `a` arrive together.
    void writes_arrive(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) pair.post(Request::write, 8);
        for (const RxVerdict verdict : pair.give(pair.a_leaving())) {
            EXPECT_EQ(verdict, RxVerdict::accepted);
        }
    }
    /// The acknowledgements of `b` reach `a`. Returns their number.
    std::size_t acks_leave() {
        const auto packets = pair.b.leaving(pair.now);
        for (const PacketBytes& packet : packets) pair.a.give(pair.now, packet);
        pair.a.sent();
        return packets.size();
    }
    /// After this, `b` knows that `a` has `count` messages outstanding, and holds an ACK for up to
    /// half of them.
    void show_outstanding(std::size_t count) {
        writes_arrive(count);
        EXPECT_EQ(acks_leave(), 1U);
    }

    RcPair pair{holding()};
};

// RC-11: a requester that sends one message at a time always gets its ACK at once.
TEST_F(RcAckHold, NothingIsHeldForARequesterThatSendsOneMessageAtATime) {
    for (int i = 0; i < 10'000; ++i) {
        writes_arrive(1);
        ASSERT_EQ(pair.b.port.next_deadline(), never);
        ASSERT_EQ(acks_leave(), 1U);
    }
}

// RC-11, RC-14, across the wrap of PSNs: three messages get one ACK when the requester was silent
// for the delay.
TEST_F(RcAckHold, OneAckLeavesWhenTheRequesterHasBeenSilentForTheDelay) {
    show_outstanding(2);
    for (int i = 0; i < 3; ++i) {
        pair.pass(delay - moment);
        writes_arrive(1);
        EXPECT_EQ(pair.b_says(), Names{});
    }
    EXPECT_EQ(pair.b.port.next_deadline(), pair.now + delay);
    pair.pass(delay - moment);
    EXPECT_EQ(pair.b_says(), Names{});
    pair.pass(moment);
    EXPECT_EQ(pair.b.port.next_deadline(), never);
    EXPECT_EQ(pair.b_says(), Names{"ACK 000002/5"});
    pair.pass(delay * 100);
    EXPECT_EQ(pair.b_says(), Names{});
    EXPECT_EQ(pair.b.counters().acks_sent, 2U);
}

// The deadline releases the ACK; a later call does not check the time again.
TEST_F(RcAckHold, AnAckWhoseDeadlineCameWaitsForRoomWithoutADeadline) {
    show_outstanding(4);
    writes_arrive(1);
    pair.pass(delay);
    EXPECT_EQ(pair.b.port.next_deadline(), never);
    EXPECT_EQ(acks_leave(), 1U);
}

TEST_F(RcAckHold, FromItsFirstMessageOnAnAckIsHeldForFourDelaysAtMost) {
    show_outstanding(16);
    EXPECT_EQ(acks_leave(), 0U);
    Instant first = pair.now;
    for (int i = 0; i < 5; ++i) {
        writes_arrive(1);
        EXPECT_EQ(pair.b_says(), Names{});
        pair.pass(i < 4 ? delay - moment : first + delay * 4 - pair.now);
    }
    EXPECT_EQ(acks_leave(), 1U);
}

// While the ACK is held, the requester can still send the other half of its messages.
TEST_F(RcAckHold, OutsideOfTrialsAnAckCoversHalfOfWhatTheRequesterHasOutstanding) {
    show_outstanding(8);
    writes_arrive(2);
    pair.pass(delay);  // the requester waits during the trial: 2 outstanding messages are known
    EXPECT_EQ(acks_leave(), 1U);
    for (int i = 0; i < 2; ++i) {
        writes_arrive(1);
        ASSERT_EQ(acks_leave(), 1U);
    }
    show_outstanding(8);
    for (int i = 0; i < 5; ++i) {
        writes_arrive(3);
        ASSERT_EQ(acks_leave(), 0U);
        writes_arrive(1);
        ASSERT_EQ(acks_leave(), 1U);
    }
}

TEST_F(RcAckHold, ATrialThatARequesterWaitedForIsMadeAgainAfterAPauseThatDoubles) {
    show_outstanding(2);
    for (const int pause : {8, 16, 32}) {
        writes_arrive(2);  // the trial
        EXPECT_EQ(acks_leave(), 0U);
        pair.pass(delay);
        EXPECT_EQ(acks_leave(), 1U);
        for (int i = 0; i < pause; ++i) {
            writes_arrive(2);
            ASSERT_EQ(acks_leave(), 1U) << i;
        }
    }
}

TEST_F(RcAckHold, WhereARequesterWaitedNothingIsHeldForAPauseThatDoubles) {
    const auto holds_one = [this] {
        writes_arrive(1);
        if (acks_leave() > 0) return false;
        pair.pass(delay);
        EXPECT_EQ(acks_leave(), 1U);
        return true;
    };
    const auto expect_pause = [&](int pause) {
        show_outstanding(32);  // the maximum is known, so there are no trials
        ASSERT_TRUE(holds_one());
        show_outstanding(32);
        for (int i = 1; i < pause; ++i) ASSERT_FALSE(holds_one()) << i << " of " << pause;
    };
    for (const int pause : {8, 16, 32}) expect_pause(pause);
    // The pause becomes shorter while ACKs are held and the requester continues to send.
    for (std::uint32_t i = 0; i < 4 * AckPolicy::good_holds; ++i) {
        writes_arrive(8);
        ASSERT_EQ(acks_leave(), 0U);
        writes_arrive(8);
        ASSERT_EQ(acks_leave(), 1U);
    }
    expect_pause(8);
}

// A requester with two messages outstanding waits only during a few trials.
TEST_F(RcAckHold, ARequesterWithTwoMessagesOutstandingHardlyEverWaits) {
    int waited = 0;
    for (int i = 0; i < 5000; ++i) {
        writes_arrive(2);
        if (acks_leave() > 0) continue;
        ++waited;
        pair.pass(delay);
        ASSERT_EQ(acks_leave(), 1U);
    }
    EXPECT_GE(waited, 1);
    EXPECT_LE(waited, 14);
}

// If a requester asks inside a message, its window may be full.
TEST_F(RcAckHold, AnAckAskedForWithinAMessageLeavesAtOnceAndCoversWhatWasHeld) {
    show_outstanding(16);
    writes_arrive(1);
    EXPECT_EQ(pair.b_says(), Names{});
    pair.post(Request::write, 600);
    const auto packets = pair.a_leaving();
    pair.give({packets[0]});
    EXPECT_EQ(pair.b_says(), Names{});
    pair.give({with_bth(packets[1], [](Bth& bth) { bth.ack_request = true; })});
    EXPECT_EQ(pair.b_says(), Names{"ACK 000010/17"});
    pair.give({packets[2]});
    EXPECT_EQ(pair.b_says(), Names{});
}

TEST_F(RcAckHold, AnAckCoversThirtyTwoPacketsAtMost) {
    show_outstanding(16);
    pair.post(Request::write, 256 * 31);
    pair.give(pair.a_leaving());
    EXPECT_EQ(acks_leave(), 0U);
    writes_arrive(1);
    EXPECT_EQ(acks_leave(), 1U);
}

// RC-25: answers leave in the order of PSNs, and the ACK names no PSN after the Read.
TEST_F(RcAckHold, AHeldAckLeavesInFrontOfTheAnswerToARead) {
    show_outstanding(8);
    writes_arrive(1);
    EXPECT_EQ(pair.b_says(), Names{});
    pair.read(10);
    pair.give(pair.a_leaving());
    EXPECT_EQ(pair.b_says(), (Names{"ACK 000006/10", "READ Resp Only 000007/10"}));
    EXPECT_EQ(pair.b.port.next_deadline(), never);
}

// RC-2: a NAK is never held. The ACK of the earlier requests leaves before it.
TEST_F(RcAckHold, ANakLeavesAtOnceBehindTheAckThatWasHeld) {
    show_outstanding(8);
    writes_arrive(1);
    pair.post(Request::write, 8);
    pair.post(Request::write, 8);
    const auto packets = pair.a_leaving();
    EXPECT_EQ(pair.give({packets[1]}), std::vector{RxVerdict::out_of_sequence});
    EXPECT_EQ(pair.b_says(), (Names{"ACK 000006/9", "NAK sequence 000007/9"}));
    // If no ACK is held, the NAK leaves alone.
    pair.give({packets[0]});
    pair.pass(delay);
    EXPECT_EQ(pair.b_says(), Names{"ACK 000007/10"});
    pair.post(Request::write, 8);
    pair.give(pair.a_leaving());
    EXPECT_EQ(pair.b_says(), Names{"NAK sequence 000008/10"});
}

TEST_F(RcAckHold, WhatIsHeldLeavesWhenItIsReleased) {
    show_outstanding(8);
    writes_arrive(1);
    EXPECT_EQ(acks_leave(), 0U);
    pair.b.port.release_acks(pair.b.number);
    EXPECT_EQ(acks_leave(), 1U);
    writes_arrive(1);
    EXPECT_EQ(acks_leave(), 0U);
}

// RC-4: each duplicate is acknowledged at once.
TEST_F(RcAckHold, ADuplicateIsAcknowledgedAtOnce) {
    show_outstanding(8);
    pair.post(Request::write, 8);
    const auto packets = pair.a_leaving();
    pair.give(packets);
    EXPECT_EQ(pair.b_says(), Names{});
    EXPECT_EQ(pair.give(packets), std::vector{RxVerdict::duplicate});
    EXPECT_EQ(pair.b_says(), (Names{"ACK 000006/9", "ACK 000006/9"}));
}

// RC-9: the responder assumes that the peer's timeout equals its own.
TEST(RcAckHoldTimeout, TheShortestAnswerTimeoutDoesNotEndWhileAnAckIsHeld) {
    constexpr std::uint8_t shortest = 1;
    RcPair pair(holding(shortest));
    int held = 0;
    for (int i = 0; i < 1000; ++i) {
        for (int n = i % 2 * 4; n >= 0; --n) pair.post(Request::write, 8);
        pair.give(pair.a_leaving());
        const Instant due = pair.b.port.next_deadline();
        if (due != never) {
            ++held;
            EXPECT_LE((due - pair.now) * 16, ack_timeout(shortest));
            pair.pass(due - pair.now);
        }
        pair.settle();
        pair.a.sent();
    }
    EXPECT_GE(held, 5);
    EXPECT_EQ(pair.a.counters().timeouts, 0U);
    EXPECT_EQ(pair.a.counters().resent, 0U);
    EXPECT_EQ(pair.b.counters().duplicates, 0U);
}

// RC-15, RC-16: a requester that obeys credits waits for the credits in the ACK.
TEST(RcAckHoldCredits, NothingIsHeldWhereAcksGrantCredits) {
    PairSettings settings = holding();
    settings.queue_pair.credits = true;
    RcPair pair(settings);
    pair.receives(4);
    for (int i = 0; i < 6; ++i) pair.post(Request::write, 8);
    pair.settle();
    pair.send(8);
    pair.give(pair.a_leaving());
    EXPECT_EQ(pair.b.port.next_deadline(), never);
    EXPECT_EQ(pair.b.leaving(pair.now).size(), 1U);
}

// Packets to a near peer are so cheap that a held ACK saves nothing.
TEST_F(RcAckHold, NothingIsHeldForAPeerThatIsNear) {
    pair.b.port.set_near(other_end, true);
    show_outstanding(8);
    writes_arrive(1);
    EXPECT_EQ(acks_leave(), 1U);
    pair.b.port.set_near(other_end, false);
    show_outstanding(8);
    writes_arrive(1);
    EXPECT_EQ(acks_leave(), 0U);
}

TEST_F(RcAckHold, AHeldAckEndsWithTheStateThatItWasMadeIn) {
    for (const QueuePairState state : {QueuePairState::error, QueuePairState::reset}) {
        RcPair each(holding());
        for (int i = 0; i < 4; ++i) each.post(Request::write, 8);
        each.settle();
        each.post(Request::write, 8);
        each.give(each.a_leaving());
        EXPECT_NE(each.b.port.next_deadline(), never);
        each.b.modify({.state = state});
        EXPECT_EQ(each.b.port.next_deadline(), never);
        each.pass(delay * 10);
        EXPECT_EQ(each.b_says(), Names{});
    }
    show_outstanding(4);
    writes_arrive(1);
    EXPECT_NE(pair.b.port.next_deadline(), never);
    EXPECT_TRUE(pair.b.port.remove_queue_pair(pair.b.number));
    EXPECT_EQ(pair.b.port.next_deadline(), never);
    EXPECT_EQ(pair.b.leaving(pair.now + delay).size(), 0U);
}

// RC-17: after a fatal NAK no ACK is held.
TEST_F(RcAckHold, AFatalNakLeavesBehindTheAckThatWasHeld) {
    show_outstanding(8);
    writes_arrive(1);
    const WorkTerms terms{.request = Request::write, .remote_address = 1, .remote_key = 1};
    EXPECT_EQ(pair.a.post(terms, pair.a.piece(0, 8)), PostStatus::accepted);
    pair.give(pair.a_leaving());
    EXPECT_EQ(pair.b.port.next_deadline(), never);
    EXPECT_EQ(pair.b_says(), (Names{"ACK 000006/9", "NAK remote access 000007/9"}));
}

TEST_F(RcAckHold, WhatIsHeldAndForHowLongIsInTheFingerprint) {
    const auto fingerprint = [](const RcPair& of) {
        Fingerprint sink;
        of.b.port.fingerprint(of.now, sink);
        return sink.value();
    };
    show_outstanding(8);
    writes_arrive(1);
    const auto held = fingerprint(pair);
    pair.now = pair.now + moment;
    EXPECT_NE(fingerprint(pair), held);
    pair.pass(delay);
    EXPECT_NE(fingerprint(pair), held);
    // The known number of outstanding messages decides what is held next.
    const auto after = [&](std::size_t at_once, Duration ack_delay) {
        PairSettings settings = holding();
        settings.queue_pair.ack_delay = ack_delay;
        RcPair each(settings);
        for (std::size_t i = 1; i <= 8; ++i) {
            each.post(Request::write, 8);
            if (i % at_once == 0) each.settle();
        }
        return fingerprint(each);
    };
    EXPECT_NE(after(8, delay), after(1, delay));
    EXPECT_EQ(after(8, {}), after(1, {}));
}

/// The number of ACKs for 1,000 Sends of 8 bytes that arrive in batches, 5 us apart.
std::uint64_t acks_of_batches(std::size_t batch, Duration ack_delay) {
    PairSettings settings = holding();
    settings.queue_pair.ack_delay = ack_delay;
    RcPair pair(settings);
    std::size_t sent = 0;
    while (sent < 1000) {
        for (std::size_t i = 0; i < batch && sent < 1000; ++i, ++sent) {
            EXPECT_EQ(pair.b.receive(sent, pair.b.piece(0x8000, 8)), PostStatus::accepted);
            pair.post(Request::send, 8);
        }
        pair.give(pair.a_leaving());
        for (const PacketBytes& packet : pair.b.leaving(pair.now)) pair.a.give(pair.now, packet);
        pair.pass(Duration::microseconds(5));
        pair.a.sent();
        pair.b.received();
    }
    pair.pass(delay);
    pair.settle();
    EXPECT_EQ(pair.a.counters().resent, 0U);
    return pair.b.counters().acks_sent;
}

// RC-11
TEST(RcAckHoldBound, AThousandSendsDrawFewAcks) {
    EXPECT_EQ(acks_of_batches(32, {}), 32U);
    EXPECT_EQ(acks_of_batches(32, delay), 32U);
    EXPECT_EQ(acks_of_batches(2, {}), 500U);
    EXPECT_LE(acks_of_batches(2, delay), 70U);
    EXPECT_EQ(acks_of_batches(3, {}), 334U);
    EXPECT_LE(acks_of_batches(3, delay), 70U);
    EXPECT_EQ(acks_of_batches(1, delay), 1000U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
