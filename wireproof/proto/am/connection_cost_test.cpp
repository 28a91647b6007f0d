// A reliable protocol hides its own defects, so these tests count the cost of recovery: one packet
// per tick, a round trip of 20 ticks, keep-alive after 200. The bounds are slightly above the cost
// of a simple model of the rules (docs/rules/am.md).
#include <gtest/gtest.h>

#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

Config model(Config config) {
    config.keepalive_after = Duration::microseconds(200);
    config.keepalive_max = Duration::microseconds(3200);
    config.keepalive_limit = 64;
    return config;
}

struct Cost {
    bool ended = false;
    double sends = 0;           // numbered packets sent for each packet needed
    std::uint64_t resends = 0;  // begun
    std::uint64_t timeouts = 0;
    std::uint64_t ticks = 0;
};

Cost cost_of(const Pair& pair, const World& world, bool ended, std::uint64_t needed) {
    std::uint64_t sent = 0;
    Cost cost;
    for (const Node* node : {&pair.a, &pair.b}) {
        const Stats& stats = node->engine.stats();
        for (std::size_t kind = 1; kind <= 5; ++kind) sent += stats.sent[kind];
        sent += stats.sent_of(Kind::bundle);
        cost.resends += stats.nacks_acted_on;
        cost.timeouts += stats.keepalive_timeouts;
    }
    cost.ended = ended;
    cost.sends = static_cast<double>(sent) / static_cast<double>(needed);
    cost.ticks = world.ticks;
    return cost;
}

constexpr std::uint32_t shorts_a_tick = 4;

/// Packets per message if nothing is sent twice.
void expect_sends(const Config& config, double sends) {
    const double expected = config.bundle_max > 0 ? 1.0 / shorts_a_tick : 1.0;
    if (config.congestion != Congestion::off) {
        EXPECT_LE(sends, expected);  // messages that the path does not allow yet share packets
    } else {
        EXPECT_EQ(sends, expected);
    }
}

/// One-way requests, checked for order.
Cost run_shorts(const Config& config, FaultRates rates, std::uint64_t seed, std::uint32_t count) {
    Pair pair(config);
    World world(pair, rates, seed);
    std::uint32_t sent = 0;
    std::uint32_t got = 0;
    world.each_tick = [&](Node& node) {
        if (&node == &pair.a) sent += requests(node, std::min(count - sent, shorts_a_tick), sent);
    };
    pair.b.handler = [&](const Delivery& delivery) {
        const auto* request = std::get_if<Request>(&delivery);
        ASSERT_TRUE(request);
        ASSERT_EQ(load_le<std::uint32_t>(request->arguments.first<4>()), got);
        ++got;
    };
    const bool ended = world.run([&] { return sent == count && pair.a.engine.idle(); });
    EXPECT_EQ(got, count);
    return cost_of(pair, world, ended, count);
}

Cost run_store(const Config& config, FaultRates rates, std::uint64_t seed, std::size_t chunks,
               std::uint64_t poll_every = 1, std::size_t fifo = 1'000'000) {
    const auto source = pattern(in_chunks(config, chunks * config.chunk_bytes()), seed);
    Pair pair(config, source.size());
    World world(pair, rates, seed);
    world.poll_every = {1, poll_every};
    world.fifo_max = fifo;
    EXPECT_EQ(store(pair.a, source), PostStatus::accepted);
    const bool ended = world.run([&] { return pair.a.engine.idle(); });
    EXPECT_TRUE(same(pair.b.memory(), source));
    EXPECT_EQ(pair.b.log.size(), 1);
    return cost_of(pair, world, ended, chunks * config.chunk_packets + 1);
}

// AM-5, AM-13: nothing lost, nothing sent twice.
TEST(AmConnectionCost, WithoutFaultsEveryPacketLeavesOnce) {
    for (const Config& config : all().with(model)) {
        expect_sends(config, run_shorts(config, {}, 1, 3000).sends);
        const Cost cost = run_store(config, {}, 1, 6);
        EXPECT_EQ(cost.sends, 1.0);
        EXPECT_EQ(cost.timeouts, 0);
    }
}

// AM-34: with NACKs for duplicates there would be twice as many packets.
TEST(AmConnectionCost, RepeatedShortMessagesCostNothing) {
    for (const Config& config : all().with(model)) {
        const Cost cost = run_shorts(config, {.duplicate = 0.05}, 2, 5000);
        expect_sends(config, cost.sends);
        EXPECT_EQ(cost.resends, 0);
    }
}

// AM-38: if the sender followed every NACK it would be 1.64, with twenty times as many resends.
TEST(AmConnectionCost, OnePercentOfLossCostsAStoreLessThanHalf) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Cost cost = run_store(model(sp2()), {.loss = 0.01}, seed, 15);
        EXPECT_TRUE(cost.ended);
        EXPECT_LE(cost.resends, 40);
        sum += cost.sends;
    }
    EXPECT_LE(sum / 10, 1.55);
    EXPECT_GE(sum / 10, 1.05);
}

/// The cost of go-back-N under continuous traffic: each packet that is lost or overtaken costs a
/// round trip of packets, also for resent packets.
double closed_form(double bad) {
    constexpr double round_trip = 22;
    return (1 - bad + bad * round_trip) / (1 - bad);
}

TEST(AmConnectionCost, LossAndDisorderCostShortMessagesWhatGoBackNMustPay) {
    for (const double bad : {0.01, 0.05, 0.2}) {
        const FaultRates reordered{.reorder = bad, .hold_max = 3};
        EXPECT_LE(run_shorts(model(sp2()), {.loss = bad}, 3, 2'500).sends, 1.1 * closed_form(bad));
        EXPECT_LE(run_shorts(model(sp2()), reordered, 3, 2'500).sends, 1.1 * closed_form(bad));
    }
}

// Offsets order the packets inside a chunk, so only packets at its edges cost more.
TEST(AmConnectionCost, DisorderInsideChunksCostsLittle) {
    const auto reordered = [](double rate) { return FaultRates{.reorder = rate, .hold_max = 3}; };
    EXPECT_LE(run_store(model(sp2()), reordered(0.01), 3, 30).sends, 1.05);
    EXPECT_LE(run_store(model(sp2()), reordered(0.20), 3, 30).sends, 1.25);
}

// AM-40: without the bitmap, one of 3000 tries to send a chunk of 36 would succeed.
TEST(AmConnectionCost, AChunkPassesTwentyPercentOfLossInAFewResends) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Cost cost = run_store(model(sp2()), {.loss = 0.2}, seed, 1);
        EXPECT_TRUE(cost.ended);
        EXPECT_LE(cost.sends, 8);
    }
}

// AM-39: a receiver that polls each 60 ticks. With a NACK for each packet it would be 2.9.
TEST(AmConnectionCost, ASlowReceiverCostsNoStormOfNacks) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const Cost cost = run_store(model(sp2()), {.loss = 0.01}, seed, 12, 60, 64);
        EXPECT_TRUE(cost.ended);
        sum += cost.sends;
    }
    EXPECT_LE(sum / 5, 2.4);
}

// AM-53
TEST(AmConnectionCost, AllSendsStayBelowEightTimesTheNeededUnderFaultsUpToTwentyPercent) {
    for (const Config& config : all().with(model)) {
        const bool selective = config.recovery == Recovery::selective;
        double sum = 0;
        double most = 0;
        constexpr std::uint64_t worlds = 16;
        for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
            Random random(seed);
            const FaultRates rates{.loss = 0.2 * random.uniform(),
                                   .duplicate = 0.2 * random.uniform(),
                                   .reorder = 0.2 * random.uniform(),
                                   .hold_max = 3};
            const Cost cost = run_store(config, rates, seed, 6);
            EXPECT_TRUE(cost.ended) << seed;
            sum += cost.sends;
            most = std::max(most, cost.sends);
        }
        EXPECT_LE(most, selective ? 2 : 8);
        EXPECT_LE(sum / worlds, selective ? 1.4 : 4);
    }
}

// AM-15: everything at once, on both channels, with damage; exactly once, in order, in place.
TEST(AmConnectionCost, EverythingArrivesOnceAndInOrderUnderEveryFault) {
    for (const Config& base : all_small()) {
        for (std::uint64_t seed = 1; seed <= 8; ++seed) {
            const Config config = model(base);
            const std::size_t apart = 8 * config.chunk_bytes();
            Pair pair(config, 2 * apart);
            World world(pair, {.loss = 0.1, .bit_error = 1e-5, .duplicate = 0.1, .reorder = 0.1},
                        seed);
            const auto source = pattern(7 * config.chunk_bytes() - 5, seed);
            const auto remote = pattern(5 * config.chunk_bytes() + 1, seed + 100);
            std::copy(remote.begin(), remote.end(),
                      pair.b.memory().begin() + static_cast<std::ptrdiff_t>(apart));
            std::vector<std::byte> here(remote.size());
            std::uint32_t sent = 0;
            bool stored = false;
            bool got = false;
            reply_to_all(pair.b);
            world.each_tick = [&](Node& node) {
                if (&node != &pair.a) return;
                if (sent < 300) sent += requests(node, 1, sent);
                if (!stored && sent > 100) stored = store(node, source, 1) == PostStatus::accepted;
                if (!got && sent > 150) got = get(node, here, 2, apart) == PostStatus::accepted;
            };
            ASSERT_TRUE(world.run([&] {
                return sent == 300 && stored && got && pair.a.engine.idle() && pair.b.engine.idle();
            })) << seed;
            EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
            EXPECT_TRUE(same(here, remote));
            EXPECT_TRUE(pair.a.guards_intact() && pair.b.guards_intact());
            std::uint32_t next = 0;
            for (const std::string& line : pair.b.log) {
                if (line.starts_with("STORED")) continue;
                EXPECT_EQ(line, "REQ 1(" + std::to_string(next++) + ")");
            }
            EXPECT_EQ(pair.b.log.size(), 301);
            next = 0;
            for (const std::string& line : pair.a.log) {
                if (line.starts_with("REP 2(") && line != "REP 2()") {
                    EXPECT_EQ(line, "REP 2(" + std::to_string(next++) + ")");
                }
            }
            EXPECT_EQ(pair.a.log.size(), 303);
        }
    }
}

}  // namespace
}  // namespace wireproof::am::test
