// Buffers are lent: a connection at rest gives them back and loses nothing. A connection without
// buffers puts packets off.
#include "wireproof/base/cases_test_kit.hpp"
#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

/// Exchanges the end's own buffers, or none, with these.
void exchange(Node& node, ConnectionBuffers& buffers) {
    ASSERT_TRUE(node.engine.at_rest());
    node.engine.exchange(buffers);
}

/// Carries frames until both ends are idle.
void rest(Pair& pair) {
    for (int i = 0; i < 200; ++i) {
        pair.settle();
        if (pair.a.engine.at_rest() && pair.b.engine.at_rest()) return;
        pair.wait_for_timer();
    }
}

/// A pair whose node b has no buffers: the test keeps them.
struct Apart : Pair {
    explicit Apart(const Config& of_a)
        : Pair(of_a), beside(ConnectionBuffers::none(b.engine.config())) {
        exchange(b, beside);
    }
    void lend() { exchange(b, beside); }

    ConnectionBuffers beside;
};

TEST(AmBuffers, AConnectionAtRestGivesThemUpAndGoesOnWithOthers) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        reply_to_all(pair.b);
        ConnectionBuffers none_a = ConnectionBuffers::none(pair.config);
        ConnectionBuffers none_b = ConnectionBuffers::none(pair.config);
        Log expected;
        for (std::uint32_t round = 0; round < 30; ++round) {  // past the wrap
            ASSERT_EQ(request(pair.a, 1, {round}), PostStatus::accepted);
            expected.push_back("REP 2(" + std::to_string(round) + ")");
            rest(pair);
            exchange(pair.a, none_a);
            exchange(pair.b, none_b);
            EXPECT_FALSE(pair.a.engine.has_buffers());
            ConnectionBuffers fresh_a(pair.config);
            ConnectionBuffers fresh_b(pair.config);
            exchange(pair.a, fresh_a);
            exchange(pair.b, fresh_b);
            none_a = std::move(fresh_a);
            none_b = std::move(fresh_b);
        }
        EXPECT_EQ(pair.a.take_log(), expected);
        EXPECT_EQ(pair.a.engine.stats().resent, 0U);
        EXPECT_EQ(pair.b.engine.stats().resent, 0U);
    }
}

TEST(AmBuffers, WhatIsUnderWayIsNotAtRest) {
    for (const Config& config : all_small()) {
        const auto source = pattern(config.chunk_bytes());
        std::vector<std::byte> destination(10);
        Pair pair(config);
        EXPECT_TRUE(pair.a.engine.at_rest());
        requests(pair.a, 1);
        EXPECT_FALSE(pair.a.engine.at_rest()) << "a request that waits";
        Frames frames = pair.a.take(pair.now);
        EXPECT_FALSE(pair.a.engine.at_rest()) << "one that is not acknowledged";
        EXPECT_EQ(pair.b.engine.on_frame(pair.now, RxFrame{.bytes = frames[0].bytes, .lent = {}}),
                  RxVerdict::accepted);
        EXPECT_FALSE(pair.b.engine.at_rest()) << "one that is not drawn";
        pair.b.draw();
        EXPECT_TRUE(pair.b.engine.at_rest());
        pair.wait_for_timer();
        pair.settle();
        EXPECT_TRUE(pair.a.engine.at_rest());
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        frames = pair.a.take(pair.now);
        pair.give(pair.b, frames[0]);
        EXPECT_FALSE(pair.b.engine.at_rest()) << "a store that has begun";
        pair.give(pair.b, frames);
        pair.settle();
        EXPECT_TRUE(pair.b.engine.at_rest());
        ASSERT_EQ(get(pair.a, destination), PostStatus::accepted);
        pair.carry(pair.a);
        EXPECT_FALSE(pair.b.engine.at_rest()) << "a get that it serves";
    }
}

TEST(AmBuffers, WithoutThemTheCallReturnsThatTheWindowIsFull) {
    for (const Config& config : all_small()) {
        Apart pair(config);
        std::vector<std::byte> bytes(10);
        EXPECT_EQ(request(pair.b, 1, {1}), PostStatus::window_full);
        EXPECT_EQ(store(pair.b, bytes), PostStatus::window_full);
        EXPECT_EQ(get(pair.b, bytes), PostStatus::window_full);
        EXPECT_FALSE(pair.b.engine.can_note());
        pair.lend();
        EXPECT_EQ(request(pair.b, 1, {1}), PostStatus::accepted);
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), Log{"REQ 1(1)"});
    }
}

TEST(AmBuffers, APacketThatFindsNoneIsFetchedOnceThereAreSome) {  // AM-42
    for (const Config& config : all_small()) {
        Apart pair(config);
        reply_to_all(pair.b);
        ASSERT_EQ(requests(pair.a, 3), 3U);
        const Frames frames = pair.a.take(pair.now);
        EXPECT_EQ(pair.give(pair.b, frames), Verdicts(frames.size(), RxVerdict::refused));
        EXPECT_TRUE(pair.b.engine.wants_buffers());
        EXPECT_TRUE(pair.b.engine.at_rest());
        EXPECT_EQ(pair.taken(pair.b), "") << "nobody asked";
        // Its sender asks, is told "not now", and meanwhile sends nothing again.
        for (int i = 0; i < 100; ++i) {
            pair.wait_for_timer();
            pair.settle();
        }
        EXPECT_EQ(pair.a.engine.stats().resent, 0U);
        EXPECT_EQ(pair.a.take_log(), Log{});
        pair.lend();
        EXPECT_FALSE(pair.b.engine.wants_buffers());
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), (Log{"REP 2(0)", "REP 2(1)", "REP 2(2)"}));
        EXPECT_EQ(pair.a.engine.stats().resent, frames.size());
    }
}

TEST(AmBuffers, APeerWithoutThemIsNotGivenUp) {  // AM-42, AM-50
    for (Config config : all_small()) {
        config.peer_timeout = Duration::milliseconds(100);
        Apart pair(config);
        ASSERT_EQ(requests(pair.a, 1), 1U);
        const Instant end = pair.now + Duration::milliseconds(1'000);
        while (pair.now < end) {
            pair.settle();
            pair.wait_for_timer();
        }
        EXPECT_EQ(pair.a.take_log(), Log{}) << "its peer answers";
        pair.lend();
        pair.settle();
        EXPECT_EQ(pair.b.take_log(), Log{"REQ 1(0)"});
    }
}

/// Node a has sent so many requests, knows that all have arrived, and has given back its buffers.
/// Returns the replies, which have not arrived yet.
Frames wait_without_buffers(Pair& pair, ConnectionBuffers& none, std::uint32_t count) {
    reply_to_all(pair.b);
    EXPECT_EQ(requests(pair.a, count), count);
    pair.carry(pair.a);
    Frames replies = pair.b.take(pair.now);
    for (int i = 0; i < 10 && !pair.a.engine.at_rest(); ++i) {
        pair.wait_for_timer();
        pair.carry(pair.a);
        for (const Frame& frame : pair.b.take(pair.now)) {
            if (frame.header.kind == Kind::nack) pair.give(pair.a, frame);
        }
    }
    exchange(pair.a, none);
    return replies;
}

TEST(AmBuffers, RepliesAreTakenInWithoutThem) {
    for (const Config& config : selective().with(small)) {
        Pair pair(config);
        ConnectionBuffers none = ConnectionBuffers::none(config);
        (void)wait_without_buffers(pair, none, 3);
        for (int i = 0; i < 10 && !pair.b.engine.idle(); ++i) {
            pair.wait_for_timer();
            pair.settle();
        }
        EXPECT_EQ(pair.a.take_log(), (Log{"REP 2(0)", "REP 2(1)", "REP 2(2)"}));
        EXPECT_TRUE(pair.b.engine.idle()) << "they were acknowledged";
        EXPECT_FALSE(pair.a.engine.wants_buffers());
        EXPECT_TRUE(pair.a.engine.at_rest());
        EXPECT_EQ(pair.a.engine.stats().received_as(RxVerdict::refused), 0U);
    }
}

TEST(AmBuffers, ItIsKnownBeforeWhatWouldBeDeferred) {
    for (const Config& config : all_small()) {
        Apart pair(config);
        reply_to_all(pair.b);
        ASSERT_EQ(requests(pair.a, 2), 2U);
        const Frames frames = pair.a.take(pair.now);
        for (const Frame& frame : frames) {
            EXPECT_TRUE(pair.b.engine.would_put_off(frame.bytes)) << "a request";
            EXPECT_FALSE(pair.b.engine.would_put_off(ConstBytes(frame.bytes).first(4)));
        }
        Frame foreign = frames[0];
        foreign.header.cookie += 1;
        encode(foreign.header, config.layout, foreign.bytes);
        EXPECT_FALSE(pair.b.engine.would_put_off(foreign.bytes)) << "of another session";
        pair.lend();
        EXPECT_FALSE(pair.b.engine.would_put_off(frames[0].bytes)) << "it has buffers";
        pair.give(pair.b, frames);
        pair.settle();
        rest(pair);
        exchange(pair.b, pair.beside);
        EXPECT_FALSE(pair.b.engine.would_put_off(frames[0].bytes)) << "it came before";
    }
}

// Configurations in which replies that are sent again do not share a packet.
TEST(AmBuffers, AReplyAheadOfOthersIsFetchedAgainWithThem) {
    for (const Config& config : {small(bare()), small(sp2())}) {
        Pair pair(config);
        ConnectionBuffers none = ConnectionBuffers::none(config);
        const Frames replies = wait_without_buffers(pair, none, 3);
        ASSERT_EQ(replies.size(), 3U);
        EXPECT_EQ(pair.give(pair.a, replies[0]), RxVerdict::accepted);
        EXPECT_EQ(pair.give(pair.a, replies[2]), RxVerdict::out_of_sequence);
        EXPECT_EQ(pair.give(pair.a, replies[0]), RxVerdict::duplicate);
        EXPECT_EQ(pair.a.take_log(), Log{"REP 2(0)"});
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), (Log{"REP 2(1)", "REP 2(2)"})) << "it asked for them at once";
        EXPECT_FALSE(pair.a.engine.has_buffers());
    }
}

TEST(AmBuffers, ASessionBeginsAndEndsWithoutThem) {
    for (const Config& small : all_small()) {
        Apart pair(meeting(small));
        ASSERT_EQ(requests(pair.a, 1), 1U);
        pair.settle();
        EXPECT_EQ(pair.b.take_log(), Log{"BEGAN"});
        EXPECT_TRUE(pair.b.engine.established());
        pair.b.engine.on_wire_event(pair.now, WireEvent::peer_gone);
        pair.b.draw();
        EXPECT_EQ(pair.b.take_log(), Log{"ENDED gone"});
        pair.lend();
        EXPECT_EQ(request(pair.b, 1, {7}), PostStatus::accepted);
        pair.settle();
        const Log log = pair.a.take_log();
        ASSERT_FALSE(log.empty());
        EXPECT_EQ(log.back(), "REQ 1(7)");
    }
}

// The sender's buffers mark what a NACK said to have arrived, and the receiver's what arrived
// ahead. The next connection that gets them must not apply this to its own packets. Each message
// has its own packet here, so a lost one leaves others held.
TEST(AmBuffers, WhatIsGivenUpReportsNothingOfWhatItHeld) {
    const Config config = small(bare());
    for (std::size_t lost = 0; lost < 8; ++lost) {
        Pair first(config);
        Pair second(config);
        ASSERT_EQ(requests(first.a, 8), 8U);
        first.finish_without(1);
        rest(first);
        for (Node Pair::*end : {&Pair::a, &Pair::b}) {
            ConnectionBuffers buffers = ConnectionBuffers::none(config);
            exchange(first.*end, buffers);
            exchange(second.*end, buffers);
        }
        ASSERT_EQ(requests(second.a, 8), 8U);
        second.finish_without(lost);
        EXPECT_TRUE(second.a.engine.idle()) << lost;
        EXPECT_EQ(second.b.take_log(), first.b.take_log()) << lost;
    }
}

/// Both ends send all they may over a bad wire, while buffers are lent and given back. An end keeps
/// its buffers for a round trip: otherwise packets would be put off again and again.
void live_with_few_buffers(Config config, std::uint64_t seed,
                           std::array<std::uint64_t, 2>& refused) {
    Pair pair(config);
    World world(pair, {.loss = 0.05, .duplicate = 0.05, .reorder = 0.05}, seed);
    Random random(seed);
    ConnectionBuffers spare_a = ConnectionBuffers::none(config);
    ConnectionBuffers spare_b = ConnectionBuffers::none(config);
    constexpr std::uint32_t most = 400;
    constexpr std::uint64_t keeps = 60;  // ticks
    std::array<std::uint32_t, 2> asked{};
    std::array<std::uint64_t, 2> since{};
    std::uint64_t moves = 0;
    const auto source = pattern(2 * config.chunk_bytes() + 5, seed);
    std::uint32_t stores = 0;
    reply_to_all(pair.a);
    reply_to_all(pair.b);
    world.each_tick = [&](Node& node) {
        const std::size_t end = &node == &pair.a ? 0 : 1;
        ConnectionBuffers& spare = end == 0 ? spare_a : spare_b;
        const bool may_go = !node.engine.has_buffers() || world.ticks - since[end] > keeps;
        if (may_go && node.engine.at_rest() && random.chance(0.05)) {
            node.engine.exchange(spare);
            since[end] = world.ticks;
            ++moves;
        }
        if (!random.chance(0.05)) return;
        if (asked[end] < most && request(node, 1, {asked[end]}) == PostStatus::accepted) {
            ++asked[end];
        } else if (end == 0 && stores < 20 && store(node, source, stores) == PostStatus::accepted) {
            ++stores;
        }
    };
    ASSERT_TRUE(world.run([&] {
        const auto done = [](Node& node) {
            return node.engine.at_rest() && !node.engine.wants_buffers();
        };
        return asked[0] == most && asked[1] == most && stores > 0 && done(pair.a) && done(pair.b);
    })) << seed;
    for (Node* node : {&pair.a, &pair.b}) {
        std::array<std::uint32_t, 2> next{};
        std::uint32_t stored = 0;
        for (const std::string& line : node->take_log()) {
            const bool answer = line.starts_with("REP 2(");
            if (line == "REP 2()") {
                ++stored;
            } else if (answer || line.starts_with("REQ 1(")) {
                ASSERT_EQ(line.substr(6), std::to_string(next[answer ? 1 : 0]++) + ")");
            }
        }
        EXPECT_EQ(next[0], most);
        EXPECT_EQ(next[1], most);
        EXPECT_EQ(stored, node == &pair.a ? stores : 0U);
    }
    EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
    EXPECT_GT(moves, 20U);
    refused[0] += pair.a.engine.stats().received_as(RxVerdict::refused);
    refused[1] += pair.b.engine.stats().received_as(RxVerdict::refused);
}

TEST(AmBuffers, NothingIsLostOrRepeatedWhileTheyComeAndGo) {
    for (const Config& config :
         all_small().and_also({"small bundles", opening(bundling(small(bare())))})) {
        std::array<std::uint64_t, 2> refused{};
        for (std::uint64_t seed = 1; seed <= cases(8); ++seed) {
            live_with_few_buffers(config, seed, refused);
        }
        for (const std::uint64_t count : refused) EXPECT_GT(count, cases(8));
    }
}

}  // namespace
}  // namespace wireproof::am::test
