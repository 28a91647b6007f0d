// What a send queue accepts, what an entry keeps of the previous request in its place, and which
// packet of a message is solicited.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

PostStatus post_inlined(End& end, Request request, ConstBytes bytes) {
    return end.port.post_send(end.number,
                              {.terms = {.request = request}, .inlined = std::span(&bytes, 1)});
}

TEST(SendQueue, TakesWhatItsLimitsAllowAndNoMore) {
    PairSettings settings = rc_settings();
    settings.queue_pair.limits.inlined = 32;
    settings.queue_pair.limits.pieces = 2;
    RcPair pair(settings);
    const std::vector<std::byte> bytes(33);
    EXPECT_EQ(post_inlined(pair.a, Request::send, ConstBytes(bytes).first(32)),
              PostStatus::accepted);
    EXPECT_EQ(post_inlined(pair.a, Request::send, bytes), PostStatus::too_long);
    // An inlined Read has no memory for its data.
    EXPECT_EQ(post_inlined(pair.a, Request::read, ConstBytes(bytes).first(8)),
              PostStatus::not_supported);
    EXPECT_EQ(post_inlined(pair.a, Request::fetch_add, ConstBytes(bytes).first(8)),
              PostStatus::not_supported);
    const std::vector<Piece> pieces(3, pair.a.piece(0, 8));
    EXPECT_EQ(pair.a.port.post_send(pair.a.number, {.terms = {}, .pieces = pieces}),
              PostStatus::too_many_pieces);
    EXPECT_EQ(
        pair.a.port.post_send(pair.a.number, {.terms = {}, .pieces = std::span(pieces).first(2)}),
        PostStatus::accepted);
    for (const std::size_t length : {0U, 7U, 9U, 16U}) {
        for (const Request request : {Request::fetch_add, Request::compare_swap}) {
            EXPECT_EQ(pair.a.post({.request = request}, pair.a.piece(0, length)),
                      PostStatus::bad_length);
        }
    }
}

// One request at a time, always in the same place of the queue.
TEST(SendQueue, APlaceKeepsNothingOfTheRequestBefore) {
    PairSettings settings = rc_settings();
    settings.queue_pair.limits.sends = 1;
    RcPair pair(settings);
    pair.receives(3);
    pair.b.fill(0x4000, pattern(600, 9));
    const auto done = [&pair] {
        pair.settle();
        return statuses(pair.a.sent());
    };
    const Statuses well{CompletionStatus::success};
    const auto five = pattern(5, 1);
    const auto three = pattern(3, 2);
    EXPECT_EQ(post_inlined(pair.a, Request::send, five), PostStatus::accepted);
    EXPECT_EQ(done(), well);
    EXPECT_EQ(post_inlined(pair.a, Request::send, three), PostStatus::accepted);
    EXPECT_EQ(done(), well);
    EXPECT_EQ(pair.got(0, 5), five);
    EXPECT_EQ(pair.got(1, 3), three);
    EXPECT_EQ(pair.got(1, 4)[3], std::byte{});
    for (const std::size_t length : {600U, 300U, 600U}) {
        pair.a.fill(0x2000, std::vector<std::byte>(600));
        pair.read(length);
        EXPECT_EQ(done(), well);
        const auto expected = pattern(600, 9);
        EXPECT_TRUE(
            std::ranges::equal(pair.a.bytes(0x2000, length), std::span(expected).first(length)));
    }
    pair.send(300);
    EXPECT_EQ(done(), well);
    EXPECT_EQ(pair.got(2, 300), pattern(300, static_cast<unsigned>(pair.posted)));
}

TEST(SendQueue, ARequestThatFailedLeavesAGoodPlace) {
    PairSettings settings;
    settings.queue_pair.limits.sends = 1;
    Pair pair(settings);
    Piece unknown = pair.a.piece(0, 10);
    unknown.key += 256;
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(pair.a.post({.id = 1}, unknown), PostStatus::accepted);
        EXPECT_TRUE(pair.a.leaving(pair.now).empty());
        EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::local_protection_error});
        pair.a.modify({.state = QueuePairState::rts});
        pair.send(10);
        EXPECT_EQ(pair.a.leaving(pair.now).size(), 1U);
        EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::success});
    }
}

TEST(SendQueue, ARequestCanBeMadeToFail) {
    RcPair reliable;
    reliable.a.port.fail_send(reliable.a.number, 2, CompletionStatus::remote_operation_error);
    reliable.receives(3);
    for (int i = 0; i < 3; ++i) reliable.send(10);
    reliable.settle();
    EXPECT_EQ(reliable.b.counters().executed, 1U);
    EXPECT_EQ(statuses(reliable.a.sent()),
              (Statuses{CompletionStatus::success, CompletionStatus::remote_operation_error,
                        CompletionStatus::flushed}));
    EXPECT_EQ(reliable.a.state(), QueuePairState::error);

    Pair pair;
    pair.a.port.fail_send(pair.a.number, 1, CompletionStatus::retry_exceeded);
    for (int i = 0; i < 2; ++i) pair.send(10);
    EXPECT_TRUE(pair.a.leaving(pair.now).empty());
    EXPECT_EQ(statuses(pair.a.sent()),
              (Statuses{CompletionStatus::retry_exceeded, CompletionStatus::flushed}));
    EXPECT_EQ(pair.a.state(), QueuePairState::sqe);
}

// A bind that fails ends before any packet leaves.
TEST(SendQueue, ALocalRequestThatFailedLeavesAGoodPlace) {
    PairSettings settings = rc_settings();
    settings.queue_pair.limits.sends = 1;
    RcPair pair(settings);
    EXPECT_EQ(
        pair.a.post({.request = Request::local_invalidate, .remote_key = 7}, pair.a.piece(0, 0)),
        PostStatus::accepted);
    EXPECT_TRUE(pair.a_leaving().empty());
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::local_protection_error});
    pair.a.modify({.state = QueuePairState::reset});
    pair.connect(pair.a, 0);
    pair.send(10);
    EXPECT_EQ(names(pair.a_leaving()), Names{"SEND Only fffffe"});
}

TEST(SendQueue, APlaceThatHeldAProbeHoldsAMessageWithCreditNext) {
    PairSettings settings = rc_settings();
    settings.queue_pair.limits.sends = 1;
    settings.queue_pair.credits = true;
    RcPair pair(settings);
    pair.send(10);
    EXPECT_EQ(pair.a_leaving().size(), 1U);
    EXPECT_EQ(pair.a.counters().probes, 1U);
    pair.a.give(pair.now, answer(0xFFFFFE, Syndrome::ack(credit_code_of(8)), 1));
    pair.send(600);
    EXPECT_EQ(pair.a_leaving().size(), 3U);
    EXPECT_EQ(pair.a.counters().probes, 1U);
}

// The Last raises the completion at the peer, and a Write without immediate data raises none.
TEST(SendQueue, OnlyTheLastPacketOfWhatCompletesThereIsSolicited) {
    const auto flags = [](Request request) {
        RcPair pair;
        const WorkTerms terms{.request = request,
                              .solicited = true,
                              .remote_address = End::base + 0x4000,
                              .remote_key = pair.b.key};
        EXPECT_EQ(pair.a.post(terms, pair.a.piece(0, 600)), PostStatus::accepted);
        std::vector<bool> solicited;
        for (const auto& packet : pair.a_leaving()) {
            solicited.push_back(decoded(packet).bth().solicited);
        }
        return solicited;
    };
    const std::vector<bool> last = {false, false, true};
    EXPECT_EQ(flags(Request::send), last);
    EXPECT_EQ(flags(Request::write_immediate), last);
    EXPECT_EQ(flags(Request::write), std::vector<bool>(3));
}

}  // namespace
}  // namespace wireproof::proto::ib::test
