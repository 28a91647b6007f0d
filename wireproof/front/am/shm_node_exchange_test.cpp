// A request and its answer on shared memory, each in its own turn.
#include <gtest/gtest.h>

#include "wireproof/front/am/shm_node_test_kit.hpp"

namespace wireproof::am {
namespace {

using test::answer;
using test::ask;
using test::Nodes;

// The answer has left even if the handler throws afterwards, and the next turn works as usual.
TEST(ShmNode, AHandlerMayThrowBehindItsAnswer) {
    Nodes nodes(2);
    nodes[1].handle(ask, [&](const Message&) {
        EXPECT_EQ(nodes.reply(1), Status::ok);
        throw 7;
    });
    const auto resent = [&] { return nodes[0].counters(1).resent + nodes[1].counters(0).resent; };
    const std::uint64_t before = resent();  // counts from the start of the session
    ASSERT_EQ(nodes.request(0, 1), Status::ok);
    EXPECT_THROW(nodes[1].poll(nodes.now), int);
    EXPECT_EQ(nodes.replies_sent(1, 0), 1U);
    ASSERT_EQ(nodes[0].poll(nodes.now), 1U);
    EXPECT_EQ(nodes.answers, 1);
    nodes.answer_all();
    for (int i = 0; i < 5; ++i) ASSERT_EQ(nodes.request(0, 1), Status::ok);
    ASSERT_TRUE(nodes.run([&] { return nodes.answers == 6; }));
    ASSERT_TRUE(nodes.run([&] { return nodes.idle(); }));
    EXPECT_EQ(resent(), before) << "and nothing was missed";
}

// If node 0 looks before the answer can be there, it takes the cache line from the peer that will
// write it. Polls in which no answer ever came therefore do not look, until the time
// `PollDelay::longest` has passed.
TEST(ShmNode, TheTurnsInWhichNoAnswerEverCameDoNotLook) {
    Nodes nodes(2);
    nodes.answer_all();
    const auto asked_and_answered = [&] {
        nodes.now = nodes.now + host::PollDelay::longest;  // then node 1 looks as well
        EXPECT_EQ(nodes.request(0, 1), Status::ok);
    };
    for (int i = 0; i < 200; ++i) {
        asked_and_answered();
        for (int turns = 0; turns < 30; ++turns) ASSERT_EQ(nodes[0].poll(nodes.now), 0U);
        ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
        int late = 0;
        while (nodes[0].poll(nodes.now) == 0) ++late;
        ASSERT_LE(late, 30);
    }
    asked_and_answered();
    ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
    for (int turns = 0; turns < 25; ++turns) ASSERT_EQ(nodes[0].poll(nodes.now), 0U) << turns;
    int more = 0;
    while (nodes[0].poll(nodes.now) == 0) ++more;
    EXPECT_LE(more, 8);

    asked_and_answered();
    ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
    ASSERT_EQ(nodes[0].poll(nodes.now), 0U);
    nodes.now = nodes.now + host::PollDelay::longest;
    EXPECT_EQ(nodes[0].poll(nodes.now), 1U) << "a microsecond behind the request";
    EXPECT_EQ(nodes.answers, 202);
}

// A frame that is there at the first look counts as a single frame, as does one that comes after
// looks in vain: its reply leaves inside the handler.
TEST(ShmNode, AnAnswerThatWasThereAtTheFirstLookIsASingleFrame) {
    Nodes nodes(2);
    nodes.answer_all();
    const auto converse = [&](int rounds) {
        nodes.now = nodes.now + Duration::nanoseconds(100);
        for (int turns = 0; turns < rounds; ++turns) ASSERT_EQ(nodes[1].poll(nodes.now), 0U);
        ASSERT_EQ(nodes.request(0, 1), Status::ok);
        for (int turns = 0; turns < 50 && nodes[1].poll(nodes.now) == 0;) ++turns;
        for (int turns = 0; turns < 50 && nodes[0].poll(nodes.now) == 0;) ++turns;
    };
    for (int i = 0; i < 200; ++i) converse(30);
    const std::uint64_t within = nodes.within;
    const int answers = nodes.answers;
    for (int i = 0; i < 8; ++i) converse(0);
    EXPECT_EQ(nodes.answers, answers + 8);
    EXPECT_EQ(nodes.within, within + 8);
}

TEST(ShmNode, InAHandlerItIsKnownWhatItsFrameAcknowledged) {
    Nodes nodes(2);
    nodes.answer_all();
    int seen = 0;
    const auto looks = [&](const auto& look) {
        nodes[0].handle(answer, [&, look](const Message&) {
            ++seen;
            look();
        });
        ASSERT_EQ(nodes.request(0, 1), Status::ok);
        ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
        ASSERT_EQ(nodes[0].poll(nodes.now), 1U);
        nodes.rest();
    };
    looks([&] { EXPECT_TRUE(nodes[0].idle()); });
    looks([&] { EXPECT_TRUE(nodes[0].connection(1).sending(Channel::request).empty()); });
    looks([&] {
        EXPECT_GT(nodes[0].connection(1).next_deadline(), nodes.now + Duration::milliseconds(100));
        // The next deadline is that of the pool, which checks whether the buffers are still needed.
        EXPECT_GT(nodes[0].next_deadline(), nodes.now + Duration::milliseconds(20));
    });
    looks([&] {
        EXPECT_EQ(nodes[0].counters(1).received[static_cast<std::size_t>(RxVerdict::accepted)],
                  nodes[1].counters(0).received[static_cast<std::size_t>(RxVerdict::accepted)]);
    });
    EXPECT_EQ(seen, 4);
}

/// Node 0 may get 64 bytes of node 1, and its last request has been answered.
struct ReadableNodes : Nodes {
    ReadableNodes() : Nodes(2) {
        answer_all();
        converse();
        EXPECT_TRUE((*this)[1].register_memory(0, 4096, memory, Rights{.get = true}));
        rest();
        exchange();
    }
    std::vector<std::byte> memory = std::vector<std::byte>(64, std::byte{9});
    std::vector<std::byte> read = std::vector<std::byte>(64);
};

TEST(ShmNode, BehindAnAnswerItIsReadAtOnce) {
    ReadableNodes nodes;
    const std::uint64_t before = nodes[0].gets_at_once();
    bool ended = false;
    ASSERT_EQ(nodes[0].get(1, 4096, nodes.read, [&](Status) { ended = true; }), Status::ok);
    EXPECT_EQ(nodes[0].gets_at_once(), before + 1) << "no request of ours can still change it";
    ASSERT_TRUE(nodes.run([&] { return ended; }));
    EXPECT_EQ(nodes.read, nodes.memory);
}

// As many gets over UDP would fill a window.
TEST(ShmNode, GetsThatEndAtOnceWaitForATurnAfterSoMany) {
    ReadableNodes nodes;
    std::size_t ended = 0;
    const auto get = [&] { return nodes[0].get(1, 4096, nodes.read, [&](Status) { ++ended; }); };
    for (std::size_t i = 0; i < Transfers::owed_most; ++i) ASSERT_EQ(get(), Status::ok);
    EXPECT_EQ(get(), Status::would_block);
    nodes[0].poll(nodes.now);
    EXPECT_EQ(ended, Transfers::owed_most);
    EXPECT_EQ(get(), Status::ok);
}

TEST(ShmNode, WhatALoneMessagesHandlerSharesIsAnnounced) {
    Nodes nodes(2);
    nodes.answer_all();
    nodes.converse();
    std::vector<std::byte> memory(64, std::byte{9});
    std::vector<std::byte> read(64);
    nodes[1].handle(ask, [&](const Message&) {
        EXPECT_EQ(nodes.reply(1), Status::ok);
        EXPECT_TRUE(nodes[1].register_memory(0, 4096, memory, Rights{.get = true}));
    });
    nodes.exchange();
    for (int i = 0; i < 3; ++i) nodes[0].poll(nodes.now);
    const std::uint64_t before = nodes[0].gets_at_once();
    ASSERT_EQ(nodes[0].get(1, 4096, read, {}), Status::ok);
    EXPECT_EQ(nodes[0].gets_at_once(), before + 1);
    EXPECT_EQ(read, memory);
}

TEST(ShmNode, AHandlerMayThrowBeforeItsAnswer) {
    Nodes nodes(2);
    nodes.answer_all();
    ASSERT_EQ(nodes.request(0, 1), Status::ok);
    ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
    ASSERT_EQ(nodes[0].poll(nodes.now), 1U);
    nodes.rest();
    nodes[1].handle(ask, [&](const Message&) { throw 7; });
    ASSERT_EQ(nodes.request(0, 1), Status::ok);  // this request also acknowledges the last answer
    EXPECT_THROW(nodes[1].poll(nodes.now), int);
    EXPECT_TRUE(nodes[1].idle());
    EXPECT_EQ(nodes[1].poll(nodes.now), 0U) << "it does not come again";
    nodes.answer_all();
    ASSERT_TRUE(nodes.run([&] { return nodes[0].idle(); }));
    nodes.rest();
    ASSERT_EQ(nodes.request(0, 1), Status::ok);
    ASSERT_TRUE(nodes.run([&] { return nodes.answers == 2; }));
    EXPECT_EQ(nodes[0].counters(1).resent + nodes[1].counters(0).resent, 0U);
}

TEST(ShmNode, RequestsThatComeOneByOneAndHaveNoAnswerAreAcknowledgedInTime) {
    Nodes nodes(2);
    int heard = 0;
    nodes[1].handle(ask, [&](const Message&) {
        // Then the received frame is applied before the handler ends.
        if (++heard % 2 == 0) (void)nodes[1].counters(0);
    });
    const std::uint64_t window = Config::shared_memory().window_of(Channel::request);
    const std::uint64_t acks = nodes[1].counters(0).acks;
    const std::uint64_t late = nodes.timeouts(0, 1);
    for (std::uint64_t i = 0; i < 2 * window; ++i) {
        // Otherwise the requests would be coalesced.
        nodes.now = nodes.now + Config::shared_memory().coalesce_for;
        ASSERT_EQ(nodes.request(0, 1), Status::ok) << i;
        nodes[0].poll(nodes.now);
        ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
        ASSERT_TRUE(nodes[1].connection(0).quiet()) << "what was due has left, " << i;
        nodes.rest();
    }
    EXPECT_EQ(heard, static_cast<int>(2 * window));
    EXPECT_GE(nodes[1].counters(0).acks, acks + 7) << "a quarter of the window each";
    EXPECT_LE(nodes[1].counters(0).acks, acks + 9);
    EXPECT_EQ(nodes.timeouts(0, 1), late);
}

TEST(ShmNode, ARequestBehindAnAnswerGoesToThePeerThatIsNamed) {
    Nodes nodes(2);
    nodes.answer_all();
    nodes.converse();
    const std::uint64_t sent = nodes.requests_sent(0, 1) + 1;
    nodes.exchange();
    EXPECT_EQ(nodes.request(0, 0), Status::no_such_peer);
    EXPECT_EQ(nodes.request(0, 2), Status::no_such_peer);
    EXPECT_EQ(nodes.requests_sent(0, 1), sent);
}

TEST(ShmNode, AnAnswerMayNotBeAnsweredNorARequestTwice) {
    Nodes nodes(2);
    std::vector<Status> statuses;
    nodes[1].handle(ask, [&](const Message&) {
        for (int i = 0; i < 2; ++i) statuses.push_back(nodes.reply(1));
    });
    nodes[0].handle(answer, [&](const Message&) { statuses.push_back(nodes.reply(0)); });
    const auto nacks = [&] { return nodes[0].counters(1).nacks + nodes[1].counters(0).nacks; };
    const std::uint64_t before = nacks();  // counts from the start of the session
    for (int i = 0; i < 5; ++i) {
        nodes.exchange();
        EXPECT_EQ(statuses, (std::vector{Status::ok, Status::not_allowed, Status::not_allowed}));
        statuses.clear();
    }
    EXPECT_EQ(nacks(), before);
}

// Handlers that make every query, and calls that are not allowed in a handler.
TEST(ShmNode, AHandlerMayDoWhatItLikes) {
    Nodes nodes(2);
    nodes.answer_all();
    nodes.converse();
    const auto trouble = [&] {
        const PeerCounters asking = nodes[0].counters(1);
        const PeerCounters asked = nodes[1].counters(0);
        return asking.resent + asking.nacks + asked.resent + asked.nacks;
    };
    const std::uint64_t before_all = trouble();  // counts from the start of the session
    for (int what = 0; what < 8; ++what) {
        nodes[1].handle(ask, [&](const Message&) {
            if (what == 0) {
                EXPECT_EQ(nodes[1].poll(nodes.now), 0U);
            }
            if (what == 1) {
                EXPECT_EQ(nodes.request(1, 0), Status::not_allowed);
            }
            if (what == 2) nodes[1].set_awaiting(true);
            if (what == 3) nodes[1].set_awaiting(false);
            if (what == 4) (void)nodes[1].counters(0);
            if (what == 5) (void)nodes[1].wire();
            if (what == 6) (void)nodes[1].next_deadline();
            EXPECT_EQ(nodes.reply(1), Status::ok);
            if (what == 7) {
                EXPECT_EQ(nodes[1].poll(nodes.now), 0U);
            }
        });
        for (int i = 0; i < 3; ++i) {
            const int before = nodes.answers;
            ASSERT_EQ(nodes.request(0, 1), Status::ok);
            ASSERT_TRUE(nodes.run([&] { return nodes.answers == before + 1; }, 3)) << what;
            nodes.rest();
        }
    }
    EXPECT_EQ(trouble(), before_all);
    ASSERT_TRUE(nodes.run([&] { return nodes.idle(); }));
}

// Node 1 asks in time whether its answer has arrived: if the answer took the fast path, if it was
// too long for that, and if the handler called counters() before. No other timer is set.
TEST(ShmNode, AnAnswerIsAskedForInTime) {
    for (int what = 0; what < 3; ++what) {
        Nodes nodes(2);
        nodes.answer_all();
        nodes.converse();
        nodes.exchange();
        nodes.rest();
        nodes[1].handle(ask, [](const Message&) {});
        ASSERT_EQ(nodes.request(0, 1), Status::ok);  // now no packet of node 1 is unacknowledged
        ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
        // Node 0 keeps this time, so that its own timer does not expire.
        const Instant before = nodes.now;
        const auto pass = [&](Duration step, int turns) {
            for (int i = 0; i < turns; ++i) {
                nodes.now = nodes.now + step;
                nodes[1].poll(nodes.now);
            }
        };
        pass(Duration::milliseconds(2), 20);
        pass(Duration::nanoseconds(100), 3);
        nodes[1].handle(ask, [&](const Message&) {
            if (what == 2) (void)nodes[1].counters(0);
            const std::vector<std::uint32_t> words(what == 1 ? 17 : 1);
            EXPECT_EQ(nodes[1].reply(answer, test::words(words)), Status::ok);
        });
        const Instant now = std::exchange(nodes.now, before);
        ASSERT_EQ(nodes.request(0, 1), Status::ok);
        nodes[0].poll(nodes.now);
        nodes.now = now;
        ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
        const std::uint64_t late = nodes.timeouts(1, 0);
        pass(Duration::milliseconds(2), 4);
        EXPECT_EQ(nodes.timeouts(1, 0), late + 1) << what;
    }
}

TEST(ShmNode, AStoreFindsTheRoomThatACountedMessageMade) {
    Nodes nodes(2);
    int heard = 0;
    for (std::size_t i = 0; i < 2; ++i) nodes[i].handle(ask, [&](const Message&) { ++heard; });
    const auto memory = nodes[1].wire().allocate_shared(4096);
    ASSERT_TRUE(memory);
    ASSERT_TRUE(nodes[1].register_memory(0, 4096, *memory, Rights{.store = true}));
    nodes.rest();
    const std::vector<std::byte> source(64, std::byte{3});
    ASSERT_EQ(nodes[0].store_async(1, 4096, source, ask, 0, [](Status) {}), Status::ok);
    nodes.rest();
    ASSERT_EQ(std::exchange(heard, 0), 1);  // the handler is now known to exist
    int sent = 0;
    for (const std::size_t words : {4000U, 400U, 40U, 4U, 0U}) {
        while (nodes.request(0, 1, words) == Status::ok) {
            nodes.turn();
            ++sent;
        }
    }
    ASSERT_FALSE(nodes[0].connection(1).can_note());
    nodes.rest();
    ASSERT_EQ(heard, sent);
    nodes[0].handle(ask, [&](const Message&) { EXPECT_EQ(nodes.reply(0), Status::ok); });
    ASSERT_EQ(nodes[0].poll(nodes.now), 0U);
    ASSERT_EQ(nodes.request(1, 0), Status::ok);  // this request also acknowledges all requests
    ASSERT_EQ(nodes[0].poll(nodes.now), 1U);
    EXPECT_EQ(nodes[0].store_at_once(1, 4096, source, ask, 0), Status::ok);
}

TEST(ShmNode, ThatAPeerIsLostIsSeenWhileItsNextMessageIsAwaited) {
    Nodes nodes(2);
    nodes.answer_all();
    nodes.converse();
    nodes.forget_timers();
    nodes.exchange();
    int lost = 0;
    nodes[0].on_peer_lost([&](const PeerLost&) { ++lost; });
    ASSERT_EQ(nodes.request(0, 1), Status::ok);
    nodes.lose();
    const Instant limit = nodes.now + Duration::milliseconds(3);
    while (lost == 0 && nodes.now < limit) {
        nodes.now = nodes.now + Duration::microseconds(20);
        nodes[0].poll(nodes.now);
    }
    EXPECT_EQ(lost, 1);
}

TEST(ShmNode, ThatPeersAreAwaitedIsAnnouncedWithTheNextPoll) {
    Nodes nodes(2);
    nodes.answer_all();
    nodes.converse();
    nodes.exchange();
    nodes.rest();
    ASSERT_FALSE(nodes[0].connection(1).awaiting());
    nodes[0].set_awaiting(true);
    nodes[0].poll(nodes.now);
    EXPECT_TRUE(nodes[0].connection(1).awaiting());
}

}  // namespace
}  // namespace wireproof::am
