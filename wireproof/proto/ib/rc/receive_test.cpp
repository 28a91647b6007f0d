// The receiving half of RC (docs/rules/ib.md, RC responder): what it executes, and what it answers.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using enum RxVerdict;
using Verdicts = std::vector<RxVerdict>;

// RC-14
TEST(RcReceive, MsnCountsCompletedMessagesFromNothing) {
    RcPair pair;
    pair.receives(3);
    pair.send(600);
    const auto packets = pair.a_leaving();
    EXPECT_EQ(pair.give({packets[0], packets[1]}), (Verdicts{accepted, accepted}));
    EXPECT_EQ(pair.b_says(), Names{});
    // A packet in the middle of a message asks for an ACK; no message is complete.
    pair.give({with_bth(packets[1], [](Bth& bth) { bth.ack_request = true; })});
    EXPECT_EQ(pair.b_says(), Names{"ACK ffffff/0"});
    pair.give({packets[2]});
    EXPECT_EQ(pair.b_says(), Names{"ACK 000000/1"});
    pair.post(Request::write, 10);
    pair.give(pair.a_leaving());
    EXPECT_EQ(pair.b_says(), Names{"ACK 000001/2"});
    pair.read(600);
    pair.give(pair.a_leaving());
    EXPECT_EQ(names_with_msn({pair.b.leaving(pair.now).at(0)}), Names{"READ Resp First 000002/3"});
}

// RC-2
TEST(RcReceive, AGapDrawsOneNakOfTheExpectedPsnUntilThatComes) {
    RcPair pair;
    pair.receives(2);
    pair.send(1100);
    const auto packets = pair.a_leaving();
    pair.give({packets[0], packets[2], packets[3], packets[4]});
    EXPECT_EQ(pair.b_says(), Names{"NAK sequence ffffff/0"});
    EXPECT_EQ(pair.give({packets[3]}), Verdicts{out_of_sequence});
    EXPECT_EQ(pair.b_says(), Names{});
    // After the missing packet has arrived, the next gap gets a new NAK.
    EXPECT_EQ(pair.give({packets[1], packets[3]}), (Verdicts{accepted, out_of_sequence}));
    EXPECT_EQ(pair.b_says(), Names{"NAK sequence 000000/0"});
    EXPECT_EQ(pair.b.counters().naks_sent, 2U);
    EXPECT_EQ(pair.b.counters().gaps, 5U);
}

// RC-2: there is also no NAK after an RNR NAK for the same PSN.
TEST(RcReceive, AnRnrNakIsTheOnlyComplaintOfItsPsn) {
    RcPair pair({.min_rnr_timer = std::uint8_t{18}});
    pair.send(600);
    const auto packets = pair.a_leaving();
    EXPECT_EQ(pair.give(packets), (Verdicts{refused, out_of_sequence, out_of_sequence}));
    const auto answers = pair.b.leaving(pair.now);
    EXPECT_EQ(names(answers), Names{"RNR NAK fffffe"});
    EXPECT_EQ(decoded(answers[0]).headers.aeth.syndrome.byte, 0x32);
    EXPECT_EQ(pair.give({packets[0]}), Verdicts{refused});
    EXPECT_EQ(pair.b_says(), Names{"RNR NAK fffffe/0"});
    pair.receives(1);
    EXPECT_EQ(pair.give(packets), Verdicts(3, accepted));
    EXPECT_EQ(pair.b_says(), Names{"ACK 000000/1"});
    EXPECT_EQ(pair.got(0, 600), pattern(600, 1));
}

TEST(RcReceive, AWriteWithImmediateIsNotReadyAtItsLastPacketOnly) {
    RcPair pair;
    pair.post(Request::write_immediate, 600);
    const auto packets = pair.a_leaving();
    EXPECT_EQ(pair.give(packets), (Verdicts{accepted, accepted, refused}));
    EXPECT_EQ(pair.b_says(), Names{"RNR NAK 000000/0"});
    pair.receives(1);
    EXPECT_EQ(pair.give({packets[2]}), Verdicts{accepted});
    EXPECT_EQ(pair.b_says(), Names{"ACK 000000/1"});
    EXPECT_EQ(pair.b.received().at(0).length, 600U);
}

// A NAK does not leave after the packet that it names has arrived.
TEST(RcReceive, AComplaintThatIsOvertakenByWhatItWantsDoesNotLeave) {
    RcPair pair;
    pair.receives(2);
    pair.send(300);
    const auto packets = pair.a_leaving();
    pair.give({packets[1], packets[0], packets[1]});
    EXPECT_EQ(pair.b_says(), Names{"ACK ffffff/1"});
    // The same for an RNR NAK, after a receive is ready.
    RcPair late;
    late.send(10);
    const auto send = late.a_leaving();
    EXPECT_EQ(late.give(send), Verdicts{refused});
    late.receives(1);
    EXPECT_EQ(late.give(send), Verdicts{accepted});
    EXPECT_EQ(late.b_says(), Names{"ACK fffffe/1"});
    EXPECT_EQ(late.b.counters().rnr_naks_sent, 0U);
}

TEST(RcReceive, OneAckIsEnoughForAllThatCameBeforeItLeaves) {
    RcPair pair;
    pair.receives(4);
    for (int i = 0; i < 4; ++i) pair.send(10);
    pair.give(pair.a_leaving());
    EXPECT_EQ(pair.b_says(), Names{"ACK 000001/4"});
    EXPECT_EQ(pair.b.counters().acks_sent, 1U);
}

// After an error no answer leaves, except the one that reports the error.
TEST(RcReceive, InErrorNothingThatWasOwedLeaves) {
    RcPair pair;
    pair.receives(1);
    pair.send(10);
    pair.read(600);
    pair.give(pair.a_leaving());
    pair.b.modify({.state = QueuePairState::error});
    EXPECT_EQ(pair.b_says(), Names{});
}

TEST(RcReceive, AReadWhoseMemoryGoesAwayEndsInARemoteAccessError) {
    RcPair pair;
    pair.read(600);
    pair.read(10);
    pair.give(pair.a_leaving());
    const auto first = pair.b.poll(pair.now);
    ASSERT_TRUE(first);
    pair.b.port.memory().end_region(pair.b.key);
    EXPECT_EQ(pair.b_says(), Names{"NAK remote access ffffff/2"});
    EXPECT_EQ(pair.b.state(), QueuePairState::error);
    EXPECT_EQ(pair.b.counters().reads_broken, 1U);
    pair.a.give(pair.now, *first);
    pair.a.give(pair.now, nak(0xFFFFFF, NakCode::remote_access));
    EXPECT_EQ(statuses(pair.a.sent()),
              (Statuses{CompletionStatus::remote_access_error, CompletionStatus::flushed}));
}

// RC-4
TEST(RcReceive, EachDuplicateOfASendOrWriteIsAcknowledgedAndNotExecuted) {
    RcPair pair;
    pair.receives(3);
    pair.send(300);
    pair.post(Request::write, 300);
    const auto packets = pair.a_leaving();
    pair.give(packets);
    EXPECT_EQ(pair.b_says(), Names{"ACK 000001/2"});
    pair.b.fill(0x4000, std::vector<std::byte>(300));
    EXPECT_EQ(pair.give(packets), Verdicts(4, duplicate));
    EXPECT_EQ(pair.b_says(), Names(4, "ACK 000001/2"));
    EXPECT_EQ(pair.b.bytes(0x4000, 300), std::vector<std::byte>(300));
    EXPECT_EQ(pair.b.received().size(), 1U);
}

TEST(RcReceive, DuplicatesAreAnsweredWhileAComplaintIsOutstanding) {
    RcPair pair;
    pair.receives(3);
    for (int i = 0; i < 3; ++i) pair.send(10);
    const auto packets = pair.a_leaving();
    pair.give({packets[0], packets[2], packets[0]});
    EXPECT_EQ(pair.b_says(), (Names{"ACK fffffe/1", "NAK sequence ffffff/1", "ACK fffffe/1"}));
}

// RC-5
TEST(RcReceive, ADuplicateAtomicReturnsTheFirstResultAndChangesNothing) {
    RcPair pair;
    pair.b.fill(0x6000, std::vector<std::byte>(8));
    pair.atomic(Request::fetch_add, 5);
    pair.atomic(Request::fetch_add, 7);
    const auto packets = pair.a_leaving();
    EXPECT_EQ(pair.give(packets), (Verdicts{accepted, accepted}));
    pair.b.leaving(pair.now);
    EXPECT_EQ(pair.give({packets[0], packets[1], packets[0]}), Verdicts(3, duplicate));
    const auto answers = pair.b.leaving(pair.now);
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(decoded(answers[0]).headers.atomic_ack.original, 0U);
    EXPECT_EQ(decoded(answers[1]).headers.atomic_ack.original, 5U);
    EXPECT_EQ(decoded(answers[2]).headers.atomic_ack.original, 0U);
    EXPECT_EQ(pair.target(), 12U);
    EXPECT_EQ(pair.b.counters().replayed, 3U);
}

PacketBytes read_request(const RcPair& pair, std::uint32_t psn, std::uint64_t offset,
                         std::uint32_t length) {
    Headers headers;
    headers.bth.opcode = opcode_of(Transport::rc, Operation::read_request);
    headers.bth.dest_qp = 0x101;
    headers.bth.psn = Psn(psn);
    headers.reth = {End::base + 0x4000 + offset, pair.b.key, length};
    return encoded(headers, std::span<const ConstBytes>());
}

// RC-6
TEST(RcReceive, ADuplicateReadMayAskForATail) {
    RcPair pair;
    pair.b.fill(0x4000, pattern(1000, 3));
    pair.read(1000);
    pair.give(pair.a_leaving());
    EXPECT_EQ(names(pair.b.leaving(pair.now)),
              (Names{"READ Resp First fffffe", "READ Resp Middle ffffff", "READ Resp Middle 000000",
                     "READ Resp Last 000001"}));
    EXPECT_EQ(pair.give({read_request(pair, 0, 512, 488)}), Verdicts{duplicate});
    const auto tail = pair.b.leaving(pair.now);
    EXPECT_EQ(names(tail), (Names{"READ Resp First 000000", "READ Resp Last 000001"}));
    const auto expected = pattern(1000, 3);
    EXPECT_TRUE(std::ranges::equal(decoded(tail[1]).payload, std::span(expected).subspan(768)));
    // Requests that are neither the whole Read nor a tail, or have another address or key.
    pair.give({read_request(pair, 0, 512, 256), read_request(pair, 0, 513, 487),
               read_request(pair, 0xFFFFFE, 0, 1001), read_request(pair, 0xFFFFFD, 0, 1000)});
    const std::uint32_t good_key = pair.b.key;
    pair.b.key = pair.b.port.memory()
                     .add_region({.domain = domain,
                                  .address = End::base,
                                  .memory = pair.b.memory,
                                  .access = {.remote_read = true}})
                     .value();
    pair.give({read_request(pair, 0, 512, 488)});
    pair.b.key = good_key;
    EXPECT_EQ(pair.b_says(), Names{});
    EXPECT_EQ(pair.b.counters().resource_gone, 5U);
    // The repeated answers used no new resource: the whole Read is still kept.
    pair.give({read_request(pair, 0xFFFFFE, 0, 1000)});
    EXPECT_EQ(pair.b.leaving(pair.now).size(), 4U);
}

// RC-29
TEST(RcReceive, WhatWasOverwrittenIsDroppedSilently) {
    RcPair pair(QueuePairChange{.max_dest_rd_atomic = std::uint8_t{2}});
    pair.b.fill(0x6000, std::vector<std::byte>(8));
    pair.atomic(Request::fetch_add, 5);
    pair.read(10);
    pair.read(10);
    const auto packets = pair.a_leaving();
    for (const auto& packet : packets) {
        pair.give({packet});
        pair.b.leaving(pair.now);
    }
    EXPECT_EQ(pair.give({packets[0]}), Verdicts{duplicate});
    EXPECT_EQ(pair.b_says(), Names{});
    EXPECT_EQ(pair.target(), 5U);
    EXPECT_EQ(pair.give({packets[1]}), Verdicts{duplicate});
    EXPECT_EQ(pair.b_says().size(), 1U);
}

TEST(RcReceive, HowMuchIsKeptMayChangeWhileDraining) {
    RcPair pair(QueuePairChange{.max_dest_rd_atomic = std::uint8_t{2}});
    pair.read(10);
    pair.read(20);
    const auto packets = pair.a_leaving();
    pair.give(packets);
    pair.b.modify({.state = QueuePairState::sqd});
    pair.b.modify({.max_dest_rd_atomic = std::uint8_t{1}});
    EXPECT_EQ(pair.b.leaving(pair.now).size(), 2U);
    pair.give(packets);
    EXPECT_EQ(names(pair.b.leaving(pair.now)), Names{"READ Resp Only ffffff"});
    // Answers that are already queued still leave.
    for (int i = 0; i < 12; ++i) pair.give({packets[1]});
    pair.b.modify({.max_dest_rd_atomic = std::uint8_t{0}});
    EXPECT_EQ(pair.b.leaving(pair.now).size(), 12U);
    pair.read(10);
    pair.give(pair.a_leaving());
    EXPECT_EQ(names(pair.b.leaving(pair.now)), Names{"NAK invalid request 000000"});
}

// RC-25
TEST(RcReceive, NoAckNamesAPsnPastAReadThatHasNotBeenAnswered) {
    RcPair pair;
    pair.receives(4);
    pair.send(10);
    pair.read(600);
    pair.send(10);
    const auto packets = pair.a_leaving();
    pair.give(packets);
    pair.give({packets[0]});
    EXPECT_EQ(pair.b_says(),
              (Names{"ACK fffffe/3", "READ Resp First ffffff/3", "READ Resp Middle 000000/0",
                     "READ Resp Last 000001/3", "ACK 000002/3", "ACK fffffe/3"}));
    // After a Read that is partly answered, the acknowledgement of a duplicate waits.
    pair.read(600);
    pair.give(pair.a_leaving());
    ASSERT_TRUE(pair.b.poll(pair.now));
    pair.give({packets[0]});
    EXPECT_EQ(pair.b_says(),
              (Names{"READ Resp Middle 000004/0", "READ Resp Last 000005/4", "ACK fffffe/4"}));
}

TEST(RcReceive, AQueuePairWithSharedReceivesReportsThatItTakesNoMore) {
    PairSettings settings = rc_settings();
    settings.shared_receives = 4;
    RcPair pair(settings);
    pair.receives(2);
    pair.send(600);
    pair.give({pair.a_leaving().at(0)});
    pair.b.modify({.state = QueuePairState::error});
    EXPECT_EQ(pair.b.events(), (std::vector{PortEvent{PortEvent::What::receives_flushed, 0x101}}));
    // The receive that it used is flushed. The other one stays for other queue pairs.
    EXPECT_EQ(statuses(pair.b.received()), Statuses{CompletionStatus::flushed});
    EXPECT_EQ(pair.b.port.shared_receive_queue(*pair.b.shared).ring.size(), 1U);
}

TEST(RcReceive, ACompareAndSwapChangesOnlyWhatIsEqual) {
    RcPair pair;
    pair.atomic(Request::fetch_add, 5);
    pair.atomic(Request::compare_swap, 77, 4);
    pair.settle();
    EXPECT_EQ(pair.target(), 5U);
    EXPECT_EQ(pair.result(), 5U);
    pair.atomic(Request::compare_swap, 77, 5);
    pair.settle();
    EXPECT_EQ(pair.target(), 77U);
    EXPECT_EQ(pair.result(), 5U);
}

// RC-20
TEST(RcReceive, ASendWithInvalidateEndsTheWindowsKey) {
    RcPair pair;
    pair.receives(2);
    const std::uint32_t free = pair.b.port.memory().add_window(domain, WindowType::type_2b);
    const KeyBearer owner{domain, pair.b.number};
    const std::uint32_t key = pair.b.port.memory()
                                  .bind({.window = free,
                                         .key_byte = 9,
                                         .region = pair.b.key,
                                         .address = End::base,
                                         .length = 64,
                                         .access = {.remote_write = true}},
                                        owner)
                                  .value();
    const WorkTerms write{
        .request = Request::write, .remote_address = End::base, .remote_key = key};
    EXPECT_EQ(pair.a.post(write, pair.a.piece(0, 64)), PostStatus::accepted);
    WorkTerms send{.request = Request::send_invalidate, .remote_key = key};
    EXPECT_EQ(pair.a.post(send, pair.a.piece(0, 300)), PostStatus::accepted);
    pair.settle();
    EXPECT_EQ(statuses(pair.a.sent()), Statuses(2, CompletionStatus::success));
    EXPECT_EQ(pair.b.received().at(0).invalidated, key);
    EXPECT_EQ(pair.a.post(write, pair.a.piece(0, 64)), PostStatus::accepted);
    pair.settle();
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::remote_access_error});
}

TEST(RcReceive, WhatIsAskedBeyondAllLimitsIsDroppedAndCounted) {
    RcPair pair(QueuePairChange{.max_dest_rd_atomic = std::uint8_t{1}});
    for (std::uint32_t i = 0; i < 40; ++i) {
        pair.give({read_request(pair, (0xFFFFFE + i) & 0xFFFFFF, 0, 10)});
    }
    // After a dropped request, all later ones are after a gap.
    EXPECT_EQ(pair.b.counters().no_room_to_answer, 1U);
    EXPECT_EQ(pair.b.counters().gaps, 27U);
    EXPECT_EQ(pair.b.counters().received(), 40U);
    EXPECT_EQ(pair.b.leaving(pair.now).size(), 12U);
    EXPECT_EQ(pair.b.state(), QueuePairState::rts);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
