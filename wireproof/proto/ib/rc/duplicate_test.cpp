// What an RC responder does with duplicate requests: it acknowledges some again, answers some
// again, and drops others.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using enum RxVerdict;
using Verdicts = std::vector<RxVerdict>;

// RC-4: a requester may complete a Read without data when an acknowledgement names it, although the
// answer was lost.
TEST(RcDuplicate, AnAckNamesNothingAtOrPastAReadOrAtomicBehindTheDuplicate) {
    RcPair pair;
    pair.receives(3);
    pair.send(10);                       // fffffe
    pair.post(Request::write, 300);      // ffffff, 000000
    pair.read(300);                      // 000001, 000002
    pair.send(10);                       // 000003
    pair.atomic(Request::fetch_add, 5);  // 000004
    pair.send(10);                       // 000005
    const auto packets = pair.a_leaving();
    ASSERT_EQ(packets.size(), 7U);
    EXPECT_EQ(pair.give(packets), Verdicts(7, accepted));
    // If nothing was lost, one acknowledgement still covers all requests before it.
    EXPECT_EQ(pair.b_says(),
              (Names{"ACK 000000/6", "READ Resp First 000001/6", "READ Resp Last 000002/6",
                     "ACK 000003/6", "Atomic Ack 000004/6", "ACK 000005/6"}));
    const std::vector<std::pair<std::size_t, std::string>> named = {{0, "ACK 000000/6"},
                                                                    {1, "ACK 000000/6"},
                                                                    {2, "ACK 000000/6"},
                                                                    {4, "ACK 000003/6"},
                                                                    {6, "ACK 000005/6"}};
    Names all;
    for (const auto& [packet, ack] : named) {
        EXPECT_EQ(pair.give({packets[packet]}), Verdicts{duplicate});
        EXPECT_EQ(pair.b_says(), Names{ack});
        all.push_back(ack);
    }
    // The same if no answer leaves before all requests have arrived.
    pair.give({packets[0], packets[1], packets[2], packets[4], packets[6]});
    EXPECT_EQ(pair.b_says(), all);
}

// RC-4: the acknowledgement does not name requests that were executed while it waited.
TEST(RcDuplicate, AnAckThatWaitsNamesNoReadThatCameLater) {
    RcPair pair;
    pair.receives(1);
    pair.send(10);
    const auto send = pair.a_leaving();
    pair.give(send);
    EXPECT_EQ(pair.b_says(), Names{"ACK fffffe/1"});
    pair.give(send);
    pair.read(10);
    pair.give(pair.a_leaving());
    EXPECT_EQ(pair.b_says(), (Names{"ACK fffffe/2", "READ Resp Only ffffff/2"}));
}

// RC-4: the peer has more Reads outstanding than this side keeps, so this side does not know where
// the others were.
TEST(RcDuplicate, BeforeAReadThatIsNoLongerKeptTheDuplicateAloneIsNamed) {
    RcPair pair(QueuePairChange{.max_dest_rd_atomic = std::uint8_t{2}});
    pair.receives(3);
    pair.send(10);  // fffffe
    pair.send(10);  // ffffff
    pair.read(10);  // 000000
    pair.read(10);  // 000001
    pair.send(10);  // 000002
    const auto packets = pair.a_leaving();
    for (const auto& packet : packets) {
        pair.give({packet});
        pair.b.leaving(pair.now);
    }
    pair.give({packets[0]});
    EXPECT_EQ(pair.b_says(), Names{"ACK ffffff/5"});
    pair.read(10);  // 000003, and 000000 is forgotten
    pair.give(pair.a_leaving());
    pair.b.leaving(pair.now);
    pair.give({packets[0], packets[1], packets[4]});
    EXPECT_EQ(pair.b_says(), (Names{"ACK fffffe/6", "ACK ffffff/6", "ACK 000002/6"}));
}

TEST(RcDuplicate, AReadForgottenWhileDrainingIsNotNamedEither) {
    RcPair pair;
    pair.receives(2);
    pair.send(10);  // fffffe
    pair.send(10);  // ffffff
    pair.read(10);  // 000000
    const auto packets = pair.a_leaving();
    pair.give(packets);
    pair.b.leaving(pair.now);
    pair.b.modify({.state = QueuePairState::sqd});
    pair.b.modify({.max_dest_rd_atomic = std::uint8_t{0}});
    pair.give({packets[0]});
    EXPECT_EQ(pair.b_says(), Names{"ACK fffffe/3"});
}

// RC-25 applies only to requests that were never answered.
TEST(RcDuplicate, AReadThatIsToBeAnsweredAgainHoldsNoAckBack) {
    RcPair pair;
    pair.receives(1);
    pair.read(10);
    const auto read = pair.a_leaving();
    pair.give(read);
    pair.b.leaving(pair.now);
    pair.send(10);
    pair.give(pair.a_leaving());
    pair.give(read);
    EXPECT_EQ(pair.b_says(), (Names{"ACK ffffff/2", "READ Resp Only fffffe/2"}));
}

// A repeated answer is marked as resent, so that a wire can count it.
TEST(RcDuplicate, AnAnswerGivenAgainIsMarkedAsResent) {
    RcPair pair;
    pair.read(10);
    pair.atomic(Request::fetch_add, 5);
    const auto packets = pair.a_leaving();
    pair.give(packets);
    pair.give(packets);
    EXPECT_EQ(pair.b.leaving_marks(pair.now), (std::vector<bool>{false, false, true, true}));
}

// RC-5, RC-29: a duplicate with other fields is not the same request.
TEST(RcDuplicate, AnAtomicOfAnotherAddressKeyOrKindDrawsNoAnswer) {
    RcPair pair;
    pair.atomic(Request::fetch_add, 5);
    const PacketBytes packet = pair.a_leaving().at(0);
    pair.give({packet});
    EXPECT_EQ(pair.b_says().size(), 1U);
    PacketBytes elsewhere = packet;
    elsewhere[Bth::size + 7] ^= std::byte{8};  // a byte of the address
    PacketBytes other_key = packet;
    other_key[Bth::size + 11] ^= std::byte{1};
    const PacketBytes swap = with_bth(
        packet, [](Bth& bth) { bth.opcode = opcode_of(Transport::rc, Operation::compare_swap); });
    EXPECT_EQ(pair.give({elsewhere, other_key, swap}), Verdicts(3, duplicate));
    EXPECT_EQ(pair.b_says(), Names{});
    EXPECT_EQ(pair.b.counters().resource_gone, 3U);
    EXPECT_EQ(pair.b.counters().replayed, 0U);
    EXPECT_EQ(pair.target(), 5U);
}

// RC-2: the same packet is still missing.
TEST(RcDuplicate, ADuplicateIsNoReasonToComplainOfTheSameGapAgain) {
    RcPair pair;
    pair.receives(3);
    for (int i = 0; i < 3; ++i) pair.send(10);
    const auto packets = pair.a_leaving();
    pair.give({packets[0], packets[2]});
    EXPECT_EQ(pair.b_says(), (Names{"ACK fffffe/1", "NAK sequence ffffff/1"}));
    EXPECT_EQ(pair.give({packets[0], packets[2], packets[2]}),
              (Verdicts{duplicate, out_of_sequence, out_of_sequence}));
    EXPECT_EQ(pair.b_says(), Names{"ACK fffffe/1"});
    EXPECT_EQ(pair.b.counters().naks_sent, 1U);
}

// RC-6: the key must still be valid.
TEST(RcDuplicate, AReadOfMemoryThatHasGoneDrawsNoAnswer) {
    RcPair pair;
    pair.read(300);
    const auto packets = pair.a_leaving();
    pair.give(packets);
    EXPECT_EQ(pair.b_says().size(), 2U);
    pair.b.port.memory().end_region(pair.b.key);
    EXPECT_EQ(pair.give(packets), Verdicts{duplicate});
    EXPECT_EQ(pair.b_says(), Names{});
    EXPECT_EQ(pair.b.counters().resource_gone, 1U);
    EXPECT_EQ(pair.b.state(), QueuePairState::rts);
}

TEST(RcDuplicate, AReservedOpcodeBehindIsDroppedAndAheadIsAGap) {
    RcPair pair;
    pair.receives(2);
    pair.send(10);
    const PacketBytes send = pair.a_leaving().at(0);
    pair.give({send});
    EXPECT_EQ(pair.b_says(), Names{"ACK fffffe/1"});
    PacketBytes reserved = send;
    reserved[0] = std::byte{0x15};
    EXPECT_EQ(pair.give({reserved}), Verdicts{malformed});
    EXPECT_EQ(pair.b_says(), Names{});
    EXPECT_EQ(pair.b.state(), QueuePairState::rts);
    const PacketBytes ahead = with_bth(reserved, [](Bth& bth) { bth.psn = Psn(3); });
    EXPECT_EQ(pair.give({ahead}), Verdicts{out_of_sequence});
    EXPECT_EQ(pair.b_says(), Names{"NAK sequence ffffff/1"});
}

// A hostile peer repeats packets without end, and no answer leaves meanwhile.
TEST(RcDuplicate, WhatIsOwedForDuplicatesIsBounded) {
    RcPair pair(QueuePairChange{.max_dest_rd_atomic = std::uint8_t{1}});
    pair.receives(1);
    pair.send(10);
    pair.read(10);
    const auto packets = pair.a_leaving();
    pair.give(packets);
    pair.b.leaving(pair.now);
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(pair.give({packets[0]}), Verdicts{duplicate});
    EXPECT_EQ(pair.b.leaving(pair.now).size(), 1024U);
    // Room for four answers for the one resource, and for eight more.
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(pair.give({packets[1]}), Verdicts{i < 12 ? duplicate : refused});
    }
    EXPECT_EQ(pair.b.leaving(pair.now).size(), 12U);
    EXPECT_EQ(pair.b.counters().no_room_to_answer, 8U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
