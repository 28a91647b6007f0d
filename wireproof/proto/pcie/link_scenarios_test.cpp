// The scenarios of docs/rules/pcie.md, packet by packet, and random worlds.
#include <gtest/gtest.h>

#include <deque>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/pcie/pair_test_kit.hpp"

namespace wireproof::pcie {
namespace {

Config from_zero() {
    Config config = test_config();
    config.first_number = 0;
    return config;
}

// PCIE-24: scenario S1, a lost TLP.
TEST(PcieScenario, ALostTlpIsReplayedFromTheNakOn) {
    Pair pair(from_zero());
    pair.submit(1);
    pair.b.give(pair.now, pair.frames(pair.a).at(0));
    pair.pass(from_zero().ack_latency);
    const auto ack0 = pair.frames(pair.b);
    ASSERT_EQ(ack0.at(0).name(), "Ack 0");
    pair.a.give(pair.now, ack0[0]);
    pair.submit(3);
    const auto sent = pair.frames(pair.a);
    pair.b.give(pair.now, sent[0]);
    pair.b.give(pair.now, sent[2]);
    const auto nak = pair.frames(pair.b);
    ASSERT_EQ(nak.size(), 1U);
    EXPECT_EQ(nak[0].name(), "Nak 1");
    pair.a.give(pair.now, nak[0]);
    const auto replay = pair.frames(pair.a);
    ASSERT_EQ(replay.size(), 2U);
    EXPECT_EQ(replay[0].name(), "TLP 2");
    EXPECT_EQ(replay[1].name(), "TLP 3");
    for (const Frame& frame : replay) pair.b.give(pair.now, frame);
    pair.expect_all();
    EXPECT_EQ(pair.a.link.stats().timeouts, 0U);
}

// PCIE-24: scenario S1w, a lost TLP across the wrap.
TEST(PcieScenario, ALostTlpBehindTheWrap) {
    Config config = test_config();
    config.first_number = 4094;
    Pair pair(config);
    pair.submit(5);
    const auto sent = pair.frames(pair.a);
    ASSERT_EQ(sent[4].name(), "TLP 2");
    for (std::size_t i = 0; i < 3; ++i) pair.b.give(pair.now, sent[i]);
    pair.b.give(pair.now, sent[4]);
    const auto nak = pair.frames(pair.b);
    EXPECT_EQ(nak.at(0).name(), "Nak 0");
    pair.a.give(pair.now, nak[0]);
    EXPECT_EQ(pair.leaving(pair.a), (Names{"TLP 1", "TLP 2"}));
}

// PCIE-24: scenario S2, a lost Ack.
TEST(PcieScenario, ALostAckIsCoveredByTheNext) {
    Pair pair(from_zero());
    pair.submit(5);
    const auto sent = pair.frames(pair.a);
    for (std::size_t i = 0; i < 3; ++i) pair.b.give(pair.now, sent[i]);
    pair.pass(from_zero().ack_latency);
    EXPECT_EQ(pair.leaving(pair.b), Names{"Ack 2"});
    for (std::size_t i = 3; i < 5; ++i) pair.b.give(pair.now, sent[i]);
    pair.pass(from_zero().ack_latency);
    const auto ack = pair.frames(pair.b);
    EXPECT_EQ(ack.at(0).name(), "Ack 4");
    pair.a.give(pair.now, ack[0]);
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 0U);
    EXPECT_EQ(pair.a.link.stats().replays, 0U);
}

// PCIE-24: scenario S3, a lost Nak.
TEST(PcieScenario, ALostNakWaitsForTheReplayTimer) {
    Pair pair(from_zero());
    pair.submit(3);
    auto sent = pair.frames(pair.a);
    pair.b.give(pair.now, sent[0]);
    pair.pass(from_zero().ack_latency);
    pair.a.give(pair.now, pair.frames(pair.b).at(0));
    pair.b.give(pair.now, sent[1]);
    sent[2].bytes[9] ^= std::byte{4};
    pair.b.give(pair.now, sent[2]);
    EXPECT_EQ(pair.leaving(pair.b), Names{"Nak 1"});  // is lost
    EXPECT_EQ(pair.b.link.next_deadline(), never);    // the receiver sends nothing more
    pair.wait();
    const auto replay = pair.frames(pair.a);
    ASSERT_EQ(replay.size(), 2U);
    EXPECT_EQ(replay[0].name(), "TLP 1");
    EXPECT_EQ(pair.b.give(pair.now, replay[0]), RxVerdict::duplicate);
    EXPECT_EQ(pair.b.give(pair.now, replay[1]), RxVerdict::accepted);
    EXPECT_EQ(pair.a.link.stats().timeouts, 1U);
    pair.expect_all();
}

// PCIE-24: scenario S4, the last TLP is lost.
TEST(PcieScenario, OnlyTheTimerRecoversTheLastTlp) {
    Pair pair(from_zero());
    pair.submit(2);
    pair.b.give(pair.now, pair.frames(pair.a).at(0));
    pair.pass(from_zero().ack_latency);
    pair.a.give(pair.now, pair.frames(pair.b).at(0));
    pair.wait();
    EXPECT_EQ(pair.leaving(pair.a), Names{"TLP 1"});
    EXPECT_EQ(pair.a.link.stats().timeouts, 1U);
}

/// Two ends of a link with latency and rate in both directions. Frames are lost and damaged.
class World {
public:
    World(const Config& config, std::uint64_t seed, double loss, double damage)
        : a(config), b(config), random_(seed), loss_(loss), damage_(damage) {}

    void run(std::size_t messages) {
        std::size_t left = messages;
        while (b.got.size() < messages || a.link.transmitter().outstanding() > 0) {
            ASSERT_LT(++turns_, 3'000'000U);
            while (left > 0 && a.link.has_room()) {
                a.link.submit(message(8, static_cast<std::uint32_t>(messages - left)));
                --left;
            }
            if (b.got.size() >= needless_replay_at) {
                needless_replay_at = SIZE_MAX;
                Frame nak;
                nak.bytes.resize(Dllp::size);
                Dllp::nak(a.link.transmitter().ackd_seq())
                    .encode(Bytes(nak.bytes).first<Dllp::size>(), false);
                a.give(now, nak, Integrity::intact);
            }
            send(a, to_b_);
            send(b, to_a_);
            Instant next = std::min({a.link.next_deadline(), b.link.next_deadline(),
                                     to_b_.ready(now), to_a_.ready(now)});
            if (!to_b_.frames.empty()) next = std::min(next, to_b_.frames.front().first);
            if (!to_a_.frames.empty()) next = std::min(next, to_a_.frames.front().first);
            ASSERT_NE(next, never);
            now = std::max(now, next);
            arrive(to_b_, b);
            arrive(to_a_, a);
            if (a.link.next_deadline() <= now) a.on_deadline(now);
            if (b.link.next_deadline() <= now) b.on_deadline(now);
        }
    }

    Instant now;
    End a;
    End b;
    std::uint64_t spoilt = 0;
    std::size_t needless_replay_at = SIZE_MAX;  // after this many deliveries

private:
    struct Way {
        std::deque<std::pair<Instant, std::pair<Frame, bool>>> frames;
        Instant free;
        Instant ready(Instant at) const { return free > at ? free : never; }
    };
    static constexpr Duration flight = Duration::nanoseconds(500);

    void send(End& from, Way& way) {
        if (way.free > now) return;
        auto frame = from.poll(now, false);
        if (!frame) return;
        way.free = now + Duration::nanoseconds(static_cast<std::int64_t>(frame->bytes.size()));
        const bool lost = random_.chance(loss_);
        const bool bad = random_.chance(damage_);
        spoilt += lost || bad ? 1 : 0;
        if (!lost) way.frames.push_back({way.free + flight, {std::move(*frame), bad}});
    }

    void arrive(Way& way, End& to) {
        while (!way.frames.empty() && way.frames.front().first <= now) {
            const auto [frame, bad] = std::move(way.frames.front().second);
            way.frames.pop_front();
            to.give(now, frame, bad ? Integrity::damaged : Integrity::intact);
        }
    }

    Random random_;
    double loss_;
    double damage_;
    Way to_a_;
    Way to_b_;
    std::uint64_t turns_ = 0;
};

// PCIE-31: each message arrives once and in order, and there are no more retransmissions than the
// faults explain.
TEST(PcieWorld, SurvivesAFifthOfAllPacketsLostAndAFifthDamaged) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Config config = test_config();
        config.byte_time = Duration::nanoseconds(1);
        config.outstanding = 16;
        Random dice(seed);
        World world(config, seed, 0.2 * dice.uniform(), 0.2 * dice.uniform());
        world.run(1000);
        ASSERT_EQ(world.b.got.size(), 1000U) << seed;
        for (std::uint32_t i = 0; i < 1000; ++i) {
            ASSERT_EQ(world.b.got[i], message(8, i)) << "seed " << seed;
        }
        const Stats& stats = world.a.link.stats();
        EXPECT_EQ(stats.protocol_errors, 0U);
        EXPECT_LE(stats.replays, world.spoilt + 1);
        EXPECT_LE(stats.resent, 16 * stats.replays);
        EXPECT_LE(stats.timeouts, world.spoilt);
        EXPECT_LE(world.b.link.stats().naks, world.spoilt);
        EXPECT_LE(world.b.link.stats().acks, stats.numbered + 1);
    }
}

// PCIE-36: duplicates cause Acks, and these cause nothing.
TEST(PcieWorld, ANeedlessReplayOnACleanLinkCausesNoSecondOne) {
    Config config = test_config();
    config.byte_time = Duration::nanoseconds(1);
    config.ack_latency = Duration::nanoseconds(100);
    config.replay_after = Duration::nanoseconds(1300);  // just above the round trip
    config.outstanding = 100;
    World world(config, 1, 0, 0);
    world.run(2000);
    EXPECT_EQ(world.a.link.stats().replays, 0U);

    World early(config, 1, 0, 0);
    early.needless_replay_at = 700;
    early.run(2000);
    EXPECT_EQ(early.a.link.stats().replays, 1U);
    EXPECT_GT(early.b.link.stats().received_as(RxVerdict::duplicate), 0U);
    EXPECT_EQ(early.b.link.stats().naks, 0U);
    EXPECT_EQ(early.a.link.stats().protocol_errors, 0U);
}

TEST(PcieWorld, ACopyOfALinkHasTheSameFuture) {
    expect_same_future_of_a_copy(Pair());
}

}  // namespace
}  // namespace wireproof::pcie
