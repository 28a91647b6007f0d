// Go-back-N: what is resent after a NACK, and what must not be. No configuration of users recovers
// in this way: for tests of sp2() only, connection_selective_test.cpp has a selective one.
#include <gtest/gtest.h>

#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

// AM-11
TEST(AmConnection, ResendsTheNumberNamedAndAllAfterItInOrder) {
    Pair pair(sp2());
    requests(pair.a, 10);
    Frames frames = pair.a.take(pair.now);
    frames.erase(frames.begin() + 4);
    pair.give(pair.b, frames);
    requests(pair.a, 2, 10);
    EXPECT_EQ(pair.carry(pair.b), "NACK 4");
    EXPECT_EQ(pair.carry(pair.a), "REQ 4..9* | REQ 10..11");
    EXPECT_EQ(pair.b.take_log().size(), 12);
    EXPECT_EQ(pair.a.engine.stats().resent, 6);
}

// AM-11: nothing new leaves before everything that had left before is sent again.
TEST(AmConnection, NothingNewLeavesBeforeTheResendIsThrough) {
    Pair pair(sp2());
    requests(pair.a, 3);
    const Frames frames = pair.a.take(pair.now);
    pair.give(pair.b, frames[1]);
    pair.carry(pair.b);
    EXPECT_EQ(pair.text(pair.a.take(pair.now, 1)), "REQ 0*");
    requests(pair.a, 2, 3);
    EXPECT_EQ(pair.taken(pair.a), "REQ 1..2* | REQ 3..4");
}

// AM-38
TEST(AmConnection, ManyNacksOfOneGapCauseOneResend) {
    Pair pair(sp2());
    requests(pair.a, 20);
    const Frames frames = pair.a.take(pair.now);
    Frames nacks;
    for (std::size_t i = 1; i < 20; ++i) {
        pair.give(pair.b, frames[i]);
        const Frames nack = pair.b.take(pair.now);
        nacks.insert(nacks.end(), nack.begin(), nack.end());
    }
    ASSERT_EQ(nacks.size(), 19);
    std::reverse(nacks.begin(), nacks.end());
    std::size_t sent = 0;
    for (const Frame& nack : nacks) {
        EXPECT_EQ(pair.give(pair.a, nack), control);
        const Frames again = pair.a.take(pair.now, 3);  // some arrive during the resend
        pair.give(pair.b, again);
        sent += again.size();
    }
    EXPECT_EQ(sent, 20);
    EXPECT_EQ(pair.a.engine.stats().nacks_acted_on, 1);
    EXPECT_EQ(pair.b.take_log().size(), 20);
    // And one that arrives long after it.
    pair.settle();
    pair.give(pair.a, nacks[0]);
    EXPECT_EQ(pair.taken(pair.a), "");
}

// AM-38
TEST(AmConnection, ANackOfAnOldRoundStillAcknowledges) {
    Pair pair(sp2());
    requests(pair.a, 4);
    const Frames frames = pair.a.take(pair.now);
    pair.give(pair.b, frames[1]);
    const Frame first = pair.b.take(pair.now)[0];
    pair.give(pair.b, frames[0]);
    pair.give(pair.b, frames[2]);
    const Frame second = pair.b.take(pair.now)[0];
    ASSERT_EQ(pair.text({first, second}), "NACK 0 | NACK 1");
    pair.give(pair.a, first);
    pair.give(pair.a, second);
    EXPECT_EQ(pair.taken(pair.a), "REQ 1..3*");
    EXPECT_EQ(pair.a.engine.stats().nacks_acted_on, 1);
}

// AM-38: of packets of two rounds that arrive in one turn, the NACK names the later round.
TEST(AmConnection, ALatePacketOfAnOldRoundDoesNotSpoilTheNackOfTheNew) {
    for (const Config& config : all()) {
        Pair pair(config);
        const Frames frames = one_a_turn(pair.a, pair.now, 4);
        pair.give(pair.b, frames[1]);
        pair.carry(pair.b);
        requests(pair.a, 2, 4);
        const Frames again = pair.a.take(pair.now);  // its first packet is lost again
        EXPECT_EQ(again.back().header.round, 1);
        pair.give(pair.b, again.back());
        pair.give(pair.b, frames[2]);
        const Frames nack = pair.b.take(pair.now);
        ASSERT_EQ(nack.size(), 1);
        EXPECT_EQ(nack[0].header.round, 1);
        pair.give(pair.a, nack);
        EXPECT_EQ(pair.a.engine.stats().nacks_acted_on, 2);
        pair.settle();
        EXPECT_EQ(pair.b.take_log().size(), 6);
    }
}

// AM-37
TEST(AmConnection, ANackBelowOrAboveWhatIsUnacknowledgedChangesNothing) {
    Pair pair(sp2());
    requests(pair.a, 6);
    const Frames frames = pair.a.take(pair.now);
    pair.give(pair.b, Frames(frames.begin(), frames.begin() + 2));
    pair.give(pair.b, frames[3]);
    const Frame nack = pair.b.take(pair.now)[0];
    for (const std::int64_t number : {-1, -75, 7, 75, 30'000, 40'000}) {
        pair.give(pair.a, pair.forged(nack, [&](Header& h) {
            h.number = pair.number(Channel::request, number);
            h.ack[0] = h.number;
        }));
        EXPECT_EQ(pair.taken(pair.a), "") << number;
    }
    EXPECT_EQ(pair.a.engine.stats().nacks_acted_on, 0);
    EXPECT_FALSE(pair.a.engine.idle());
    pair.give(pair.a, nack);
    EXPECT_EQ(pair.taken(pair.a), "REQ 2..5*");
}

// AM-36
TEST(AmConnection, AResendUnderWayJumpsOverWhatIsAcknowledgedMeanwhile) {
    for (Config config : all_small().without_questions()) {
        config.recovery = Recovery::go_back_n;
        Pair pair(config);
        auto source = pattern(in_chunks(config, 2 * config.chunk_bytes()));
        const auto wanted = source;
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        ASSERT_EQ(pair.text(frames), "OPEN 0 | CHUNK 1.0..3 | CHUNK 5.0..3");
        // A packet of the second chunk overtakes the first chunk and causes a NACK; then all of it
        // arrives late.
        pair.give(pair.b, frames[0]);
        pair.give(pair.b, frames[5]);
        pair.carry(pair.b);
        EXPECT_EQ(pair.text(pair.a.take(pair.now, 2)), "CHUNK 1.0..1*");
        pair.give(pair.b, Frames(frames.begin() + 1, frames.begin() + 5));
        EXPECT_EQ(pair.carry(pair.b), "ACK 5 0");
        // The user may use its memory again.
        std::fill_n(source.begin(), in_chunks(config, config.chunk_bytes()), std::byte{0xEE});
        EXPECT_EQ(pair.carry(pair.a), "CHUNK 5.0..3*");
        pair.settle();
        EXPECT_TRUE(same(pair.b.memory().first(wanted.size()), wanted));
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1"});
    }
}

// AM-36: arguments are kept until acknowledged, too, also beside a message without arguments.
TEST(AmConnection, ResendsTheArgumentsThatWereGiven) {
    for (const Config& config : all()) {
        Pair pair(config);
        ASSERT_EQ(request(pair.a, 1, {11, 12}), PostStatus::accepted);
        const Frames first = pair.a.take(pair.now);
        ASSERT_EQ(request(pair.a, 2, {}), PostStatus::accepted);
        const Frames second = pair.a.take(pair.now);
        pair.give(pair.b, first);
        requests(pair.b, 1);
        pair.carry(pair.b);  // acknowledges the first
        ASSERT_EQ(request(pair.a, 3, {31}), PostStatus::accepted);
        pair.a.take(pair.now);  // lost
        pair.give(pair.b, second);
        requests(pair.b, 1);
        pair.carry(pair.b);  // acknowledges the second
        for (std::uint32_t i = 4; i < 8; ++i)
            ASSERT_EQ(request(pair.a, 3, {10 * i + 1}), PostStatus::accepted);
        pair.settle();
        EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(11,12)", "REQ 2()", "REQ 3(31)", "REQ 3(41)",
                                          "REQ 3(51)", "REQ 3(61)", "REQ 3(71)"}));
    }
}

// AM-40
TEST(AmConnection, TheOpenChunksBitmapSurvivesNackAndResend) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, config.chunk_bytes()));
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        for (const std::size_t i : {0U, 1U, 3U}) EXPECT_EQ(pair.give(pair.b, frames[i]), accepted);
        // A packet that has arrived is not written again.
        std::fill(pair.b.memory().begin(), pair.b.memory().end(), std::byte{0x77});
        requests(pair.a, 1);
        pair.carry(pair.a);
        pair.carry(pair.b);
        const Frames again = pair.a.take(pair.now);
        Verdicts verdicts = pair.give(pair.b, again);
        const std::size_t data = config.data_max();
        const Bytes chunk = pair.b.memory().subspan(config.open_bytes);
        EXPECT_EQ(chunk[0], std::byte{0x77});
        EXPECT_EQ(chunk[2 * data], std::byte{0x77});
        EXPECT_TRUE(same(chunk.subspan(data, data),
                         ConstBytes(source).subspan(config.open_bytes + data, data)));
        if (config.recovery == Recovery::go_back_n) {
            EXPECT_EQ(pair.text(again), "CHUNK 1.0..3* | REQ 5*");
            EXPECT_EQ(verdicts, (Verdicts{duplicate, accepted, duplicate, accepted, accepted}));
        }
        EXPECT_EQ(pair.taken(pair.b), "ACK 6 0");
    }
}

// AM-19
TEST(AmConnection, LosingAnyPacketOfAChunkAndThenOfItsResendStillCompletes) {
    for (const Config& config : all_small()) {
        for (std::size_t first = 0; first < 6; ++first) {
            for (std::size_t second = 0; second < 6; ++second) {
                Pair pair(config);
                const auto source = pattern(in_chunks(config, config.chunk_bytes()));
                ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
                requests(pair.a, 1);
                for (const std::size_t lost : {first, second}) {
                    Frames frames = pair.a.take(pair.now);
                    if (lost < frames.size())
                        frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(lost));
                    pair.give(pair.b, frames);
                    pair.carry(pair.b);
                }
                for (int i = 0; i < 4 && !pair.a.engine.idle(); ++i) {
                    pair.settle();
                    if (!pair.a.engine.idle()) pair.wait_for_timer();
                }
                ASSERT_TRUE(pair.a.engine.idle()) << first << " " << second;
                ASSERT_TRUE(same(pair.b.memory().first(source.size()), source));
                ASSERT_EQ(pair.b.take_log().size(), 2);
                ASSERT_LE(pair.a.engine.stats().resent, 3 * 6);
            }
        }
    }
}

// AM-53
TEST(AmConnection, ResendsNoMoreThanAWindowForEachNackActedOn) {
    Pair pair(sp2());
    World world(pair, {.loss = 0.2, .duplicate = 0.2, .reorder = 0.2}, 3);
    std::uint32_t sent = 0;
    world.each_tick = [&](Node& node) {
        if (&node == &pair.a && sent < 1500) sent += requests(node, 1, sent);
    };
    ASSERT_TRUE(world.run([&] { return sent == 1500 && pair.a.engine.idle(); }));
    EXPECT_EQ(pair.b.log.size(), 1500);
    const Stats& stats = pair.a.engine.stats();
    EXPECT_GT(stats.nacks_acted_on, 0);
    EXPECT_LE(stats.resent, stats.nacks_acted_on * 75);
}

}  // namespace
}  // namespace wireproof::am::test
