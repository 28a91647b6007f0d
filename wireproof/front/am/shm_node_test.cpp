// What leaves before the next turn: a lone request and its answer, on shared memory.
#include <gtest/gtest.h>

#include <memory>

#include "wireproof/front/am/node.hpp"
#include "wireproof/front/am/node_test_kit.hpp"
#include "wireproof/wire/shm/shm_test_kit.hpp"

namespace wireproof::am {
namespace {

constexpr std::uint16_t ask = 1;
constexpr std::uint16_t answer = 2;

/// Nodes in this thread that know one another; an Endpoint is one of them and a clock.
class Nodes {
public:
    explicit Nodes(std::size_t count) {
        ShmWire::Config shm;
        shm.name = shm_test::unique_name();
        shm.nodes = count;
        Config config = Config::shared_memory();
        shm.frame_max = config.packet_max;
        for (std::size_t i = 0; i < count; ++i) {
            shm.node = i;
            config.node = static_cast<std::uint16_t>(i);
            config.seed = i + 1;
            nodes_.push_back(
                std::make_unique<Node>(host::AnyWire(shm_test::open(shm)), config, count));
            nodes_.back()->handle(answer, [this](const Message&) { ++answers; });
        }
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                EXPECT_EQ(post(i, j), Status::ok);
                EXPECT_TRUE(
                    run([&] { return nodes_[i]->connected(j) && nodes_[j]->connected(i); }));
            }
        }
        EXPECT_TRUE(run([&] { return idle(); }));
        rest();
    }

    Node& operator[](std::size_t node) { return *nodes_[node]; }
    Status post(std::size_t from, std::size_t to) { return nodes_[from]->post(to, ask, word_); }
    Status request(std::size_t from, std::size_t to, std::size_t words = 1) {
        return nodes_[from]->ask(to, ask, test::words(std::vector<std::uint32_t>(words, 7)),
                                 [this] { return now; });
    }
    Status reply(std::size_t from) { return nodes_[from]->reply(answer, word_); }
    std::uint64_t requests_sent(std::size_t from, std::size_t to) const {
        return nodes_[from]->connection(to).stats().sent_of(Kind::request);
    }
    std::uint64_t timeouts(std::size_t from, std::size_t to) const {
        return nodes_[from]->counters(to).timeouts;
    }
    std::uint64_t replies_sent(std::size_t from, std::size_t to) const {
        return nodes_[from]->connection(to).stats().sent_of(Kind::reply);
    }
    bool idle() const {
        return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& n) { return n->idle(); });
    }
    /// Turns in which nothing comes, after which a wire takes what comes for a lone message.
    void rest() {
        for (int i = 0; i < 3; ++i) turn();
    }
    void turn() {
        now = now + Duration::nanoseconds(100);
        for (auto& node : nodes_) node->poll(now);
    }
    template <class Done>
    [[nodiscard]] bool run(Done&& done, int turns = 1000) {
        for (int i = 0; i < turns; ++i) {
            if (done()) return true;
            now = now + Duration::milliseconds(2);
            turn();
        }
        return false;
    }

    /// Node 1 answers each request of node 0, and counts the answers that left in its handler.
    void answer_all() {
        nodes_[1]->handle(ask, [this](const Message&) {
            const std::uint64_t before = replies_sent(1, 0);
            EXPECT_EQ(reply(1), Status::ok);
            within += replies_sent(1, 0) - before;
        });
    }

    /// A request and its answer, each taken in a turn of its own.
    void exchange() {
        EXPECT_EQ(request(0, 1), Status::ok);
        EXPECT_EQ(nodes_[1]->poll(now), 1U);
        EXPECT_EQ(nodes_[0]->poll(now), 1U);
    }
    /// The first message of all does not go the shortest way.
    void converse() {
        const int before = answers;
        EXPECT_EQ(request(0, 1), Status::ok);
        EXPECT_TRUE(run([&] { return answers > before; }));
        rest();
    }

    Instant now{Duration::milliseconds(5)};
    int answers = 0;
    std::uint64_t within = 0;

private:
    std::vector<std::byte> word_ = test::words({7});
    std::vector<std::unique_ptr<Node>> nodes_;
};

TEST(ShmNode, ALoneRequestLeavesAtOnceAndIsAnsweredInItsHandler) {
    Nodes nodes(2);
    nodes.answer_all();
    const auto trouble = [&](std::size_t node) {
        const PeerCounters counters = nodes[node].counters(1 - node);
        return counters.resent + counters.nacks + counters.timeouts;
    };
    const std::array<std::uint64_t, 2> troubled = {trouble(0), trouble(1)};  // while they met
    for (int i = 1; i <= 300; ++i) {  // the windows' numbers wrap meanwhile
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

// What was asked of one peer leaves at once, and what waits for another is not forgotten.
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

// Who waits with Endpoint::wait has its peers awaited all the time.
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

// The first of its answers would leave by itself, if one did not look what else waits.
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

// The answer has left, whatever becomes of the handler; and the turn after goes on as any.
TEST(ShmNode, AHandlerMayThrowBehindItsAnswer) {
    Nodes nodes(2);
    nodes[1].handle(ask, [&](const Message&) {
        EXPECT_EQ(nodes.reply(1), Status::ok);
        throw 7;
    });
    const auto resent = [&] { return nodes[0].counters(1).resent + nodes[1].counters(0).resent; };
    const std::uint64_t before = resent();  // while they met
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

// What a lone message's frame acknowledges is taken in behind its handler; nobody is to see that.
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
    // Each by itself: whoever looks first has it taken in for the others.
    looks([&] { EXPECT_TRUE(nodes[0].idle()); });
    looks([&] { EXPECT_TRUE(nodes[0].connection(1).sending(Channel::request).empty()); });
    looks([&] { EXPECT_GT(nodes[0].next_deadline(), nodes.now + Duration::milliseconds(100)); });
    looks([&] {
        EXPECT_EQ(nodes[0].counters(1).received[static_cast<std::size_t>(RxVerdict::accepted)],
                  nodes[1].counters(0).received[static_cast<std::size_t>(RxVerdict::accepted)]);
    });
    EXPECT_EQ(seen, 4);
}

// What an answer's turn puts off is done behind the request that follows, or in the next turn.
TEST(ShmNode, AnAnswersTurnEndsWithTheNextRequestOrTheNextTurn) {
    Nodes nodes(2);
    nodes.answer_all();
    const ShmWire& wire = *nodes[0].wire().as<ShmWire>();
    const auto given_back = [&] { return wire.counters().frames_received; };
    nodes.converse();
    const auto begin = given_back();
    bool under_way = false;
    for (std::uint64_t i = 1; i <= 20; ++i) {
        if (!under_way) {
            ASSERT_EQ(nodes.request(0, 1), Status::ok);
        }
        ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
        ASSERT_EQ(nodes[1].poll(nodes.now), 0U);
        ASSERT_EQ(nodes[0].poll(nodes.now), 1U);
        ASSERT_TRUE(nodes[0].keeps_back()) << "or its user would sleep";
        ASSERT_EQ(nodes[0].next_deadline(), nodes.now);
        ASSERT_EQ(given_back(), begin + i - 1);
        under_way = i % 2 == 0;
        const std::uint64_t sent = nodes.requests_sent(0, 1);
        if (under_way) {
            ASSERT_EQ(nodes.request(0, 1), Status::ok);
            ASSERT_EQ(nodes.requests_sent(0, 1), sent + 1);
        }
        ASSERT_EQ(given_back(), begin + i - (under_way ? 0 : 1));
        ASSERT_EQ(nodes[0].poll(nodes.now), 0U);
        ASSERT_EQ(given_back(), begin + i);
        ASSERT_FALSE(nodes[0].keeps_back());
        EXPECT_GT(nodes[0].next_deadline(), nodes.now);
        nodes.now = nodes.now + Duration::nanoseconds(100);
    }
}

// Whoever asks the wire itself finds it as if the turn had ended.
TEST(ShmNode, AnAnswersTurnHasEndedForWhoAsksTheWire) {
    Nodes nodes(2);
    nodes.answer_all();
    nodes.converse();
    nodes.exchange();
    ASSERT_TRUE(nodes[0].keeps_back());
    EXPECT_TRUE(nodes[0].wire().prepare_to_sleep()) << "nothing is left in the ring";
    EXPECT_FALSE(nodes[0].keeps_back());
}

TEST(ShmNode, BehindAnAnswerItIsReadAtOnce) {
    Nodes nodes(2);
    nodes.answer_all();
    nodes.converse();
    std::vector<std::byte> memory(64, std::byte{9});
    std::vector<std::byte> read(64);
    ASSERT_TRUE(nodes[1].register_memory(0, 4096, memory, Rights{.get = true}));
    nodes.rest();
    nodes.exchange();
    const std::uint64_t before = nodes[0].gets_at_once();
    bool ended = false;
    ASSERT_EQ(nodes[0].get(1, 4096, read, [&](Status) { ended = true; }), Status::ok);
    EXPECT_EQ(nodes[0].gets_at_once(), before + 1) << "no request of ours can still change it";
    ASSERT_TRUE(nodes.run([&] { return ended; }));
    EXPECT_EQ(read, memory);
}

TEST(ShmNode, WhatALoneMessagesHandlerSharesIsTold) {
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
    ASSERT_EQ(nodes.request(0, 1), Status::ok);  // and it acknowledges the answer
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

// Its refusal is made before what its frame acknowledges would be taken in.
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

TEST(ShmNode, RequestsThatComeOneByOneAndHaveNoAnswerAreAcknowledgedInTime) {
    Nodes nodes(2);
    int heard = 0;
    nodes[1].handle(ask, [&](const Message&) { ++heard; });
    const std::uint64_t window = Config::shared_memory().window_of(Channel::request);
    const std::uint64_t acks = nodes[1].counters(0).acks;
    const std::uint64_t late = nodes.timeouts(0, 1);
    for (std::uint64_t i = 0; i < 2 * window; ++i) {
        nodes.now = nodes.now + Config::shared_memory().gather_for;  // or they would gather
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
    nodes[0].poll(nodes.now);  // which finds nothing
    for (std::uint32_t i = 1; i < every; ++i) ASSERT_EQ(nodes.request(0, 1), Status::ok);
    EXPECT_FALSE(nodes[0].wants_turn());
}

// A callback asks while its turn ends, and that leaves with it: the next is a turn for nothing.
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

// It takes no turn to make it, so what is due for it must be known without one.
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
    while (TxFrame* const room = wire.lane(PeerId(0)).claim()) {  // strange ones, for nobody
        room->add_room(room->frame_max());
        wire.lane(PeerId(0)).commit();
    }
    ASSERT_EQ(nodes.request(0, 1), Status::ok);
    ASSERT_EQ(nodes[1].poll(nodes.now), 1U);
    EXPECT_EQ(nodes.replies_sent(1, 0), 0U);
    ASSERT_TRUE(nodes.run([&] { return nodes.answers == 1; }));
    EXPECT_EQ(nodes.replies_sent(1, 0), 1U);
}

// A ring that is full keeps the request, and the turn after room has come sends it.
TEST(ShmNode, ALoneRequestThatFindsNoRoomLeavesLater) {
    Nodes nodes(2);
    int heard = 0;
    nodes[1].handle(ask, [&](const Message&) { ++heard; });
    auto& wire = *nodes[0].wire().as<ShmWire>();
    std::size_t frames = 0;
    while (TxFrame* const room = wire.lane(PeerId(1)).claim()) {  // strange ones, for nobody
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
