#include "wireproof/proto/pcie/timing.hpp"

#include <gtest/gtest.h>

#include <array>

namespace wireproof::pcie {
namespace {

constexpr std::array<std::uint32_t, 7> widths = {1, 2, 4, 8, 12, 16, 32};
constexpr std::array<std::size_t, 6> payloads = {128, 256, 512, 1024, 2048, 4096};

// The published Ack latency limits at 2.5 GT/s, in symbol times.
constexpr std::uint32_t published[6][7] = {
    {237, 128, 73, 67, 58, 48, 33},        {416, 217, 118, 107, 90, 72, 45},
    {559, 289, 154, 86, 109, 86, 52},      {1071, 545, 282, 150, 194, 150, 84},
    {2095, 1057, 538, 278, 365, 278, 148}, {4143, 2081, 1050, 534, 706, 534, 276},
};

// PCIE-30
TEST(PcieTiming, GivesThePublishedLimitsAtEverySpeed) {
    for (std::size_t row = 0; row < payloads.size(); ++row) {
        for (std::size_t column = 0; column < widths.size(); ++column) {
            const std::uint32_t wanted = published[row][column];
            const auto latency = [&](Speed speed) {
                return ack_latency_limit({speed, widths[column]}, payloads[row]);
            };
            EXPECT_EQ(latency(Speed::gen1), wanted) << payloads[row] << " x" << widths[column];
            EXPECT_EQ(latency(Speed::gen2), wanted + 51);
            EXPECT_EQ(latency(Speed::gen3), wanted + 96);
            EXPECT_EQ(replay_limit({Speed::gen1, widths[column]}, payloads[row]), 3 * wanted);
        }
    }
}

TEST(PcieTiming, AByteOfOneLaneTakesFourNanosecondsAt2500MegaTransfers) {
    EXPECT_EQ((LinkRate{Speed::gen1, 1}.time_of(1)), Duration::nanoseconds(4));
    EXPECT_EQ((LinkRate{Speed::gen1, 16}.bytes_per_second()), 4'000'000'000U);
    EXPECT_EQ((LinkRate{Speed::gen3, 4}.time_of(4)), Duration::nanoseconds(1));
    // 83.3 ps, rounded up.
    EXPECT_EQ((LinkRate{Speed::gen3, 12}.time_of(1)), Duration(84));
}

}  // namespace
}  // namespace wireproof::pcie
