// Stores and gets: chunks, their pipeline, and the order in which messages use the window.
#include <gtest/gtest.h>

#include "wireproof/base/cases_test_kit.hpp"
#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

// AM-1, AM-2, AM-3
// The paper's settings.
TEST(AmConnection, CutsAStoreIntoChunksOf36PacketsOf224Bytes) {
    Pair pair(sp2(), 100'000);
    const std::size_t size = 8064 * 2 + 224 + 1;
    const auto source = pattern(size);
    ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
    requests(pair.a, 1);
    Frames frames = pair.a.take(pair.now);
    EXPECT_EQ(pair.text(frames), "OPEN 0 | CHUNK 1.0..35 | CHUNK 37.0..35 | REQ 73");
    pair.give(pair.b, frames);
    pair.carry(pair.b);
    const Frames tail = pair.a.take(pair.now);
    EXPECT_EQ(pair.text(tail), "CHUNK 74.0..1");
    EXPECT_EQ(tail[0].header.count, 2);
    EXPECT_EQ(tail[1].bytes.size(), 32 + 1);
    frames.insert(frames.end(), tail.begin(), tail.end());
    for (const Frame& frame : frames) {
        EXPECT_LE(frame.bytes.size(), 256);
        if (frame.header.kind == Kind::chunk && frame.header.count == 36) {
            EXPECT_EQ(frame.bytes.size(), 256);
        }
    }
    pair.give(pair.b, tail);
    pair.settle();
    requests(pair.a, 1);
    EXPECT_EQ(pair.taken(pair.a), "REQ 76");
    EXPECT_TRUE(same(pair.b.memory().first(size), source));
}

// AM-3, AM-33: the numbers of the second chunk are after the wrap.
TEST(AmConnection, AChunkMayStraddleTheWrap) {
    for (Config config : all()) {
        const std::uint32_t chunk = config.chunk_packets;
        for (std::uint32_t before = 1; before <= chunk + 1; before += chunk / 4) {
            config.first_number[0] = static_cast<std::uint32_t>(config.modulus - before);
            Pair pair(config, 3 * config.chunk_bytes());
            const auto source = pattern(2 * config.chunk_bytes(), before);
            ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
            Frames frames = pair.a.take(pair.now);
            pair.give(pair.b, frames[0]);
            frames.erase(frames.begin(), frames.begin() + 2);  // lose the first packet
            pair.give(pair.b, frames);
            pair.settle();
            ASSERT_TRUE(pair.a.engine.idle()) << before;
            ASSERT_TRUE(same(pair.b.memory().first(source.size()), source));
            EXPECT_EQ(pair.a.engine.stats().keepalive_timeouts, 0);
        }
    }
}

// AM-4
TEST(AmConnection, PacketsOfAChunkMayComeInAnyOrder) {
    for (const Config& config : all_small()) {
        std::vector<std::size_t> order{0, 1, 2, 3};
        do {
            Pair pair(config);
            const auto source = pattern(in_chunks(config, config.chunk_bytes() - 5));
            ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
            const Frames frames = pair.a.take(pair.now);
            pair.give(pair.b, frames[0]);
            for (const std::size_t i : order) {
                EXPECT_EQ(pair.b.log, Log{});
                EXPECT_EQ(pair.give(pair.b, frames[1 + i]), accepted);
            }
            EXPECT_EQ(pair.b.take_log(), Log{"STORED 9(5) " + std::to_string(source.size())});
            EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
            EXPECT_EQ(pair.b.memory()[source.size()], std::byte{0});
            EXPECT_EQ(pair.taken(pair.b), "ACK 5 0");
        } while (std::next_permutation(order.begin(), order.end()));
    }
}

// AM-6
TEST(AmConnection, NeverHasMoreThanAWindowUnacknowledged) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        EXPECT_EQ(requests(pair.a, 200), 12);
        EXPECT_EQ(pair.taken(pair.a), together(config, "REQ", 0, 11));
        EXPECT_EQ(pair.taken(pair.a), "");

        Pair other(config);
        reply_to_all(other.b);
        requests(other.a, 12);
        other.carry(other.a);
        EXPECT_EQ(other.carry(other.b), together(config, "REP", 0, 11));
        for (const Frame& frame : one_a_turn(other.a, other.now, 3, 12)) {
            other.give(other.b, other.forged(frame, [&](Header& h) {
                h.ack[1] = other.number(Channel::reply, 0);  // as if no reply had arrived
            }));
        }
        EXPECT_EQ(other.b.log.size(), 15U);
        EXPECT_EQ(other.taken(other.b), "REP 12");
    }
}

// AM-7, AM-8
TEST(AmConnection, TheThirdChunkLeavesWithTheAckOfTheFirst) {
    for (const Config& config : all_small().without_questions()) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, 4 * config.chunk_bytes()));
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        ASSERT_EQ(pair.text(frames), "OPEN 0 | CHUNK 1.0..3 | CHUNK 5.0..3");
        EXPECT_EQ(pair.taken(pair.a), "");
        pair.give(pair.b, Frames(frames.begin(), frames.begin() + 4));
        EXPECT_EQ(pair.carry(pair.b), "");
        pair.give(pair.b, frames[4]);
        EXPECT_EQ(pair.carry(pair.b), "ACK 5 0");
        EXPECT_EQ(pair.taken(pair.a), "CHUNK 9.0..3");  // the second is not acknowledged yet
    }
}

// AM-7: in another configuration, with its own limit.
TEST(AmConnection, KeepsAsManyChunksInFlightAsConfigured) {
    for (Config config : all_small().without_questions()) {
        for (const std::uint32_t in_flight : {1U, 3U, 5U}) {
            config.chunks_in_flight = in_flight;
            config.ack_chunks = 1;
            config.window = {30, 30};
            Pair pair(config);
            const auto source = pattern(in_chunks(config, 7 * config.chunk_bytes()));
            ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
            EXPECT_EQ(pair.a.take(pair.now).size(), 1 + 4 * in_flight);
        }
    }
}

// AM-25
TEST(AmConnection, TheSourceMayChangeOnceTheStoreHasEndedWhateverWasLost) {
    for (const Config& config : all_small()) {
        for (std::uint64_t seed = 1; seed <= cases(5); ++seed) {
            Pair pair(config);
            World world(pair, {.loss = 0.2, .duplicate = 0.1, .reorder = 0.2}, seed);
            auto source = pattern(in_chunks(config, 6 * config.chunk_bytes()), seed);
            const auto wanted = source;
            ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
            pair.a.handler = [&](const Delivery& delivery) {
                if (std::holds_alternative<StoreEnded>(delivery)) {
                    std::fill(source.begin(), source.end(), std::byte{0xEE});
                }
            };
            ASSERT_TRUE(world.run([&] { return pair.a.engine.idle(); }));
            for (int i = 0; i < 300; ++i) world.turn();  // late frames too
            EXPECT_TRUE(same(pair.b.memory().first(wanted.size()), wanted));
            EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1"});  // AM-26
        }
    }
}

// AM-26
TEST(AmConnection, AStoreEndsOnceAtTheSenderWithItsLastAck) {
    for (const Config& config : all_small().without_questions()) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, config.chunk_bytes() + 1));
        ASSERT_EQ(store(pair.a, source, 42), PostStatus::accepted);
        pair.carry(pair.a);
        EXPECT_EQ(pair.b.take_log().size(), 1);
        EXPECT_EQ(pair.a.log, Log{});
        const Frames ack = pair.b.take(pair.now);
        EXPECT_EQ(pair.text(ack), "ACK 6 0");
        pair.give(pair.a, ack);
        pair.give(pair.a, ack);
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 42"});
    }
}

// AM-27, AM-44: on the reply channel.
TEST(AmConnection, AGetEndsWhenAllItsBytesAreInPlace) {
    for (const Config& config : all_small().without_questions()) {
        Pair pair(config);
        const auto remote = pattern(2 * config.chunk_bytes() + 3);
        std::copy(remote.begin(), remote.end(), pair.b.memory().begin() + 100);
        std::vector<std::byte> here(remote.size() + 1, std::byte{0x55});
        ASSERT_EQ(get(pair.a, Bytes(here).first(remote.size()), 7, 100), PostStatus::accepted);
        EXPECT_EQ(pair.carry(pair.a), "GET_REQ 0");
        EXPECT_EQ(pair.carry(pair.b), "CHUNK/r 0.0..3 | CHUNK/r 4.0..3");
        EXPECT_EQ(pair.a.log, Log{});
        EXPECT_EQ(pair.carry(pair.a), "ACK 0 8");
        EXPECT_EQ(pair.carry(pair.b), "CHUNK/r 8.0");
        EXPECT_EQ(pair.a.take_log(), Log{"GET_ENDED 7"});
        EXPECT_TRUE(same(Bytes(here).first(remote.size()), remote));
        EXPECT_EQ(here.back(), std::byte{0x55});
        pair.settle();
        EXPECT_TRUE(pair.b.engine.idle());
    }
}

// AM-28
TEST(AmConnection, AStoreOfNoBytesRunsTheHandler) {
    for (const Config& config : all()) {
        Pair pair(config);
        ASSERT_EQ(store(pair.a, {}, 3), PostStatus::accepted);
        EXPECT_EQ(pair.carry(pair.a), "OPEN 0");
        EXPECT_EQ(pair.b.take_log(), Log{"STORED 9(5) 0"});
        for (int i = 0; i < 2; ++i) pair.wait_for_timer();
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 3"});
        EXPECT_TRUE(pair.a.engine.idle());
    }
}

// The counterpart of AM-28. An acknowledgement alone would not say whether the memory may be read.
TEST(AmConnection, AGetOfNoBytesEndsWithItsAnswer) {
    for (const Config& config : all()) {
        Pair pair(config);
        ASSERT_EQ(get(pair.a, {}, 4), PostStatus::accepted);
        pair.carry(pair.a);
        requests(pair.b, 1);
        const Frames frames = pair.b.take(pair.now);
        EXPECT_EQ(pair.text(frames), "REP 0 | REQ 0");
        EXPECT_EQ(pair.give(pair.a, frames.at(1)), RxVerdict::accepted);
        EXPECT_EQ(pair.a.take_log(), Log{"REQ 1(0)"});
        EXPECT_EQ(pair.give(pair.a, frames.at(0)), RxVerdict::accepted);
        EXPECT_EQ(pair.a.take_log(), Log{"GET_ENDED 4"});
        pair.settle();
        EXPECT_FALSE(pair.a.engine.touches(pair.a.memory()));
    }
}

// AM-45
TEST(AmConnection, AChunkIsNotStarvedByShortMessages) {
    for (Config config : all_small().and_also({"the paper's window", sp2()})) {
        config.keepalive_after = Duration::microseconds(300);
        const auto source = pattern(in_chunks(config, 10 * config.chunk_bytes()));
        Pair pair(config, source.size());
        World world(pair);
        world.delay = 60;
        std::uint32_t shorts = requests(pair.a, 75);
        bool posted = false;
        bool ended = false;
        world.each_tick = [&](Node& node) {
            if (&node != &pair.a) return;
            if (!posted) posted = store(node, source) == PostStatus::accepted;
            shorts += requests(node, 75, shorts);
        };
        pair.a.handler = [&](const Delivery& d) { ended |= std::holds_alternative<StoreEnded>(d); };
        EXPECT_TRUE(world.run([&] { return ended; }, 2000));
        EXPECT_TRUE(same(pair.b.memory(), source));
    }
}

// AM-46
TEST(AmConnection, TwoStoresToOnePeerTakeTurnsInOneWindow) {
    for (const Config& config : all_small().without_questions()) {
        const std::size_t size = in_chunks(config, 3 * config.chunk_bytes());
        Pair pair(config, 2 * size);
        const auto one = pattern(size, 1);
        const auto two = pattern(size, 2);
        ASSERT_EQ(store(pair.a, one, 1), PostStatus::accepted);
        ASSERT_EQ(store(pair.a, two, 2, size), PostStatus::accepted);
        EXPECT_EQ(requests(pair.a, 1), 0);  // AM-45: the room is for the chunk that waits
        EXPECT_EQ(pair.carry(pair.a), "OPEN 0 | CHUNK 1.0..3 | CHUNK 5.0..3 | OPEN 9");
        EXPECT_EQ(pair.carry(pair.b), "ACK 10 0");
        EXPECT_EQ(pair.carry(pair.a), "CHUNK 10.0..3 | CHUNK 14.0..3 | CHUNK 18.0..3");
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), (Log{"STORE_ENDED 1", "STORE_ENDED 2"}));
        EXPECT_TRUE(same(pair.b.memory().first(size), one));
        EXPECT_TRUE(same(pair.b.memory().subspan(size), two));
        EXPECT_EQ(pair.a.engine.stats().keepalive_timeouts, 0);
    }
}

// AM-46, AM-6, AM-7
TEST(AmConnection, ManyTransfersAtOnceKeepWindowAndPipelineUnderLoss) {
    for (const Config& config : all_small()) {
        const auto source = pattern(5 * config.chunk_bytes());
        const std::size_t apart = source.size() + 100;
        Pair roomy(config, 3 * apart + source.size());
        World run(roomy, {.loss = 0.1, .reorder = 0.1}, 5);
        std::uint64_t posted = 0;
        run.each_tick = [&](Node& node) {
            if (&node != &roomy.a || posted == 3) return;
            if (store(node, source, posted, posted * apart) == PostStatus::accepted) ++posted;
        };
        EXPECT_TRUE(run.run([&] { return posted == 3 && roomy.a.engine.idle(); }));
        EXPECT_EQ(roomy.a.log.size(), 3);
        for (std::uint64_t i = 0; i < 3; ++i) {
            EXPECT_TRUE(same(roomy.b.memory().subspan(i * apart, source.size()), source));
        }
    }
}

}  // namespace
}  // namespace wireproof::am::test
