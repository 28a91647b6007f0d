// The fast paths do the same as the general path. The same world runs twice: with connections that
// use the fast paths, and with connections that do not (Config::fast_paths). All that they show
// must be equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "wireproof/base/cases_test_kit.hpp"
#include "wireproof/proto/am/ways_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using namespace ways;

Config tight(Config config) {
    config.window = {12, 4};
    config.reply_places = 3;
    config.chunk_packets = 4;
    config.save_bytes = 8192;
    config.packet_max = 512;
    config.message_max = config.data_max();
    config.bundle_max = std::min(config.bundle_max, config.data_max());
    config.open_bytes = 100;
    config.first_number = {0xFFFFFFF0, 0xFFFFFFFA};
    return config;
}

Config going_back() {
    Config config = Config::shared_memory();
    config.recovery = Recovery::go_back_n;
    config.held_packets = 0;
    return config;
}

/// `predicting`: of a thousand frames, at least this many find the fast path open.
void live_each_way(const Config& config, Weather weather, std::uint64_t predicting) {
    ASSERT_TRUE(config.check());
    std::uint64_t frames = 0;
    std::uint64_t met_predicting = 0;
    std::uint64_t single_left = 0;
    std::uint64_t quiet = 0;
    std::uint64_t asked_again = 0;
    for (std::uint64_t seed = 1; seed <= cases(4); ++seed) {
        WayWorld usual(config, seed, weather, Way::fast);
        usual.live(8000);
        WayWorld other(config, seed, weather, Way::general);
        other.live(8000);
        const std::size_t entries = std::min(usual.log.size(), other.log.size());
        for (std::size_t i = 0; i < entries; ++i) {
            ASSERT_TRUE(usual.log[i] == other.log[i])
                << "seed " << seed << ", entry " << i << ": " << usual.log[i].what << " or "
                << other.log[i].what << " behind "
                << usual.log[std::max<std::size_t>(i, 1) - 1].what;
        }
        ASSERT_EQ(usual.log.size(), other.log.size()) << "seed " << seed;
        EXPECT_EQ(other.met_predicting, 0U);
        EXPECT_GT(usual.accepted, 500U) << "it was a life, with seed " << seed;
        frames += usual.arrived;
        met_predicting += usual.met_predicting;
        single_left += usual.single_left;
        quiet += usual.quiet;
        asked_again += usual.asked_again;
    }
    if (predicting >= 100 && !weather.checked) {
        EXPECT_GT(quiet, cases(100));
        EXPECT_GT(single_left, cases(100));
    }
    if (weather.in_turn > 0) {
        EXPECT_GT(asked_again, cases(5'000));
    }
    EXPECT_GE(met_predicting * 1000, frames * predicting) << "of " << frames;
}

TEST(AmFastPath, LivesAsAnyOther) {
    live_each_way(tight(Config::shared_memory()), {}, 200);
    live_each_way(tight(Config::shared_memory()), {.bundles = false, .meddles = 0.1}, 450);
    live_each_way(tight(Config::ethernet()), {.checked = true}, 180);
}

TEST(AmFastPath, LivesAsAnyOtherWhereMessagesComeInTurn) {
    Weather weather{.bundles = false, .again = 0.9, .in_turn = 0.97};
    live_each_way(tight(Config::shared_memory()), weather, 700);
    weather.unusual = 0.05;
    live_each_way(tight(Config::shared_memory()), weather, 500);
    weather.ends = weather.meddles = 0.01;
    weather.bad = 0.001;
    live_each_way(tight(Config::shared_memory()), weather, 300);
}

TEST(AmFastPath, LivesAsAnyOtherWithTransfers) {
    live_each_way(tight(Config::shared_memory()), {.unusual = 0.02, .meddles = 0.3}, 100);
    live_each_way(tight(Config::shared_memory()), {.unusual = 0.3}, 40);
    live_each_way(tight(Config::ethernet()), {.unusual = 0.3, .bundles = false}, 70);
    live_each_way(tight(going_back()), {.unusual = 0.1, .bundles = false, .meddles = 0.3}, 10);
}

TEST(AmFastPath, LivesAsAnyOtherOnABadWire) {
    live_each_way(tight(Config::shared_memory()), {.bad = 0.05, .unusual = 0.1}, 20);
    live_each_way(tight(Config::ethernet()), {.bad = 0.1, .unusual = 0.1, .bundles = false}, 25);
    live_each_way(tight(Config::ethernet()), {.bad = 0.1, .unusual = 0.1, .checked = true}, 3);
    live_each_way(tight(Config::ethernet()), {.bad = 0.02, .bundles = false, .checked = true}, 100);
    live_each_way(tight(going_back()), {.bad = 0.1, .unusual = 0.1}, 90);
}

TEST(AmFastPath, LivesAsAnyOtherThatIsMeddledWith) {
    const Weather weather = {.bad = 0.01, .unusual = 0.02, .meddles = 0.3};
    live_each_way(tight(Config::shared_memory()), weather, 80);
    live_each_way(tight(Config::ethernet()), weather, 70);
    live_each_way(tight(going_back()), weather, 140);
}

TEST(AmFastPath, LivesAsAnyOtherWithCongestionControl) {
    Config config = tight(Config::ethernet());
    config.congestion =
        Congestion::by_loss;  // packets in flight are counted: the fast path is closed
    live_each_way(config, {.unusual = 0.02, .meddles = 0.1}, 0);
    live_each_way(config, {.bad = 0.02, .unusual = 0.02}, 0);
}

TEST(AmFastPath, LivesAsAnyOtherWhoseSessionsEnd) {
    live_each_way(tight(Config::shared_memory()), {.bundles = false, .ends = 0.01}, 400);
    live_each_way(tight(Config::ethernet()), {.bad = 0.05, .unusual = 0.1, .ends = 0.01}, 80);
}

}  // namespace
}  // namespace wireproof::am::test
