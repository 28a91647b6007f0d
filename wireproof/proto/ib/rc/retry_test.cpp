// When the sending half of RC retries (docs/rules/ib.md, RC requester), how often, and when it
// gives up.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using enum RxVerdict;

constexpr Duration tick = Duration::nanoseconds(1);

// RC-7
TEST(RcSend, AnRnrNakDelaysTheResendByItsTime) {
    for (const std::uint8_t code : std::array<std::uint8_t, 4>{1, 18, 31, 0}) {
        RcPair pair;
        pair.send(10);
        pair.a_leaving();
        EXPECT_EQ(pair.a.give(pair.now, rnr_nak(0xFFFFFE, code)), control);
        EXPECT_TRUE(pair.a_leaving().empty());
        EXPECT_EQ(pair.a.port.next_deadline(), pair.now + rnr_wait(code));
        pair.pass(rnr_wait(code) - tick);
        EXPECT_TRUE(pair.a_leaving().empty());
        pair.pass(tick);
        EXPECT_EQ(names(pair.a_leaving()), Names{"SEND Only fffffe"});
        EXPECT_EQ(pair.a.counters().timeouts, 0U);
    }
}

// RC-8
TEST(RcSend, RnrRetriesAreCountedUnlessTheyAreForEver) {
    for (const std::uint8_t retries : std::array<std::uint8_t, 4>{0, 1, 6, 7}) {
        RcPair pair(QueuePairChange{.rnr_retry = retries});
        pair.send(10);
        pair.send(10);
        unsigned waits = 0;
        for (; waits < 50; ++waits) {
            pair.a_leaving();
            pair.a.give(pair.now, rnr_nak(0xFFFFFE));
            if (pair.a.state() == QueuePairState::error) break;
            pair.pass(rnr_wait(1));
        }
        EXPECT_EQ(waits, retries == 7 ? 50U : retries);
        if (retries == 7) continue;
        EXPECT_EQ(statuses(pair.a.sent()),
                  (Statuses{CompletionStatus::rnr_retry_exceeded, CompletionStatus::flushed}));
    }
}

// RC-9
TEST(RcSend, WaitsAsLongAsItsTimeoutSaysAndForEverWithoutOne) {
    for (const std::uint8_t code : std::array<std::uint8_t, 4>{1, 4, 14, 31}) {
        RcPair pair(QueuePairChange{.timeout = code});
        pair.send(10);
        pair.a_leaving();
        const Duration wait = Duration::nanoseconds(std::int64_t{4096} << code);
        EXPECT_EQ(pair.a.port.next_deadline(), pair.now + wait);
        pair.pass(wait - tick);
        EXPECT_TRUE(pair.a_leaving().empty());
        pair.pass(tick);
        EXPECT_EQ(names(pair.a_leaving()), Names{"SEND Only fffffe"});
        EXPECT_EQ(pair.a.counters().timeouts, 1U);
    }
    RcPair pair(QueuePairChange{.timeout = std::uint8_t{0}});
    pair.send(10);
    pair.a_leaving();
    EXPECT_EQ(pair.a.port.next_deadline(), never);
}

// A wire counts what is sent again.
TEST(RcSend, OnlyAPacketThatLeavesAgainIsMarkedAsResent) {
    RcPair pair;
    pair.send(10);
    EXPECT_EQ(pair.a.leaving_marks(pair.now), std::vector<bool>{false});
    pair.pass(rto);
    pair.send(10);
    EXPECT_EQ(pair.a.leaving_marks(pair.now), (std::vector<bool>{true, false}));
}

// RC-9: the specification allows an answer timeout of up to four times its nominal length.
TEST(RcSend, ATimeoutMayBeLongerByAFactor) {
    RcPair pair(PairSettings{.transport = Transport::rc, .queue_pair = {.timeout_factor = 4}});
    pair.send(10);
    pair.a_leaving();
    EXPECT_EQ(pair.a.port.next_deadline(), pair.now + rto * 4);
    pair.pass(rto * 4);
    EXPECT_EQ(names(pair.a_leaving()), Names{"SEND Only fffffe"});
    EXPECT_EQ(pair.a.port.next_deadline(), pair.now + rto * 4);
}

// RC-10: the process of the peer is known to be alive, for example on the same host. It may be
// stopped for longer than all retries last.
TEST(RcSend, ATimeoutUsesUpNoRetryOfAPeerThatIsKnownToLive) {
    RcPair pair(QueuePairChange{.retry_count = std::uint8_t{1}});
    pair.a.port.neighbours().set_alive(other_end, true);
    pair.send(10);
    pair.a_leaving();
    for (unsigned i = 0; i < 20; ++i) {
        pair.pass(rto);
        EXPECT_EQ(names(pair.a_leaving()), Names{"SEND Only fffffe"}) << i;
    }
    EXPECT_EQ(pair.a.counters().timeouts, 20U);
    pair.a.port.neighbours().set_alive(other_end, false);
    pair.pass(rto);
    pair.a_leaving();
    EXPECT_EQ(pair.a.state(), QueuePairState::rts);
    pair.pass(rto);
    pair.a_leaving();
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::retry_exceeded});
}

// RC-10: the first transmission and `retries` more.
TEST(RcSend, RetriesAreCountedAndThenAllEnds) {
    for (const std::uint8_t retries : std::array<std::uint8_t, 3>{0, 3, 7}) {
        RcPair pair(QueuePairChange{.retry_count = retries});
        pair.receives(0);
        pair.send(300);
        pair.send(10);
        EXPECT_EQ(pair.a.receive(7, pair.a.piece(0, 10)), PostStatus::accepted);
        std::size_t packets = pair.a_leaving().size();
        while (pair.a.port.next_deadline() != never) {
            pair.pass(rto);
            packets += pair.a_leaving().size();
        }
        EXPECT_EQ(packets, 3U * (retries + 1U));
        EXPECT_EQ(statuses(pair.a.sent()),
                  (Statuses{CompletionStatus::retry_exceeded, CompletionStatus::flushed}));
        EXPECT_EQ(statuses(pair.a.received()), Statuses{CompletionStatus::flushed});
        EXPECT_EQ(pair.a.state(), QueuePairState::error);
    }
}

// Not in the specification, and off by default: all packets are sent again once, then the oldest
// packet alone, each time later.
TEST(RcSend, BacksOffIfItMayAndGoesOnWithTheRestOnceTheOldestIsAcknowledged) {
    RcPair pair(PairSettings{.transport = Transport::rc,
                             .queue_pair = {.retries_unlimited = true, .backs_off = true}});
    pair.send(3 * test_mtu);
    pair.send(10);
    const Names all = names(pair.a_leaving());
    EXPECT_EQ(pair.a.port.unanswered(pair.a.number).since, never);
    const Instant first = pair.now + rto;
    for (int round = 0; round < 10; ++round) {
        const Duration wait = pair.a.port.next_deadline() - pair.now;
        EXPECT_EQ(wait, rto * (1 << round)) << round;
        pair.pass(wait);
        const auto left = pair.a_leaving();
        EXPECT_EQ(names(left), round == 0 ? all : Names{"SEND First fffffe"}) << round;
        // The responder still misses the packet; another NAK for it causes no retry.
        if (round == 0) continue;
        EXPECT_TRUE(decoded(left.front()).bth().ack_request);
        EXPECT_EQ(pair.a.give(pair.now, nak(0xFFFFFE)), control);
        EXPECT_TRUE(pair.a_leaving().empty());
    }
    const Unanswered lost = pair.a.port.unanswered(pair.a.number);
    EXPECT_EQ(lost.times, 10U);
    EXPECT_EQ(lost.since, first);
    EXPECT_EQ(lost.bytes, Bth::size + test_mtu);

    EXPECT_EQ(pair.a.give(pair.now, ack(0xFFFFFE)), control);
    EXPECT_EQ(pair.a.port.unanswered(pair.a.number).since, never);
    // Each acknowledged packet makes the window larger by one. New packets leave after the old
    // ones.
    pair.send(10);
    EXPECT_EQ(names(pair.a_leaving()), (Names{"SEND Middle ffffff", "SEND Last 000000"}));
    EXPECT_EQ(pair.a.port.next_deadline(), pair.now + rto);
    EXPECT_EQ(pair.a.give(pair.now, ack(0)), control);
    EXPECT_EQ(names(pair.a_leaving()), (Names{"SEND Only 000001", "SEND Only 000002"}));
}

// RC-7: a responder that is not ready is alive.
TEST(RcSend, AnRnrNakAnswersThePacketThatItNames) {
    RcPair pair(PairSettings{.transport = Transport::rc,
                             .queue_pair = {.retries_unlimited = true, .backs_off = true},
                             .connection = {.rnr_retry = std::uint8_t{7}}});
    pair.send(10);
    for (int round = 0; round < 100; ++round) {
        pair.a_leaving();
        pair.pass(pair.a.port.next_deadline() - pair.now);
        pair.a_leaving();
        EXPECT_EQ(pair.a.port.unanswered(pair.a.number).times, 1U);
        EXPECT_EQ(pair.a.give(pair.now, rnr_nak(0xFFFFFE)), control);
        EXPECT_EQ(pair.a.port.unanswered(pair.a.number).since, never);
        pair.pass(pair.a.port.next_deadline() - pair.now);
    }
    EXPECT_EQ(pair.a_leaving().size(), 1U);
}

// RC-31
TEST(RcSend, OnlyProgressReloadsTheRetries) {
    RcPair pair(QueuePairChange{.retry_count = std::uint8_t{2}});
    pair.send(10);
    pair.send(10);
    pair.a_leaving();
    pair.a.give(pair.now, ack(0xFFFFFE));
    for (int i = 0; i < 2; ++i) {
        pair.pass(rto);
        pair.a_leaving();
        // An ACK of a PSN that is not outstanding any more is no progress, nor is the NAK below of
        // the oldest PSN.
        EXPECT_EQ(pair.a.give(pair.now, ack(0xFFFFFE)), stale);
    }
    pair.a.give(pair.now, nak(0xFFFFFF));
    EXPECT_EQ(pair.a.state(), QueuePairState::error);

    RcPair moving(QueuePairChange{.retry_count = std::uint8_t{1}});
    for (int i = 0; i < 5; ++i) moving.send(10);
    moving.a_leaving();
    for (std::uint32_t i = 0; i < 5; ++i) {
        moving.pass(rto);
        moving.a_leaving();
        moving.a.give(moving.now, ack((0xFFFFFE + i) & 0xFFFFFF));
    }
    EXPECT_EQ(statuses(moving.a.sent()), Statuses(5, CompletionStatus::success));
}

// RC-31: an RNR NAK without progress does not reload the retries.
TEST(RcSend, AnRnrNakDoesNotReloadTheRetries) {
    RcPair pair(QueuePairChange{.retry_count = std::uint8_t{1}, .rnr_retry = std::uint8_t{7}});
    pair.send(10);
    pair.a_leaving();
    pair.pass(rto);
    pair.a_leaving();
    pair.a.give(pair.now, rnr_nak(0xFFFFFE));
    pair.pass(rnr_wait(1));
    pair.a_leaving();
    pair.pass(rto);
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::retry_exceeded});
}

// RC-31, RC-8
TEST(RcSend, ProgressReloadsTheRnrRetries) {
    RcPair pair(QueuePairChange{.rnr_retry = std::uint8_t{2}});
    pair.send(300);
    const auto not_ready = [&pair](std::uint32_t psn) {
        pair.a_leaving();
        pair.a.give(pair.now, rnr_nak(psn));
        pair.pass(rnr_wait(1));
        return pair.a.state();
    };
    EXPECT_EQ(not_ready(0xFFFFFE), QueuePairState::rts);
    EXPECT_EQ(not_ready(0xFFFFFE), QueuePairState::rts);
    pair.a_leaving();
    pair.a.give(pair.now, ack(0xFFFFFE));
    EXPECT_EQ(not_ready(0xFFFFFF), QueuePairState::rts);
    EXPECT_EQ(not_ready(0xFFFFFF), QueuePairState::rts);
    EXPECT_TRUE(pair.a.sent().empty());
    EXPECT_EQ(not_ready(0xFFFFFF), QueuePairState::error);
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::rnr_retry_exceeded});
}

// RC-9: the timer starts at the last progress.
TEST(RcSend, ProgressStartsTheTimerAnew) {
    RcPair pair;
    pair.send(300);
    pair.a_leaving();
    pair.pass(rto - tick);
    pair.a.give(pair.now, ack(0xFFFFFE));
    EXPECT_EQ(pair.a.port.next_deadline(), pair.now + rto);
    pair.pass(rto - tick);
    EXPECT_EQ(pair.a.counters().timeouts, 0U);
    EXPECT_TRUE(pair.a_leaving().empty());
    pair.pass(tick);
    EXPECT_EQ(pair.a.counters().timeouts, 1U);
    EXPECT_EQ(names(pair.a_leaving()), Names{"SEND Last ffffff"});
}

// RC-21
TEST(RcSend, ASequenceNakOfThePsnThatIsNotReadyChangesNothing) {
    RcPair pair(QueuePairChange{.retry_count = std::uint8_t{0}});
    pair.send(600);
    pair.a_leaving();
    pair.a.give(pair.now, rnr_nak(0xFFFFFE, 18));
    for (int i = 0; i < 5; ++i) pair.a.give(pair.now, nak(0xFFFFFE));
    EXPECT_EQ(pair.a.state(), QueuePairState::rts);
    EXPECT_TRUE(pair.a_leaving().empty());
    EXPECT_EQ(pair.a.port.next_deadline(), pair.now + rnr_wait(18));
    pair.pass(rnr_wait(18));
    EXPECT_EQ(pair.a_leaving().size(), 3U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
