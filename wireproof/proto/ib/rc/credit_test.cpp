// End-to-end credits of RC: what the responder grants, and how a requester without credits learns
// of new ones.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

class RcCredits : public testing::Test {
protected:
    static PairSettings settings() {
        PairSettings settings = rc_settings();
        settings.queue_pair.credits = true;
        return settings;
    }
    static PacketBytes grant(std::uint32_t psn, std::uint32_t msn, std::uint32_t credits) {
        return answer(psn, Syndrome::ack(credit_code_of(credits)), msn);
    }
    RcPair pair{settings()};
};

// RC-16, RC-28
TEST_F(RcCredits, WithoutCreditOneProbeLeavesAndNothingElse) {
    pair.send(600);
    pair.send(10);
    const auto probe = pair.a_leaving();
    EXPECT_EQ(names(probe), Names{"SEND First fffffe"});
    EXPECT_TRUE(decoded(probe[0]).bth().ack_request);
    EXPECT_EQ(pair.a.counters().probes, 1U);
    // The responder accepted the probe, so the rest of the message has its receive. The limit did
    // not grow.
    pair.a.give(pair.now, grant(0xFFFFFE, 0, 1));
    EXPECT_EQ(names(pair.a_leaving()), (Names{"SEND Middle ffffff", "SEND Last 000000"}));
    pair.a.give(pair.now, grant(0, 1, 0));
    EXPECT_EQ(names(pair.a_leaving()), Names{"SEND Only 000001"});
    EXPECT_EQ(pair.a.counters().probes, 2U);
}

// RC-16
TEST_F(RcCredits, SendsGoAsFarAsTheLimit) {
    for (int i = 0; i < 6; ++i) pair.send(10);
    EXPECT_EQ(pair.a_leaving().size(), 1U);
    pair.a.give(pair.now, grant(0xFFFFFE, 1, 3));
    EXPECT_EQ(pair.a_leaving().size(), 3U);
    pair.a.give(pair.now, grant(0xFFFFFF, 2, 2));  // the same limit, one more executed
    EXPECT_EQ(pair.a_leaving().size(), 0U);
    pair.a.give(pair.now, grant(0, 3, 2));
    EXPECT_EQ(pair.a_leaving().size(), 1U);
}

// RC-16: other requests use no receive.
TEST_F(RcCredits, WritesAndReadsDoNotWait) {
    pair.post(Request::write, 10);
    pair.read(10);
    pair.post(Request::write_immediate, 10, 0x800);
    EXPECT_EQ(names(pair.a_leaving()), (Names{"WRITE Only fffffe", "READ Request ffffff"}));
    pair.a.give(pair.now, grant(0xFFFFFE, 1, 0));
    EXPECT_EQ(pair.a_leaving().size(), 0U);
}

// RC-28
TEST_F(RcCredits, TheLimitNeverGoesBack) {
    for (int i = 0; i < 3; ++i) pair.send(10);
    pair.a_leaving();
    pair.a.give(pair.now, grant(0xFFFFFE, 1, 4));
    EXPECT_EQ(pair.a_leaving().size(), 2U);
    pair.a.give(pair.now, grant(0xFFFFFF, 2, 0));  // less than was granted
    for (int i = 0; i < 4; ++i) pair.send(10);
    EXPECT_EQ(pair.a_leaving().size(), 2U);
    // After "no limit", there is no limit again.
    pair.a.give(pair.now, answer(1, Syndrome::ack(unlimited_credits), 4));
    EXPECT_EQ(pair.a_leaving().size(), 2U);
    pair.a.give(pair.now, grant(2, 5, 0));
    pair.send(10);
    EXPECT_EQ(pair.a_leaving().size(), 1U);
}

// RC-28: a probe that gets an RNR NAK waits like any other request.
TEST_F(RcCredits, AProbeThatIsNotReadyIsSentAgainAlone) {
    pair.send(600);
    pair.settle();
    EXPECT_EQ(pair.b.counters().rnr_naks_sent, 1U);
    pair.pass(rnr_wait(1));
    EXPECT_EQ(names(pair.a_leaving()), Names{"SEND First fffffe"});
}

// A timer code has the same five bits as credits.
TEST_F(RcCredits, AnRnrNakGrantsNothing) {
    pair.send(10);
    pair.send(10);
    EXPECT_EQ(pair.a_leaving().size(), 1U);
    pair.a.give(pair.now, rnr_nak(0xFFFFFE, 18));
    pair.pass(rnr_wait(18));
    EXPECT_EQ(names(pair.a_leaving()), Names{"SEND Only fffffe"});
    EXPECT_EQ(pair.a.counters().probes, 1U);
}

// RC-15: as many credits as receives are posted, including that of an open message.
TEST_F(RcCredits, AreTheReceivesPosted) {
    pair.receives(5);
    pair.send(300);
    const auto first = pair.a_leaving();
    ASSERT_EQ(first.size(), 1U);
    pair.give(first);
    const auto open = pair.b.leaving(pair.now).at(0);
    EXPECT_EQ(decoded(open).headers.aeth, (Aeth{Syndrome::ack(credit_code_of(5)), Msn(0)}));
    pair.a.give(pair.now, open);
    pair.give(pair.a_leaving());
    EXPECT_EQ(decoded(pair.b.leaving(pair.now).at(0)).headers.aeth,
              (Aeth{Syndrome::ack(credit_code_of(4)), Msn(1)}));
}

// These receives are posted after the last ACK. Only a probe finds them.
TEST_F(RcCredits, ReceivesPostedLateAreFound) {
    pair.receives(1);
    for (int i = 0; i < 15; ++i) pair.send(10);
    for (int i = 0; i < 15; ++i) {
        pair.settle();
        pair.receives(1);
        pair.pass(rnr_wait(1));
    }
    pair.settle();
    EXPECT_EQ(statuses(pair.a.sent()), Statuses(15, CompletionStatus::success));
    EXPECT_LE(pair.b.counters().rnr_naks_sent, 15U);
}

TEST(RcSharedReceives, GrantWithoutLimit) {
    PairSettings settings = rc_settings();
    settings.queue_pair.credits = true;
    settings.shared_receives = 4;
    RcPair pair(settings);
    pair.receives(2);
    pair.send(10);
    pair.give(pair.a_leaving());
    EXPECT_EQ(decoded(pair.b.leaving(pair.now).at(0)).headers.aeth.syndrome.byte, 0x1F);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
