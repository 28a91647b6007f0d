#include "wireproof/proto/cxl/config.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace wireproof::cxl {
namespace {

std::string complaint(const std::function<void(Config&)>& change) {
    Config config;
    change(config);
    const auto checked = config.check();
    return checked ? "" : checked.error().message;
}

TEST(CxlConfig, TheUsualSettingsCanWork) {
    EXPECT_TRUE(Config{}.check());
    EXPECT_TRUE(Config::of_datagrams().check());
    EXPECT_EQ(complaint([](Config& config) {
                  config.modulus = 4, config.first_number = 3, config.ack_threshold = 2;
              }),
              "");
    EXPECT_EQ(complaint([](Config& config) { config.modulus = 255; }), "");
    EXPECT_EQ(complaint([](Config& config) { config.max_num_phy_reinit = 0; }), "");
    EXPECT_EQ(complaint([](Config& config) { config.continuous = true, config.flit_time = {}; }),
              "");
}

// CXL-3: the wrap value has eight bits.
TEST(CxlConfig, NamesASettingThatCannotWork) {
    EXPECT_EQ(complaint([](Config& config) { config.modulus = 3; }),
              "LLRB depth: 3, and must be 4 to 255");
    EXPECT_EQ(complaint([](Config& config) { config.modulus = 256; }),
              "LLRB depth: 256, and must be 4 to 255");
    EXPECT_EQ(complaint([](Config& config) { config.first_number = 128; }),
              "first number: 128, and must be 0 to 127");
    EXPECT_EQ(complaint([](Config& config) { config.queue = 0; }),
              "messages that wait: 0, and must be 1 to 1048576");
    EXPECT_EQ(complaint([](Config& config) { config.max_num_retry = 32; }),
              "MAX_NUM_RETRY: 32, and must be 1 to 31");
    EXPECT_EQ(complaint([](Config& config) { config.frames_needed = 6; }),
              "RETRY.Frames that must arrive: 6, and must be 1 to 5");
    EXPECT_EQ(complaint([](Config& config) { config.ack_threshold = 127; }),
              "acknowledgements that force an LLCRD: 127, and must be 1 to 126");
    EXPECT_EQ(complaint([](Config& config) { config.max_num_phy_reinit = 32; }),
              "MAX_NUM_PHY_REINIT: 32, and must be 0 to 31 or unlimited");
    EXPECT_EQ(complaint([](Config& config) { config.timeout = 0; }),
              "TIMEOUT: 0, and must be 1 to 16777216");
    EXPECT_NE(complaint([](Config& config) { config.flit_time = Duration(); }), "");
    EXPECT_NE(complaint([](Config& config) { config.retrain_time = Duration(-1); }), "");
}

}  // namespace
}  // namespace wireproof::cxl
