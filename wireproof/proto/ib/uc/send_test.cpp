// The sending half of UC (docs/rules/ib.md, UC requester): which packets leave, when a request
// completes, and what is refused.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/port/port_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using enum RxVerdict;

// UC-5, UC-18
TEST(UcSend, AMessageLeavesAsFirstMiddlesAndLastOrOnly) {
    Pair pair;
    pair.send(700);
    pair.send(256);
    pair.send(257);
    EXPECT_EQ(names(pair.a.leaving(pair.now)),
              (Names{"SEND First fffffe", "SEND Middle ffffff", "SEND Last 000000",
                     "SEND Only 000001", "SEND First 000002", "SEND Last 000003"}));
    EXPECT_EQ(pair.a.counters().sent, 6U);
}

// UC-5
TEST(UcSend, EveryLengthMakesTheRightNumberOfPackets) {
    for (const std::size_t mtu : path_mtus) {
        for (const std::size_t length : {0UL, 1UL, mtu - 1, mtu, mtu + 1, 3 * mtu, 3 * mtu + 5}) {
            Pair pair({.connection = {.path_mtu = mtu}});
            pair.receives(1, 0x4000);
            pair.post(Request::send, length);
            const auto packets = pair.a.leaving(pair.now);
            EXPECT_EQ(packets.size(), packets_of(length, mtu)) << length << " of " << mtu;
            pair.give(packets);
            EXPECT_EQ(pair.got(0, length), pattern(length, 1)) << length << " of " << mtu;
        }
    }
}

TEST(UcSend, AWriteNamesItsTargetOnceAndCarriesItsImmediateLast) {
    Pair pair;
    pair.post(Request::write_immediate, 600);
    const auto packets = pair.a.leaving(pair.now);
    EXPECT_EQ(names(packets),
              (Names{"WRITE First fffffe", "WRITE Middle ffffff", "WRITE Last Imm 000000"}));
    const auto first = Packet::decode({.bytes = packets[0]}).value();
    EXPECT_EQ(first.headers.reth, (Reth{End::base + 0x4000, pair.b.key, 600}));
    const auto last = Packet::decode({.bytes = packets[2]}).value();
    EXPECT_EQ(last.headers.immediate.value, 0xC0DE0000U);
    EXPECT_EQ(first.bth().dest_qp, 0x101U);
    EXPECT_FALSE(first.bth().ack_request || last.bth().ack_request);
}

// UC-7
TEST(UcSend, ReadsAtomicsAndSendsWithInvalidateAreRefusedAtPost) {
    Pair pair;
    for (const Request request :
         {Request::read, Request::compare_swap, Request::fetch_add, Request::send_invalidate}) {
        EXPECT_EQ(pair.a.post({.request = request}, pair.a.piece(0, 8)), PostStatus::not_supported);
    }
    EXPECT_TRUE(pair.a.leaving(pair.now).empty());
    EXPECT_TRUE(pair.a.sent().empty());
}

// UC-8
TEST(UcSend, MessagesOfNoBytesSucceed) {
    Pair pair;
    pair.receives(1);
    pair.post(Request::send, 0);
    // A length of 0 needs no valid key.
    WorkTerms write{.id = 2, .request = Request::write, .remote_address = 99, .remote_key = 12345};
    EXPECT_EQ(pair.a.post(write, pair.a.piece(0, 0)), PostStatus::accepted);
    EXPECT_EQ(pair.give(pair.a.leaving(pair.now)), (std::vector{accepted, accepted}));
    EXPECT_EQ(statuses(pair.a.sent()), Statuses(2, CompletionStatus::success));
    const auto received = pair.b.received();
    ASSERT_EQ(received.size(), 1U);
    EXPECT_EQ(received[0].length, 0U);
}

// UC-9: posting does not access the bytes of the message.
TEST(UcSend, TwoGigabytesAreAcceptedAndOneByteMoreIsNot) {
    Pair pair;
    std::vector<Piece> pieces(2, Piece{End::base, 1U << 30, pair.a.key});
    const auto post = [&] {
        return pair.a.port.post_send(pair.a.number, {.terms = {}, .pieces = pieces});
    };
    EXPECT_EQ(post(), PostStatus::accepted);
    ++pieces[1].length;
    EXPECT_EQ(post(), PostStatus::too_long);
    EXPECT_EQ(packets_of(message_max, 256), std::uint64_t{1} << 23);
}

// UC-10
TEST(UcSend, CompletesOnceTheLastPacketHasLeftThoughAllAreLost) {
    Pair pair;
    pair.send(600);
    ASSERT_TRUE(pair.a.poll(pair.now));
    ASSERT_TRUE(pair.a.poll(pair.now));
    EXPECT_TRUE(pair.a.sent().empty());
    ASSERT_TRUE(pair.a.poll(pair.now));
    const auto completions = pair.a.sent();
    ASSERT_EQ(completions.size(), 1U);
    EXPECT_EQ(completions[0], (Completion{.id = 1, .queue_pair = 0x100, .length = 600}));
    EXPECT_EQ(pair.a.port.next_deadline(), never);
}

TEST(UcSend, UnsignalledRequestsCompleteSilentlyUnlessTheQueuePairSignalsAll) {
    for (const bool all : {false, true}) {
        Pair pair({.queue_pair = {.signal_all = all}});
        EXPECT_EQ(pair.a.post({.signalled = false}, pair.a.piece(0, 10)), PostStatus::accepted);
        EXPECT_EQ(pair.a.leaving(pair.now).size(), 1U);
        EXPECT_EQ(pair.a.sent().size(), all ? 1U : 0U);
    }
}

TEST(UcSend, InlinedBytesAreTheUsersAgainAtOnce) {
    Pair pair;
    pair.receives(1);
    auto bytes = pattern(20, 5);
    const std::vector<ConstBytes> inlined = {ConstBytes(bytes).first(7),
                                             ConstBytes(bytes).subspan(7)};
    EXPECT_EQ(pair.a.port.post_send(pair.a.number, {.terms = {}, .inlined = inlined}),
              PostStatus::accepted);
    bytes.assign(20, std::byte{0});
    pair.settle();
    EXPECT_EQ(pair.got(0, 20), pattern(20, 5));
    std::vector<std::byte> much(65);
    const ConstBytes too_much = much;
    EXPECT_EQ(
        pair.a.port.post_send(pair.a.number, {.terms = {}, .inlined = std::span(&too_much, 1)}),
        PostStatus::too_long);
}

TEST(UcSend, GathersFromPiecesAndScattersIntoPieces) {
    Pair pair;
    pair.a.fill(0, pattern(600, 1));
    const std::array from = {pair.a.piece(0, 100), pair.a.piece(100, 0), pair.a.piece(100, 500)};
    const std::array to = {pair.b.piece(0, 255), pair.b.piece(255, 2), pair.b.piece(257, 900)};
    EXPECT_EQ(pair.b.port.post_receive(pair.b.number, {.id = 1, .pieces = to}),
              PostStatus::accepted);
    EXPECT_EQ(pair.a.port.post_send(pair.a.number, {.terms = {}, .pieces = from}),
              PostStatus::accepted);
    pair.settle();
    EXPECT_EQ(pair.b.bytes(0, 600), pattern(600, 1));
}

TEST(UcSend, AFullQueueSaysSo) {
    Pair pair({.queue_pair = {.limits = {.sends = 2, .receives = 1, .pieces = 1}}});
    pair.send(1);
    pair.send(1);
    EXPECT_EQ(pair.a.post({}, pair.a.piece(0, 1)), PostStatus::queue_full);
    const std::array two = {pair.a.piece(0, 1), pair.a.piece(1, 1)};
    EXPECT_EQ(pair.a.port.post_send(pair.a.number, {.terms = {}, .pieces = two}),
              PostStatus::too_many_pieces);
    pair.receives(1);
    EXPECT_EQ(pair.b.receive(5, pair.b.piece(0, 1)), PostStatus::queue_full);
}

// Only the message whose memory is not registered fails. Later requests are flushed until the queue
// pair leaves SQE.
TEST(UcSend, MemoryThatIsNotRegisteredStopsTheSendQueueOnly) {
    Pair pair;
    pair.receives(2);
    Piece unknown = pair.a.piece(0, 10);
    unknown.key += 256;
    EXPECT_EQ(pair.a.post({.id = 1}, unknown), PostStatus::accepted);
    pair.posted = 1;
    pair.send(10);
    EXPECT_TRUE(pair.a.leaving(pair.now).empty());
    EXPECT_EQ(statuses(pair.a.sent()),
              (Statuses{CompletionStatus::local_protection_error, CompletionStatus::flushed}));
    EXPECT_EQ(pair.a.state(), QueuePairState::sqe);
    pair.a.modify({.state = QueuePairState::rts});
    pair.send(10);
    EXPECT_EQ(names(pair.a.leaving(pair.now)), Names{"SEND Only fffffe"});
}

// The message after one that broke off begins with its first packet.
TEST(UcSend, AMessageWhoseMemoryGoesAwayLeavesNoRest) {
    Pair pair;
    pair.send(600);
    EXPECT_TRUE(pair.a.poll(pair.now));
    pair.a.port.memory().end_region(pair.a.key);
    EXPECT_TRUE(pair.a.leaving(pair.now).empty());
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::local_protection_error});
    pair.a.key =
        pair.a.port.memory()
            .add_region(
                {.domain = domain, .address = End::base, .memory = pair.a.memory, .access = {true}})
            .value();
    pair.a.modify({.state = QueuePairState::rts});
    pair.send(600);
    EXPECT_EQ(names(pair.a.leaving(pair.now)),
              (Names{"SEND First ffffff", "SEND Middle 000000", "SEND Last 000001"}));
}

TEST(UcSend, DrainedIsReportedOnceNothingIsHalfSent) {
    Pair pair;
    pair.send(600);
    pair.send(10);
    ASSERT_TRUE(pair.a.poll(pair.now));
    pair.a.modify({.state = QueuePairState::sqd, .drained_notify = true});
    EXPECT_TRUE(pair.a.events().empty());
    EXPECT_EQ(pair.a.leaving(pair.now).size(), 2U);
    EXPECT_EQ(pair.a.events(), (std::vector{PortEvent{PortEvent::What::drained, 0x100}}));
    pair.a.modify({.state = QueuePairState::rts});
    EXPECT_EQ(pair.a.leaving(pair.now).size(), 1U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
