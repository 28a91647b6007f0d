// Stores whose bytes are already in place: an OPEN with kind bit 5, and no chunks.
#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

PostStatus note(Node& node, std::uint64_t tag = 1, std::uint64_t offset = 0,
                std::uint64_t size = 64) {
    return node.engine.note({.address = Node::base + offset,
                             .size = size,
                             .handler = HandlerId(9),
                             .argument = 5,
                             .tag = tag});
}

constexpr std::uint64_t beyond = 1 << 20;  // outside the memory that the peer may use

TEST(AmConnection, ANoteRunsTheHandlerAndEndsWithItsAck) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        ASSERT_EQ(request(pair.a, 1, {7}), PostStatus::accepted);
        ASSERT_EQ(note(pair.a, 42), PostStatus::accepted);
        ASSERT_EQ(request(pair.a, 1, {8}), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        EXPECT_EQ(pair.text(frames), "REQ 0 | OPEN 1 | REQ 2");
        EXPECT_TRUE(frames.at(1).header.in_place);
        reply_to_all(pair.b);
        pair.give(pair.b, frames);
        EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(7)", "STORED 9(5) 64", "REQ 1(8)"}));
        EXPECT_EQ(pair.a.log, Log{});
        pair.carry(pair.b);
        EXPECT_EQ(pair.a.take_log(), (Log{"STORE_ENDED 42", "REP 2(7)", "REP 2()", "REP 2(8)"}));
        pair.settle();
        EXPECT_TRUE(pair.a.engine.can_read_at_once());
    }
}

TEST(AmConnection, ANoteThatIsRepeatedOrResentRunsItsHandlerOnce) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        ASSERT_EQ(note(pair.a), PostStatus::accepted);
        const Frames first = pair.a.take(pair.now);
        EXPECT_EQ(pair.give(pair.b, first), Verdicts{RxVerdict::accepted});
        EXPECT_EQ(pair.give(pair.b, first), Verdicts{RxVerdict::duplicate});
        pair.b.take(pair.now);  // lost
        pair.wait_for_timer_of(pair.a);
        pair.settle();
        EXPECT_EQ(pair.b.take_log(), Log{"STORED 9(5) 64"});
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1"});
    }
}

TEST(AmConnection, ANoteAheadWaitsForWhatIsMissing) {
    for (const Config& config : selective().with(small)) {
        Pair pair(config);
        requests(pair.a, 1);
        ASSERT_EQ(note(pair.a), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        EXPECT_EQ(pair.give(pair.b, frames.at(1)), RxVerdict::held);
        EXPECT_EQ(pair.b.log, Log{});
        EXPECT_EQ(pair.give(pair.b, frames.at(0)), RxVerdict::accepted);
        EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(0)", "STORED 9(5) 64"}));
    }
}

// AM-47, as for chunks: a peer that may not store there learns so before its store ends.
TEST(AmConnection, ANoteOfForbiddenMemoryEndsWithTheReason) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        ASSERT_EQ(note(pair.a, 1, beyond), PostStatus::accepted);
        ASSERT_EQ(note(pair.a, 2, beyond), PostStatus::accepted);
        ASSERT_EQ(note(pair.a, 3), PostStatus::accepted);
        pair.settle();
        EXPECT_EQ(pair.a.take_log(),
                  (Log{"STORE_ENDED 1 forbidden", "STORE_ENDED 2 forbidden", "STORE_ENDED 3"}));
        EXPECT_EQ(pair.b.take_log(), Log{"STORED 9(5) 64"});
        EXPECT_TRUE(pair.a.engine.idle());
    }
}

// AM-47
TEST(AmConnection, AForbiddenNoteEndsWithTheReasonWhateverIsLost) {
    for (const Config& config : all_small()) {
        for (std::size_t lost = 0; lost < 12; ++lost) {
            Pair pair(config);
            requests(pair.a, 1);
            ASSERT_EQ(note(pair.a, 1, beyond), PostStatus::accepted);
            ASSERT_EQ(note(pair.a, 2), PostStatus::accepted);
            pair.finish_without(lost);
            EXPECT_EQ(pair.a.take_log(), (Log{"STORE_ENDED 1 forbidden", "STORE_ENDED 2"})) << lost;
            EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(0)", "STORED 9(5) 64"})) << lost;
        }
    }
}

TEST(AmConnection, AForbiddenNoteThatComesAgainWaitsForItsRefusalAllTheSame) {  // AM-47
    for (const Config& config : all_small()) {
        Pair pair(config);
        requests(pair.a, 1);
        pair.finish_without(100);  // a session, and no loss
        pair.b.take_log();
        ASSERT_EQ(note(pair.a, 1, beyond), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        ASSERT_EQ(frames.size(), 1U);
        for (int times = 0; times < 3; ++times) {
            EXPECT_EQ(pair.give(pair.b, frames), (Verdicts{RxVerdict::refused})) << times;
        }
        pair.finish_without(100);
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1 forbidden"});
        EXPECT_EQ(pair.b.take_log(), Log{});
    }
}

TEST(AmConnection, ANoteThatNobodyAwaitsEndsWithoutAWord) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        const auto post = [&](std::uint64_t tag, std::uint64_t offset, bool awaited) {
            return pair.a.engine.note({.address = Node::base + offset,
                                       .size = 64,
                                       .handler = HandlerId(9),
                                       .argument = 5,
                                       .tag = tag,
                                       .awaited = awaited});
        };
        ASSERT_EQ(post(1, 0, false), PostStatus::accepted);
        ASSERT_EQ(post(2, 0, true), PostStatus::accepted);
        ASSERT_EQ(post(3, 0, false), PostStatus::accepted);
        ASSERT_EQ(post(4, beyond, false), PostStatus::accepted);
        for (int turn = 0; turn < 20 && !pair.a.engine.idle(); ++turn) {
            if (pair.settle() == 0) pair.wait_for_timer();
        }
        EXPECT_TRUE(pair.a.engine.idle());
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 2"});
        EXPECT_EQ(pair.b.take_log(), (Log{"STORED 9(5) 64", "STORED 9(5) 64", "STORED 9(5) 64"}));
    }
}

// FateUnknown reports it like any other store.
TEST(AmConnection, ANoteThatNobodyAwaitsIsReportedWhenItsSessionEnds) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        ASSERT_EQ(pair.a.engine.note({.address = Node::base,
                                      .size = 64,
                                      .handler = HandlerId(9),
                                      .tag = 8,
                                      .awaited = false}),
                  PostStatus::accepted);
        pair.a.engine.on_wire_event(pair.now, WireEvent::peer_gone);
        pair.a.draw();
        EXPECT_EQ(pair.a.take_log(), (Log{"FATE STORE 8", "ENDED gone"}));
    }
}

// AM-42
TEST(AmConnection, ANoteWithoutAReplyPlaceIsRefusedAndFetchedOnceThereIsOne) {
    for (const Config& config : all_small().without_questions()) {
        Pair pair(config);
        reply_to_all(pair.b);
        // The replies stay in their window and in the queue.
        std::uint32_t taken = 0;
        for (std::uint32_t i = 0; i < config.window[1] + config.reply_places; ++i) {
            taken += requests(pair.a, 1);
            pair.carry(pair.a);
            const Frames out = pair.b.take(pair.now);
            for (const Frame& frame : out) {
                if (frame.header.kind != Kind::reply) pair.give(pair.a, frame);
                if (frame.header.kind != Kind::reply) continue;
                // Only its acknowledgement reaches A.
                Frame ack = frame;
                ack.bytes.resize(config.header_size());
                ack.header.kind = Kind::ack;
                ack.header.channel = Channel::request;
                ack.header.count = 0;
                pair.give(pair.a, pair.sealed(ack));
            }
        }
        ASSERT_EQ(taken, config.window[1] + config.reply_places);
        ASSERT_EQ(note(pair.a), PostStatus::accepted);
        EXPECT_EQ(pair.give(pair.b, pair.a.take(pair.now)), Verdicts{RxVerdict::refused});
        for (int turn = 0; turn < 100 && !pair.a.engine.idle(); ++turn) {
            if (pair.settle() == 0) pair.wait_for_timer();
        }
        EXPECT_EQ(pair.a.log.back(), "REP 2()");
        EXPECT_EQ(std::count(pair.a.log.begin(), pair.a.log.end(), "STORE_ENDED 1"), 1);
        EXPECT_EQ(pair.b.log.back(), "STORED 9(5) 64");
    }
}

// AM-50
TEST(AmConnection, NotesOfAnEndedSessionAreReportedInOrder) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        requests(pair.a, 1);
        ASSERT_EQ(note(pair.a, 4), PostStatus::accepted);
        ASSERT_EQ(note(pair.a, 5), PostStatus::accepted);
        pair.a.engine.on_wire_event(pair.now, WireEvent::peer_gone);
        pair.a.draw();
        EXPECT_EQ(pair.a.take_log(),
                  (Log{"FATE REQ 1(0)", "FATE STORE 4", "FATE STORE 5", "ENDED gone"}));
    }
}

TEST(AmConnection, ANoteNeedsAPlaceOfTheWindowAndNoMore) {
    for (Config config : all_small()) {
        config.stores_max = 1;
        Pair pair(config);
        for (std::uint64_t tag = 0; tag < config.window[0]; ++tag) {
            EXPECT_TRUE(pair.a.engine.can_note());
            ASSERT_EQ(note(pair.a, tag), PostStatus::accepted);
        }
        EXPECT_FALSE(pair.a.engine.can_note());
        EXPECT_EQ(note(pair.a), PostStatus::window_full);
        pair.settle();
        EXPECT_EQ(pair.a.log.size(), config.window[0]);
    }
}

TEST(AmConnection, WhatIsNoNoteAndSaysItIsOneIsMalformed) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        requests(pair.a, 1);
        const Frame request = pair.a.take(pair.now).at(0);
        const auto claims = [](Header& header) { header.in_place = true; };
        EXPECT_EQ(pair.give(pair.b, pair.forged(request, claims)), RxVerdict::malformed);
        ASSERT_EQ(note(pair.a), PostStatus::accepted);
        const Frame note = pair.a.take(pair.now).at(0);
        EXPECT_EQ(pair.give(pair.b, request), RxVerdict::accepted);
        EXPECT_EQ(pair.give(pair.b, pair.forged(note, [](Header& header) { header.id = 1; })),
                  RxVerdict::malformed);
        EXPECT_EQ(pair.b.take_log(), Log{"REQ 1(0)"});
    }
}

}  // namespace
}  // namespace wireproof::am::test
