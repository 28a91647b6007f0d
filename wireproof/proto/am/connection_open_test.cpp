// Stores whose OPEN carries all of their bytes, or the first ones.
#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

/// The configurations of users, and two others, so that each kind of recovery has one.
Configs all_opening() {
    Config go_back_n = udp();
    go_back_n.recovery = Recovery::go_back_n;
    go_back_n.held_packets = 0;
    return shipped()
        .and_also({"sp2", opening(sp2())})
        .and_also({"go-back-N", go_back_n})
        .with(small);
}

std::string stored(std::size_t size) {
    return "STORED 9(5) " + std::to_string(size);
}

TEST(AmOpen, AStoreThatFitsIsOnePacket) {
    for (const Config& config : all_opening()) {
        for (const std::size_t size : {std::size_t{1}, std::size_t{64}, config.open_bytes}) {
            Pair pair(config);
            const auto source = pattern(size);
            ASSERT_EQ(store(pair.a, source, 7, 3), PostStatus::accepted);
            EXPECT_EQ(pair.carry(pair.a), "OPEN 0");
            EXPECT_EQ(pair.b.take_log(), Log{stored(size)});
            EXPECT_TRUE(same(pair.b.memory().subspan(3, size), source));
            EXPECT_EQ(pair.b.memory()[2], std::byte{0});
            EXPECT_EQ(pair.b.memory()[3 + size], std::byte{0});
            EXPECT_EQ(pair.carry(pair.b), "ACK 1 0");  // in the same turn: a caller waits for it
            EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 7"});
            EXPECT_TRUE(pair.a.engine.idle());
        }
    }
}

TEST(AmOpen, ALongerOneBeginsInItsOpen) {
    for (const Config& config : all_opening().without_questions()) {
        for (const std::size_t more : {std::size_t{1}, 6 * config.data_max() + 5}) {
            Pair pair(config);
            const auto source = pattern(config.open_bytes + more);
            ASSERT_EQ(store(pair.a, source, 7, 3), PostStatus::accepted);
            const Frames first = pair.a.take(pair.now);
            EXPECT_EQ(pair.text(first),
                      more == 1 ? "OPEN 0 | CHUNK 1.0" : "OPEN 0 | CHUNK 1.0..3 | CHUNK 5.0..2");
            EXPECT_EQ(first.at(0).bytes.size(),
                      config.header_size() + OpenBody::size + config.open_bytes);
            pair.give(pair.b, first);
            pair.settle();
            EXPECT_EQ(pair.b.take_log(), Log{stored(source.size())});
            EXPECT_TRUE(same(pair.b.memory().subspan(3, source.size()), source));
            EXPECT_EQ(pair.b.memory()[2], std::byte{0});
            EXPECT_EQ(pair.b.memory()[3 + source.size()], std::byte{0});
            EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 7"});
        }
    }
}

// 46 packets hold all but 32 bytes of 64 KiB, and those fit in the OPEN.
TEST(AmOpen, AStoreOf64KiBIs47PacketsOfTodaysConfiguration) {
    Config config = udp();
    config.first_flight = config.window[0];
    Pair pair(config, 65'536);
    const auto source = pattern(65'536);
    ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
    EXPECT_EQ(pair.a.take(pair.now).size(), 47U);
}

// AM-25
TEST(AmOpen, TheSourceOfAShortOneMayChangeAtOnce) {
    for (const Config& config : all_opening()) {
        Pair pair(config);
        auto source = pattern(64);
        const auto as_it_was = source;
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        EXPECT_FALSE(pair.a.engine.touches(source));
        std::fill(source.begin(), source.end(), std::byte{0xEE});
        (void)pair.a.take(pair.now);  // lost
        pair.wait_for_timer();
        pair.settle();
        EXPECT_TRUE(same(pair.b.memory().first(64), as_it_was));
    }
}

TEST(AmOpen, TouchesWhatFollowsTheOpen) {
    for (const Config& config : shipped().with(small)) {
        Pair pair(config);
        const auto source = pattern(pair.config.open_bytes + 100);
        ASSERT_EQ(store(pair.a, source, 1, 3), PostStatus::accepted);
        EXPECT_FALSE(pair.a.engine.touches(ConstBytes(source).first(pair.config.open_bytes)));
        EXPECT_TRUE(pair.a.engine.touches(ConstBytes(source).subspan(pair.config.open_bytes, 1)));
        EXPECT_TRUE(pair.a.engine.touches(ConstBytes(source).last(1)));
        pair.give(pair.b, pair.a.take(pair.now).at(0));
        // The handler sees all of it, also the part that had already arrived.
        EXPECT_TRUE(pair.b.engine.touches(pair.b.memory().subspan(3, 1)));
        EXPECT_TRUE(pair.b.engine.touches(pair.b.memory().subspan(2 + source.size(), 1)));
        EXPECT_FALSE(pair.b.engine.touches(pair.b.memory().subspan(2, 1)));
        EXPECT_FALSE(pair.b.engine.touches(pair.b.memory().subspan(3 + source.size(), 1)));
    }
}

// Each frame may be lost, duplicated or late: each store takes effect once and in order, with its
// bytes.
TEST(AmOpen, ArriveOnceWhateverIsLost) {
    for (const Config& config : all_opening()) {
        const auto shorter = pattern(64, 1);
        const auto longer = pattern(config.open_bytes + 5 * config.data_max(), 2);
        for (std::size_t lost = 0; lost < 14; ++lost) {
            Pair pair(config);
            requests(pair.a, 1);
            ASSERT_EQ(store(pair.a, shorter, 1), PostStatus::accepted);
            ASSERT_EQ(store(pair.a, longer, 2, 100), PostStatus::accepted);
            requests(pair.a, 1, 5);
            pair.finish_without(lost, 2);
            EXPECT_EQ(pair.a.take_log(), (Log{"STORE_ENDED 1", "STORE_ENDED 2"})) << lost;
            Log log = pair.b.take_log();
            ASSERT_EQ(log.size(), 4U) << lost;
            EXPECT_EQ((Log{log[0], log[1]}), (Log{"REQ 1(0)", stored(64)})) << lost;
            const Log rest{log[2], log[3]};
            EXPECT_TRUE(rest == (Log{"REQ 1(5)", stored(longer.size())}) ||
                        rest == (Log{stored(longer.size()), "REQ 1(5)"}))
                << lost;
            EXPECT_TRUE(same(pair.b.memory().first(64), shorter)) << lost;
            EXPECT_TRUE(same(pair.b.memory().subspan(100, longer.size()), longer)) << lost;
            EXPECT_LE(pair.a.engine.stats().resent, config.window[0]) << lost;
            EXPECT_TRUE(pair.b.guards_intact());
        }
    }
}

TEST(AmOpen, ItsBytesAreNotWrittenBeforeItsTurn) {
    for (const Config& config : shipped().with(small)) {
        Pair pair(config);
        const auto source = pattern(64);
        requests(pair.a, 1);
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        EXPECT_EQ(pair.give(pair.b, frames.at(1)), RxVerdict::held);
        EXPECT_EQ(pair.b.memory()[0], std::byte{0});
        EXPECT_EQ(pair.give(pair.b, frames.at(0)), RxVerdict::accepted);
        EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(0)", stored(64)}));
        EXPECT_TRUE(same(pair.b.memory().first(64), source));
    }
}

// A handler that reads the bytes of an earlier store must not see those of a later one, whose OPEN
// with the first bytes is held.
TEST(AmOpen, ALaterOneIsNotWrittenBeforeAnEarlierOne) {
    for (const Config& config : shipped().with(small)) {
        Pair pair(config);
        const auto earlier = pattern(64, 1);
        const auto later = pattern(pair.config.open_bytes + 10, 2);
        ASSERT_EQ(store(pair.a, earlier, 1), PostStatus::accepted);
        ASSERT_EQ(store(pair.a, later, 2), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        EXPECT_EQ(pair.text(frames), "OPEN 0..1 | CHUNK 2.0");
        EXPECT_EQ(pair.give(pair.b, {frames.at(1), frames.at(2)}),
                  (Verdicts{RxVerdict::held, RxVerdict::held}));
        EXPECT_EQ(pair.b.memory()[0], std::byte{0});
        pair.b.handler = [&](const Delivery& delivery) {
            if (pair.b.log.size() > 1 || !std::holds_alternative<Stored>(delivery)) return;
            EXPECT_TRUE(same(pair.b.memory().first(64), earlier));
        };
        pair.give(pair.b, frames.at(0));
        EXPECT_EQ(pair.b.take_log(), (Log{stored(64), stored(later.size())}));
        EXPECT_TRUE(same(pair.b.memory().first(later.size()), later));
    }
}

// AM-47
TEST(AmOpen, AStoreWhereThePeerMayNotWritesNothingAndIsRefused) {
    constexpr std::uint64_t beyond = 1 << 20;
    for (const Config& config : all_opening()) {
        Pair pair(config);
        const std::size_t size = pair.b.memory().size();
        const auto shorter = pattern(64);
        const auto longer = pattern(config.open_bytes + 10);
        ASSERT_EQ(store(pair.a, shorter, 1, beyond), PostStatus::accepted);
        ASSERT_EQ(store(pair.a, longer, 2, beyond), PostStatus::accepted);
        ASSERT_EQ(store(pair.a, longer, 3, size - longer.size() + 1), PostStatus::accepted);
        ASSERT_EQ(store(pair.a, shorter, 4, size - 63), PostStatus::accepted);
        for (int turn = 0; turn < 20 && !pair.a.engine.idle(); ++turn) {
            if (pair.settle() == 0) pair.wait_for_timer();
        }
        Log log = pair.a.take_log();
        std::sort(log.begin(), log.end());
        EXPECT_EQ(log, (Log{"STORE_ENDED 1 forbidden", "STORE_ENDED 2 forbidden",
                            "STORE_ENDED 3 forbidden", "STORE_ENDED 4 forbidden"}));
        EXPECT_EQ(pair.b.take_log(), Log{});
        const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
        EXPECT_TRUE(std::all_of(pair.b.memory().begin(), pair.b.memory().end(), zero));
        EXPECT_TRUE(pair.b.guards_intact());
    }
}

TEST(AmOpen, AWindowOfShortOnesMayBeOut) {
    for (const Config& config : all_opening()) {
        Pair pair(config);
        std::uint32_t taken = 0;
        while (taken < 100 &&
               store(pair.a, pattern(8, taken), taken, taken * 8) == PostStatus::accepted) {
            ++taken;
        }
        EXPECT_EQ(taken, config.window[0]);
        EXPECT_GT(taken, config.stores_max);
        pair.settle();
        EXPECT_EQ(pair.a.take_log().size(), taken);
        for (std::uint32_t i = 0; i < taken; ++i) {
            EXPECT_TRUE(same(pair.b.memory().subspan(i * 8, 8), pattern(8, i)));
        }
    }
}

TEST(AmOpen, TheSaveQueueLimitsThem) {
    for (Config config : shipped().with(small)) {
        config.save_bytes = 2 * (OpenBody::size + config.open_bytes);
        Pair pair(config);
        const auto source = pattern(config.open_bytes);
        EXPECT_EQ(store(pair.a, source, 1), PostStatus::accepted);
        EXPECT_EQ(store(pair.a, source, 2), PostStatus::accepted);
        EXPECT_EQ(store(pair.a, source, 3), PostStatus::window_full);
        pair.settle();
        EXPECT_EQ(store(pair.a, source, 3), PostStatus::accepted);
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), (Log{"STORE_ENDED 1", "STORE_ENDED 2", "STORE_ENDED 3"}));
    }
}

bool no_bytes_out(const Connection& engine) {
    return engine.no_chunks_out() && engine.no_opens_with_bytes_out();
}

// A caller that puts bytes in place by another way must wait until those in flight have arrived.
TEST(AmOpen, BytesAreOutUntilTheyAreAcknowledged) {
    for (const Config& config : all_opening()) {
        Pair pair(config);
        const auto source = pattern(64);
        EXPECT_TRUE(no_bytes_out(pair.a.engine));
        ASSERT_EQ(store(pair.a, source, 1), PostStatus::accepted);
        ASSERT_EQ(store(pair.a, source, 2), PostStatus::accepted);
        EXPECT_FALSE(no_bytes_out(pair.a.engine));
        const Frames frames = pair.a.take(pair.now);
        pair.give(pair.b, frames.at(0));
        pair.carry(pair.b);
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1"});
        EXPECT_FALSE(no_bytes_out(pair.a.engine));
        pair.give(pair.b, frames.at(1));
        pair.carry(pair.b);
        EXPECT_TRUE(no_bytes_out(pair.a.engine));
        // A note whose bytes are in place has no bytes in flight.
        ASSERT_EQ(pair.a.engine.note({.address = Node::base, .size = 64, .handler = HandlerId(9)}),
                  PostStatus::accepted);
        EXPECT_TRUE(no_bytes_out(pair.a.engine));
        for (int turn = 0; turn < 200 && !pair.a.engine.idle(); ++turn) {
            if (pair.settle() == 0) pair.wait_for_timer();
        }
        EXPECT_TRUE(pair.a.engine.idle());
        EXPECT_TRUE(no_bytes_out(pair.a.engine));
    }
}

TEST(AmOpen, IsReportedWhenItsSessionEnds) {
    for (const Config& config : all_opening()) {
        Pair pair(config);
        const auto shorter = pattern(64);
        const auto longer = pattern(config.open_bytes + 10);
        ASSERT_EQ(store(pair.a, shorter, 1), PostStatus::accepted);
        ASSERT_EQ(store(pair.a, longer, 2), PostStatus::accepted);
        pair.a.engine.on_wire_event(pair.now, WireEvent::peer_gone);
        pair.a.draw();
        EXPECT_EQ(pair.a.take_log(), (Log{"FATE STORE 1", "FATE STORE 2", "ENDED gone"}));
        EXPECT_TRUE(no_bytes_out(pair.a.engine));
    }
}

/// An OPEN with this body and these bytes.
Frame open_with(const Pair& pair, Frame frame, bool in_place, std::uint64_t total,
                std::size_t bytes) {
    frame.header.in_place = in_place;
    frame.bytes.resize(pair.config.header_size() + OpenBody::size + bytes);
    OpenBody{Node::base, total, 9, 5}.encode(
        Bytes(frame.bytes).subspan(pair.config.header_size()).first<OpenBody::size>());
    return pair.sealed(frame);
}

TEST(AmOpen, OtherBytesThanTheConfigurationSaysAreMalformed) {
    for (Config config : all_opening()) {
        for (const bool none : {false, true}) {
            if (none) config.open_bytes = 0;
            const std::size_t most = none ? config.data_max() - OpenBody::size : config.open_bytes;
            Pair pair(config);
            const auto source = pattern(most);
            ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
            const Frame frame = pair.a.take(pair.now).at(0);
            struct Forged {
                bool in_place;
                std::uint64_t total;
                std::size_t bytes;
            };
            for (const Forged& forged :
                 std::initializer_list<Forged>{{true, 64, 63},
                                               {true, 64, 65},
                                               {true, 0, 1},
                                               {true, most + 1, most},
                                               {false, most + 1, most - 1},
                                               {false, most + 1, 1},
                                               {false, most, most},
                                               {false, 64, 64},
                                               {false, 0, 8},
                                               {true, 64, none ? std::size_t{64} : std::size_t{32}},
                                               {false, most + 1, none ? most : std::size_t{0}}}) {
                EXPECT_EQ(pair.give(pair.b, open_with(pair, frame, forged.in_place, forged.total,
                                                      forged.bytes)),
                          RxVerdict::malformed)
                    << forged.in_place << ' ' << forged.total << ' ' << forged.bytes;
            }
            EXPECT_EQ(pair.b.log, Log{});
            const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
            EXPECT_TRUE(std::all_of(pair.b.memory().begin(), pair.b.memory().end(), zero));
            EXPECT_EQ(pair.give(pair.b, frame), RxVerdict::accepted);
        }
    }
}

// Ends that differ in it make no session. check() refuses what does not fit.
TEST(AmOpen, IsPartOfTheTermsAndOfTheCheck) {
    Config config = bare();
    const std::uint64_t without = config.terms();
    config.open_bytes = config.data_max() - OpenBody::size;
    EXPECT_NE(config.terms(), without);
    EXPECT_TRUE(config.check());
    ++config.open_bytes;
    const auto refused = config.check();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "an OPEN with 1401 bytes of its store does not fit in one packet");
    config = bare();
    config.open_bytes = 1400;
    config.message_max = 16;
    config.save_bytes = 1423;
    EXPECT_FALSE(config.check());
    ++config.save_bytes;
    EXPECT_TRUE(config.check());
}

}  // namespace
}  // namespace wireproof::am::test
