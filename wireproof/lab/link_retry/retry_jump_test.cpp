// What a run that jumps over stretches without errors counts, and when it cannot jump.
#include <gtest/gtest.h>

#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {
namespace {

TEST(RetryJump, SaysWhyItCannot) {
    RetrySettings settings{.bit_error = 0};
    settings.bursts = {.begin = 1e-4, .end = 0.1, .loss_in_burst = 0.5};
    const auto bursts = run_retry_point(settings, {.packets = 200'000});
    EXPECT_EQ(bursts->cannot_jump, "bursts");
    EXPECT_FALSE(bursts->closed_etr());
    EXPECT_GT(bursts->resend_ratio(), 0);
    settings.bursts = {};
    settings.notice_loss = 0.1;
    EXPECT_EQ(run_retry_point(settings, {.packets = 1'000})->cannot_jump, "notices that are lost");
}

// 4 10^18 bytes do not fit in the engines' clock. Ten times as many do not fit in 64 bits.
TEST(RetryJump, CountsTimeBeyondAnyClock) {
    constexpr std::uint64_t many = 10'000'000'000'000'000;
    const auto point = run_retry_point({.bit_error = 0}, {.packets = many});
    ASSERT_TRUE(point);
    EXPECT_EQ(point->totals[RetryCount::bytes_forward] == Wide{many} * 4124, true);
    EXPECT_EQ(point->totals[RetryCount::accepted] == Wide{many}, true);
    EXPECT_NEAR(point->throughput(), 4096.0 / 4124, 1e-9);
}

}  // namespace
}  // namespace wireproof::lab
