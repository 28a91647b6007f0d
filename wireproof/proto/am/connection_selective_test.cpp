// Selective recovery: what is held, what a NACK says, and what is sent again.
#include <gtest/gtest.h>

#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

Frames without(Frames frames, std::vector<std::size_t> lost) {
    for (std::size_t i = lost.size(); i-- > 0;) {
        frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(lost[i]));
    }
    return frames;
}

// AM-15
TEST(AmConnection, HoldsWhatIsAheadAndResendsOnlyWhatIsMissing) {
    for (const Config& config : selective().without_questions().with(small)) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 6);
        EXPECT_EQ(pair.give(pair.b, without(frames, {1, 3})),
                  (Verdicts{accepted, held, held, held}));
        EXPECT_EQ(pair.b.log, Log{"REQ 1(0)"});
        EXPECT_EQ(pair.carry(pair.b), "NACK 1 <4 [01011]");
        EXPECT_EQ(pair.text(pair.a.take(pair.now, 1)), "REQ 1*");
        EXPECT_EQ(pair.carry(pair.a), "REQ 3*");
        EXPECT_EQ(pair.b.log, Log{"REQ 1(0)"});  // 1 was lost again
        pair.wait_for_timer_of(pair.a);
        pair.settle();
        EXPECT_EQ(pair.b.take_log(),
                  (Log{"REQ 1(0)", "REQ 1(1)", "REQ 1(2)", "REQ 1(3)", "REQ 1(4)", "REQ 1(5)"}));
        EXPECT_EQ(pair.a.engine.stats().resent, 3);
    }
}

// AM-15: each held message is delivered once, and a held request may be answered like any other.
TEST(AmConnection, DeliversWhatWasHeldInOrderAndLetsItBeAnswered) {
    for (const Config& config : selective().with(small)) {
        Pair pair(config);
        reply_to_all(pair.b);
        const Frames frames = one_a_turn(pair.a, pair.now, 3);
        EXPECT_EQ(pair.give(pair.b, {frames[2], frames[1], frames[2]}),
                  (Verdicts{held, held, duplicate}));
        EXPECT_EQ(pair.b.log, Log{});
        EXPECT_EQ(pair.give(pair.b, frames[0]), accepted);
        EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(0)", "REQ 1(1)", "REQ 1(2)"}));
        EXPECT_EQ(pair.carry(pair.b), together(config, "REP", 0, 2));
        EXPECT_EQ(pair.a.take_log(), (Log{"REP 2(0)", "REP 2(1)", "REP 2(2)"}));
        EXPECT_EQ(pair.give(pair.b, frames), Verdicts(3, duplicate));
    }
}

// AM-38
TEST(AmConnection, SelectiveNacksOfOneGapInAnyOrderResendItOnce) {
    for (const Config& config : selective().without_questions().with(small)) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 8);
        Frames nacks;
        for (const std::size_t i : {1U, 3U, 5U, 7U}) {
            pair.give(pair.b, frames[i]);
            const Frames out = pair.b.take(pair.now);
            nacks.insert(nacks.end(), out.begin(), out.end());
        }
        ASSERT_EQ(nacks.size(), 4);
        std::string sent;
        for (const std::size_t i : {0U, 3U, 1U, 2U, 0U, 3U}) {
            pair.give(pair.a, nacks[i]);
            sent += pair.taken(pair.a) + ".";
        }
        EXPECT_EQ(sent, "REQ 0*.REQ 2* | REQ 4* | REQ 6*.....");
        EXPECT_EQ(pair.a.engine.stats().resent, 4);
    }
}

// Two losses in one flight: a NACK of an earlier round names the second one, and no keep-alive is
// needed.
TEST(AmConnection, ASecondLossOfTheSameFlightIsRepairedWithoutAKeepalive) {
    for (const Config& config : selective().without_questions().with(small)) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 8);
        pair.give(pair.b, frames[1]);
        EXPECT_EQ(pair.carry(pair.b), "NACK 0 <1 [01]");
        EXPECT_EQ(pair.carry(pair.a), "REQ 0*");
        pair.give(pair.b, without(frames, {0, 1, 4}));
        EXPECT_EQ(pair.carry(pair.b), "NACK 4 <3 [0111]");
        EXPECT_EQ(pair.carry(pair.a), "REQ 4*");
        EXPECT_EQ(pair.b.take_log().size(), 8);
        EXPECT_EQ(pair.a.engine.stats().keepalive_timeouts, 0);
    }
}

// AM-38: a second NACK during a resend adds to it.
TEST(AmConnection, ANackDuringAResendAddsOnlyWhatItNamesAnew) {
    for (const Config& config : selective().without_questions().with(small)) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 10);
        pair.give(pair.b, without(frames, {0, 2, 4, 6, 7, 8, 9}));
        const Frames first = pair.b.take(pair.now);
        pair.give(pair.b, without(frames, {0, 2, 4, 6, 8}));
        const Frames second = pair.b.take(pair.now);
        pair.give(pair.a, first);
        EXPECT_EQ(pair.text(pair.a.take(pair.now, 1)), "REQ 0*");
        pair.give(pair.a, second);
        EXPECT_EQ(pair.taken(pair.a), "REQ 2* | REQ 4* | REQ 6* | REQ 8*");
    }
}

// AM-40
TEST(AmConnection, HolesInsideAChunkAreNamedAtOnce) {
    for (const Config& config : selective().without_questions().with(small)) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, 2 * config.chunk_bytes()));
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        ASSERT_EQ(pair.text(frames), "OPEN 0 | CHUNK 1.0..3 | CHUNK 5.0..3");
        EXPECT_EQ(pair.give(pair.b, without(frames, {2, 6, 8})),
                  (Verdicts{accepted, accepted, accepted, accepted, held, held}));
        EXPECT_EQ(pair.carry(pair.b), "NACK 1 <6 [1011101]");
        EXPECT_EQ(pair.carry(pair.a), "CHUNK 1.1* | CHUNK 5.1*");
        EXPECT_EQ(pair.carry(pair.b), "ACK 5 0");
        pair.wait_for_timer_of(pair.a);  // the last packet of all: no later one shows its loss
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1"});
        EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
        EXPECT_EQ(pair.a.engine.stats().resent, 3);
    }
}

// AM-40: no later message is needed to show the loss, unlike in go-back-N.
TEST(AmConnection, AHoleIsNamedByTheNextPacketOfItsOwnChunk) {
    for (const Config& config : selective().without_questions().with(small)) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, config.chunk_bytes()));
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        pair.give(pair.b, without(frames, {2, 4}));
        EXPECT_EQ(pair.carry(pair.b), "NACK 1 <2 [101]");
        EXPECT_EQ(pair.carry(pair.a), "CHUNK 1.1*");
        pair.give(pair.b, frames[4]);
        EXPECT_EQ(pair.carry(pair.b), "ACK 5 0");
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1"});
    }
}

// AM-4: in order, no packet of a chunk causes a NACK.
TEST(AmConnection, WithoutLossNoNackLeaves) {
    for (Config config : selective().without_questions()) {
        config.first_flight = config.window[0];  // otherwise its end asks what has arrived
        Pair pair(config, 500'000);
        const auto source = pattern(500'000);
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        requests(pair.a, 1);
        for (int i = 0; i < 100'000 && !pair.a.engine.idle(); ++i) {
            pair.give(pair.b, pair.a.take(pair.now, 1));
            pair.carry(pair.b);
            requests(pair.a, 1);
            if (i > 400) break;
        }
        EXPECT_EQ(pair.b.engine.stats().sent_of(Kind::nack), 0);
        EXPECT_EQ(pair.a.engine.stats().resent, 0);
    }
}

// AM-18, AM-16: a keep-alive finds all missing packets at the end, and only those.
TEST(AmConnection, TheAnswerToAKeepaliveNamesAllThatIsMissing) {
    for (const Config& config : selective().without_questions().with(small)) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 8);
        pair.give(pair.b, without(frames, {2, 5, 6, 7}));
        pair.b.take(pair.now);  // the NACK is lost
        pair.wait_for_timer_of(pair.a);
        EXPECT_EQ(pair.carry(pair.a), "KEEPALIVE 0");
        EXPECT_EQ(pair.carry(pair.b), "NACK 2 <6 [011]");
        EXPECT_EQ(pair.carry(pair.a), "REQ 2* | " + together(config, "REQ", 5, 7, "*"));
        EXPECT_EQ(pair.b.take_log().size(), 8);
    }
}

// A chunk whose OPEN is missing is kept, and not sent twice.
TEST(AmConnection, ALostOpenCostsOnePacket) {
    for (const Config& config : selective().without_questions().with(small)) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, 2 * config.chunk_bytes() - 7));
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        EXPECT_EQ(pair.give(pair.b, without(frames, {0})), Verdicts(8, held));
        EXPECT_TRUE(
            same(pair.b.memory().first(source.size()), std::vector<std::byte>(source.size())));
        pair.carry(pair.b);
        EXPECT_EQ(pair.carry(pair.a), "OPEN 0*");
        EXPECT_EQ(pair.b.take_log(), Log{"STORED 9(5) " + std::to_string(source.size())});
        EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
        EXPECT_EQ(pair.carry(pair.b), "ACK 9 0");
        EXPECT_EQ(pair.a.engine.stats().resent, 1);
    }
}

// AM-25: two stores to one place end in the order of their calls.
TEST(AmConnection, ALaterStoreIsNotWrittenBeforeAnEarlierOne) {
    for (const Config& config : selective().with(small)) {
        const std::size_t size = in_chunks(config, 40);
        Pair pair(config);
        const auto one = pattern(size, 1);
        const auto two = pattern(size, 2);
        ASSERT_EQ(store(pair.a, one, 1), PostStatus::accepted);
        ASSERT_EQ(store(pair.a, two, 2), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        ASSERT_EQ(pair.text(frames), "OPEN 0 | CHUNK 1.0 | OPEN 2 | CHUNK 3.0");
        pair.b.handler = [&](const Delivery& delivery) {
            if (!std::holds_alternative<Stored>(delivery)) return;
            EXPECT_TRUE(same(pair.b.memory().first(size), pair.b.log.size() == 1 ? one : two));
        };
        pair.give(pair.b, {frames[3], frames[2], frames[1], frames[0]});
        EXPECT_EQ(pair.b.take_log().size(), 2);
    }
}

// A packet without a slot is dropped, and named like a lost one.
TEST(AmConnection, WhatFindsNoRoomToBeHeldIsSentAgain) {
    for (Config config : selective().with(small)) {
        config.held_packets = 2;
        Pair pair(config);
        const std::vector<std::uint32_t> large(100);
        const auto ask = [&](std::uint16_t most) {  // in a turn for each
            Frames asked;
            for (std::uint16_t i = 1; i <= most; ++i) {
                EXPECT_EQ(request(pair.a, i, large), PostStatus::accepted);
                asked.push_back(pair.a.take(pair.now).at(0));
            }
            return asked;
        };
        const Frames frames = ask(6);
        EXPECT_EQ(pair.give(pair.b, without(frames, {0})),
                  (Verdicts{held, held, out_of_sequence, out_of_sequence, out_of_sequence}));
        for (int i = 0; i < 5 && !pair.a.engine.idle(); ++i) {
            pair.settle();
            if (!pair.a.engine.idle()) pair.wait_for_timer();
        }
        EXPECT_TRUE(pair.a.engine.idle());
        EXPECT_EQ(pair.b.take_log().size(), 6);
        EXPECT_LE(pair.a.engine.stats().resent, 4);
        // The slots are free again.
        EXPECT_EQ(pair.give(pair.b, without(ask(3), {0})), Verdicts(2, held));
    }
}

// AM-42: a held message waits for its reply place. It causes no NACK and is not sent again.
TEST(AmConnection, AHeldRequestWaitsForItsReplyPlace) {
    for (Config config : selective().without_questions().with(small)) {
        config.reply_places = 1;
        config.window = {12, 4};
        Pair pair(config);
        reply_to_all(pair.b);
        const Frames frames = one_a_turn(pair.a, pair.now, 9);
        EXPECT_EQ(pair.give(pair.b, without(frames, {0})), Verdicts(8, held));
        pair.b.take(pair.now);
        pair.give(pair.b, frames[0]);
        EXPECT_EQ(pair.b.log.size(), 5);  // four replies fill the window, one the queue
        for (int i = 0; i < 4; ++i) {
            pair.carry(pair.b);
            requests(pair.a, 1, 9 + static_cast<std::uint32_t>(i));  // carries the acks
            pair.carry(pair.a);
        }
        pair.settle();
        EXPECT_EQ(pair.b.log.size(), 13);
        EXPECT_EQ(pair.a.engine.stats().resent, 0);
    }
}

// AM-53: the sender resends about as many packets as the wire loses.
TEST(AmConnection, SelectiveResendsAboutWhatWasLost) {
    for (const Config& config : selective()) {
        Pair pair(config, 1 << 20);
        World world(pair, {.loss = 0.05}, 9);
        world.per_tick = 2;
        const auto source = pattern(1 << 20);
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        ASSERT_TRUE(world.run([&] { return pair.a.engine.idle(); }));
        EXPECT_TRUE(same(pair.b.memory(), source));
        const Stats& stats = pair.a.engine.stats();
        EXPECT_GT(stats.resent, 0);
        EXPECT_LE(stats.resent, world.plans[1].counts().lost * 5 / 4);
    }
}

}  // namespace
}  // namespace wireproof::am::test
