#include "wireproof/proto/hippi/config.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace wireproof::hippi {
namespace {

bool refused(const std::function<void(Config&)>& change) {
    Config config;
    change(config);
    const auto checked = config.check();
    EXPECT_TRUE(checked || !checked.error().message.empty());
    return !checked;
}

TEST(HippiConfig, DerivesItsTimesFromTheLink) {
    const Config config = Config::for_link(
        {.micropacket = Duration::nanoseconds(40), .one_way = Duration::nanoseconds(1000)});
    EXPECT_TRUE(config.check());
    EXPECT_EQ(config.null_after, Duration::nanoseconds(320));
    EXPECT_GE(config.loop, Duration::nanoseconds(2000));
    EXPECT_EQ(config.retry_after, config.loop * 4);
    EXPECT_TRUE(Config{}.check());
    EXPECT_EQ(Config::for_link({}).retry_after, Config{}.retry_after);
}

// HIPPI-5
TEST(HippiConfig, KnowsHowFarBehindADuplicateIsSure) {
    Config config;
    EXPECT_EQ(config.surely_behind(), 127);
    config.w_max = 254;
    EXPECT_EQ(config.surely_behind(), 1);
    config.w_max = 200;
    EXPECT_EQ(config.surely_behind(), 55);
    config.modulus = 5;
    config.w_max = 2;
    EXPECT_EQ(config.surely_behind(), 2);
}

// HIPPI-5, HIPPI-33
TEST(HippiConfig, RefusesAWindowOfTheWholeCircle) {
    EXPECT_TRUE(refused([](Config& c) { c.w_max = 255; }));
    EXPECT_FALSE(refused([](Config& c) { c.w_max = 254; }));
    EXPECT_TRUE(refused([](Config& c) { c.w_max = 0; }));
    EXPECT_TRUE(refused([](Config& c) { c.modulus = c.w_max = 5; }));
    EXPECT_FALSE(refused([](Config& c) { c.modulus = 5, c.w_max = 4; }));
}

TEST(HippiConfig, RefusesWhatCannotWork) {
    EXPECT_TRUE(refused([](Config& c) { c.modulus = 256; }));
    EXPECT_TRUE(refused([](Config& c) { c.modulus = 1; }));
    EXPECT_TRUE(refused([](Config& c) { c.first_number = 255; }));
    EXPECT_TRUE(refused([](Config& c) { c.retries_max = 0; }));
    EXPECT_TRUE(refused([](Config& c) { c.retry_after = c.loop; }));
    EXPECT_TRUE(refused([](Config& c) { c.retry_after = c.null_after = c.loop * 2; }));
    EXPECT_TRUE(refused([](Config& c) { c.retry_floor = c.loop; }));
    EXPECT_TRUE(refused([](Config& c) { c.retry_floor = c.retry_after * 2; }));
    EXPECT_FALSE(refused([](Config& c) { c.retry_floor = c.loop * 2; }));
    EXPECT_TRUE(refused([](Config& c) { c.null_after = Duration(-1); }));
    EXPECT_TRUE(refused([](Config& c) { c.start_again_after = Duration{}; }));
    EXPECT_TRUE(refused([](Config& c) { c.buffers[0] = 0; }));
    EXPECT_FALSE(refused([](Config& c) { c.buffers[3] = 0; }));
    EXPECT_TRUE(refused([](Config& c) { c.message_max = 31; }));
    EXPECT_TRUE(refused([](Config& c) { c.messages_queued = 0; }));
}

}  // namespace
}  // namespace wireproof::hippi
