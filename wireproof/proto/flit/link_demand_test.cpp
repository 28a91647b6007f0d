// The on-demand mode, as over datagrams: what leaves without being asked for, and timers in time.
#include <gtest/gtest.h>

#include "wireproof/proto/flit/pair_test_kit.hpp"

namespace wireproof::flit {
namespace {

using enum RxVerdict;

TEST(FlitDemand, NothingLeavesUnlessItIsOwed) {
    Pair pair(demand());
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    pair.submit(2);
    const auto sent = pair.flits(pair.a);
    EXPECT_EQ(pair.names(sent), (Names{"payload ack 1021", "payload ack 1021", "NOP ack 1021"}))
        << "one NOP follows, from which the peer learns of a loss";
    for (const OnLine& flit : sent) pair.b.give(pair.now, flit);
    EXPECT_EQ(pair.leaving(pair.b), Names{"NOP ack 1023"});
    EXPECT_EQ(pair.b.delivered, 2U);
}

// FLIT-8
TEST(FlitDemand, TheLossOfTheLastPayloadFlitIsFoundByTheNopBehindIt) {
    Pair pair(demand());
    pair.submit(1);
    const auto sent = pair.flits(pair.a);
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(pair.b.give(pair.now, Pair::lost()), corrupt);
    EXPECT_EQ(pair.leaving(pair.b), Names{}) << "it waits for one flit";
    pair.b.give(pair.now, sent[1]);
    const auto naks = pair.flits(pair.b);
    EXPECT_EQ(pair.names(naks),
              (Names{"NOP+Nak ack 1021", "NOP+Nak ack 1021", "NOP+Nak ack 1021"}));
    for (const OnLine& flit : naks) pair.a.give(pair.now, flit);
    EXPECT_EQ(pair.leaving(pair.a), (Names{"payload 1022", "NOP 1022"}));
    EXPECT_EQ(pair.a.link.stats().replays, 1U);
}

// FLIT-6
TEST(FlitDemand, AnAckLeavesAfterSoManyFlitsOrAfterATime) {
    Config config = demand();
    config.flit_time = Duration::microseconds(1);
    config.ack_after = 3;
    config.ack_latency = Duration::microseconds(7);
    Pair pair(config);
    pair.submit(2);
    pair.carry(pair.a, pair.b);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    pair.wait();
    EXPECT_EQ(pair.now, Instant() + Duration::microseconds(7));
    EXPECT_EQ(pair.leaving(pair.b), Names{"NOP ack 1023"});
    EXPECT_EQ(pair.b.link.next_deadline(), never);
    pair.submit(3);
    pair.carry(pair.a, pair.b);
    EXPECT_EQ(pair.leaving(pair.b), Names{"NOP ack 3"});
}

// FLIT-10
TEST(FlitDemand, AFalseNakIsClearedWithoutAReplay) {
    Pair pair(demand(Config::ucie_68()));
    pair.submit(1);
    pair.settle();
    pair.b.give(pair.now, Pair::lost());  // a NOP, but UCIe cannot know
    const auto naks = pair.flits(pair.b);
    EXPECT_EQ(pair.names(naks), Names{"NOP+Nak ack 254"});
    for (const OnLine& flit : naks) pair.a.give(pair.now, flit);
    const auto answer = pair.flits(pair.a);
    EXPECT_EQ(pair.names(answer), (Names{"NOP 254", "NOP ack 253"}))
        << "the flit that was lost may have had an Ack";
    for (const OnLine& flit : answer) pair.b.give(pair.now, flit);
    EXPECT_EQ(pair.b.link.receiver().nak(), Nak::none);
    pair.settle();
    EXPECT_EQ(pair.a.link.transmitter().nak_ignored(), 0U) << "an Ack followed";
    EXPECT_EQ(pair.a.link.stats().replays, 0U);
}

// UCIE-6: the peer may still be starting up, because the last Ack to it was lost.
TEST(FlitDemand, AnExplicitNopIsAnsweredByAnAck) {
    Config config = demand();
    config.starts_up = true;
    config.start_explicit = config.start_acks = 1;
    Pair pair(config);
    const auto hello = pair.flits(pair.b);
    ASSERT_EQ(pair.names(hello), Names{"NOP 1021"});
    pair.carry(pair.a, pair.b);
    for (const OnLine& flit : hello) pair.a.give(pair.now, flit);
    pair.carry(pair.b, pair.a);
    ASSERT_EQ(pair.a.link.state(), Link::State::active);
    pair.flits(pair.a);  // lost
    ASSERT_EQ(pair.b.link.state(), Link::State::starting);
    pair.a.give(pair.now, hello[0]);
    EXPECT_EQ(pair.leaving(pair.a), Names{"NOP ack 1021"});
    EXPECT_EQ(pair.leaving(pair.a), Names{});
}

// UCIE-4, FLIT-17: the timer runs although no flit leaves.
TEST(FlitDemand, TheTimerCountsFlitTimes) {
    Config config = demand(Config::ucie_68());
    config.flit_time = Duration::nanoseconds(3);
    Pair pair(config);
    pair.submit(2);
    pair.flits(pair.a);
    EXPECT_EQ(pair.a.link.next_deadline(), Instant() + Duration::nanoseconds(3 * 375));
    pair.wait();
    EXPECT_EQ(pair.leaving(pair.a), (Names{"payload 254", "payload ack 253"}));
    EXPECT_EQ(pair.a.link.stats().timeouts, 1U);
}

// FLIT-25: the Nak is lost, and nothing else asks for the flit.
TEST(FlitDemand, ALostNakIsLeftToTheTimer) {
    Pair pair(demand());
    pair.submit(1);
    const auto sent = pair.flits(pair.a);
    pair.b.give(pair.now, Pair::lost());
    pair.b.give(pair.now, sent[1]);
    EXPECT_EQ(pair.flits(pair.b).size(), 3U) << "all lost";
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    pair.wait();
    pair.settle();
    EXPECT_EQ(pair.b.delivered, 1U);
    EXPECT_EQ(pair.a.link.stats().timeouts, 1U);
}

// A flit that does not help shows that the Nak was lost; but not before the peer could have
// answered.
TEST(FlitDemand, ANakIsRepeatedAfterTheIgnoreWindowWhenFlitsKeepComing) {
    Config config = demand();
    config.nak_ignore = 50;
    Pair pair(config);
    pair.submit(9);
    auto sent = pair.flits(pair.a);
    pair.b.give(pair.now, Pair::lost());
    pair.b.give(pair.now, sent[1]);
    EXPECT_EQ(pair.flits(pair.b).size(), 3U);
    pair.b.give(pair.now, sent[2]);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    pair.now = pair.now + config.flit_time * 50;
    pair.b.give(pair.now, sent[3]);
    EXPECT_EQ(pair.flits(pair.b).size(), 3U);
    EXPECT_EQ(pair.b.link.stats().naks, 2U);
}

// FLIT-11
TEST(FlitDemand, TheIgnoreWindowEndsByTime) {
    Config config = demand();
    config.nak_ignore = 50;
    Pair pair(config);
    pair.submit(2);
    pair.flits(pair.a);
    pair.b.give(pair.now, Pair::lost());
    pair.b.give(pair.now, Pair::lost());
    const auto naks = pair.flits(pair.b);
    pair.a.give(pair.now, naks[0]);
    pair.flits(pair.a);
    pair.a.give(pair.now, naks[1]);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    pair.wait();
    EXPECT_EQ(pair.now, Instant() + config.flit_time * 50);
    EXPECT_GT(pair.a.link.next_deadline(), pair.now);
    pair.a.give(pair.now, naks[2]);
    EXPECT_EQ(pair.a.link.stats().replays, 2U);
}

// The Nak for nothing is lost in all its copies. The peer's timer replays what has arrived: the
// answer is the Nak again, although the ignore window of the first one is not over.
TEST(FlitDemand, ADuplicateIsAnsweredAlsoWhileANakIsScheduled) {
    Config config = demand();
    config.nak_ignore = 1'000'000;
    Pair pair(config);
    pair.submit(1);
    for (const OnLine& flit : pair.flits(pair.a)) pair.b.give(pair.now, flit);
    EXPECT_EQ(pair.leaving(pair.b), Names{"NOP ack 1022"}) << "lost";
    pair.b.give(pair.now, Pair::lost());
    pair.b.give(pair.now, Pair::lost());
    EXPECT_EQ(pair.flits(pair.b).size(), 3U) << "lost";
    pair.wait();
    const auto again = pair.flits(pair.a);
    ASSERT_EQ(pair.names(again).at(0), "payload 1022");
    EXPECT_EQ(pair.b.give(pair.now, again[0]), duplicate);
    const auto naks = pair.flits(pair.b);
    EXPECT_EQ(pair.names(naks).at(0), "NOP+Nak ack 1022");
    for (const OnLine& flit : naks) pair.a.give(pair.now, flit);
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 0U);
}

// FLIT-21
TEST(FlitDemand, ANakAtTheEndOfTheIgnoreWindowCounts) {
    for (const int early : {0, 1}) {
        Config config = demand();
        config.nak_ignore = 50;
        Pair pair(config);
        pair.submit(1);
        pair.flits(pair.a);
        pair.b.give(pair.now, Pair::lost());
        pair.b.give(pair.now, Pair::lost());
        const auto naks = pair.flits(pair.b);
        pair.a.give(pair.now, naks[0]);
        pair.flits(pair.a);
        pair.now = pair.now + (config.flit_time * 50 - Duration(early));
        pair.a.give(pair.now, naks[1]);
        EXPECT_EQ(pair.a.link.stats().replays, early == 1 ? 1U : 2U);
    }
}

// FLIT-14, FLIT-21: the window of the peer began with the selective Nak.
TEST(FlitDemand, AStandardNakIsRepeatedWhenTheWindowOfTheSelectiveNakEnds) {
    Config config = demand(Config::pcie6_selective());
    config.nak_ignore = 50;
    Pair pair(config);
    pair.submit(9);
    auto sent = pair.flits(pair.a);
    pair.b.give(pair.now, Pair::lost());
    pair.b.give(pair.now, sent[1]);
    EXPECT_EQ(pair.flits(pair.b).size(), 3U);
    pair.now = pair.now + config.flit_time * 20;
    pair.b.give(pair.now, Pair::lost());
    EXPECT_EQ(pair.names(pair.flits(pair.b)).at(0), "NOP+Nak ack 1021");
    pair.now = pair.now + config.flit_time * 29;
    pair.b.give(pair.now, sent[3]);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    pair.now = pair.now + config.flit_time;
    pair.b.give(pair.now, sent[4]);
    EXPECT_EQ(pair.flits(pair.b).size(), 3U);
}

// FLIT-11: on a line, the peer repeats the Nak after the replay. On demand it need not.
TEST(FlitDemand, ANakDuringAReplayIsRememberedUntilItsEnd) {
    Pair pair(demand());
    pair.submit(5);
    const auto sent = pair.flits(pair.a);
    pair.b.give(pair.now, Pair::lost());
    pair.b.give(pair.now, Pair::lost());
    const auto naks = pair.flits(pair.b);
    pair.a.give(pair.now, naks[0]);
    const auto head = pair.a.poll(pair.now);
    ASSERT_TRUE(head && head->resent);
    ASSERT_TRUE(pair.a.poll(pair.now));
    pair.b.give(pair.now, *head);
    pair.b.give(pair.now, Pair::lost());
    pair.b.give(pair.now, Pair::lost());
    const auto more = pair.flits(pair.b);
    ASSERT_EQ(pair.names(more).front(), "NOP+Nak ack 1022");
    pair.a.give(pair.now, more[0]);
    const auto again = pair.flits(pair.a);
    // The rest of the first replay, then the second one.
    EXPECT_EQ(pair.a.link.stats().replays, 2U);
    EXPECT_EQ(pair.a.link.stats().resent, 5U + 4U);
    for (const OnLine& flit : again) pair.b.give(pair.now, flit);
    pair.settle();
    EXPECT_EQ(pair.b.delivered, 5U);
    EXPECT_FALSE(pair.b.wrong);
}

// One report of a loss stands for several flits.
TEST(FlitDemand, OverDatagramsALostDatagramMayHaveHadSeveralFlits) {
    Config config = Config::of_datagrams(1400);
    config.first_number = 1021;
    Pair pair(config);
    pair.settle();
    EXPECT_EQ(pair.a.ups + pair.b.ups, 2);
    Random random(4);
    while (pair.b.delivered < 3000) {
        while (pair.a.submitted < 3000 && pair.a.link.has_room()) pair.submit(1);
        for (LineEnd* from : {&pair.a, &pair.b}) {
            LineEnd& to = from == &pair.a ? pair.b : pair.a;
            const auto sent = pair.flits(*from);
            for (std::size_t i = 0; i < sent.size();) {
                const std::size_t together =
                    std::min<std::size_t>(1 + random.below(5), sent.size() - i);
                if (random.chance(0.2)) {
                    to.give(pair.now, Pair::lost());
                } else {
                    for (std::size_t k = 0; k < together; ++k) to.give(pair.now, sent[i + k]);
                }
                i += together;
            }
        }
        ASSERT_FALSE(pair.b.wrong);
        if (pair.a.link.next_deadline() != never) pair.wait();
        ASSERT_LT(pair.now, Instant() + Duration::from_seconds(1000));
    }
    EXPECT_GT(pair.a.link.stats().replays, 50U);
}

TEST(FlitDemand, ASignOfLifeLeavesInTime) {
    Config config = demand();
    config.starts_up = true;
    config.sign_of_life = Duration::milliseconds(5);
    Pair pair(config);
    pair.settle();
    pair.wait();
    EXPECT_EQ(pair.leaving(pair.a), Names{"NOP ack 1021"});
    EXPECT_EQ(pair.a.link.next_deadline(), pair.now + Duration::milliseconds(5));
}

// Over datagrams, repeated timeouts wait longer and longer, and resend one flit.
TEST(FlitDemand, ReplaysBackOffWhileNoAnswerComes) {
    Config config = Config::of_datagrams(1400);
    Pair pair(config);
    pair.settle();
    pair.submit(5);
    pair.flits(pair.a);
    Instant before = pair.now;
    std::vector<Duration> waits;
    for (int i = 0; i < 5; ++i) {
        pair.wait();
        waits.push_back(pair.now - before);
        before = pair.now;
        pair.flits(pair.a);
        if (pair.a.link.transmitter().retraining()) {
            pair.wait();
            pair.flits(pair.a);
        }
    }
    EXPECT_GT(pair.a.link.stats().retrain, 0U);
    EXPECT_GT(waits.back(), waits.front());
    const Unanswered unanswered = pair.a.link.unanswered();
    EXPECT_GE(unanswered.times, 4U);
    EXPECT_EQ(unanswered.bytes, 256U);
}

}  // namespace
}  // namespace wireproof::flit
