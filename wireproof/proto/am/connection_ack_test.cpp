// When acknowledgements leave, what they free, and which of them are ignored.
#include <gtest/gtest.h>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

// AM-14
TEST(AmConnection, AcknowledgesOneWayRequestsAtAQuarterOfTheWindow) {
    for (const Config& config : all().without_questions()) {
        const std::uint32_t mark = std::max(1U, config.window[0] / 4);
        Pair pair(config);
        for (std::uint32_t round = 1; round <= 3; ++round) {
            for (std::uint32_t i = 0; i < mark; ++i) {
                ASSERT_EQ(pair.taken(pair.b), "") << "after " << i;
                requests(pair.a, 1);
                ASSERT_EQ(pair.give(pair.b, pair.a.take(pair.now)), Verdicts{accepted});
            }
            EXPECT_EQ(pair.carry(pair.b), "ACK " + std::to_string(round * mark) + " 0");
        }
        EXPECT_EQ(pair.b.engine.stats().sent_of(Kind::ack), 3);
        EXPECT_TRUE(pair.a.engine.idle());
    }
}

// AM-14: at least one, even for a tiny window.
TEST(AmConnection, AcknowledgesEachOfATinyWindow) {
    for (Config config : all()) {
        config.window = {3, 3};
        config.chunk_packets = 1;
        config.chunks_in_flight = 1;
        Pair pair(config);
        for (int i = 1; i <= 5; ++i) {
            requests(pair.a, 1);
            pair.carry(pair.a);
            EXPECT_EQ(pair.carry(pair.b), "ACK " + std::to_string(i) + " 0");
        }
    }
}

// AM-14: a caller that ends the connection soon does not wait for a quarter of the window.
TEST(AmConnection, AcknowledgesWhatHasArrivedIfItsCallerWantsIt) {
    for (const Config& config : all().without_questions()) {
        Pair pair(config);
        const std::uint32_t few = std::max(1U, config.window[0] / 4) - 1;
        if (few == 0) continue;
        ASSERT_EQ(requests(pair.a, few), few);
        pair.carry(pair.a);
        EXPECT_EQ(pair.taken(pair.b), "");
        Connection& receiver = pair.b.engine.alone();
        receiver.acknowledge();
        EXPECT_EQ(pair.carry(pair.b), "ACK " + std::to_string(few) + " 0");
        EXPECT_TRUE(pair.a.engine.idle());
        receiver.acknowledge();
        EXPECT_EQ(pair.taken(pair.b), "") << "it owes nothing";
    }
}

// AM-13
TEST(AmConnection, SendsNoExplicitAckWhileShortMessagesGoBothWays) {
    for (const Config& config : all()) {
        Pair pair(config);
        reply_to_all(pair.a);
        reply_to_all(pair.b);
        for (std::uint32_t i = 0; i < 2000; ++i) {
            ASSERT_EQ(request(pair.a, 1, {i}), PostStatus::accepted);
            ASSERT_EQ(request(pair.b, 1, {i}), PostStatus::accepted);
            pair.carry(pair.a);
            pair.carry(pair.b);
        }
        for (const Node* node : {&pair.a, &pair.b}) {
            EXPECT_EQ(node->engine.stats().sent_of(Kind::ack), 0);
            EXPECT_EQ(node->engine.stats().resent, 0);
        }
    }
}

// AM-13: every packet that leaves acknowledges both channels.
TEST(AmConnection, CountsTowardsTheMarkOnlyWhatNoPacketHasAcknowledged) {
    for (const Config& config : all()) {
        const std::uint32_t below = config.window[0] / 4 - 1;
        Pair pair(config);
        requests(pair.a, below);
        pair.carry(pair.a);
        requests(pair.b, 1);
        EXPECT_EQ(pair.carry(pair.b), "REQ 0");
        EXPECT_EQ(pair.a.engine.sending(Channel::request).under_way(), 0U);
        requests(pair.a, below);
        pair.carry(pair.a);
        EXPECT_EQ(pair.taken(pair.b), "");
        requests(pair.a, 1);
        pair.carry(pair.a);
        EXPECT_EQ(pair.taken(pair.b), "ACK " + std::to_string(2 * below + 1) + " 0");
    }
}

// AM-5, or one for several chunks if the configuration says so; the last chunk of a store has its
// own.
TEST(AmConnection, SendsExactlyOneAckPerChunkWithoutOtherTraffic) {
    Config several = bare();
    several.ack_chunks = 3;
    for (Config config :
         all().without_questions().and_also({"an acknowledgement for three chunks", several})) {
        config.first_flight = config.window[0];  // otherwise its end asks what has arrived
        const std::size_t chunks = 5;
        const auto source = pattern(in_chunks(config, chunks * config.chunk_bytes() - 1));
        Pair pair(config, source.size());
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        // The most careful receiver: it handles and answers one packet at a time.
        while (!pair.a.engine.idle()) {
            const Frames frame = pair.a.take(pair.now, 1);
            ASSERT_FALSE(frame.empty());
            pair.give(pair.b, frame);
            pair.carry(pair.b);
        }
        EXPECT_EQ(pair.b.engine.stats().sent_of(Kind::ack),
                  (chunks + config.ack_chunks - 1) / config.ack_chunks);
        EXPECT_EQ(pair.b.engine.stats().sent_of(Kind::nack), 0);
        EXPECT_TRUE(same(pair.b.memory(), source));
    }
}

// AM-5: a packet that leaves anyway carries the ack of a chunk.
TEST(AmConnection, AcknowledgesAChunkOnTheReplyOfItsHandler) {
    for (const Config& config : all_small().without_questions()) {
        Pair pair(config);
        reply_to_all(pair.b);
        const auto source = pattern(config.chunk_bytes());
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        pair.carry(pair.a);
        EXPECT_EQ(pair.carry(pair.b), "REP 0");
        EXPECT_EQ(pair.a.take_log(), (Log{"STORE_ENDED 1", "REP 2()"}));
    }
}

// AM-12
TEST(AmConnection, KeepsAMessageUntilItIsAcknowledged) {
    for (const Config& config : all().without_questions()) {
        const std::uint32_t window = config.window[0];
        const std::uint32_t mark = window / 4;
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, window);
        ASSERT_EQ(frames.size(), window);
        EXPECT_EQ(requests(pair.a, 1), 0);  // AM-6
        pair.give(pair.b, Frames(frames.begin(), frames.begin() + mark));
        EXPECT_EQ(requests(pair.a, 1), 0);
        EXPECT_EQ(pair.carry(pair.b), "ACK " + std::to_string(mark) + " 0");
        EXPECT_EQ(pair.text(one_a_turn(pair.a, pair.now, mark + 2, window)),
                  "REQ " + std::to_string(window) + ".." + std::to_string(window + mark - 1));
    }
}

// AM-37
TEST(AmConnection, IgnoresAnAckOfWhatWasNeverSentOrIsFarOff) {
    for (const Config& config : all()) {
        Pair pair(config);
        requests(pair.a, 4);
        pair.give(pair.b, pair.a.take(pair.now));
        requests(pair.b, 1);
        const Frame real = pair.b.take(pair.now)[0];
        ASSERT_EQ(pair.position(Channel::request, real.header.ack[0]), 4);
        const auto half = static_cast<std::int64_t>(config.modulus / 2);
        for (const std::int64_t to : {std::int64_t{5}, std::int64_t{75}, half, half + 4,
                                      std::int64_t{-1}, std::int64_t{0}}) {
            Header ack = real.header;
            ack.kind = Kind::ack;
            ack.ack[0] = pair.number(Channel::request, to);
            EXPECT_EQ(
                pair.give(pair.a, pair.sealed({std::vector<std::byte>(config.header_size()), ack})),
                control);
            EXPECT_FALSE(pair.a.engine.idle()) << to;
        }
        EXPECT_EQ(requests(pair.a, config.window[0]), config.window[0] - 4);
        EXPECT_EQ(pair.give(pair.a, real), accepted);
        EXPECT_EQ(requests(pair.a, 9), 4);
    }
}

// AM-37: nobody can acknowledge messages that are saved but have not left.
TEST(AmConnection, IgnoresAnAckOfWhatHasNotLeftYet) {
    for (const Config& config : all()) {
        Pair pair(config);
        const Frames first = one_a_turn(pair.a, pair.now, 1);
        requests(pair.a, 2, 1);
        pair.give(pair.b, first);
        Header ack = first[0].header;
        ack.kind = Kind::ack;
        ack.dst = 0;
        ack.src = 1;
        ack.ack[0] = pair.number(Channel::request, 2);
        pair.give(pair.a, pair.sealed({std::vector<std::byte>(config.header_size()), ack}));
        EXPECT_EQ(pair.carry(pair.a), together(config, "REQ", 1, 2));
        EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(0)", "REQ 1(1)", "REQ 1(2)"}));
    }
}

// AM-37
TEST(AmConnection, IgnoresAnAckOrNackInsideAChunk) {
    for (const Config& config : all_small().without_questions()) {
        Pair pair(config);
        const auto source = pattern(config.chunk_bytes());
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        ASSERT_EQ(pair.text(frames), "OPEN 0 | CHUNK 1.0..3");
        pair.give(pair.b, frames[0]);
        for (const std::int64_t inside : {2, 3, 4}) {
            for (const Kind kind : {Kind::ack, Kind::nack}) {
                Header header = frames[0].header;
                std::swap(header.dst, header.src);
                header.kind = kind;
                header.count = 0;
                header.number = header.ack[0] = pair.number(Channel::request, inside);
                header.ack[1] = pair.number(Channel::reply, 0);
                header.id = 1;
                pair.give(pair.a,
                          pair.sealed({std::vector<std::byte>(config.header_size()), header}));
                EXPECT_EQ(pair.taken(pair.a), "") << inside;
                EXPECT_EQ(pair.a.log, Log{});
            }
        }
        EXPECT_EQ(pair.a.engine.stats().nacks_acted_on, 0);
        EXPECT_EQ(pair.give(pair.b, Frames(frames.begin() + 1, frames.end())),
                  Verdicts(4, accepted));
        pair.settle();
        EXPECT_TRUE(pair.a.engine.idle());
    }
}

// AM-41
TEST(AmConnection, AResentPacketCarriesTheAcksOfNow) {
    for (const Config& config : all()) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 2);
        EXPECT_EQ(pair.position(Channel::request, frames[0].header.ack[0]), 0);
        requests(pair.b, 3);
        pair.carry(pair.b);
        pair.give(pair.b, frames[1]);
        pair.carry(pair.b);
        const Frames again = pair.a.take(pair.now);
        ASSERT_FALSE(again.empty());
        EXPECT_TRUE(again[0].resent);
        EXPECT_EQ(pair.position(Channel::request, again[0].header.number), 0);
        EXPECT_EQ(pair.position(Channel::request, again[0].header.ack[0]), 3);
        EXPECT_EQ(again[0].header.round, 1);
    }
}

// Below the mark an acknowledgement waits for a packet that can carry it, but not longer than the
// time after which the sender asks.
struct HeldAck {
    HeldAck() : pair(config()) {}

    /// The configuration of users with ack_after; in the others the acknowledgement waits for a
    /// question.
    static Config config() { return udp(); }
    void wait(Duration time) {
        pair.now = pair.now + time;
        if (pair.b.engine.next_deadline() <= pair.now) pair.b.engine.on_deadline(pair.now);
    }

    Pair pair;
};

TEST(AmHeldAck, LeavesByItselfBeforeTheSenderAsks) {
    HeldAck held;
    held.pair.give(held.pair.b, one_a_turn(held.pair.a, held.pair.now, 3));
    EXPECT_EQ(held.pair.taken(held.pair.b), "");
    EXPECT_EQ(held.pair.b.engine.next_deadline(), held.pair.now + Duration::microseconds(50));
    held.wait(Duration::microseconds(49));
    EXPECT_EQ(held.pair.taken(held.pair.b), "");
    held.wait(Duration::microseconds(1));
    const Frames frames = held.pair.b.take(held.pair.now);
    EXPECT_EQ(held.pair.text(frames), "ACK 3 0");
    held.pair.give(held.pair.a, frames);
    EXPECT_TRUE(held.pair.a.engine.idle());
    EXPECT_EQ(held.pair.a.engine.stats().sent_of(Kind::keepalive), 0U);
    EXPECT_EQ(held.pair.b.engine.next_deadline(), never);
}

TEST(AmHeldAck, IsNotRepeatedWhenAReplyHasCarriedIt) {
    HeldAck held;
    reply_to_all(held.pair.b);
    requests(held.pair.a, 1);
    held.pair.carry(held.pair.a);
    EXPECT_EQ(held.pair.taken(held.pair.b), "REP 0");
    held.wait(Duration::microseconds(50));
    EXPECT_EQ(held.pair.taken(held.pair.b), "");
}

TEST(AmHeldAck, OfABundleLeavesByItselfToo) {
    Pair pair(HeldAck::config());
    requests(pair.a, 3);
    EXPECT_EQ(pair.carry(pair.a), "BUNDLE 0..2");
    EXPECT_EQ(pair.taken(pair.b), "");
    pair.now = pair.now + Duration::microseconds(50);
    pair.b.engine.on_deadline(pair.now);
    EXPECT_EQ(pair.taken(pair.b), "ACK 3 0");
}

// The end of a get frees a place at the peer. Nobody waits for the place while there are enough.
TEST(AmHeldAck, OfAGetGoesWithWhatFollowsIt) {
    Config config = HeldAck::config();
    config.get_slots = config.gets_max = 2;
    Pair pair(config);
    std::vector<std::byte> landing(64);
    ASSERT_EQ(get(pair.a, landing), PostStatus::accepted);
    pair.carry(pair.a);
    pair.carry(pair.b);
    EXPECT_EQ(pair.a.take_log(), Log{"GET_ENDED 1"});
    EXPECT_EQ(pair.taken(pair.a), "");
    EXPECT_FALSE(pair.b.engine.idle());
    EXPECT_FALSE(pair.a.engine.idle());  // if the program stopped here, the peer would wait
    ASSERT_EQ(get(pair.a, landing, 2), PostStatus::accepted);
    EXPECT_EQ(pair.carry(pair.a), "GET_REQ 1");
    EXPECT_EQ(pair.b.engine.sending(Channel::reply).under_way(), 0U);  // of the first
    pair.carry(pair.b);
    EXPECT_EQ(pair.taken(pair.a), "");
    pair.now = pair.now + Duration::microseconds(50);
    pair.a.engine.on_deadline(pair.now);
    EXPECT_FALSE(pair.a.engine.idle());
    EXPECT_EQ(pair.carry(pair.a), "ACK 0 2");
    EXPECT_TRUE(pair.a.engine.idle());
    EXPECT_TRUE(pair.b.engine.idle());
    EXPECT_EQ(pair.b.engine.stats().sent_of(Kind::keepalive), 0U);
}

TEST(AmHeldAck, OfAGetLeavesAtOnceWhereTheNextMayWaitForItsPlace) {
    Config config = HeldAck::config();
    config.gets_max = 2;
    config.get_slots = 1;
    Pair pair(config);
    std::vector<std::byte> landing(64);
    ASSERT_EQ(get(pair.a, landing), PostStatus::accepted);
    pair.carry(pair.a);
    pair.carry(pair.b);
    EXPECT_EQ(pair.carry(pair.a), "ACK 0 1");
    EXPECT_TRUE(pair.b.engine.idle());
}

}  // namespace
}  // namespace wireproof::am::test
