// A run that jumps over stretches without errors gives the same result as a run that does not.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {
namespace {

struct Both {
    RetryPoint jumped;
    RetryPoint lived;
};

Both run_both(const RetrySettings& settings, std::uint64_t packets, std::uint64_t seed) {
    const auto jumped = run_retry_point(settings, {.packets = packets, .jump = true, .seed = seed});
    const auto lived = run_retry_point(settings, {.packets = packets, .jump = false, .seed = seed});
    EXPECT_TRUE(jumped && lived);
    return {jumped.value(), lived.value()};
}

void expect_same(const Both& both, const char* what) {
    EXPECT_EQ(both.jumped.totals == both.lived.totals, true) << what;
    for (std::size_t i = 0; i < static_cast<std::size_t>(RetryCount::count_); ++i) {
        const auto count = static_cast<RetryCount>(i);
        EXPECT_EQ(static_cast<std::uint64_t>(both.jumped.totals[count]),
                  static_cast<std::uint64_t>(both.lived.totals[count]))
            << what << " count " << i;
    }
    EXPECT_EQ(both.jumped.kept_most, both.lived.kept_most) << what;
    EXPECT_EQ(both.jumped.latency, both.lived.latency) << what;
    EXPECT_EQ(static_cast<double>(both.lived.jumped), 0) << what;
}

// Not a power of any number, so that the end lies in the middle of a lap.
constexpr std::uint64_t packets = 1'234'567;

struct Row {
    const char* what;
    RetrySettings settings;
};

void expect_equal_lives(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
        const Both both = run_both(row.settings, packets, 77);
        expect_same(both, row.what);
        EXPECT_GT(static_cast<double>(both.jumped.jumped), 0.3 * packets) << row.what;
        EXPECT_EQ(both.jumped.packets(), packets) << row.what;
    }
}

TEST(RetryJump, EqualsTheLifeItJumpsOver) {
    expect_equal_lives({
        {"pcie", {.bit_error = 1e-9}},
        {"pcie, often", {.bit_error = 3e-8}},
        {"pcie, fresh notices", {.bit_error = 1e-9, .renak_on_bad_head = true}},
        {"pcie, acks for five", {.bit_error = 1e-9, .ack_every = 5}},
        {"pcie, long loop", {.bit_error = 1e-9, .loop = 50'000}},
        {"pcie, stalled", {.bit_error = 1e-9, .loop = 50'000, .buffer = 7}},
        {"pcie, no errors", {.bit_error = 0}},
        {"pcie, loaded back", {.bit_error = 1e-10, .loaded_back = true}},
        {"hippi6400", {.protocol = RetryProtocol::hippi6400, .bit_error = 3e-8}},
        {"hippi6400, short messages",
         {.protocol = RetryProtocol::hippi6400, .bit_error = 3e-8, .payload = 100}},
        {"go-back-n", {.protocol = RetryProtocol::go_back_n, .bit_error = 1e-7}},
        {"go-back-n, stalled",
         {.protocol = RetryProtocol::go_back_n, .bit_error = 1e-7, .loop = 50'000, .buffer = 7}},
        {"ideal", {.protocol = RetryProtocol::ideal, .bit_error = 1e-7, .loop = 50'000}},
    });
}

TEST(RetryJump, EqualsTheLifeOfPacketsOfHostsToo) {
    expect_equal_lives({
        {"sp-am", {.protocol = RetryProtocol::sp_am, .bit_error = 1e-9}},
        {"sp-am, stalled",
         {.protocol = RetryProtocol::sp_am, .bit_error = 1e-9, .loop = 50'000, .buffer = 7}},
        {"sp-am, loaded back",
         {.protocol = RetryProtocol::sp_am, .bit_error = 1e-10, .loaded_back = true}},
        {"sp-am-selective", {.protocol = RetryProtocol::sp_am_selective, .bit_error = 1e-9}},
        {"rc", {.protocol = RetryProtocol::rc, .bit_error = 1e-9}},
        {"rc, loaded back",
         {.protocol = RetryProtocol::rc, .bit_error = 1e-10, .loaded_back = true}},
        {"uc", {.protocol = RetryProtocol::uc, .bit_error = 1e-9}},
    });
}

// Rare errors cost no more time than the simulation of the packets around them.
TEST(RetryJump, TenToTheFourteenthPacketsTakeNoTime) {
    const auto point = run_retry_point({.bit_error = 1e-15}, {.packets = 100'000'000'000'000});
    ASSERT_TRUE(point);
    EXPECT_LT(std::abs(point->deviation().value()), 4);
    EXPECT_NEAR(point->relative_error().value(), 0.0174, 0.001);
}

}  // namespace
}  // namespace wireproof::lab
