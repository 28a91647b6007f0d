// The relative error that a point states, beside the spread of points with other seeds.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "wireproof/lab/link_retry/retry_presets.hpp"
#include "wireproof/lab/link_retry/retry_test_kit.hpp"

namespace wireproof::lab {
namespace {

struct Setting {
    const char* name;  // of a preset or a protocol
    double bit_error;
    std::uint64_t packets;
    RetryFec fec = RetryFec::own;
    std::uint32_t payload = 0;  // 0: that of the preset
};

RetrySettings settings_of(const Setting& setting) {
    RetrySettings settings;
    if (const RetryPreset* const preset = retry_preset(setting.name)) {
        settings = with_preset(settings, *preset);
    } else {
        settings.protocol = *retry_protocol(setting.name);
    }
    settings.bit_error = setting.bit_error;
    settings.fec = setting.fec;
    if (setting.payload > 0) settings.payload = setting.payload;
    return settings;
}

// In the first lines, one failure leads to the next.
constexpr std::array<Setting, 20> all{{
    {"pcie-gen5-x16", 1e-5, 500'000, RetryFec::own, 64},
    {"pcie-gen5-x16", 1e-5, 60'000},
    {"pcie-gen5-x16", 1e-6, 1'000'000},
    {"pcie-gen5-x16", 1e-7, 10'000'000},
    {"pcie-gen5-x4", 1e-6, 1'000'000},
    {"pcie-gen4-x16", 3e-6, 300'000},
    {"pcie-gen3-x16", 1e-5, 100'000},
    {"pcie-gen6-x16", 1e-6, 50'000, RetryFec::off},
    {"pcie-gen6-x16-selective", 1e-6, 100'000, RetryFec::off},
    {"pcie-gen6-x16-selective", 3e-6, 100'000, RetryFec::off},
    {"hippi6400-1km", 1e-5, 100'000},
    {"ue-llr-400g-40m", 1e-6, 100'000},
    {"cxl2-x16", 1e-6, 200'000},
    {"cxl2-x16", 1e-5, 30'000},
    {"ucie-256", 1e-6, 50'000},
    {"sp2", 1e-6, 100'000},
    {"rc", 1e-6, 20'000},
    {"sp-am-selective", 2e-6, 50'000},
    {"go-back-n", 2e-6, 50'000},
    {"ideal", 2e-6, 50'000},
}};

TEST(RetryErrors, AreThoseOfManySeeds) {
    constexpr std::uint64_t seeds = 200;  // so the spread is known to 5 %
    std::uint64_t next_seed = test::seed;
    for (const Setting& setting : all) {
        const RetrySettings settings = settings_of(setting);
        double sum = 0;
        double squares = 0;
        double stated = 0;
        for (std::uint64_t i = 0; i < seeds; ++i) {
            const auto point =
                run_retry_point(settings, {.packets = setting.packets, .seed = next_seed++});
            ASSERT_TRUE(point) << setting.name;
            sum += point->resend_ratio();
            squares += point->resend_ratio() * point->resend_ratio();
            stated += point->relative_error().value();
        }
        const auto n = static_cast<double>(seeds);
        const double mean = sum / n;
        const double spread = std::sqrt((squares - sum * mean) / (n - 1)) / mean;
        const double ratio = spread / (stated / n);
        EXPECT_LT(ratio, 1.3) << setting.name << " at " << setting.bit_error;
        EXPECT_GT(ratio, 1 / 1.3) << setting.name << " at " << setting.bit_error;
    }
}

}  // namespace
}  // namespace wireproof::lab
