// Stores that name a handler which the peer does not have, and transfers of no bytes without access
// rights: each ends with its reason, and no handler runs (AM-47).
#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

constexpr HandlerId there{9};
constexpr HandlerId absent{10};

/// A pair whose node b has only handler 9.
struct Listed : Pair {
    explicit Listed(const Config& of_a) : Pair(of_a) {
        handlers.set(there, true);
        b.engine.bind_handlers(handlers);
    }
    PostStatus store_to(HandlerId handler, ConstBytes source, std::uint64_t tag,
                        std::uint64_t offset = 0) {
        return a.engine.store({.address = Node::base + offset,
                               .source = source,
                               .handler = handler,
                               .argument = 5,
                               .tag = tag});
    }
    PostStatus note_to(HandlerId handler, std::uint64_t tag, bool awaited) {
        return a.engine.note({.address = Node::base,
                              .size = 64,
                              .handler = handler,
                              .argument = 5,
                              .tag = tag,
                              .awaited = awaited});
    }
    /// Carries frames until node a is idle.
    void finish() { finish_without(~std::size_t{0}); }

    HandlerTable handlers;
};

TEST(AmRefusal, AStoreToNoHandlerEndsSoWhateverIsLost) {  // AM-47
    for (const Config& config : all_small()) {
        for (const std::size_t size : {std::size_t{0}, std::size_t{7}, config.chunk_bytes() + 1}) {
            const auto source = pattern(size);
            const std::string bytes = std::to_string(size);
            for (std::size_t lost = 0; lost < 16; ++lost) {
                Listed pair(config);
                ASSERT_EQ(pair.store_to(absent, source, 1), PostStatus::accepted);
                ASSERT_EQ(pair.store_to(there, source, 2), PostStatus::accepted);
                pair.finish_without(lost);
                EXPECT_EQ(pair.a.take_log(), (Log{"STORE_ENDED 1 no_handler", "STORE_ENDED 2"}))
                    << size << ", lost " << lost;
                EXPECT_EQ(pair.b.take_log(), Log{"STORED 9(5) " + bytes});
                EXPECT_TRUE(pair.a.engine.idle());
                EXPECT_LE(pair.a.engine.stats().keepalive_timeouts, 2U);
            }
        }
    }
}

TEST(AmRefusal, NothingOfAStoreToNoHandlerIsWrittenAndNoTimerIsNeeded) {  // AM-47
    for (const Config& config : all_small()) {
        for (const std::size_t size : {std::size_t{7}, 3 * config.chunk_bytes() + 1}) {
            Listed pair(config);
            const auto source = pattern(size);
            ASSERT_EQ(pair.store_to(absent, source, 1), PostStatus::accepted);
            pair.settle();
            EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1 no_handler"});
            EXPECT_EQ(pair.b.take_log(), Log{});
            EXPECT_EQ(pair.a.engine.stats().keepalive_timeouts, 0U);
            EXPECT_TRUE(same(pair.b.memory(), std::vector<std::byte>(pair.b.memory().size())));
        }
    }
}

TEST(AmRefusal, ANoteToNoHandlerEndsSoWhateverIsLost) {  // AM-47
    for (const Config& config : all_small()) {
        for (std::size_t lost = 0; lost < 16; ++lost) {
            Listed pair(config);
            requests(pair.a, 1);
            ASSERT_EQ(pair.note_to(absent, 1, true), PostStatus::accepted);
            ASSERT_EQ(pair.note_to(there, 2, true), PostStatus::accepted);
            pair.finish_without(lost);
            EXPECT_EQ(pair.a.take_log(), (Log{"STORE_ENDED 1 no_handler", "STORE_ENDED 2"}))
                << lost;
            EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(0)", "STORED 9(5) 64"})) << lost;
        }
    }
}

// Nobody waits for the end of this note. So its sender learns of the missing handler in a delivery
// of its own, as for a request, and exactly once, even if frames are lost or repeated.
TEST(AmRefusal, AnUnawaitedNoteToNoHandlerIsReportedOnce) {
    for (const Config& config : all_small()) {
        for (std::size_t lost = 0; lost < 12; ++lost) {
            for (const std::size_t copies : {1U, 2U}) {
                Listed pair(config);
                ASSERT_EQ(pair.note_to(absent, 1, false), PostStatus::accepted);
                ASSERT_EQ(pair.note_to(there, 2, false), PostStatus::accepted);
                pair.finish_without(lost, copies);
                EXPECT_EQ(pair.a.take_log(), Log{"REFUSED 10 no_handler"}) << lost;
                EXPECT_EQ(pair.b.take_log(), Log{"STORED 9(5) 64"}) << lost;
                EXPECT_TRUE(pair.a.engine.idle());
            }
        }
    }
}

TEST(AmRefusal, APeerThatMayNotWriteThereDoesNotLearnWhichHandlersThereAre) {
    for (const Config& config : all_small()) {
        for (const std::size_t size : {std::size_t{0}, std::size_t{7}, config.chunk_bytes() + 1}) {
            Listed pair(config);
            const std::uint64_t beyond = pair.b.memory().size() + 1;
            const auto source = pattern(size);
            ASSERT_EQ(pair.store_to(absent, source, 1, beyond), PostStatus::accepted);
            ASSERT_EQ(pair.store_to(there, source, 2, beyond), PostStatus::accepted);
            pair.finish();
            EXPECT_EQ(pair.a.take_log(),
                      (Log{"STORE_ENDED 1 forbidden", "STORE_ENDED 2 forbidden"}));
            EXPECT_EQ(pair.b.take_log(), Log{});
        }
    }
}

// The rule of am.hpp: a store ends `ok` only if its handler exists when the first and when the last
// packet is accepted.
TEST(AmRefusal, AHandlerThatComesAfterTheFirstPacketComesTooLate) {
    for (const Config& config : all_small()) {
        Listed pair(config);
        const auto source = pattern(2 * config.chunk_bytes());
        ASSERT_EQ(pair.store_to(absent, source, 1), PostStatus::accepted);
        pair.give(pair.b, pair.a.take(pair.now, 1));
        pair.handlers.set(absent, true);
        pair.finish();
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1 no_handler"});
        ASSERT_EQ(pair.store_to(absent, source, 2), PostStatus::accepted);
        pair.finish();
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 2"});
        EXPECT_EQ(pair.b.take_log(), Log{"STORED 10(5) " + std::to_string(source.size())});
    }
}

TEST(AmRefusal, AHandlerThatGoesAmidAStoreIsMissedAtItsEndWhateverIsLost) {
    for (const Config& config : all_small()) {
        const auto source = pattern(config.open_bytes + config.chunk_bytes() + 1);
        for (std::size_t lost = 0; lost < 16; ++lost) {
            Listed pair(config);
            ASSERT_EQ(pair.store_to(there, source, 1), PostStatus::accepted);
            pair.give(pair.b, pair.a.take(pair.now, 2));
            pair.handlers.set(there, false);
            ASSERT_EQ(request(pair.a, 1, {7}), PostStatus::accepted);
            pair.finish_without(lost);
            EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1 no_handler"}) << lost;
            EXPECT_EQ(pair.b.take_log(), Log{"REQ 1(7)"}) << lost;
            EXPECT_TRUE(pair.a.engine.idle());
            EXPECT_LE(pair.a.engine.stats().keepalive_timeouts, 2U);
        }
    }
}

// Packets that are ahead are judged in their turn: here all have arrived, except the one that was
// lost.
TEST(AmRefusal, AHandlerThatGoesWhileTheEndIsHeldIsMissed) {
    for (const Config& config : selective().with(small)) {
        Listed pair(config);
        const auto source = pattern(in_chunks(config, 2 * config.chunk_bytes()));
        ASSERT_EQ(pair.store_to(there, source, 1), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        for (std::size_t i = 0; i < frames.size(); ++i) {
            if (i != 2) pair.give(pair.b, frames[i]);
        }
        pair.handlers.set(there, false);
        EXPECT_EQ(pair.give(pair.b, frames[2]), RxVerdict::accepted);
        EXPECT_EQ(pair.b.take_log(), Log{});
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1 no_handler"});
        EXPECT_EQ(pair.b.take_log(), Log{});
        EXPECT_EQ(pair.a.engine.stats().keepalive_timeouts, 0U);
    }
}

// No bytes.

TEST(AmRefusal, NoBytesNeedTheRightAndThePlaceWhateverIsLost) {  // AM-47
    for (const Config& config : all_small()) {
        for (std::size_t lost = 0; lost < 16; ++lost) {
            Pair pair(config, 100);
            std::vector<std::byte> memory(20);
            ASSERT_TRUE(pair.b.table.add(0x10, Bytes(memory).first(10), {.read = true}));
            ASSERT_TRUE(pair.b.table.add(0x30, Bytes(memory).last(10), {.write = true}));
            const auto post = [&](std::uint64_t tag, std::uint64_t at) {
                const std::uint64_t offset = at - Node::base;
                ASSERT_EQ(store(pair.a, {}, tag, offset), PostStatus::accepted);
                ASSERT_EQ(get(pair.a, {}, tag, offset), PostStatus::accepted);
            };
            post(1, 0x10);
            post(2, 0x30 + 10);  // after the last byte
            post(3, Node::base + 101);
            pair.finish_without(lost);
            Log log = pair.a.take_log();
            std::sort(log.begin(), log.end());
            EXPECT_EQ(log,
                      (Log{"GET_ENDED 1", "GET_ENDED 2 forbidden", "GET_ENDED 3 forbidden",
                           "STORE_ENDED 1 forbidden", "STORE_ENDED 2", "STORE_ENDED 3 forbidden"}))
                << lost;
            EXPECT_EQ(pair.b.take_log(), Log{"STORED 9(5) 0"}) << lost;
            EXPECT_TRUE(pair.a.engine.idle());
        }
    }
}

// A get of no bytes is answered by a refusal without a reason. If a peer refuses another get in
// this way, it has sent no bytes of it, and the get does not end well.
TEST(AmRefusal, OnlyAGetOfNoBytesEndsWellWithoutBytes) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        std::vector<std::byte> here(10);
        ASSERT_EQ(get(pair.a, here, 6), PostStatus::accepted);
        Pair other(config);
        ASSERT_EQ(get(other.a, {}, 6), PostStatus::accepted);
        other.carry(other.a);
        const Frames answer = other.b.take(other.now);
        EXPECT_EQ(other.text(answer), "REP 0");
        pair.a.take(pair.now);
        EXPECT_EQ(pair.give(pair.a, answer), Verdicts{RxVerdict::accepted});
        EXPECT_EQ(pair.a.take_log(), Log{"GET_ENDED 6 forbidden"});
    }
}

// A store with all bytes in its OPEN is a note: otherwise it would end before its sender learns of
// the refusal.
TEST(AmRefusal, AnOpenOfNoBytesThatIsNoNoteIsMalformed) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        ASSERT_EQ(store(pair.a, {}), PostStatus::accepted);
        const Frame note = pair.a.take(pair.now).at(0);
        ASSERT_TRUE(note.header.in_place);
        const Frame open = pair.forged(note, [](Header& header) {
            header.in_place = false;
            header.count = 0;
        });
        EXPECT_EQ(pair.give(pair.b, open), RxVerdict::malformed);
        EXPECT_EQ(pair.give(pair.b, note), RxVerdict::accepted);
        EXPECT_EQ(pair.b.take_log(), Log{"STORED 9(5) 0"});
    }
}

TEST(AmRefusal, ACopyMayBeBoundToHandlersOfItsOwn) {
    for (const Config& config : all_small()) {
        Listed pair(config);
        Connection copy = pair.b.engine;
        const HandlerTable none;
        copy.bind_handlers(none);
        ASSERT_EQ(pair.store_to(there, {}, 1), PostStatus::accepted);
        const Frame frame = pair.a.take(pair.now).at(0);
        EXPECT_EQ(copy.on_frame(pair.now, {frame.bytes, {}, Integrity::check}), RxVerdict::refused);
        EXPECT_EQ(pair.give(pair.b, frame), RxVerdict::accepted);
    }
}

}  // namespace
}  // namespace wireproof::am::test
