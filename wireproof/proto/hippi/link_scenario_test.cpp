// The scenarios of docs/rules/hippi.md, and cables that take time, lose and damage: each message
// arrives once and in order. The tests also check the cost.
#include <gtest/gtest.h>

#include "wireproof/proto/hippi/cable_test_kit.hpp"

namespace wireproof::hippi::test {
namespace {

using enum RxVerdict;

// HIPPI-19, H1: lost data.
TEST(HippiScenario, H1LostDataIsFetchedByTheSecondCopy) {
    Pair pair = Pair::started();
    pair.a.submit(4);
    const Frames frames = pair.take(pair.a);
    pair.give(pair.b, frames[0]);
    pair.wait_for_null();
    EXPECT_EQ(pair.carry(pair.b), "null/1");
    EXPECT_EQ(pair.give(pair.b, frames[1]), accepted);
    EXPECT_EQ(pair.taken(pair.b), "");
    EXPECT_EQ(pair.give(pair.b, frames[3]), out_of_sequence);
    const Frames notices = pair.take(pair.b);
    ASSERT_EQ(pair.text(notices), "null/2 null/2");
    pair.give(pair.a, notices[0]);
    EXPECT_EQ(pair.a.engine.outstanding(), 2);
    EXPECT_EQ(pair.taken(pair.a), "");
    pair.give(pair.a, notices[1]);
    EXPECT_EQ(pair.carry(pair.a), "2..3*");
    EXPECT_EQ(pair.b.numbers(), (std::vector<std::uint64_t>{0, 1, 2, 3}));
    EXPECT_EQ(pair.a.engine.stats().timeouts, 0);
}

// HIPPI-19, H2: a lost acknowledgement on a null.
TEST(HippiScenario, H2ALaterNumberCoversALostNull) {
    Pair pair = Pair::started();
    pair.a.submit(2);
    pair.carry(pair.a);
    pair.wait_for_null();
    EXPECT_EQ(pair.taken(pair.b), "null/2");  // is lost
    pair.a.submit(1, 2);
    EXPECT_EQ(pair.carry(pair.a), "2");
    pair.wait_for_null();
    EXPECT_EQ(pair.carry(pair.b), "null/3");
    EXPECT_EQ(pair.a.engine.outstanding(), 0);
    EXPECT_EQ(pair.a.engine.stats().resent, 0);
}

// The first half of H3: B has units 1 and 2 of A. The unit that acknowledges them is lost, and the
// next one carries no acknowledgement.
Frames lost_on_data(Pair& pair) {
    pair.a.submit(1);
    pair.carry(pair.a);
    pair.wait_for_null();
    EXPECT_EQ(pair.carry(pair.b), "null/1");
    pair.a.submit(2, 1);
    pair.carry(pair.a);
    pair.b.submit(2);
    Frames reverse = pair.take(pair.b);
    EXPECT_EQ(pair.text(reverse), "0/3 1");
    EXPECT_EQ(pair.give(pair.a, reverse[1]), out_of_sequence);
    EXPECT_EQ(pair.a.engine.outstanding(), 2);
    return pair.take(pair.a);
}

// HIPPI-19, H3: a lost acknowledgement on data. A refused unit acknowledges nothing.
TEST(HippiScenario, H3RefusedReverseUnitsAcknowledgeNothingAndTheTimerReplays) {
    Pair pair = Pair::started();
    const Frames notices = lost_on_data(pair);
    ASSERT_EQ(pair.text(notices), "null/0 null/0");
    // A sends one more unit. The reverse unit that acknowledges it is refused, too.
    pair.a.submit(1, 3);
    EXPECT_EQ(pair.carry(pair.a), "3");
    pair.b.submit(1, 2);
    const Frames reverse = pair.take(pair.b);
    ASSERT_EQ(pair.text(reverse), "2/4");
    EXPECT_EQ(pair.give(pair.a, reverse[0]), out_of_sequence);
    EXPECT_EQ(pair.a.engine.outstanding(), 3);
    pair.wait(pair.config.retry_after);
    EXPECT_EQ(pair.carry(pair.a), "1..3*");
    EXPECT_EQ(pair.a.engine.stats().timeouts, 1);
    // The status null frees the forward units. The repeated number replays the reverse units.
    EXPECT_EQ(pair.carry(pair.b).substr(0, 8), "status/4");
    EXPECT_EQ(pair.a.engine.outstanding(), 0);
    pair.give(pair.b, notices[0]);
    EXPECT_EQ(pair.carry(pair.b), "");  // its own timer has already begun that replay
    EXPECT_EQ(pair.a.numbers(), (std::vector<std::uint64_t>{0, 1, 2}));
    EXPECT_EQ(pair.b.messages.size(), 4);
}

// HIPPI-19, H3: the repeated RSEQ replays the reverse side before a timer expires.
TEST(HippiScenario, H3TheRepeatedNumberReplaysTheReverseSide) {
    Pair pair = Pair::started();
    const Frames notices = lost_on_data(pair);
    pair.give(pair.b, notices);
    EXPECT_EQ(pair.carry(pair.b), "0..1*");
    EXPECT_EQ(pair.b.engine.stats().replays, 1);
    EXPECT_EQ(pair.b.engine.stats().notices_guarded, 1);
    EXPECT_EQ(pair.a.numbers(), (std::vector<std::uint64_t>{0, 1}));
    EXPECT_EQ(pair.a.engine.outstanding(), 2);
    pair.wait(pair.config.retry_after);
    EXPECT_EQ(pair.text(pair.take(pair.a)), "1/2* 2*");
}

// HIPPI-23
TEST(HippiScenario, H3WithRseqOfAnyGoodUnitNeedsNoForwardTimeout) {
    Config config = near_wrap();
    config.rseq_any_good = true;
    Pair pair = Pair::started(config);
    const Frames notices = lost_on_data(pair);
    pair.a.submit(1, 3);
    EXPECT_EQ(pair.carry(pair.a), "3");
    pair.b.submit(1, 2);
    const Frames reverse = pair.take(pair.b);
    ASSERT_EQ(pair.text(reverse), "2/4");
    EXPECT_EQ(pair.give(pair.a, reverse[0]), out_of_sequence);
    EXPECT_EQ(pair.a.engine.outstanding(), 0);
    pair.give(pair.b, notices);
    EXPECT_EQ(pair.carry(pair.b), "0..2*");
    EXPECT_EQ(pair.a.numbers(), (std::vector<std::uint64_t>{0, 1, 2}));
    EXPECT_EQ(pair.a.engine.stats().timeouts + pair.b.engine.stats().timeouts, 0);
}

// HIPPI-19, H4: one of the two copies of a notice is lost.
TEST(HippiScenario, H4EitherCopyOfANoticeLostLeavesItToTheTimer) {
    for (const bool first_lost : {true, false}) {
        Pair pair = Pair::started();
        pair.a.submit(3);
        const Frames frames = pair.take(pair.a);
        pair.give(pair.b, {frames[0], frames[2]});
        const Frames notices = pair.take(pair.b);
        ASSERT_EQ(pair.text(notices), "null/1 null/1");
        pair.give(pair.a, notices[first_lost ? 1 : 0]);
        EXPECT_EQ(pair.a.engine.outstanding(), 2);
        EXPECT_EQ(pair.taken(pair.a), "");
        pair.wait(pair.config.retry_after);
        EXPECT_EQ(pair.carry(pair.a), "1..2*");
        EXPECT_EQ(pair.b.messages.size(), 3);
        EXPECT_EQ(pair.a.engine.stats().timeouts, 1);
    }
}

// HIPPI-19, H5: the last unit is lost.
TEST(HippiScenario, H5ALostLastUnitIsLeftToTheTimer) {
    Pair pair = Pair::started();
    pair.a.submit(2);
    const Frames frames = pair.take(pair.a);
    pair.give(pair.b, frames[0]);
    pair.wait_for_null();
    EXPECT_EQ(pair.carry(pair.b), "null/1");
    pair.wait(pair.config.retry_after - Duration(1));
    EXPECT_EQ(pair.taken(pair.a), "");
    pair.wait(Duration(1));
    EXPECT_EQ(pair.carry(pair.a), "1*");
    EXPECT_EQ(pair.b.messages.size(), 2);
}

// HIPPI-21: whether the link recovers if both copies of the last number are lost.
TEST(HippiScenario, LosingBothCopiesOfTheLastNumberLivelocksOnlyWithTheLiteralRule) {
    for (const auto rule : {Duplicates::literal, Duplicates::re_arm, Duplicates::status_null}) {
        Config config = near_wrap();
        config.duplicates = rule;
        Pair pair = Pair::started(config);
        pair.a.submit(1);
        const Frames frames = pair.take(pair.a);
        pair.give(pair.b, frames[0]);
        pair.wait_for_null();
        EXPECT_EQ(pair.taken(pair.b), "null/1");  // is lost
        EXPECT_EQ(pair.give(pair.b, frames[0]), duplicate);
        EXPECT_EQ(pair.taken(pair.b),
                  rule == Duplicates::status_null ? "status/1" : "null/1");  // is lost
        int replays = 0;
        for (; replays < 10 && pair.a.engine.outstanding() > 0; ++replays) {
            pair.wait(config.retry_after);
            EXPECT_EQ(pair.carry(pair.a), "0*");
            pair.carry(pair.b);
        }
        EXPECT_EQ(replays, rule == Duplicates::literal ? 10 : 1);
        EXPECT_EQ(pair.b.messages.size(), 1);
    }
}

// HIPPI-21: the livelock ends in a reset, so that even a link with the literal rule reports it.
TEST(HippiScenario, TheLiteralLivelockEndsInAReset) {
    Config config = near_wrap();
    config.duplicates = Duplicates::literal;
    Pair pair = Pair::started(config);
    pair.a.submit(1);
    pair.carry(pair.a);
    pair.wait_for_null();
    pair.take(pair.b);
    for (std::uint32_t i = 0; i < config.retries_max; ++i) {
        pair.wait(config.retry_after);
        pair.carry(pair.a);
        pair.take(pair.b);
    }
    EXPECT_EQ(pair.a.downs, 0);
    pair.wait(config.retry_after);
    EXPECT_EQ(pair.a.downs, 1);
    pair.settle();
    EXPECT_TRUE(pair.a.engine.running() && pair.b.engine.running());
}

// HIPPI-33: if as many units are outstanding as there are numbers, "all acknowledged" and "none
// acknowledged" look the same.
TEST(HippiScenario, AWindowOfTheWholeCircleDeliversTwiceAndOneLessDoesNot) {
    for (const std::uint32_t window : {5U, 4U}) {
        Config config = near_wrap();
        config.modulus = 5;
        config.first_number = 3;
        config.w_max = window;
        Pair pair = Pair::started(config);
        pair.a.submit(window);
        pair.carry(pair.a);
        pair.wait_for_null();
        EXPECT_EQ(pair.carry(pair.b), window == 5 ? "null/0" : "null/4");
        EXPECT_EQ(pair.carry(pair.a), window == 5 ? "0..4*" : "");
        EXPECT_EQ(pair.b.messages.size(), window == 5 ? 10 : 4);
    }
}

struct Saturated {
    std::uint64_t replays = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t delivered = 0;
    std::uint64_t sent = 0;
};

/// A sends all the time on clean cables. The test forces some replays, `apart` units from one
/// another: it repeats the oldest number, like a late copy. There are enough buffers that no
/// credit-only unit is sent, because any other unit would end an echo.
Saturated saturated(Config config, std::uint64_t forced, std::uint64_t apart) {
    config.buffers[0] = 60'000;
    Cables world(config);
    world.run(400);
    Link& a = world.pair.a.engine;
    EXPECT_TRUE(a.running());
    std::uint64_t next = 0;
    world.before_each_step = [&] { next += world.pair.a.submit(4, next); };
    for (std::uint64_t i = 0; i < forced; ++i) {
        world.run(apart);
        const std::uint64_t fresh = a.stats().numbered - a.stats().resent;
        const auto oldest = static_cast<std::uint32_t>(fresh - a.outstanding());
        const std::uint64_t before = a.stats().replays + a.stats().notices_guarded;
        world.pair.give(world.pair.a, made(Type::null, no_number, world.pair.number(oldest)));
        EXPECT_EQ(a.stats().replays + a.stats().notices_guarded, before + 1);
    }
    world.run(apart);
    const std::vector<std::uint64_t> numbers = world.pair.b.numbers();
    for (std::uint64_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i);
    return {a.stats().replays, a.stats().timeouts, numbers.size(), a.stats().numbered};
}

// HIPPI-31: one needless replay causes no other, for any wait before a null.
TEST(HippiScenario, ANeedlessReplayHasNoEchoWithStatusNulls) {
    for (const int wait : {0, 1, 8, 20}) {
        Config config = near_wrap();
        config.null_after = LinkFigures{}.micropacket * wait;
        const Saturated run = saturated(config, 4, 5000);
        EXPECT_EQ(run.replays, 4) << wait;
        EXPECT_EQ(run.timeouts, 0) << wait;
        EXPECT_GT(run.delivered, 24'500) << wait;
    }
}

// HIPPI-31: with the other rules, the duplicates of one replay cause notices that start the next.
TEST(HippiScenario, ANeedlessReplayEchoesWithoutEndWithTheOtherRules) {
    for (const auto rule : {Duplicates::literal, Duplicates::re_arm}) {
        for (const int wait : {0, 8}) {
            Config config = near_wrap();
            config.duplicates = rule;
            config.null_after = LinkFigures{}.micropacket * wait;
            const Saturated run = saturated(config, 1, 5000);
            EXPECT_GT(run.replays, 200) << wait;
            EXPECT_LT(run.delivered, 8'000) << wait;
        }
    }
}

// HIPPI-31: with this window, only the last unit of a replay is certainly a duplicate and causes a
// status null. The units before it cause a notice. Whether that echoes depends on the timing.
TEST(HippiScenario, WithAWindowOf254AReplayMayEcho) {
    Config config = near_wrap();
    config.w_max = 254;
    config.null_after = Duration{};
    EXPECT_EQ(saturated(config, 4, 5000).replays, 8);
    config.null_after = LinkFigures{}.micropacket;
    EXPECT_GT(saturated(config, 4, 5000).replays, 200);
}

struct Costs {
    std::uint64_t resent, timeouts, replays, resets, errors;
};

/// Sends `count` messages in each direction over bad cables. Each arrives once and in order.
Costs lossy(Config config, double rate, std::uint64_t count, std::uint64_t seed) {
    config.seed = seed;
    Cables world(config);
    Random random(seed);
    world.plan = [&](bool, const FrameInfo&) {
        if (!random.chance(rate)) return Fate::arrives;
        return random.chance(0.5) ? Fate::lost : Fate::damaged;
    };
    std::array<std::uint64_t, 2> next{};
    world.before_each_step = [&] {
        for (const std::size_t i : {0U, 1U}) {
            End& end = i == 0 ? world.pair.a : world.pair.b;
            if (!end.engine.running()) continue;
            next[i] += end.submit(std::min<std::uint64_t>(2, count - next[i]), next[i]);
        }
    };
    End& a = world.pair.a;
    End& b = world.pair.b;
    const auto done = [&] { return a.messages.size() == count && b.messages.size() == count; };
    EXPECT_TRUE(world.run_until(done, count * 400)) << seed;
    for (const End* end : {&a, &b}) {
        const std::vector<std::uint64_t> numbers = end->numbers();
        for (std::uint64_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i) << seed;
        for (std::uint64_t i = 0; i < numbers.size(); ++i) {
            EXPECT_EQ(end->messages[i], message(i)) << seed;
        }
    }
    const Stats& x = a.engine.stats();
    const Stats& y = b.engine.stats();
    return {x.resent + y.resent, x.timeouts + y.timeouts, x.replays + y.replays,
            x.resets + y.resets, x.protocol_errors + y.protocol_errors};
}

// HIPPI-27
TEST(HippiScenario, EverythingArrivesOnceAndInOrderAtTwentyPercentLossBothWays) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const std::uint64_t count = 600;
        const Costs costs = lossy(near_wrap(), 0.2, count, seed);
        EXPECT_EQ(costs.resets, 0) << seed;
        EXPECT_EQ(costs.errors, 0) << seed;
        EXPECT_GT(costs.resent, count / 5) << seed;
        EXPECT_LT(costs.resent, 32'000) << seed;
        EXPECT_LT(costs.timeouts, 360) << seed;
        EXPECT_LT(costs.replays, 380) << seed;
    }
}

// HIPPI-27, HIPPI-20: if few frames are lost, most recovery happens without a timer.
TEST(HippiScenario, AtOnePercentLossRecoveryIsMostlyByNotice) {
    for (const bool any_good : {false, true}) {
        Config config = near_wrap();
        config.rseq_any_good = any_good;
        const Costs costs = lossy(config, 0.01, 5000, 3);
        EXPECT_EQ(costs.resets + costs.errors, 0);
        EXPECT_LT(costs.timeouts, any_good ? 6 : 35);
        EXPECT_LT(costs.replays, 120);
        EXPECT_LT(costs.resent, any_good ? 2'700 : 4'800);
    }
}

}  // namespace
}  // namespace wireproof::hippi::test
