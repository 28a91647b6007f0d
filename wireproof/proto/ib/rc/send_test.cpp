// The sending half of RC (docs/rules/ib.md, RC requester). The tests make the answers.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using enum RxVerdict;

// RC-11, RC-19
TEST(RcSend, OneAckCompletesAllUpToItInOrder) {
    RcPair pair;
    for (int i = 0; i < 4; ++i) pair.send(300);
    EXPECT_EQ(pair.a_leaving().size(), 8U);
    EXPECT_TRUE(pair.a.sent().empty());
    EXPECT_EQ(pair.a.give(pair.now, ack(3)), control);  // three of four messages
    EXPECT_EQ(ids(pair.a.sent()), (std::vector<std::uint64_t>{1, 2, 3}));
    EXPECT_EQ(pair.a.give(pair.now, ack(5)), control);
    EXPECT_EQ(ids(pair.a.sent()), std::vector<std::uint64_t>{4});
    EXPECT_EQ(pair.a.port.next_deadline(), never);
}

TEST(RcSend, AsksForAnAckAtTheEndOfEachMessageAndEverySoManyPackets) {
    PairSettings settings = rc_settings();
    settings.queue_pair.ack_every = 3;
    settings.queue_pair.in_flight_max = 6;
    RcPair pair(settings);
    pair.post(Request::write, 256 * 10);
    pair.send(10);
    std::vector<bool> asks;
    for (const auto& packet : pair.a_leaving()) asks.push_back(decoded(packet).bth().ack_request);
    // At most six packets are in flight.
    EXPECT_EQ(asks, (std::vector<bool>{false, false, true, false, false, true}));
    pair.a.give(pair.now, ack(3));
    asks.clear();
    for (const auto& packet : pair.a_leaving()) asks.push_back(decoded(packet).bth().ack_request);
    EXPECT_EQ(asks, (std::vector<bool>{false, false, true, true, true}));
}

// RC-3, RC-23
TEST(RcSend, ResumesExactlyAtTheNaksPsnWithTheOriginalOpcode) {
    RcPair pair;
    pair.send(1100);
    pair.post(Request::write_immediate, 600, 0x3000);
    const auto first = pair.a_leaving();
    EXPECT_EQ(pair.a.give(pair.now, nak(0)), control);
    const auto again = pair.a_leaving();
    ASSERT_EQ(again.size(), 6U);
    EXPECT_EQ(again, std::vector(first.begin() + 2, first.end()));
    EXPECT_EQ(name(again[0]), "SEND Middle 000000");
    EXPECT_EQ(pair.a.counters().resent, 6U);
    EXPECT_EQ(pair.a.give(pair.now, nak(5)), control);
    EXPECT_EQ(names(pair.a_leaving()), Names{"WRITE Last Imm 000005"});
}

// RC-1: the peer allows no Reads.
TEST(RcSend, AReadThatThePeerDoesNotAllowEndsInErrorAfterWhatCameBefore) {
    RcPair pair(QueuePairChange{.max_rd_atomic = std::uint8_t{0}});
    pair.send(10);
    pair.post(Request::read, 100);
    pair.send(10);
    EXPECT_EQ(pair.a_leaving().size(), 1U);
    EXPECT_TRUE(pair.a.sent().empty());
    EXPECT_EQ(pair.a.give(pair.now, ack(0xFFFFFE)), control);
    EXPECT_EQ(statuses(pair.a.sent()),
              (Statuses{CompletionStatus::success, CompletionStatus::local_operation_error,
                        CompletionStatus::flushed}));
}

// RC-12, and RC-26 for a later response of the same Read.
TEST(RcSend, ALostReadResponseIsAskedForFromWhereItIsMissing) {
    RcPair pair;
    pair.b.fill(0x4000, pattern(1200, 8));
    pair.read(1200);
    const auto request = pair.a_leaving();
    for (const auto& packet : request) pair.b.give(pair.now, packet);
    auto responses = pair.b.leaving(pair.now);
    ASSERT_EQ(responses.size(), 5U);
    pair.a.give(pair.now, responses[0]);
    pair.a.give(pair.now, responses[1]);
    EXPECT_EQ(pair.a.give(pair.now, responses[3]), out_of_sequence);
    EXPECT_EQ(pair.a.give(pair.now, responses[4]), out_of_sequence);
    const auto again = pair.a_leaving();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(name(again[0]), "READ Request 000000");
    EXPECT_EQ(decoded(again[0]).headers.reth,
              (Reth{End::base + 0x4000 + 512, pair.b.key, 1200 - 512}));
    pair.b.give(pair.now, again[0]);
    pair.settle();
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::success});
    EXPECT_EQ(pair.a.bytes(0x2000, 1200), pattern(1200, 8));
    EXPECT_EQ(pair.a.counters().went_back, 1U);
    EXPECT_EQ(pair.a.counters().timeouts, 0U);
}

// RC-24
TEST(RcSend, AReplayedTailMayBeginWithFirstOrWithMiddle) {
    for (const bool begins_with_middle : {false, true}) {
        RcPair pair;
        pair.b.fill(0x4000, pattern(1200, 8));
        pair.read(1200);
        pair.b.give(pair.now, pair.a_leaving().at(0));
        pair.a.give(pair.now, pair.b.leaving(pair.now).at(0));
        pair.pass(rto);
        pair.b.give(pair.now, pair.a_leaving().at(0));
        auto tail = pair.b.leaving(pair.now);
        ASSERT_EQ(names(tail), (Names{"READ Resp First ffffff", "READ Resp Middle 000000",
                                      "READ Resp Middle 000001", "READ Resp Last 000002"}));
        if (begins_with_middle) {
            Packet first = decoded(tail[0]);
            first.headers.bth.opcode = opcode_of(Transport::rc, Operation::read_response_middle);
            tail[0] = encoded(first.headers, first.payload);
        }
        for (const auto& packet : tail) EXPECT_EQ(pair.a.give(pair.now, packet), accepted);
        EXPECT_EQ(pair.a.bytes(0x2000, 1200), pattern(1200, 8));
    }
}

// RC-24: a tail of one packet.
TEST(RcSend, AReplayedTailOfOnePacketMayBeOnlyOrLast) {
    for (const Operation operation :
         {Operation::read_response_only, Operation::read_response_last}) {
        RcPair pair;
        pair.read(300);
        pair.b.give(pair.now, pair.a_leaving().at(0));
        const auto responses = pair.b.leaving(pair.now);
        pair.a.give(pair.now, responses[0]);
        Packet last = decoded(responses[1]);
        last.headers.bth.opcode = opcode_of(Transport::rc, operation);
        EXPECT_EQ(pair.a.give(pair.now, encoded(last.headers, last.payload)), accepted);
        EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::success});
    }
}

// RC-13
TEST(RcSend, NoMoreReadsAndAtomicsAreOutstandingThanAllowed) {
    RcPair pair(QueuePairChange{.max_rd_atomic = std::uint8_t{2}});
    pair.receives(1);
    pair.read(10);
    pair.atomic(Request::fetch_add, 1);
    pair.read(10);
    pair.send(10);
    const auto first = pair.a_leaving();
    EXPECT_EQ(names(first), (Names{"READ Request fffffe", "FetchAdd ffffff"}));
    pair.give(first);
    const auto answers = pair.b.leaving(pair.now);
    pair.a.give(pair.now, answers.at(0));
    EXPECT_EQ(names(pair.a_leaving()), (Names{"READ Request 000000", "SEND Only 000001"}));
}

TEST(RcSend, AFenceWaitsForReadsAndAtomicsBeforeIt) {
    RcPair pair;
    pair.receives(2);
    pair.read(10);
    pair.send(10);
    EXPECT_EQ(pair.a.post({.id = 3, .fence = true}, pair.a.piece(0, 10)), PostStatus::accepted);
    const auto first = pair.a_leaving();
    EXPECT_EQ(first.size(), 2U);
    pair.give(first);
    pair.a.give(pair.now, pair.b.leaving(pair.now).at(0));
    EXPECT_EQ(names(pair.a_leaving()), Names{"SEND Only 000000"});
}

// RC-26
TEST(RcSend, AnswersPastAnUnansweredReadCompleteWhatIsBeforeItAndNothingElse) {
    const std::array<PacketBytes, 4> later = {ack(1), nak(1), rnr_nak(1),
                                              nak(1, NakCode::remote_access)};
    for (const PacketBytes& packet : later) {
        RcPair pair;
        pair.send(10);
        pair.read(10);
        pair.send(10);
        pair.send(10);
        pair.a_leaving();
        EXPECT_EQ(pair.a.give(pair.now, packet), control) << name(packet);
        EXPECT_EQ(ids(pair.a.sent()), std::vector<std::uint64_t>{1}) << name(packet);
        EXPECT_EQ(names(pair.a_leaving()),
                  (Names{"READ Request ffffff", "SEND Only 000000", "SEND Only 000001"}))
            << name(packet);
    }
    // A response to a later Read.
    RcPair pair;
    pair.read(10);
    pair.read(10);
    pair.give(pair.a_leaving());
    const auto responses = pair.b.leaving(pair.now);
    pair.a.give(pair.now, responses.at(1));
    EXPECT_TRUE(pair.a.sent().empty());
    EXPECT_EQ(pair.a_leaving().size(), 2U);
}

// RC-22
TEST(RcSend, OneLostReadResponseCostsOneRetryHoweverManyAcksFollow) {
    RcPair pair(QueuePairChange{.retry_count = std::uint8_t{1}});
    pair.receives(8);
    pair.b.fill(0x4000, pattern(10, 8));
    pair.read(10);
    for (int i = 0; i < 8; ++i) pair.send(10);
    std::vector<PacketBytes> answers;
    for (const auto& packet : pair.a_leaving()) {
        pair.b.give(pair.now, packet);
        for (auto& answer : pair.b.leaving(pair.now)) answers.push_back(std::move(answer));
    }
    ASSERT_EQ(answers.size(), 9U);
    for (std::size_t i = 1; i < 9; ++i) pair.a.give(pair.now, answers[i]);
    pair.settle();
    EXPECT_EQ(statuses(pair.a.sent()), Statuses(9, CompletionStatus::success));
    EXPECT_EQ(pair.a.counters().went_back, 1U);
    EXPECT_EQ(pair.a.counters().timeouts, 0U);
    EXPECT_EQ(pair.a.counters().resent, 9U);
}

// RC-27
TEST(RcSend, AnswersToNothingOutstandingAreIgnored) {
    RcPair pair;
    for (int i = 0; i < 3; ++i) pair.send(10);
    pair.a_leaving();
    pair.a.give(pair.now, ack(0xFFFFFE));
    pair.a.sent();
    for (const std::uint32_t psn : {0xFFFFFEU, 1U, 0x800000U, 0x7FFFFFU, 0xFFFFFDU}) {
        EXPECT_EQ(pair.a.give(pair.now, ack(psn)), stale) << psn;
        EXPECT_EQ(pair.a.give(pair.now, nak(psn, NakCode::remote_access)), stale) << psn;
    }
    EXPECT_TRUE(pair.a.sent().empty());
    EXPECT_EQ(pair.a.counters().stale, 10U);
}

// RC-27: an answer to a packet that was sent before going back counts.
TEST(RcSend, AnAckOfWhatWasSentBeforeGoingBackCounts) {
    RcPair pair;
    for (int i = 0; i < 3; ++i) pair.send(300);
    pair.a_leaving();
    pair.pass(rto);
    ASSERT_TRUE(pair.a.poll(pair.now));
    EXPECT_EQ(pair.a.give(pair.now, ack(2)), control);
    EXPECT_EQ(ids(pair.a.sent()), (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(names(pair.a_leaving()), Names{"SEND Last 000003"});
}

// RC-18, RC-17
TEST(RcSend, AFatalNakEndsTheRequestItNamesAndFlushesTheRest) {
    const std::array<std::pair<NakCode, CompletionStatus>, 3> fatal = {
        {{NakCode::invalid_request, CompletionStatus::remote_invalid_request},
         {NakCode::remote_access, CompletionStatus::remote_access_error},
         {NakCode::remote_operational, CompletionStatus::remote_operation_error}}};
    for (const auto& [code, status] : fatal) {
        RcPair pair;
        for (int i = 0; i < 3; ++i) pair.send(300);
        pair.a_leaving();
        pair.a.give(pair.now, nak(1, code));
        EXPECT_EQ(statuses(pair.a.sent()),
                  (Statuses{CompletionStatus::success, status, CompletionStatus::flushed}));
        EXPECT_EQ(pair.a.port.next_deadline(), never);
    }
}

TEST(RcSend, AResponseThatIsNotWhatWasAskedForIsAnError) {
    RcPair pair;
    pair.read(300);
    pair.b.give(pair.now, pair.a_leaving().at(0));
    const auto responses = pair.b.leaving(pair.now);
    const Packet first = decoded(responses.at(0));
    EXPECT_EQ(pair.a.give(pair.now, encoded(first.headers, first.payload.first(252))), refused);
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::bad_response});
}

TEST(RcSend, AReadMayOnlyLandInMemoryThatMayBeWritten) {
    RcPair pair;
    Piece elsewhere = pair.a.piece(0, 8);
    elsewhere.key += 256;
    pair.receives(1);
    pair.send(10);
    EXPECT_EQ(pair.a.post({.id = 2, .request = Request::read}, elsewhere), PostStatus::accepted);
    pair.posted = 2;
    pair.send(10);
    // Requests before it succeed.
    pair.settle();
    EXPECT_EQ(statuses(pair.a.sent()),
              (Statuses{CompletionStatus::success, CompletionStatus::local_protection_error,
                        CompletionStatus::flushed}));
}

TEST(RcSend, LocalRequestsRunInOrderAndCompleteInOrder) {
    RcPair pair;
    pair.receives(2);
    const std::uint32_t window = pair.a.port.memory().add_window(domain, WindowType::type_1);
    pair.send(10);
    WorkTerms bind{.id = 2, .request = Request::bind_window};
    bind.bind = {.window = window,
                 .key_byte = 3,
                 .region = pair.a.key,
                 .address = End::base,
                 .length = 10,
                 .access = {.remote_read = true}};
    EXPECT_EQ(pair.a.post(bind, pair.a.piece(0, 0)), PostStatus::accepted);
    pair.posted = 2;
    pair.send(10);
    const auto packets = pair.a_leaving();
    EXPECT_EQ(packets.size(), 2U);
    EXPECT_TRUE(pair.a.sent().empty());
    // Going back does not run the bind again: a second bind of a window of type 1 would set another
    // key.
    pair.pass(rto);
    EXPECT_EQ(pair.a_leaving().size(), 2U);
    pair.a.give(pair.now, ack(0xFFFFFF));
    EXPECT_EQ(ids(pair.a.sent()), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(RcSend, NothingNewBeginsWhileDraining) {
    RcPair pair;
    pair.receives(2);
    pair.send(600);
    pair.send(10);
    auto first = pair.a.poll(pair.now);
    pair.a.modify({.state = QueuePairState::sqd, .drained_notify = true});
    auto rest = pair.a_leaving();
    EXPECT_EQ(rest.size(), 2U);
    EXPECT_TRUE(pair.a.events().empty());
    rest.insert(rest.begin(), *first);
    pair.give(rest);
    for (const auto& packet : pair.b.leaving(pair.now)) pair.a.give(pair.now, packet);
    EXPECT_EQ(pair.a.events(), (std::vector{PortEvent{PortEvent::What::drained, 0x100}}));
    pair.a.modify({.state = QueuePairState::rts});
    EXPECT_EQ(pair.a_leaving().size(), 1U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
