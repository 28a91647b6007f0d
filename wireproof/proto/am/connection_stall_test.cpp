// Requests without room for their reply, and why this never stops a reply.
#include <gtest/gtest.h>

#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

/// The reply window and the reply places of b are full of replies that a has not received.
struct Stalled {
    explicit Stalled(const Config& config, std::uint32_t spare = 0) : pair(config) {
        reply_to_all(pair.b);
        const std::uint32_t all = config.window[1] + config.reply_places - spare;
        for (std::uint32_t sent = 0; sent < all;) {
            const std::uint32_t now = requests(pair.a, 1, sent);
            pair.carry(pair.a);
            sent += now;
            // Acknowledges only requests.
            Frame ack{std::vector<std::byte>(config.header_size()), {}};
            ack.header.src = 1;
            ack.header.cookie = *config.cookie;
            ack.header.ack = {pair.number(Channel::request, sent), pair.number(Channel::reply, 0)};
            pair.give(pair.a, pair.sealed(ack));
            const Frames out = pair.b.take(pair.now);
            replies.insert(replies.end(), out.begin(), out.end());
        }
        pair.b.take_log();
        replies.erase(std::remove_if(replies.begin(), replies.end(),
                                     [](const Frame& f) { return f.header.kind != Kind::reply; }),
                      replies.end());
        base = all;
    }

    /// Carries the replies to a, and their acks back.
    void release() {
        pair.give(pair.a, replies);
        pair.carry(pair.a);
    }

    Pair pair;
    Frames replies;
    std::uint32_t base = 0;  // position of the next request
};

// AM-42
TEST(AmConnection, ARequestWithoutAReplyPlaceIsRefusedSilentlyAndFetchedOnceThereIsOne) {
    for (const Config& config : all_small()) {
        Stalled stalled(config);
        Pair& pair = stalled.pair;
        const Frames frames = one_a_turn(pair.a, pair.now, 3, 100);
        EXPECT_EQ(pair.give(pair.b, frames[0]), refused);
        EXPECT_EQ(pair.give(pair.b, frames[0]), refused);
        const bool selective = config.recovery == Recovery::selective;
        EXPECT_EQ(pair.give(pair.b, frames[1]), ahead(config));
        EXPECT_EQ(pair.give(pair.b, frames[2]), ahead(config));
        EXPECT_EQ(pair.taken(pair.b), "");  // AM-10: a stalled channel sends no NACK
        EXPECT_EQ(pair.b.log, Log{});
        stalled.release();
        const Frames out = pair.b.take(pair.now);
        const std::string wanted =
            "NACK " + std::to_string(stalled.base) + (selective ? " <1 [011]" : "");
        EXPECT_EQ(pair.text({out[0]}), wanted);
        EXPECT_EQ(std::count_if(out.begin(), out.end(),
                                [](const Frame& f) { return f.header.kind == Kind::nack; }),
                  1);
        pair.give(pair.a, out);
        pair.settle();
        EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(100)", "REQ 1(101)", "REQ 1(102)"}));
        EXPECT_EQ(pair.a.engine.stats().nacks_acted_on, 1);
        EXPECT_EQ(pair.a.engine.stats().keepalive_timeouts, 0);
    }
}

// AM-42: the acks in a refused packet count.
TEST(AmConnection, TheAcksOfARefusedRequestAreRead) {
    for (const Config& config : all_small()) {
        Stalled stalled(config);
        Pair& pair = stalled.pair;
        requests(pair.a, 1, 100);
        EXPECT_EQ(pair.give(pair.b, pair.a.take(pair.now)), Verdicts{refused});
        // The same request again; it carries the ack of one reply, so there is room for it now.
        pair.give(pair.a, stalled.replies[0]);
        requests(pair.a, 1, 101);
        const Frame next = pair.a.take(pair.now)[0];
        const Frame again = pair.forged(next, [&](Header& h) { --h.number; });
        EXPECT_EQ(pair.give(pair.b, again), accepted);
    }
}

// AM-42, AM-47: the last missing packet of a forbidden store waits until its sender knows of the
// refusal. Then one NACK asks for this packet only, which need not be the first of the chunk.
TEST(AmConnection, TheLastMissingPacketOfAForbiddenStoreWaitsForTheRefusalToBeAcknowledged) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, config.chunk_bytes()));
        ASSERT_EQ(store(pair.a, source, 8, pair.b.memory().size()), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        EXPECT_EQ(pair.give(pair.b, frames[0]), accepted);
        EXPECT_EQ(pair.carry(pair.b), "REP 0");
        for (const std::size_t i : {1U, 2U, 4U}) {
            EXPECT_EQ(pair.give(pair.b, frames[i]), accepted);
        }
        pair.b.take(pair.now);  // selective: a NACK for the hole, lost
        EXPECT_EQ(pair.give(pair.b, frames[3]), refused);
        EXPECT_EQ(pair.taken(pair.b), "");
        Frame ack{std::vector<std::byte>(config.header_size()), frames[0].header};
        ack.header.kind = Kind::ack;
        ack.header.ack[1] = pair.number(Channel::reply, 1);
        pair.give(pair.b, pair.sealed(ack));
        pair.carry(pair.b);
        const bool selective = config.recovery == Recovery::selective;
        EXPECT_EQ(pair.carry(pair.a), selective ? "CHUNK 1.2*" : "CHUNK 1.0..3*");
        EXPECT_EQ(pair.carry(pair.b), "ACK 5 0");
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 8 forbidden"});
        EXPECT_EQ(pair.b.take_log(), Log{});
        EXPECT_TRUE(pair.a.engine.idle());
        EXPECT_EQ(pair.a.engine.stats().nacks_acted_on, 1);
    }
}

// AM-42: a request with a number between the chunks of a store may take the reply place of its
// handler.
TEST(AmConnection, TheLastMissingPacketOfAStoreIsRefusedWithoutAReplyPlace) {
    for (const Config& config : all_small()) {
        Stalled stalled(config, 1);
        Pair& pair = stalled.pair;
        const auto source = pattern(in_chunks(config, 3 * config.chunk_bytes()));
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        requests(pair.a, 1, 100);
        pair.carry(pair.a);  // two chunks, and the request that takes the last place
        Frame ack{std::vector<std::byte>(config.header_size()), {}};
        ack.header.src = 1;
        ack.header.cookie = *config.cookie;
        ack.header.ack = {pair.number(Channel::request, stalled.base + 10),
                          pair.number(Channel::reply, 0)};
        pair.give(pair.a, pair.sealed(ack));
        pair.b.take(pair.now);
        const Frames last = pair.a.take(pair.now);
        EXPECT_EQ(pair.give(pair.b, last), (Verdicts{accepted, accepted, accepted, refused}));
        EXPECT_EQ(pair.b.take_log(), Log{"REQ 1(100)"});
        stalled.release();
        pair.settle();
        EXPECT_EQ(pair.b.take_log(), Log{"STORED 9(5) " + std::to_string(source.size())});
        EXPECT_EQ(pair.a.engine.stats().nacks_acted_on, 1);
        EXPECT_EQ(pair.a.engine.stats().keepalive_timeouts, 0);
        EXPECT_LE(pair.a.engine.stats().resent, config.recovery == Recovery::selective ? 1 : 4);
    }
}

// AM-42: an OPEN may need a reply place, too, whether the channel is stalled or not.
TEST(AmConnection, AnOpenWithoutAReplyPlaceIsRefused) {
    for (const Config& config : all_small()) {
        Stalled stalled(config);
        Pair& pair = stalled.pair;
        const auto source = pattern(in_chunks(config, 10));
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        EXPECT_EQ(pair.give(pair.b, frames), (Verdicts{refused, ahead(config)}));
        EXPECT_EQ(pair.taken(pair.b), "");
        stalled.release();
        pair.settle();
        for (int i = 0; i < 3 && !pair.a.engine.idle(); ++i) {
            pair.wait_for_timer();
            pair.settle();
        }
        EXPECT_EQ(pair.b.take_log(), Log{"STORED 9(5) " + std::to_string(source.size())});
        EXPECT_TRUE(pair.a.engine.idle());
    }
}

// AM-42: with one get slot, a second get waits for the first.
TEST(AmConnection, AGetWithoutASlotIsRefusedAndFetchedWhenOneIsFree) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        std::vector<std::byte> one(config.chunk_bytes());
        std::vector<std::byte> two(10);
        ASSERT_EQ(get(pair.a, one, 1), PostStatus::accepted);
        ASSERT_EQ(get(pair.a, two, 2), PostStatus::accepted);
        EXPECT_EQ(pair.give(pair.b, pair.a.take(pair.now)), (Verdicts{accepted, refused}));
        EXPECT_EQ(pair.carry(pair.b), "CHUNK/r 0.0..3");
        EXPECT_EQ(pair.carry(pair.a), "ACK 0 4");
        EXPECT_EQ(pair.carry(pair.b),
                  config.recovery == Recovery::selective ? "NACK 1 <1" : "NACK 1");
        EXPECT_EQ(pair.carry(pair.a), "GET_REQ 1*");
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), (Log{"GET_ENDED 1", "GET_ENDED 2"}));
        EXPECT_EQ(pair.a.engine.stats().keepalive_timeouts, 0);
    }
}

// AM-43: neither the bytes of a get nor a reply need a reply place.
TEST(AmConnection, AStalledNodeStillTakesInRepliesAndTheBytesOfItsGets) {
    for (const Config& config : all_small().without_questions()) {
        Stalled stalled(config);
        Pair& pair = stalled.pair;
        reply_to_all(pair.a);
        requests(pair.a, 1, 100);
        EXPECT_EQ(pair.give(pair.b, pair.a.take(pair.now)), Verdicts{refused});
        std::vector<std::byte> here(config.chunk_bytes());
        requests(pair.b, 1);
        ASSERT_EQ(get(pair.b, here, 3), PostStatus::accepted);
        EXPECT_EQ(pair.carry(pair.b), "REQ 0 | GET_REQ 1");
        Frames frames = pair.a.take(pair.now);
        ASSERT_EQ(pair.text(frames), "REP 0 | CHUNK/r 1.0..3");
        // As if no reply of b had arrived: it stays stalled.
        for (const Frame& frame : frames) {
            const auto unread = [&](Header& h) { h.ack[1] = pair.number(Channel::reply, 0); };
            EXPECT_EQ(pair.give(pair.b, pair.forged(frame, unread)), accepted);
        }
        EXPECT_EQ(pair.b.take_log(), (Log{"REP 2(0)", "GET_ENDED 3"}));
    }
}

// AM-18: even a stalled channel answers a KEEPALIVE.
TEST(AmConnection, AStalledChannelAnswersAKeepalive) {
    for (const Config& config : all_small()) {
        Stalled stalled(config);
        Pair& pair = stalled.pair;
        requests(pair.a, 1, 100);
        EXPECT_EQ(pair.give(pair.b, pair.a.take(pair.now)), Verdicts{refused});
        pair.wait_for_timer_of(pair.a);
        EXPECT_EQ(pair.carry(pair.a), "KEEPALIVE 0");
        const Frames answer = pair.b.take(pair.now);
        ASSERT_FALSE(answer.empty());
        EXPECT_EQ(answer[0].header.kind, Kind::nack);
    }
}

// AM-22
TEST(AmConnection, ARequestIsAnsweredAtMostOnce) {
    for (const Config& config : all()) {
        Pair pair(config);
        std::vector<PostStatus> answers;
        pair.b.handler = [&](const Delivery&) {
            for (int i = 0; i < 2; ++i) answers.push_back(pair.b.engine.reply(HandlerId(2), {}));
            answers.push_back(pair.b.engine.refuse(HandlerId(1)));
        };
        requests(pair.a, 1);
        pair.settle();
        EXPECT_EQ(answers, (std::vector<PostStatus>{PostStatus::accepted, PostStatus::not_allowed,
                                                    PostStatus::not_allowed}));
        EXPECT_EQ(pair.a.take_log(), Log{"REP 2()"});
        EXPECT_EQ(pair.b.engine.reply(HandlerId(2), {}), PostStatus::not_allowed);
    }
}

// AM-23
TEST(AmConnection, AReplyIsNotAnswered) {
    for (const Config& config : all()) {
        Pair pair(config);
        reply_to_all(pair.b);
        std::vector<PostStatus> answers;
        pair.a.handler = [&](const Delivery&) {
            answers.push_back(pair.a.engine.reply(HandlerId(2), {}));
        };
        requests(pair.a, 1);
        std::vector<std::byte> here(10);
        ASSERT_EQ(get(pair.a, here), PostStatus::accepted);
        const auto source = pattern(10);
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        pair.settle();
        EXPECT_GE(answers.size(), 4);  // two replies, the ends of a get and of a store
        EXPECT_EQ(answers, std::vector<PostStatus>(answers.size(), PostStatus::not_allowed));
    }
}

// AM-24, AM-43: both windows are full in both directions, replies leave slowly, and frames are
// lost.
TEST(AmConnection, FullWindowsInBothDirectionsNeverDeadlock) {
    for (Config config : all_small()) {
        if (config.bundle_max > 0) {  // the replies of a turn leave at once, so they must be many
            config.window[1] = 5;
            config.reply_places = 1;
        }
        for (const double loss : {0.0, 0.1}) {
            Pair pair(config);
            World world(pair, {.loss = loss, .reorder = loss}, 11);
            world.poll_every = {37, 41};
            constexpr std::uint32_t all = 400;
            std::array<std::uint32_t, 2> sent{};
            std::array<std::uint32_t, 2> replied{};
            for (Node* node : {&pair.a, &pair.b}) reply_to_all(*node);
            world.each_tick = [&](Node& node) {
                auto& count = sent[&node == &pair.a ? 0 : 1];
                count += requests(node, all - count, count);
            };
            EXPECT_TRUE(world.run(
                [&] {
                    return pair.a.engine.idle() && pair.b.engine.idle() && sent[0] == all &&
                           sent[1] == all;
                },
                400'000));
            for (std::size_t i = 0; i < 2; ++i) {
                const Log& log = i == 0 ? pair.a.log : pair.b.log;
                replied[i] = static_cast<std::uint32_t>(
                    std::count_if(log.begin(), log.end(),
                                  [](const std::string& s) { return s.starts_with("REP"); }));
                EXPECT_EQ(replied[i], all);
                EXPECT_EQ(log.size(), 2 * all);
            }
            // AM-43: a packet of the reply channel is never refused, so all refusals were for
            // requests.
            EXPECT_GT(pair.a.engine.stats().turned_away_as(refused), 0);
        }
    }
}

// AM-44
TEST(AmConnection, TwoNodesThatGetFromEachOtherWithOneSlotBothFinish) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        World world(pair);
        const auto remote = pattern(5 * config.chunk_bytes());
        std::vector<std::vector<std::byte>> here(6, std::vector<std::byte>(remote.size()));
        for (Node* node : {&pair.a, &pair.b}) {
            std::copy(remote.begin(), remote.end(), node->memory().begin());
            for (std::size_t i = 0; i < 3; ++i) {
                ASSERT_EQ(get(*node, here[i + (node == &pair.a ? 0 : 3)], i), PostStatus::accepted);
            }
        }
        EXPECT_TRUE(
            world.run([&] { return pair.a.engine.idle() && pair.b.engine.idle(); }, 100'000));
        for (const auto& bytes : here) EXPECT_TRUE(same(bytes, remote));
        EXPECT_EQ(pair.a.take_log(), (Log{"GET_ENDED 0", "GET_ENDED 1", "GET_ENDED 2"}));
    }
}

}  // namespace
}  // namespace wireproof::am::test
