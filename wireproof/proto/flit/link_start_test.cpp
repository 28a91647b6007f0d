// The start-up handshake in both modes, the end of a link, and links as values.
#include <gtest/gtest.h>

#include "wireproof/proto/flit/pair_test_kit.hpp"

namespace wireproof::flit {
namespace {

using enum RxVerdict;

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
TEST(FlitStart, TheHandshakeCarriesThePeersFirstNumber) {
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

// UCIE-6: the Acks of the handshake leave although a Nak is scheduled. They do not count as this
// Nak, which leaves afterwards.
TEST(FlitStart, AnAckOfTheHandshakeIsNotTheNakThatIsScheduled) {
    const Config config = Config::ucie_68();
    LineEnd end(config);
    LineEnd peer(config);
    const Instant now;
    end.give(now, *peer.poll(now));
    end.give(now, OnLine{});  // UCIE-2
    ASSERT_EQ(end.link.receiver().nak(), Nak::standard);
    Names sent;
    for (int i = 0; i < 12; ++i) {
        const auto flit = end.poll(now);
        sent.push_back(name_of(config, flit->bytes));
        peer.give(now, *flit);
    }
    EXPECT_EQ(sent[8], "NOP 255");
    EXPECT_EQ(sent[9], "NOP ack 255");
    EXPECT_EQ(sent[11], "NOP ack 255");
    EXPECT_EQ(end.link.stats().acks, 3U);
    EXPECT_EQ(end.link.stats().nak_tx_std + end.link.stats().naks, 0U);
    EXPECT_TRUE(end.link.receiver().lets_explicit_leave()) << "the Nak has not begun";
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
TEST(FlitValue, ACopyIsIndependentAndTheFingerprintDistinguishesStates) {
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
