// The on-demand mode, as over datagrams: what leaves without being asked for, timers in time; and
// the start-up handshake in both modes.
#include <gtest/gtest.h>

#include "wireproof/proto/flit/line_test_kit.hpp"

namespace wireproof::flit {
namespace {

using enum RxVerdict;
using Names = std::vector<std::string>;

std::string name_of(const Config& config, ConstBytes flit) {
    const FrameInfo info = describe_of(config.format)(flit);
    return std::string(info.kind) + (info.number ? " " + std::to_string(*info.number) : "") +
           (info.ack ? " ack " + std::to_string(*info.ack) : "");
}

/// Two ends, and flits that the test carries by hand.
class Pair {
public:
    explicit Pair(const Config& config) : config_(config), a(config), b(config) {}

    std::vector<OnLine> flits(LineEnd& end) {
        std::vector<OnLine> all;
        while (true) {
            const bool quiet = end.link.quiet();
            auto flit = end.poll(now);
            if (!flit) break;
            EXPECT_FALSE(quiet);
            all.push_back(std::move(*flit));
            if (all.size() > 1000) {
                ADD_FAILURE() << "an end never stops sending";
                break;
            }
        }
        return all;
    }
    Names names(const std::vector<OnLine>& flits) const {
        Names all;
        for (const OnLine& flit : flits) all.push_back(name_of(config_, flit.bytes));
        return all;
    }
    Names leaving(LineEnd& end) { return names(flits(end)); }
    void carry(LineEnd& from, LineEnd& to) {
        for (const OnLine& flit : flits(from)) to.give(now, flit);
    }
    void settle() {
        for (int turn = 0; turn < 20; ++turn) {
            carry(a, b);
            carry(b, a);
        }
        EXPECT_TRUE(flits(a).empty());
        EXPECT_TRUE(flits(b).empty());
    }
    void submit(std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            EXPECT_EQ(a.link.submit(message(8, a.submitted++)), SubmitStatus::accepted);
        }
    }
    /// Passes to the next deadline of either end.
    void wait() {
        const Instant next = earliest(a.link.next_deadline(), b.link.next_deadline());
        ASSERT_NE(next, never);
        now = std::max(now, next);
        for (LineEnd* end : {&a, &b}) {
            if (end->link.next_deadline() <= now) end->link.on_deadline(now);
            end->draw();
        }
    }
    static OnLine lost() { return {}; }

    Config config_;
    LineEnd a;
    LineEnd b;
    Instant now;
};

Config demand(Config config = Config::pcie6()) {
    config.continuous = config.starts_up = false;
    config.first_number = config.modulus - 1;
    return config;
}

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
    EXPECT_EQ(pair.names(answer), Names{"NOP 254"});
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
TEST(FlitDemand, AConvertedNakIsRepeatedWhenTheFirstOnesWindowEnds) {
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

// UCIE-6: start-up on a line.
TEST(FlitStart, BothEndsSendExplicitFlitsAndAcksBeforeTheyAreUp) {
    Line line(Config::pcie6(), 3);
    Names sent;
    line.seen = [&](std::size_t from, const OnLine& flit) {
        if (from == 0 && line.ends[0].link.state() == Link::State::starting) {
            sent.push_back(name_of(Config::pcie6(), flit.bytes));
        }
    };
    line.to_send = {1, 1};
    ASSERT_TRUE(line.run(100));
    EXPECT_EQ(line.ends[0].ups, 1);
    EXPECT_EQ(line.ends[1].ups, 1);
    ASSERT_GE(sent.size(), 12U);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(sent[i], "NOP 1023") << i;
    for (std::size_t i = 9; i < 12; ++i) EXPECT_EQ(sent[i], "NOP ack 1023") << i;
}

// UCIE-6
TEST(FlitStart, ComesUpThroughHeavyDamageAndDeliversFromTheFirstFlitOn) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Config config = seed % 2 == 0 ? Config::pcie6() : Config::ucie_68();
        Line line(config, 1 + seed % 5);
        line.to_send = {20, 20};
        Random random(seed);
        ASSERT_TRUE(line.run(40'000, spoil_at_random(random, 0.3))) << seed;
        ASSERT_EQ(line.ends[0].ups + line.ends[1].ups, 2) << seed;
    }
}

// The numbers need not begin alike: the handshake tells them.
TEST(FlitStart, TheHandshakeTellsThePeersFirstNumber) {
    Config config = Config::pcie6();
    config.first_number = 700;
    Pair pair(config);
    LineEnd other((Config::pcie6()));
    for (int slot = 0; slot < 20; ++slot) {
        const auto from_a = pair.a.poll(pair.now);
        const auto from_other = other.poll(pair.now);
        pair.a.give(pair.now, *from_other);
        other.give(pair.now, *from_a);
    }
    EXPECT_EQ(pair.a.link.state(), Link::State::active);
    EXPECT_EQ(other.link.receiver().next_expected(), 700U);
    EXPECT_EQ(pair.a.link.receiver().next_expected(), 1U);
}

// UCIE-6: 128 flits without the end of the handshake.
TEST(FlitStart, RetrainsIfThePeerDoesNotAnswer) {
    LineEnd end((Config::pcie6()));
    for (int i = 0; i < 127; ++i) EXPECT_TRUE(end.poll(Instant()));
    EXPECT_EQ(end.link.stats().retrain, 0U);
    EXPECT_TRUE(end.poll(Instant()));
    EXPECT_EQ(end.link.stats().retrain, 1U);
    EXPECT_EQ(end.link.state(), Link::State::starting);
    EXPECT_EQ(end.link.submit({}), SubmitStatus::no_room);
}

TEST(FlitStart, APayloadFlitBringsUpAnEndThatMissedTheLastAcks) {
    Config config = demand();
    config.starts_up = true;
    config.start_explicit = config.start_acks = 1;
    Pair pair(config);
    pair.carry(pair.a, pair.b);
    pair.carry(pair.b, pair.a);
    pair.carry(pair.a, pair.b);
    ASSERT_EQ(pair.b.link.state(), Link::State::active);
    ASSERT_EQ(pair.b.link.submit(message(8, 0)), SubmitStatus::accepted);
    Pair fresh(config);
    fresh.carry(fresh.a, fresh.b);
    fresh.carry(fresh.b, fresh.a);
    EXPECT_EQ(fresh.a.link.state(), Link::State::active);
    EXPECT_EQ(fresh.b.link.state(), Link::State::starting);
    fresh.flits(fresh.a);  // the Ack is lost
    fresh.submit(1);
    fresh.carry(fresh.a, fresh.b);
    EXPECT_EQ(fresh.b.link.state(), Link::State::active);
    EXPECT_EQ(fresh.b.delivered, 1U);
    EXPECT_EQ(fresh.b.ups, 1);
}

TEST(FlitStart, OnDemandTheHandshakeIsRepeatedInTime) {
    Config config = demand();
    config.starts_up = true;
    Pair pair(config);
    EXPECT_EQ(pair.flits(pair.a).size(), 9U) << "all lost";
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    EXPECT_EQ(pair.a.link.next_deadline(), Instant() + config.start_every);
    pair.flits(pair.b);
    pair.wait();
    pair.settle();
    EXPECT_EQ(pair.a.link.state(), Link::State::active);
    EXPECT_EQ(pair.b.link.state(), Link::State::active);
}

TEST(FlitStart, ALinkThatGoesDownForgetsEverything) {
    Pair pair(demand());
    pair.settle();
    pair.submit(3);
    pair.a.draw();
    pair.b.draw();
    pair.flits(pair.a);
    pair.a.link.on_wire_event(pair.now, WireEvent::peer_gone);
    pair.a.draw();
    EXPECT_EQ(pair.a.downs, 1);
    EXPECT_EQ(pair.a.link.state(), Link::State::inactive);
    EXPECT_TRUE(pair.a.link.quiet());
    EXPECT_EQ(pair.a.link.next_deadline(), never);
    EXPECT_EQ(pair.a.give(pair.now, Pair::lost()), refused);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    pair.a.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.a.draw();
    EXPECT_EQ(pair.a.link.transmitter().outstanding() + pair.a.link.transmitter().waiting(), 0U);
    EXPECT_EQ(pair.a.downs, 1);
    EXPECT_EQ(pair.a.ups, 2);
    EXPECT_EQ(pair.a.link.stats().resets, 2U);
}

// A copy goes on by itself, and two links in one state have one fingerprint.
TEST(FlitValue, ACopyIsIndependentAndTheFingerprintTellsStatesApart) {
    const auto print = [](const Link& link, Instant now) {
        Fingerprint sink;
        link.fingerprint(now, sink);
        return sink.value();
    };
    for (const Config& config : {demand(), demand(Config::pcie6_selective())}) {
        Pair pair(config);
        pair.settle();
        pair.submit(3);
        const Link before = pair.a.link;
        EXPECT_EQ(print(before, pair.now), print(pair.a.link, pair.now));
        const auto sent = pair.flits(pair.a);
        EXPECT_NE(print(before, pair.now), print(pair.a.link, pair.now));
        const auto b_before = print(pair.b.link, pair.now);
        pair.b.give(pair.now, Pair::lost());
        EXPECT_NE(print(pair.b.link, pair.now), b_before);
        const auto withdrawing = print(pair.b.link, pair.now);
        pair.b.give(pair.now, sent[1]);
        EXPECT_NE(print(pair.b.link, pair.now), withdrawing);
    }
    // Age alone makes no difference.
    Link young(demand());
    EXPECT_EQ(print(young, Instant()), print(young, Instant() + Duration::milliseconds(9)));
}

}  // namespace
}  // namespace wireproof::flit
