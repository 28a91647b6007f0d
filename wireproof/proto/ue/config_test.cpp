// Settings that cannot work, and the figures of lines (docs/rules/ue.md).
#include <gtest/gtest.h>

#include "wireproof/proto/ue/wire_format.hpp"

namespace wireproof::ue {
namespace {

// LLR-3, LLR-8: among others.
TEST(UeConfig, SettingsThatCannotWorkAreRefused) {
    EXPECT_TRUE(Config().check());
    EXPECT_TRUE(Config::of_datagrams(1400).check());
    EXPECT_EQ(Config::of_datagrams(1446).payload_max, 1446 - frame_overhead);
    EXPECT_EQ(Config::of_datagrams(65'000).payload_max, longest_payload);
    EXPECT_FALSE(Config::of_datagrams(28).check());
    const auto refuses = [](std::string_view why, auto&& change) {
        Config config;
        change(config);
        const auto result = config.check();
        ASSERT_FALSE(result) << why;
        EXPECT_NE(result.error().message.find(why), std::string::npos) << result.error().message;
    };
    refuses("modulus", [](Config& config) { config.modulus = 7; });
    refuses("modulus", [](Config& config) { config.modulus = 2 * Config::numbers; });
    refuses("first number", [](Config& config) { config.first_number = Config::numbers; });
    refuses("outstanding_seq_max", [](Config& config) { config.outstanding_seq_max = 0; });
    refuses("outstanding_seq_max",
            [](Config& config) { config.outstanding_seq_max = Config::numbers / 2 + 1; });
    refuses("payload", [](Config& config) { config.payload_max = longest_payload + 1; });
    refuses("frame_min", [](Config& config) { config.frame_min = 10'000; });
    refuses("outstanding_data_max", [](Config& config) { config.outstanding_data_max = 1519; });
    refuses("replay buffer", [](Config& config) { config.replay_slots = 0; });
    refuses("replay_ct_max", [](Config& config) { config.replay_ct_max = 256; });
    refuses("one lost NACK", [](Config& config) { config.replay_timer_max = {}; });
    refuses("replay timer",
            [](Config& config) { config.replay_floor = Duration::milliseconds(1); });
    refuses("timer", [](Config& config) { config.data_age_timer_max = Duration(-1); });
    refuses("ACKs after a NACK", [](Config& config) { config.backs_off = true; });
    refuses("INIT", [](Config& config) { config.init_every = {}; });
    refuses("poison", [](Config& config) { config.poison_pattern = 0; });
    refuses("init_data", [](Config& config) { config.init_data_values = 0; });
    refuses("restart", [](Config& config) { config.init_data_values = 3; });
    refuses("first init_data", [](Config& config) {
        config.init_data_values = 8;
        config.first_init_data = 8;
    });
    Config largest;
    largest.outstanding_seq_max = Config::numbers / 2;
    largest.outstanding_data_max = 1520;
    EXPECT_TRUE(largest.check());
    Config smallest;
    smallest.outstanding_seq_max = 1;
    EXPECT_TRUE(smallest.check());
}

TEST(UeConfig, AttributesHaveTheRangesOfDevices) {
    Config config = Config::of_line({Duration(10), Duration::nanoseconds(400)});
    EXPECT_TRUE(config.check_attributes());
    const auto refuses = [&](auto&& change) {
        Config other = config;
        change(other);
        EXPECT_FALSE(other.check_attributes());
    };
    refuses([](Config& c) { c.ctl_spacing = 319; });
    refuses([](Config& c) { c.ctl_spacing = 32'761; });
    refuses([](Config& c) { c.ack_spacing = 319; });
    refuses([](Config& c) { c.replay_timer_max = Duration::nanoseconds(65'536); });
    refuses([](Config& c) { c.data_age_timer_max = Duration::milliseconds(5000); });
    refuses([](Config& c) { c.outstanding_data_max = 0x80000000; });
}

// LLR-24: the window is computed from the round trip.
TEST(UeConfig, TheWindowOfALineGrowsByTheWholeRoundTrip) {
    for (const std::int64_t byte_time : {10, 20, 40}) {
        const auto buffer = [&](std::int64_t metres) {
            const Duration round(2 * metres * 5100);
            const Config config = Config::of_line({Duration(byte_time), round});
            EXPECT_TRUE(config.check());
            EXPECT_TRUE(config.check_attributes());
            // LLR-21, LLR-22
            EXPECT_TRUE(config.reaches_replay_ct());
            EXPECT_GT(config.pcs_lost_status_timer_max, config.data_age_timer_max);
            EXPECT_GT(config.replay_timer_max, round + config.time_of(config.outstanding_data_max));
            return config.outstanding_data_max;
        };
        const auto more = static_cast<std::int64_t>(buffer(40) - buffer(5));
        EXPECT_EQ(more, 2 * 35 * 5100 / byte_time);
    }
}

/// A published sample profile.
struct Sample {
    std::int64_t gigabits;
    std::int64_t metres;
    std::uint32_t frames;
    std::uint64_t bytes;
    std::int64_t timer;  // ns
    std::int64_t pcs_lost;
    std::int64_t data_age;
};
constexpr std::array samples{
    Sample{200, 5, 61, 31'184, 5000, 50'000, 20'000},
    Sample{200, 40, 71, 35'952, 5500, 55'000, 24'000},
    Sample{400, 5, 115, 58'768, 5000, 50'000, 20'000},
    Sample{400, 40, 133, 67'760, 5500, 55'000, 24'000},
    Sample{800, 40, 264, 135'000, 5000, 50'000, 20'000},
};

Config of_sample(const Sample& sample) {
    Config config;
    config.byte_time = Duration(8000 / sample.gigabits);
    config.outstanding_seq_max = sample.frames;
    config.outstanding_data_max = sample.bytes;
    config.replay_timer_max = Duration::nanoseconds(sample.timer);
    config.replay_ct_max = 3;
    config.pcs_lost_status_timer_max = Duration::nanoseconds(sample.pcs_lost);
    config.data_age_timer_max = Duration::nanoseconds(sample.data_age);
    config.ctl_spacing = 2048;
    return config;
}

// LLR-21, LLR-22
TEST(UeConfig, TheSamplesReachTheirCountBeforeTheirAge) {
    for (const Sample& sample : samples) {
        Config config = of_sample(sample);
        EXPECT_TRUE(config.check());
        EXPECT_TRUE(config.check_attributes());
        EXPECT_TRUE(config.reaches_replay_ct()) << sample.gigabits << " " << sample.metres;
        EXPECT_GT(config.pcs_lost_status_timer_max, config.data_age_timer_max);
        config.data_age_timer_max = config.replay_timer_max * 3;
        EXPECT_FALSE(config.reaches_replay_ct());
        config.replay_ct_max = Config::replay_ct_none;
        EXPECT_TRUE(config.reaches_replay_ct());
    }
}

// LLR-24: the buffers of the samples grow by the delay of one way.
TEST(UeConfig, TheBuffersOfTheSamplesGrowByOneWayOnly) {
    const Config near = of_sample(samples[2]);
    const Config far = of_sample(samples[3]);
    const Duration more = far.time_of(far.outstanding_data_max - near.outstanding_data_max);
    EXPECT_NEAR(more.seconds() * 1e9, 35 * 5.1, 2);
}

TEST(UeConfig, SlingshotHasItsOwnFormulas) {
    const auto timer = [](std::int64_t loop) {
        return Config::of_slingshot({Duration(40), Duration::nanoseconds(loop)})
            .replay_timer_max.nanoseconds();
    };
    EXPECT_EQ(timer(100), 1000);
    EXPECT_EQ(timer(300), 1400);
    EXPECT_EQ(timer(10'000), 15'500);
    const Config config = Config::of_slingshot({Duration(40), Duration::nanoseconds(800)});
    EXPECT_TRUE(config.check());
    EXPECT_EQ(config.replay_ct_max, 254U);
    // 20000 of the loop, 18432, and the largest frame of 1528: in quanta of 64 bytes.
    EXPECT_EQ(config.outstanding_data_max, 39'960U / 64 * 64 + 64);
}

}  // namespace
}  // namespace wireproof::ue
