// Random worlds: both directions loaded, flits of both spoilt. Everything arrives once and in
// order, and recovery costs what it should.
#include <gtest/gtest.h>

#include "wireproof/proto/flit/line_test_kit.hpp"

namespace wireproof::flit {
namespace {

struct World {
    Config config;
    std::size_t delay = 10;
    double rate = 0.1;
    std::uint32_t messages = 1500;
    double load = 1;
};

struct Outcome {
    bool all = false;
    bool wrong = false;
    Stats a;
    Stats b;
    std::uint64_t slots = 0;
};

Outcome run(const World& world, std::uint64_t seed) {
    Line line(world.config, world.delay);
    line.to_send = {world.messages, world.messages};
    line.load = world.load;
    line.random = Random(seed);
    Random random(mix64(seed));
    const std::size_t slots_max = 10'000 + world.messages * 100;
    Outcome outcome;
    outcome.all = line.run(slots_max, spoil_at_random(random, world.rate));
    outcome.wrong = line.ends[0].wrong || line.ends[1].wrong;
    outcome.a = line.ends[0].link.stats();
    outcome.b = line.ends[1].link.stats();
    outcome.slots = line.slots;
    return outcome;
}

Config near_the_wrap(Config config) {
    config.first_number = config.modulus - 2;
    config.nak_ignore = 25;
    return config;
}

void expect_all_arrive(const World& world, std::uint64_t seed) {
    const Outcome outcome = run(world, seed);
    EXPECT_FALSE(outcome.wrong) << "seed " << seed;
    EXPECT_TRUE(outcome.all) << "seed " << seed;
    EXPECT_EQ(outcome.a.protocol_errors + outcome.b.protocol_errors, 0U) << "seed " << seed;
}

// FLIT-19, FLIT-2: numbers pass from 1023 to 1 several times.
TEST(FlitWorld, EverythingArrivesOnceAndInOrderUnderHeavyDamageBothWays) {
    for (const bool selective : {false, true}) {
        World world{.config =
                        near_the_wrap(selective ? Config::pcie6_selective() : Config::pcie6())};
        for (std::uint64_t seed = 1; seed <= 15; ++seed) {
            world.rate = 0.02 * static_cast<double>(seed);
            world.load = seed % 3 == 0 ? 0.3 : 1;
            expect_all_arrive(world, seed);
        }
    }
}

// UCIE-1, UCIE-2
TEST(FlitWorld, EverythingArrivesOverUcieUnderHeavyDamageBothWays) {
    World world{.config = near_the_wrap(Config::ucie_68())};
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
        world.rate = 0.02 * static_cast<double>(seed);
        expect_all_arrive(world, seed);
    }
}

// FLIT-17: the timer and the ignore window are far too short, so replays are premature.
TEST(FlitWorld, SurvivesTimersThatAreFarTooShort) {
    for (const bool selective : {false, true}) {
        World world{
            .config = near_the_wrap(selective ? Config::pcie6_selective() : Config::pcie6()),
            .messages = 400};
        world.config.modulus = 7;
        world.config.first_number = 6;
        world.config.outstanding = 3;
        world.config.timeout_flits = 5;
        world.config.nak_ignore = 2;
        for (std::uint64_t seed = 1; seed <= 120; ++seed) {
            world.delay = 1 + seed % 4;
            world.rate = 0.02 + 0.0015 * static_cast<double>(seed);
            world.load = seed % 2 == 0 ? 0.4 : 1;
            world.config.nak_ignore = static_cast<std::uint32_t>(seed % 7);
            world.config.timeout_flits = static_cast<std::uint32_t>(2 + seed % 11);
            expect_all_arrive(world, seed);
        }
    }
}

// The small world of the search: few numbers, short timers. Returns how many of the seeds end with
// a wrong message, or with one that never comes.
int bad_runs(const Config& config, int seeds) {
    World world{.config = config, .messages = 300};
    world.config.modulus = 7;
    world.config.first_number = 6;
    world.config.outstanding = 3;
    int bad = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
        world.delay = 1 + static_cast<std::size_t>(seed) % 4;
        world.rate = 0.05 + 0.02 * (seed % 10);
        world.load = seed % 3 == 0 ? 0.3 : 1;
        world.config.nak_ignore = static_cast<std::uint32_t>(seed % 7);
        world.config.timeout_flits = static_cast<std::uint32_t>(3 + seed % 11);
        const Outcome outcome = run(world, static_cast<std::uint64_t>(seed));
        bad += outcome.wrong || !outcome.all;
    }
    return bad;
}

// FLIT-22, 23, 24: each correction of the rules is needed, and together they suffice.
TEST(BrokenFlit, WithoutACorrectionAWrongMessageIsDelivered) {
    const auto without = [](auto change, Config config, int seeds = 120) {
        change(config);
        return bad_runs(config, seeds);
    };
    const Config selective = Config::pcie6_selective();
    EXPECT_EQ(without([](Config&) {}, selective), 0);
    EXPECT_EQ(without([](Config& c) { c.explicit_after_jump = 2; }, selective), 0);
    EXPECT_GT(without([](Config& c) { c.mends.standard_after_two_invalid = false; }, selective), 0);
    EXPECT_GT(without([](Config& c) { c.mends.explicit_run_after_jump = false; }, selective), 0);
    const auto count_nops = [](Config& c) {
        c.explicit_after_jump = 2;
        c.mends.only_payload_counts = false;
    };
    EXPECT_GT(without(count_nops, selective, 400), 1);
    EXPECT_GT(without([](Config& c) { c.mends.explicit_after_gap = false; }, selective), 0);
    EXPECT_GT(without([](Config& c) { c.mends.explicit_after_gap = false; }, Config::pcie6()), 0);
}

// FLIT-25: the last flits of a side and the Naks for them can all be lost.
TEST(BrokenFlit, WithoutTheTimerALinkWhoseIgnoreWindowNeverEndsStandsStill) {
    World world{.config = Config::pcie6(), .messages = 60};
    world.config.nak_ignore = 1U << 19;
    world.config.mends.replay_timer = false;
    int stuck = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Outcome outcome = run(world, seed);
        EXPECT_FALSE(outcome.wrong);
        stuck += !outcome.all;
    }
    EXPECT_GT(stuck, 0);
    world.config.mends.replay_timer = true;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) expect_all_arrive(world, seed);
}

}  // namespace
}  // namespace wireproof::flit
