// The cases of a published test plan, with the counts that it states (docs/rules/ue.md).
#include <gtest/gtest.h>

#include <set>

#include "wireproof/proto/ue/world_test_kit.hpp"

namespace wireproof::ue {
namespace {

constexpr Duration five_metres = Duration::nanoseconds(26);

/// 800 Gbit/s: a byte takes 10 ps.
Config fast(Duration flight) {
    Config config = Config::of_line({Duration(10), flight * 2 + Duration::nanoseconds(100)}, 64);
    config.first_number = 1;
    return config;
}

/// Frames are limited by their number only.
Config with_window(std::uint32_t frames) {
    Config config = fast(five_metres);
    config.outstanding_seq_max = frames;
    config.replay_slots = frames + 2;
    config.outstanding_data_max = 64'000'000;
    config.replay_timer_max = Duration::microseconds(50);
    config.data_age_timer_max = Duration::microseconds(1000);
    config.pcs_lost_status_timer_max = Duration::microseconds(2000);
    config.init_every = Duration::microseconds(1);  // one INIT is enough
    return config;
}

World::Decide acks_blocked() {
    return
        [](const Frame& frame, bool) { return frame.kind() == "ACK" ? Fate::lost : Fate::arrives; };
}

// LLR-35: V-01, a clean line.
TEST(UeVectors, V01ThousandFramesOnACleanLine) {
    World world(fast(five_metres), five_metres);
    world.offer(1000);
    world.run_until_delivered();
    EXPECT_EQ(world.a.stats().tx_ok, 1000U);
    EXPECT_EQ(world.b.stats().rx_ok, 1000U);
    EXPECT_EQ(world.b.stats().rx_expected_seq_good, 1000U);
    EXPECT_GT(world.b.stats().tx_ack_ctl_os, 0U);
    EXPECT_LE(world.b.stats().tx_ack_ctl_os, 1000U * 84 / 2048 + 2);  // LLR-19
    EXPECT_EQ(world.b.stats().tx_nack_ctl_os, 0U);
    EXPECT_EQ(world.a.stats().tx_replay, 0U);
    EXPECT_EQ(world.a.stats().timeouts, 0U);
    world.expect_in_order();
}

/// The 901st frame does not arrive well the first time.
void spoil_901(World& world, Fate fate) {
    world.offer(1000);
    world.decide = [fate, first = true](const Frame& frame, bool) mutable {
        if (frame.name() != "FRAME 901" || !std::exchange(first, false)) return Fate::arrives;
        return fate;
    };
    world.run_until_delivered();
    EXPECT_EQ(world.nacks, std::vector<std::string>{"NACK 900"});
    EXPECT_EQ(world.b.stats().tx_nack_ctl_os, 1U);
    EXPECT_EQ(world.a.stats().rx_nack_ctl_os, 1U);
    EXPECT_EQ(world.a.stats().tx_replay, 1U);
    EXPECT_EQ(world.a.stats().timeouts, 0U);
    EXPECT_EQ(world.b.stats().rx_expected_seq_good, 1000U);
    EXPECT_EQ(world.b.stats().rx_replay, 1U);
    world.expect_in_order();
    expect_identity(world.b.stats());
}

// LLR-35: V-02, the first number is 1 and the 901st frame is missing.
TEST(UeVectors, V02AMissingFrameDrawsOneNackOf900) {
    World world(fast(five_metres), five_metres);
    spoil_901(world, Fate::lost);
    EXPECT_EQ(world.b.stats().rx_expected_seq_bad, 0U);
}

// LLR-35: V-03, the same with a bad FCS.
TEST(UeVectors, V03ABadFrameDrawsOneNackOf900) {
    World world(fast(five_metres), five_metres);
    spoil_901(world, Fate::damaged);
    EXPECT_EQ(world.b.stats().rx_expected_seq_bad, 1U);
    EXPECT_EQ(world.b.stats().rx_bad, 1U);
}

// LLR-35: V-05, no ACK arrives. Three replays, and the fourth expiry flushes.
TEST(UeVectors, V05WithoutAcksThreeReplaysAndAFlush) {
    Config config = with_window(1000);
    config.re_init_on_flush = false;
    World world(config, five_metres);
    world.decide = acks_blocked();
    world.offer(1000);
    world.run_until([&] { return world.a.stats().flushes > 0; });
    EXPECT_EQ(world.a.stats().tx_ok, 4000U);
    EXPECT_EQ(world.a.stats().tx_replay, 3U);
    EXPECT_EQ(world.a.stats().timeouts, 4U);
    EXPECT_EQ(world.a.stats().tx_discard, 1000U);
    EXPECT_EQ(world.a.link.transmitter().state(), Transmitter::State::flush);
    EXPECT_EQ(world.b.got.size(), 1000U);  // LLR-17: what was discarded may have been delivered
}

// LLR-35: V-06
TEST(UeVectors, V06ThousandPoisonedFramesAreNotReplayed) {
    World world(fast(five_metres), five_metres);
    world.poisons = world.checks = true;
    world.offer(1000);
    world.run_until([&] {
        return world.offered == 1000 && world.a.link.transmitter().outstanding() == 0 &&
               world.a.link.transmitter().waiting() == 0;
    });
    EXPECT_EQ(world.b.stats().rx_poisoned, 1000U);
    EXPECT_EQ(world.b.stats().rx_expected_seq_poisoned, 1000U);
    EXPECT_EQ(world.a.stats().tx_poisoned, 1000U);
    EXPECT_EQ(world.a.stats().tx_ok, 0U);
    EXPECT_EQ(world.b.stats().tx_nack_ctl_os, 0U);
    EXPECT_EQ(world.a.stats().tx_replay, 0U);
}

// LLR-35: V-07
TEST(UeVectors, V07AWindowOfTenFramesIsReplayedThreeTimes) {
    Config config = with_window(10);
    config.re_init_on_flush = false;
    World world(config, five_metres);
    world.decide = acks_blocked();
    world.offer(1000);
    world.run_until([&] { return world.a.stats().flushes > 0; });
    EXPECT_EQ(world.a.stats().tx_replay, 3U);
    EXPECT_EQ(world.b.stats().rx_ok, 40U);
    EXPECT_EQ(world.b.stats().rx_duplicate_seq, 30U);
    expect_identity(world.b.stats());
}

/// Rate of frames of 84 bytes as a share of the line, without start and end.
double rate_of(const Config& config) {
    World world(config, Duration::nanoseconds(2500));
    world.offer(40'000);
    world.run_until([&] { return world.b.got.size() >= 10'000; });
    const Instant from = world.now;
    world.run_until([&] { return world.b.got.size() >= 40'000; });
    EXPECT_EQ(world.a.stats().tx_replay, 0U);
    EXPECT_EQ(world.b.stats().tx_nack_ctl_os, 0U);
    const double bytes = (world.now - from).seconds() / config.byte_time.seconds();
    return 30'000.0 * 84 / bytes;
}

// LLR-35: V-08, a cable of 500 m. A window of 2047 frames reaches about a third of the rate.
TEST(UeVectors, V08ALongCableReachesTheRateOfTheLine) {
    Config config = with_window(6100);
    EXPECT_GT(rate_of(config), 0.99);
    config.outstanding_seq_max = 2047;
    EXPECT_NEAR(rate_of(config), 0.34, 0.01);
    // The window that of_line computes from the round trip is enough, too.
    EXPECT_GT(rate_of(fast(Duration::nanoseconds(2500))), 0.99);
}

// LLR-35: V-09, a flush and a new INIT.
TEST(UeVectors, V09AfterAFlushTheNextFramesArrive) {
    for (const bool both : {false, true}) {
        Config config = with_window(100);
        config.init_behavior = config.flush_behavior = Behavior::discard;
        config.restarts_both_ways = both;
        World world(config, five_metres);
        world.start();
        EXPECT_EQ(world.a.stats().rx_init_echo_ctl_os, 1U);
        world.decide = acks_blocked();
        world.offer(100);
        world.run_until([&] { return world.a.stats().flushes > 0; });
        world.run_until([&] { return world.a.link.transmitter().runs() && world.a.link.up(); });
        EXPECT_EQ(world.b.stats().rx_ok, 400U);
        EXPECT_EQ(world.b.stats().rx_expected_seq_good, 100U);
        EXPECT_EQ(world.b.stats().rx_duplicate_seq, 300U);
        EXPECT_EQ(world.a.stats().tx_discard, 100U);
        EXPECT_EQ(world.a.stats().rx_init_echo_ctl_os, 2U);
        EXPECT_EQ(world.a.downs, 1);
        world.decide = [](const Frame&, bool) { return Fate::arrives; };
        world.offer(100);
        world.run_until_delivered();
        EXPECT_EQ(world.b.stats().rx_expected_seq_good, 200U);
        EXPECT_EQ(world.b.got.size(), 200U);
        world.expect_in_order();
    }
}

// LLR-35: V-11. A codeword of RS(544,514) carries 642 whole bytes of frames. One that cannot be
// corrected takes the frames whose begin it has, and damages those that it only ends.
TEST(UeVectors, V11BadCodewordsLoseNoEligibleFrame) {
    constexpr std::uint64_t codeword = 642;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Random random(seed);
        std::array<std::set<std::uint64_t>, 2> bad;
        std::array<std::uint64_t, 2> drawn{};
        Config config = fast(five_metres);
        config.replay_ct_max = Config::replay_ct_none;
        config.data_age_timer_max = config.pcs_lost_status_timer_max = {};
        World world(config, five_metres);
        world.both_ways = true;
        world.decide_place = [&](const Frame& frame, bool from_a, std::uint64_t begin,
                                 std::uint64_t end) {
            const std::uint64_t last = (end - 1) / codeword;
            for (std::uint64_t& next = drawn[from_a]; next <= last; ++next) {
                if (random.chance(0.01)) bad[from_a].insert(next);
            }
            if (bad[from_a].contains(begin / codeword)) return Fate::lost;
            if (!bad[from_a].contains(last)) return Fate::arrives;
            return frame.is_ctl() ? Fate::lost : Fate::damaged;
        };
        world.offer(20'000);
        world.run_until_delivered();
        world.expect_in_order();
        EXPECT_GT(world.spoilt, 200U);
        EXPECT_GT(world.b.stats().rx_bad, 0U);
        for (const End* end : {&world.a, &world.b}) {
            EXPECT_EQ(end->stats().tx_discard, 0U);
            EXPECT_EQ(end->stats().flushes, 0U);
            EXPECT_EQ(end->stats().rx_ack_nack_seq_error, 0U);
            EXPECT_LE(end->stats().replays, world.spoilt + world.spoilt_ctl);
            EXPECT_GT(end->stats().naks, end->stats().timeouts);
            expect_identity(end->stats());
        }
    }
}

}  // namespace
}  // namespace wireproof::ue
