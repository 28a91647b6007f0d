// How a connection limits its packets in flight. tests/sim shows the result with a full queue.
#include <gtest/gtest.h>

#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

constexpr std::size_t start = congestion::Limits().start;

Config on_a_shared_path() {
    Config config = bare();
    config.congestion = Congestion::by_loss;
    return config;
}

std::size_t numbered(const Frames& frames) {
    return static_cast<std::size_t>(
        std::count_if(frames.begin(), frames.end(),
                      [](const Frame& frame) { return is_numbered(frame.header.kind); }));
}

TEST(AmConnection, KeepsNoMoreUnderWayThanThePathAllows) {
    Pair shorts(on_a_shared_path());
    requests(shorts.a, 50);
    EXPECT_EQ(numbered(shorts.a.take(shorts.now)), start);

    Pair bulk(on_a_shared_path(), 200'000);
    const auto source = pattern(200'000);
    ASSERT_EQ(store(bulk.a, source), PostStatus::accepted);
    EXPECT_EQ(numbered(bulk.a.take(bulk.now)), start);
    EXPECT_TRUE(bulk.a.engine.quiet());
}

TEST(AmConnection, ABundleIsOnePacketOfWhatThePathAllows) {
    Config config = on_a_shared_path();
    config.bundle_max = 24;
    Pair pair(config);
    requests(pair.a, 60);
    EXPECT_EQ(numbered(pair.a.take(pair.now)), start);
    EXPECT_TRUE(pair.a.engine.quiet());
}

// No acknowledgement is due before a quarter of the window, or a whole chunk, has arrived.
TEST(AmConnection, AsksForTheAnswersThatOpenTheWindowWithoutATimer) {
    Pair pair(on_a_shared_path(), 200'000);
    const auto source = pattern(200'000);
    requests(pair.a, 50);
    ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
    pair.settle();
    EXPECT_TRUE(pair.a.engine.idle());
    EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
    EXPECT_EQ(pair.a.engine.stats().keepalive_timeouts, 0);
    EXPECT_EQ(pair.a.engine.stats().resent, 0);
    EXPECT_LE(pair.a.engine.stats().sent_of(Kind::keepalive), 100);
}

// What `a` has to send arrives after `rtt`; `b` answers each frame before the next.
void answer_each(Pair& pair, Duration rtt) {
    const Frames leaving = pair.a.take(pair.now);
    pair.wait(rtt);
    Frames answers;
    for (const Frame& frame : leaving) {
        pair.give(pair.b, frame);
        for (const Frame& answer : pair.b.take(pair.now)) answers.push_back(answer);
    }
    pair.give(pair.a, answers);
}

// A window that opens at once would fill the queue of a router by a burst.
TEST(AmConnection, SpreadsItsPacketsOverALongRoundTrip) {
    Pair pair(on_a_shared_path());
    requests(pair.a, 200);
    answer_each(pair, Duration::microseconds(1'500));  // the first answer measures the round trip
    const Instant since = pair.now;
    std::size_t left = 0;
    int bursts = 0;
    while (true) {
        const std::size_t burst = numbered(pair.a.take(pair.now));
        if (burst == 0) break;
        EXPECT_LE(burst, 11U);  // of a window that doubles
        left += burst;
        ++bursts;
        const Instant due = pair.a.engine.next_deadline();
        ASSERT_LE(due - pair.now, Duration::milliseconds(6));
        pair.wait(due - pair.now);
    }
    EXPECT_GE(bursts, 2);
    EXPECT_GE(left, 14U) << "the whole window leaves";
    EXPECT_LE(pair.now - since, Duration::milliseconds(12));
}

TEST(AmConnection, SpreadsNothingOnAShortRoundTrip) {
    Pair pair(on_a_shared_path());
    requests(pair.a, 200);
    answer_each(pair, Duration::microseconds(500));
    EXPECT_GE(numbered(pair.a.take(pair.now)), 14U);
}

// AM-38: a lost packet that is sent again after the question, in the same round, is not missing
// yet.
TEST(AmConnection, AQuestionAmidAResendCallsNothingLostThatLeavesBehindIt) {
    Pair pair(on_a_shared_path());
    requests(pair.a, 40);
    pair.settle();
    pair.wait(Duration::microseconds(100));
    requests(pair.a, 40);
    std::uint64_t lost = 0;
    std::size_t place = 0;
    for (const Frame& frame : pair.a.take(pair.now)) {
        if (is_numbered(frame.header.kind) && place++ % 2 == 0) {
            ++lost;
        } else {
            pair.give(pair.b, frame);
        }
    }
    ASSERT_GT(lost, 5U);
    pair.wait(Duration::microseconds(100));
    pair.give(pair.a, pair.b.take(pair.now));
    // From here on everything arrives; each frame is handled and answered before the next.
    for (int turn = 0; turn < 20 && !pair.a.engine.idle(); ++turn) {
        const Frames leaving = pair.a.take(pair.now);
        pair.wait(Duration::microseconds(50));
        Frames answers;
        for (const Frame& frame : leaving) {
            pair.give(pair.b, frame);
            if (frame.header.kind != Kind::keepalive) continue;
            for (const Frame& answer : pair.b.take(pair.now)) answers.push_back(answer);
        }
        for (const Frame& answer : pair.b.take(pair.now)) answers.push_back(answer);
        pair.wait(Duration::microseconds(50));
        for (const Frame& answer : answers) {
            pair.give(pair.a, answer);
            for (const Frame& frame : pair.a.take(pair.now)) pair.give(pair.b, frame);
        }
    }
    EXPECT_EQ(pair.b.log.size(), 80U);
    EXPECT_EQ(pair.a.engine.stats().resent, lost);
    EXPECT_EQ(pair.b.engine.stats().received_as(RxVerdict::duplicate), 0U);
}

// The middle of a run of requests finds no room. `told`: the frame after it says so.
struct Overrun {
    explicit Overrun(const Config& config, bool told) : pair(config) {
        const Frames frames = one_a_turn(pair.a, pair.now, 400);
        left = numbered(frames);
        for (std::size_t i = 0; i < frames.size(); ++i) {
            if (i == left / 2) continue;
            if (i == left / 2 + 1 && told) {
                pair.give_after_overrun(pair.b, frames[i]);
            } else {
                pair.give(pair.b, frames[i]);
            }
        }
        nacks = pair.b.take(pair.now);
        pair.give(pair.a, nacks);
    }

    Pair pair;
    std::size_t left = 0;
    Frames nacks;
};

TEST(AmConnection, AHostWithoutRoomSaysSoInItsNackAndOnlyInOne) {
    for (const Config& config : over_a_network()) {
        Overrun overrun(config, true);
        ASSERT_EQ(overrun.left, 400U);
        ASSERT_EQ(overrun.nacks.size(), 1U);
        EXPECT_EQ(overrun.nacks[0].header.kind, Kind::nack);
        EXPECT_EQ(overrun.nacks[0].header.count, 1);
        EXPECT_EQ(overrun.pair.a.engine.stats().overruns, 1U);
        const Frames again = overrun.pair.a.take(overrun.pair.now);
        ASSERT_EQ(numbered(again), 1U);
        Frames more;
        for (const Frame& frame : one_a_turn(overrun.pair.a, overrun.pair.now, 3)) {
            more.push_back(frame);
        }
        ASSERT_EQ(numbered(more), 3U);
        overrun.pair.give(overrun.pair.b, more[2]);
        const Frames next = overrun.pair.b.take(overrun.pair.now);
        ASSERT_EQ(next.size(), 1U);
        EXPECT_EQ(next[0].header.count, 0);
    }
}

// Without congestion control, loss on the path slows no sender. The sender counts packets in
// flight: here each message has its own.
TEST(AmConnection, WithoutCongestionControlOnlyAHostWithoutRoomSlowsItsSender) {
    for (const bool told : {false, true}) {
        Overrun overrun(bare(), told);
        for (int i = 0; i < 10 && !overrun.pair.a.engine.idle(); ++i) {
            overrun.pair.settle();
            if (!overrun.pair.a.engine.idle()) overrun.pair.wait_for_timer();
        }
        ASSERT_TRUE(overrun.pair.a.engine.idle());
        requests(overrun.pair.a, 1000);
        Frames left = overrun.pair.a.take(overrun.pair.now);
        const std::size_t afterwards = numbered(left);
        if (!told) {
            EXPECT_EQ(afterwards, 1000U);
            continue;
        }
        EXPECT_EQ(afterwards, 100U);  // half of those in flight when the NACK arrived
        // Other losses change nothing.
        left.resize(1);
        overrun.pair.give(overrun.pair.b, left);
        overrun.pair.wait_for_timer();
        overrun.pair.carry(overrun.pair.a);
        overrun.pair.carry(overrun.pair.b);
        EXPECT_GE(numbered(overrun.pair.a.take(overrun.pair.now)), 100U);
    }
}

// A window that is whole again is no longer counted, and the sender asks nothing. Each message has
// its own packet here, too.
TEST(AmConnection, ASlowedSenderComesToItsWholeWindowAgain) {
    Overrun overrun(bare(), true);
    Pair& pair = overrun.pair;
    const auto questions = [&] { return pair.a.engine.stats().sent_of(Kind::keepalive); };
    bool asks = true;
    for (int turns = 0; asks && turns < 1'000; ++turns) {
        const std::uint64_t asked = questions();
        requests(pair.a, 1000);
        pair.settle();
        asks = questions() > asked;
    }
    EXPECT_FALSE(asks);
    requests(pair.a, 1024);
    EXPECT_EQ(numbered(pair.a.take(pair.now)), 1024U);
}

// A host that accepts a few frames from time to time, and drops those for which it has no room.
TEST(AmConnection, ASenderThatLearnsOfOverrunsResendsFarLess) {
    for (const Config& config : over_a_network()) {
        std::array<std::uint64_t, 2> resent{};
        for (const bool told : {false, true}) {
            Pair pair(config, 4'000'000);
            World world(pair);
            world.per_tick = 40;
            world.delay = 10;
            world.poll_every = {1, 8};
            world.fifo_max = 100;
            world.tells_overrun = told;
            const auto source = pattern(4'000'000);
            ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
            ASSERT_TRUE(world.run([&] { return pair.a.engine.idle(); }, 1'000'000));
            EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
            resent[told ? 1 : 0] = pair.a.engine.stats().resent;
            EXPECT_EQ(pair.a.engine.stats().overruns > 0, told);
        }
        RecordProperty("resent untold", std::to_string(resent[0]));
        RecordProperty("resent told", std::to_string(resent[1]));
        EXPECT_LT(resent[1] * 2, resent[0]);
    }
}

TEST(AmConnection, WithoutCongestionControlNothingIsAsked) {
    for (const Config& config : over_a_network()) {
        Pair pair(config, 200'000);
        const auto source = pattern(200'000);
        // But until a chunk is acknowledged, the sender asks whether the path carries packets of
        // that length.
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        const Frames first = pair.a.take(pair.now);
        ASSERT_EQ(first.size(), 1 + pair.config.first_flight);
        EXPECT_EQ(first.back().header.kind, Kind::keepalive);
        pair.give(pair.b, first);
        pair.settle();
        const std::uint64_t asked = pair.a.engine.stats().sent_of(Kind::keepalive);
        EXPECT_LE(asked, 2U);
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        EXPECT_GT(pair.a.take(pair.now).size(), pair.config.first_flight);
        EXPECT_EQ(pair.a.engine.stats().sent_of(Kind::keepalive), asked);
        EXPECT_FALSE(pair.a.engine.sending(Channel::request).in_flight().counted());
    }
}

}  // namespace
}  // namespace wireproof::am::test
