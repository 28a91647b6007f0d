#include "wireproof/lab/link_retry/retry_presets.hpp"

#include <gtest/gtest.h>

#include <set>

namespace wireproof::lab {
namespace {

const RetryPreset& preset(std::string_view name) {
    const RetryPreset* const found = retry_preset(name);
    EXPECT_NE(found, nullptr) << name;
    return *found;
}

TEST(RetryPresets, HaveNamesOfTheirOwnAndCanBeSimulated) {
    std::set<std::string> names;
    for (const RetryPreset& one : retry_presets()) {
        EXPECT_TRUE(names.insert(one.name).second) << one.name;
        EXPECT_EQ(retry_preset(one.name), &one);
        const auto link = resolve(one.settings);
        ASSERT_TRUE(link) << one.name << ": " << link.error().message;
        EXPECT_GT(one.bytes_per_second, 0);
        // Waiting for a notice must not cause a timeout, and the window must not stall the sender.
        const auto unit = static_cast<std::uint64_t>(link->unit.bytes());
        EXPECT_GT(link->timer, link->loop) << one.name;
        EXPECT_GE(link->buffer * unit, link->loop + unit) << one.name;
    }
    EXPECT_EQ(retry_preset("pcie-gen6-x3"), nullptr);
}

// PCIE-20: from the limits of the specification's tables, in bytes of all lanes.
TEST(RetryPresets, PcieHasTheLimitsOfItsGenerationAndWidth) {
    EXPECT_EQ(preset("pcie-gen1-x1").settings.timer, 1'248U);
    EXPECT_EQ(preset("pcie-gen1-x1").settings.loop, 2U * 19);
    EXPECT_EQ(preset("pcie-gen3-x8").settings.timer, 8U * (321 + 288));
    EXPECT_EQ(preset("pcie-gen3-x8").settings.loop, 8U * 2 * 115);
    EXPECT_EQ(preset("pcie-gen5-x16").settings.timer, 16U * 27'500);
    EXPECT_EQ(preset("pcie-gen1-x4").bytes_per_second, 1e9);
    EXPECT_EQ(preset("pcie-gen5-x16").bytes_per_second, 64e9);
    EXPECT_DOUBLE_EQ(preset("pcie-gen5-x16").nanoseconds(64), 1);
}

TEST(RetryPresets, OthersAreAsTheirSourcesSay) {
    EXPECT_EQ(preset("hippi6400-40m").settings.loop, 320U + 80);
    EXPECT_EQ(preset("hippi6400-1km").settings.loop, 8'000U + 80);
    const RetrySettings& sp2 = preset("sp2").settings;
    EXPECT_EQ(resolve(sp2)->unit.bytes(), 256);
    EXPECT_EQ(sp2.loop, 1'880U);
    EXPECT_EQ(sp2.buffer, 75U);
    EXPECT_EQ(sp2.timer, 20'000U);
    for (const char* const line : {"100g-5m", "800g-500m"}) {
        const RetryPreset& named = preset("ethernet-llr-" + std::string(line));
        const RetryPreset& same = preset("ue-llr-" + std::string(line));
        EXPECT_FALSE(named.settings < same.settings || same.settings < named.settings);
        EXPECT_EQ(named.bytes_per_second, same.bytes_per_second);
        EXPECT_TRUE(named.link_layer_retry);
    }
    // 96 ns and two flits.
    EXPECT_EQ(preset("pcie-gen6-x16").settings.loop, 50U * 256);
    EXPECT_EQ(preset("pcie-gen6-x1").settings.loop, 768U + 512);
    EXPECT_EQ(preset("pcie-gen6-x1").settings.lanes, 1U);
    EXPECT_EQ(preset("pcie-gen7-x16-selective").bytes_per_second, 256e9);
    EXPECT_EQ(preset("cxl2-x16").bytes_per_second, 64e9);
    EXPECT_EQ(preset("cxl3-x16").settings.payload, 239U);
    EXPECT_EQ(preset("ucie-68").settings.payload, 63U);
    // 400 ns at 100 bytes a ns, and half of 400 bytes.
    EXPECT_EQ(preset("ue-llr-800g-40m").settings.loop, 40'000U + 200);
    EXPECT_EQ(preset("ue-llr-800g-40m").bytes_per_second, 100e9);
    EXPECT_TRUE(preset("ue-llr-800g-40m").link_layer_retry);
    // Three loops of 400 ns and 500 ns, at 25 bytes a ns.
    EXPECT_EQ(preset("slingshot-llr-200g-40m").settings.timer, 1'700U * 25);
}

TEST(RetryPresets, LeaveTheLineAsItIs) {
    RetrySettings line{.bit_error = 1e-9, .clean_back = true, .payload = 1, .loop = 3};
    const RetrySettings settings = with_preset(line, preset("sp2"));
    EXPECT_EQ(settings.bit_error, 1e-9);
    EXPECT_TRUE(settings.clean_back);
    EXPECT_EQ(settings.payload, 224U);
    EXPECT_EQ(settings.loop, 1'880U);
    EXPECT_EQ(settings.protocol, RetryProtocol::sp_am);
    const auto point = run_retry_point(settings, {.packets = 50'000});
    ASSERT_TRUE(point);
    EXPECT_NEAR(point->throughput() * preset("sp2").bytes_per_second, 35e6, 0.1e6);
}

}  // namespace
}  // namespace wireproof::lab
