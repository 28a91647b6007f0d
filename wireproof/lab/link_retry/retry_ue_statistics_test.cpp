// Link Layer Retry of Ultra Ethernet, beside its closed form and over jumps.
#include <gtest/gtest.h>

#include <cmath>

#include "wireproof/lab/link_retry/retry_test_kit.hpp"

namespace wireproof::lab {
namespace {

using namespace test;

RetrySettings ue_llr(std::uint64_t loop) {
    return engine(*retry_protocol("ue-llr"), loop);
}

/// A frame of 64 bytes has 84 on the line. L = 50 of them from a bad frame to its resend.
RetrySettings small(std::uint64_t timer_in_units) {
    RetrySettings settings = ue_llr(49 * 84);
    settings.payload = 44;
    settings.ack_every = 4;
    settings.timer = timer_in_units * 84;
    settings.buffer = 2047;
    return settings;
}

TEST(RetryUe, TheUnitIsTheFrameWithPreambleAndGap) {
    const RetryLink link = resolve(small(200)).value();
    EXPECT_EQ(link.unit.bytes(), 84);
    EXPECT_EQ(link.costs.by_notice, 50);
    EXPECT_EQ(link.costs.head_timer, 250);  // To/u + L
    RetrySettings large = ue_llr(10'000);
    EXPECT_EQ(resolve(large).value().unit.bytes(), 4096 + 28 + 12);
    EXPECT_EQ(resolve(large).value().ack_every, 1U);
    large.payload = 44;
    EXPECT_EQ(resolve(large).value().ack_every, 25U);  // 2048 bytes
}

// LLR-36: S - 1 = p L + p^2/(1 - p) (To/u + L). A resent head that is bad again waits for the
// timer.
TEST(RetryUe, IsSchemeTwoWithATimerThatStartsAfterTheReplay) {
    for (const std::uint64_t timer : {60U, 200U, 600U}) {
        for (const double p : {1e-4, 1e-3, 3e-3, 1e-2}) {
            const RetryPoint point = run(with_unit_error(small(timer), p), 2'000'000);
            ASSERT_EQ(point.link.scheme, RetryScheme::one_notice);
            EXPECT_TRUE(agrees(point)) << "p " << p << " timer " << timer;
            EXPECT_LT(count(point, RetryCount::timeouts), 1 + count(point, RetryCount::naks) / 20);
        }
    }
    const RetryPoint often = run(with_unit_error(small(200), 0.02), 2'000'000);
    EXPECT_GT(away_from(often, RetryScheme::fresh_notice, often.link.costs), 5);
}

TEST(RetryUe, AgreesForLongFramesToo) {
    for (const double p : {1e-3, 1e-2, 5e-2}) {
        const RetryPoint point = run(with_unit_error(ue_llr(12'000), p), 1'000'000);
        ASSERT_EQ(point.link.costs.by_notice, 4);
        EXPECT_TRUE(agrees(point)) << p;
    }
}

// LLR-8: a lost NACK costs the timer.
TEST(RetryUe, ALostNackCostsTheTimer) {
    RetrySettings settings = ue_llr(12'000);
    settings.notice_loss = 0.2;
    const RetryPoint point = run(with_unit_error(settings, 1e-3), 2'000'000);
    EXPECT_DOUBLE_EQ(point.link.costs.notice_loss, 0.2);
    EXPECT_TRUE(agrees(point));
    settings.notice_loss = 1;
    const RetryPoint deaf = run(with_unit_error(settings, 1e-3), 2'000'000);
    EXPECT_LT(std::abs(away_from(deaf, RetryScheme::timeout_only, deaf.link.costs)), 4);
    EXPECT_EQ(count(deaf, RetryCount::replays), count(deaf, RetryCount::timeouts));
}

// Window W, L = 50: rate = W / (L + wait for the ACK), as long as that is below 1.
TEST(RetryUe, ASmallWindowStalls) {
    const auto rate = [](std::uint32_t window, std::uint32_t ack_every) {
        RetrySettings settings = small(2000);
        settings.buffer = window;
        settings.ack_every = ack_every;
        const RetryPoint point = run(settings, 100'000);
        return point.throughput() / point.link.unit.efficiency();
    };
    EXPECT_NEAR(rate(25, 1), 0.5, 0.01);
    EXPECT_NEAR(rate(40, 1), 0.8, 0.01);
    EXPECT_NEAR(rate(50, 1), 1, 0.01);
    EXPECT_LT(rate(40, 4), 0.79);
    EXPECT_GT(rate(40, 4), 40.0 / 54 - 0.01);
    EXPECT_NEAR(rate(54, 4), 1, 0.01);
}

TEST(RetryUe, JumpsEqualTheLifeTheyJumpOver) {
    const auto protocol = *retry_protocol("ue-llr");
    for (const RetrySettings& settings :
         {RetrySettings{.protocol = protocol, .bit_error = 1e-9},
          RetrySettings{.protocol = protocol, .bit_error = 1e-9, .ack_every = 5},
          RetrySettings{.protocol = protocol, .bit_error = 1e-9, .loop = 50'000, .buffer = 7},
          RetrySettings{.protocol = protocol, .bit_error = 3e-8, .payload = 44},
          RetrySettings{.protocol = protocol, .bit_error = 1e-10, .loaded_back = true}}) {
        constexpr std::uint64_t packets = 1'234'567;
        const auto jumped = run_retry_point(settings, {.packets = packets, .seed = 77});
        const auto lived =
            run_retry_point(settings, {.packets = packets, .jump = false, .seed = 77});
        ASSERT_TRUE(jumped && lived);
        EXPECT_TRUE(jumped->totals == lived->totals);
        EXPECT_EQ(jumped->latency, lived->latency);
        EXPECT_EQ(jumped->kept_most, lived->kept_most);
        EXPECT_GT(static_cast<double>(jumped->jumped), 0.3 * packets);
    }
}

// An ACK is for 25 frames of 64 bytes.
TEST(RetryUe, StatesRepeatWhereAnAckIsForManyFrames) {
    RetrySettings settings = with_unit_error(ue_llr(2'000), 1e-12);
    settings.payload = 44;
    const RetryPoint point = run(settings, 20'000'000);
    EXPECT_EQ(point.link.ack_every, 25U);
    EXPECT_LT(point.packets() - static_cast<double>(point.jumped), 10'000);
}

TEST(RetryUe, RefusesWhatCannotWork) {
    const auto refused = [](auto&& change) {
        RetrySettings settings = small(200);
        change(settings);
        return !resolve(settings);
    };
    EXPECT_FALSE(refused([](RetrySettings&) {}));
    EXPECT_TRUE(refused([](RetrySettings& s) { s.payload = 9217; }));
    EXPECT_TRUE(refused([](RetrySettings& s) { s.buffer = (1U << 19) + 1; }));
    EXPECT_FALSE(refused([](RetrySettings& s) { s.buffer = 1U << 19; }));
    EXPECT_TRUE(refused([](RetrySettings& s) { s.timer = 54 * 84; }));
    EXPECT_TRUE(refused([](RetrySettings& s) { s.renak_on_bad_head = true; }));
}

}  // namespace
}  // namespace wireproof::lab
