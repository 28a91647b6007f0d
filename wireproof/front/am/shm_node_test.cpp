// Messages that leave before the next turn: a single request and its answer, on shared memory.
#include <gtest/gtest.h>

#include "wireproof/front/am/shm_node_test_kit.hpp"

namespace wireproof::am {
namespace {

using test::answer;
using test::ask;
using test::Nodes;

TEST(ShmNode, ALoneRequestLeavesAtOnceAndIsAnsweredInItsHandler) {
    Nodes nodes(2);
    nodes.answer_all();
    const auto trouble = [&](std::size_t node) {
        const PeerCounters counters = nodes[node].counters(1 - node);
        return counters.resent + counters.nacks + counters.timeouts;
    };
    // From the start of the session.
    const std::array<std::uint64_t, 2> troubled = {trouble(0), trouble(1)};
    for (int i = 1; i <= 300; ++i) {  // the sequence numbers wrap meanwhile
        const std::uint64_t sent = nodes.requests_sent(0, 1);
        ASSERT_EQ(nodes.request(0, 1), Status::ok);
        ASSERT_EQ(nodes.requests_sent(0, 1), sent + 1);
        EXPECT_FALSE(nodes[0].keeps_back());
        EXPECT_LE(nodes[0].next_deadline(), nodes.now + Config().keepalive_after);
        ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
        ASSERT_EQ(nodes.within, static_cast<std::uint64_t>(i));
        ASSERT_EQ(nodes[0].poll(nodes.now), 1U);
        ASSERT_EQ(nodes.answers, i);
        nodes.rest();
    }
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(trouble(i), troubled[i]);
    EXPECT_EQ(nodes[1].connection(0).stats().received_as(RxVerdict::accepted), 301U);
}

TEST(ShmNode, OthersLeaveTogetherWithTheTurn) {
    Nodes nodes(2);
    nodes.answer_all();
    const std::uint64_t sent = nodes.requests_sent(0, 1);
    for (int i = 0; i < 5; ++i) ASSERT_EQ(nodes.request(0, 1), Status::ok);
    EXPECT_EQ(nodes.requests_sent(0, 1), sent + 1) << "one is under way";
    EXPECT_TRUE(nodes[0].keeps_back());
    nodes[0].poll(nodes.now);
    EXPECT_EQ(nodes[0].connection(1).stats().sent_of(Kind::bundle), 1U);
    ASSERT_TRUE(nodes.run([&] { return nodes.answers == 5; }));
    EXPECT_EQ(nodes.within, 1U) << "of the first, which came alone";
    EXPECT_EQ(nodes.replies_sent(1, 0), 1U) << "and of no other";
}

// A request to one peer leaves at once, and the node does not forget a request that waits for
// another peer.
TEST(ShmNode, WhatWaitsForAnotherPeerIsStillKeptBack) {
    Nodes nodes(3);
    nodes[1].handle(ask, [](const Message&) {});
    nodes[2].handle(ask, [](const Message&) {});
    ASSERT_EQ(nodes.post(0, 2), Status::ok);
    const std::uint64_t sent = nodes.requests_sent(0, 1);
    ASSERT_EQ(nodes.request(0, 1), Status::ok);
    EXPECT_EQ(nodes.requests_sent(0, 1), sent + 1);
    EXPECT_TRUE(nodes[0].keeps_back());
    ASSERT_TRUE(nodes.run([&] { return nodes.idle(); }));
}

// Endpoint::wait keeps `awaiting` set for all peers.
TEST(ShmNode, ALoneRequestLeavesAtOnceWhereThePeersAreAwaited) {
    Nodes nodes(2);
    nodes.answer_all();
    for (std::size_t i = 0; i < 2; ++i) nodes[i].set_awaiting(true);
    nodes.rest();
    const std::array<std::uint64_t, 2> late = {nodes.timeouts(0, 1), nodes.timeouts(1, 0)};
    for (int i = 1; i <= 20; ++i) {
        const std::uint64_t sent = nodes.requests_sent(0, 1);
        ASSERT_EQ(nodes.request(0, 1), Status::ok);
        ASSERT_EQ(nodes.requests_sent(0, 1), sent + 1);
        ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
        ASSERT_EQ(nodes.within, static_cast<std::uint64_t>(i));
        ASSERT_EQ(nodes[0].poll(nodes.now), 1U);
        EXPECT_LE(nodes[0].next_deadline(), nodes.now + Config().keepalive_after);
        nodes.rest();
    }
    EXPECT_EQ(nodes.timeouts(0, 1), late[0]);
    EXPECT_EQ(nodes.timeouts(1, 0), late[1]);
}

// The first answer would leave by itself if the node did not check whether more messages of the
// frame wait.
TEST(ShmNode, AnswersToABundleThatCameAloneLeaveTogether) {
    Nodes nodes(2);
    nodes.answer_all();
    for (int i = 0; i < 4; ++i) ASSERT_EQ(nodes.post(0, 1), Status::ok);
    nodes[0].poll(nodes.now);
    nodes.rest();
    ASSERT_TRUE(nodes.run([&] { return nodes.answers == 4; }));
    EXPECT_EQ(nodes.replies_sent(1, 0), 0U);
    EXPECT_EQ(nodes[1].connection(0).stats().sent_of(Kind::bundle), 1U);
}

// The sender changes the length of the second message while the handler of the first one runs.
TEST(ShmNode, TheMessagesOfABundleStayAsTheyWereChecked) {
    Nodes nodes(2);
    constexpr std::size_t second = 48 + BundleEntry::size + 4;
    const Bytes room = nodes[0].wire().as<ShmWire>()->lane(PeerId{1}).claim()->add_room(200);
    std::vector<std::size_t> sizes;
    nodes[1].handle(ask, [&](const Message& message) {
        sizes.push_back(message.bytes().size());
        if (sizes.size() > 1) return;
        const auto entry = room.subspan<second, BundleEntry::size>();
        EXPECT_EQ(BundleEntry::decode(entry).bytes, 4U);
        BundleEntry{.handler = ask, .bytes = 60'000}.encode(entry);
    });
    for (int i = 0; i < 4; ++i) ASSERT_EQ(nodes.post(0, 1), Status::ok);
    nodes[0].poll(nodes.now);
    ASSERT_TRUE(nodes.run([&] { return sizes.size() >= 4; }));
    EXPECT_EQ(sizes, std::vector<std::size_t>(4, 4));
}

TEST(ShmNode, ALoneRequestWakesASleeper) {
    Nodes nodes(2);
    nodes[1].handle(ask, [](const Message&) {});
    auto& wire = *nodes[1].wire().as<ShmWire>();
    for (int i = 0; i < 10 && !wire.prepare_to_sleep(); ++i) nodes.turn();
    ASSERT_FALSE(shm_test::rings(wire));
    ASSERT_EQ(nodes.request(0, 1), Status::ok);
    EXPECT_TRUE(shm_test::rings(wire));
    EXPECT_EQ(nodes[1].poll(nodes.now), 1U);
}

TEST(ShmNode, ALongRequestLeavesAtOnceToo) {
    Nodes nodes(2);
    std::size_t heard = 0;
    nodes[1].handle(ask, [&](const Message& message) { heard = message.words().size(); });
    for (const std::size_t words : {std::size_t{48}, std::size_t{49}, std::size_t{1000}}) {
        const std::uint64_t sent = nodes.requests_sent(0, 1);
        ASSERT_EQ(nodes.request(0, 1, words), Status::ok);
        EXPECT_EQ(nodes.requests_sent(0, 1), sent + 1);
        ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
        EXPECT_EQ(heard, words);
        ASSERT_TRUE(nodes.run([&] { return nodes.idle(); }));
        nodes.rest();
    }
}

// The node makes the refusal before it applies the acknowledgement in the same frame.
TEST(ShmNode, ALoneRequestForAHandlerThatIsNotThereIsRefused) {
    Nodes nodes(2);
    nodes.answer_all();
    int refused = 0;
    nodes[0].on_refused([&](std::size_t, std::uint16_t) { ++refused; });
    for (int i = 1; i <= 3; ++i) {
        ASSERT_EQ(nodes.request(0, 1), Status::ok);
        ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
        ASSERT_EQ(nodes[0].poll(nodes.now), 1U);
        nodes.rest();
        const auto nothing = test::words({});
        ASSERT_EQ(nodes[0].ask(1, 99, nothing, [&] { return nodes.now; }), Status::ok);
        ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
        nodes.rest();
        ASSERT_EQ(refused, i);
        ASSERT_TRUE(nodes.run([&] { return nodes.idle(); }));
        nodes.rest();
    }
    EXPECT_EQ(nodes[0].counters(1).resent + nodes[1].counters(0).resent, 0U);
}

TEST(ShmNode, ALoneRequestCountsForTheTurnThatIsDue) {
    Nodes nodes(2);
    nodes[1].handle(ask, [](const Message&) {});
    const std::uint32_t every = Config::shared_memory().poll_every;
    ASSERT_EQ(nodes.request(0, 1), Status::ok);
    for (std::uint32_t i = 1; i < every; ++i) {
        EXPECT_FALSE(nodes[0].wants_turn());
        ASSERT_EQ(nodes.request(0, 1), Status::ok);
    }
    EXPECT_TRUE(nodes[0].wants_turn());
    nodes[0].poll(nodes.now);
    EXPECT_FALSE(nodes[0].wants_turn());
    ASSERT_TRUE(nodes.run([&] { return nodes.idle(); }));
    nodes.rest();
    ASSERT_EQ(nodes.request(0, 1), Status::ok);
    nodes[0].poll(nodes.now);  // this poll finds nothing
    for (std::uint32_t i = 1; i < every; ++i) ASSERT_EQ(nodes.request(0, 1), Status::ok);
    EXPECT_FALSE(nodes[0].wants_turn());
}

// A callback posts a request at the end of a turn, and the request leaves in the same turn. The
// next turn has nothing to do.
TEST(ShmNode, WhatACallbackAskedForIsNotKeptBackOnceItHasLeft) {
    Nodes nodes(2);
    nodes[1].handle(ask, [](const Message&) {});
    Status asked = Status::would_block;
    nodes[0].on_refused([&](std::size_t, std::uint16_t) { asked = nodes.request(0, 1); });
    const auto nothing = test::words({});
    ASSERT_EQ(nodes[0].ask(1, 99, nothing, [&] { return nodes.now; }), Status::ok);
    ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
    for (int i = 0; i < 3 && asked != Status::ok; ++i) nodes[0].poll(nodes.now);
    ASSERT_EQ(asked, Status::ok);
    nodes[0].poll(nodes.now);
    EXPECT_FALSE(nodes[0].keeps_back());
    EXPECT_GT(nodes[0].next_deadline(), nodes.now);
}

// A single request leaves without a turn, so its deadline must be known without a turn.
TEST(ShmNode, ALoneRequestThatIsNotAnsweredIsAskedFor) {
    Nodes nodes(2);
    nodes[1].handle(ask, [](const Message&) {});
    EXPECT_FALSE(nodes.run([] { return false; }, 100)) << "and no timer is left of before";
    nodes.rest();
    ASSERT_EQ(nodes.request(0, 1), Status::ok);
    const Instant asked = nodes.now;
    const std::uint64_t late = nodes.timeouts(0, 1);
    ASSERT_TRUE(nodes.run([&] { return nodes[0].idle(); }));
    EXPECT_LE(nodes.now, asked + Config::shared_memory().keepalive_after * 3);
    EXPECT_EQ(nodes.timeouts(0, 1), late + 1);
}

TEST(ShmNode, AnAnswerThatFindsNoRoomLeavesLater) {
    Nodes nodes(2);
    nodes.answer_all();
    auto& wire = *nodes[1].wire().as<ShmWire>();
    // Fills the ring with frames of no protocol.
    while (TxFrame* const room = wire.lane(PeerId(0)).claim()) {
        room->add_room(room->frame_max());
        wire.lane(PeerId(0)).commit();
    }
    ASSERT_EQ(nodes.request(0, 1), Status::ok);
    ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
    EXPECT_EQ(nodes.replies_sent(1, 0), 0U);
    ASSERT_TRUE(nodes.run([&] { return nodes.answers == 1; }));
    EXPECT_EQ(nodes.replies_sent(1, 0), 1U);
}

TEST(ShmNode, MemoryInsideAWithdrawnRegionIsInUseUntilThePeerHasConfirmed) {
    Nodes nodes(2);
    std::vector<std::byte> memory(1000);
    const std::uint64_t address = 0x1000;
    ASSERT_TRUE(nodes[1].register_memory(0, address, memory, {.store = true}));
    ASSERT_TRUE(nodes.run([&] { return nodes.idle(); }));
    const Bytes inside = Bytes(memory).subspan(400, 100);
    EXPECT_TRUE(nodes[1].is_in_use(inside));
    ASSERT_EQ(nodes[1].unregister_memory(0, address), Status::would_block);
    EXPECT_TRUE(nodes[1].is_in_use(inside));
    EXPECT_TRUE(nodes.run([&] { return !nodes[1].is_in_use(inside); }));
}

// If the ring is full, the request waits. The turn after the ring has room sends it.
TEST(ShmNode, ALoneRequestThatFindsNoRoomLeavesLater) {
    Nodes nodes(2);
    int heard = 0;
    nodes[1].handle(ask, [&](const Message&) { ++heard; });
    auto& wire = *nodes[0].wire().as<ShmWire>();
    std::size_t frames = 0;
    // Fills the ring with frames of no protocol.
    while (TxFrame* const room = wire.lane(PeerId(1)).claim()) {
        room->add_room(room->frame_max());
        wire.lane(PeerId(1)).commit();
        ++frames;
    }
    ASSERT_GT(frames, 0U);
    const std::uint64_t sent = nodes.requests_sent(0, 1);
    ASSERT_EQ(nodes.request(0, 1), Status::ok);
    EXPECT_EQ(nodes.requests_sent(0, 1), sent);
    EXPECT_TRUE(nodes[0].keeps_back());
    ASSERT_TRUE(nodes.run([&] { return heard == 1; }));
    EXPECT_EQ(nodes.requests_sent(0, 1), sent + 1);
}

}  // namespace
}  // namespace wireproof::am
