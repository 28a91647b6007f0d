// Packets of hosts compared with the closed forms: SP AM's go-back-N, RC and UC, with their usual
// settings.
#include <gtest/gtest.h>

#include <cmath>

#include "wireproof/lab/link_retry/retry_test_kit.hpp"

namespace wireproof::lab {
namespace {

using namespace test;

// Scheme (i), with a notice that the next good packet causes.
TEST(RetryPacketsStatistics, GoBackNOfSpAmIsSchemeOneAndWaitsForTheNextPacket) {
    for (const std::uint64_t loop : {0U, 2'000U, 20'000U}) {
        for (const double p : {0.01, 0.1, 0.3}) {
            const RetrySettings settings{
                .protocol = RetryProtocol::sp_am, .clean_back = true, .payload = 224, .loop = loop};
            const RetryPoint point = run(with_unit_error(settings, p), 60'000);
            EXPECT_TRUE(agrees(point)) << p << " " << loop;
            FailureCosts told = point.link.costs;
            told.notice_of = NoticeOf::bad_unit;
            if (loop == 0) {
                EXPECT_GT(away_from(point, point.link.scheme, told), 10) << p;
            }
            EXPECT_EQ(count(point, RetryCount::timeouts), 0U);
        }
    }
}

// Scheme (ii): if the head of a replay is bad again, the sender waits for the timeout.
TEST(RetryPacketsStatistics, RcIsSchemeTwoAndNotSchemeOne) {
    for (const double p : {0.01, 0.1, 0.3}) {
        const RetrySettings settings{
            .protocol = RetryProtocol::rc, .clean_back = true, .payload = 1024, .timer = 32'768};
        const RetryPoint point = run(with_unit_error(settings, p), 60'000);
        EXPECT_TRUE(agrees(point)) << p;
        if (p < 0.1) continue;
        EXPECT_GT(away_from(point, RetryScheme::fresh_notice, point.link.costs), 10) << p;
        EXPECT_GT(count(point, RetryCount::timeouts), 0U);
    }
}

TEST(RetryPacketsStatistics, ALostNakOfRcCostsATimeout) {
    RetrySettings settings{.protocol = RetryProtocol::rc, .payload = 1024};
    settings.clean_back = true;
    settings.notice_loss = 0.3;
    const double p = 0.01;
    const RetryPoint point = run(with_unit_error(settings, p), 200'000);
    EXPECT_TRUE(agrees(point));
    const double failures = p * point.packets();
    EXPECT_NEAR(static_cast<double>(count(point, RetryCount::timeouts)),
                failures * (0.3 + p / (1 - p)), 4 * std::sqrt(failures * 0.3));
}

// Lost units are counted, and ETR counts only delivered ones.
TEST(RetryPacketsStatistics, UcLosesWhatWasBadAndResendsNothing) {
    for (const double p : {0.001, 0.1, 0.5}) {
        const RetrySettings settings{.protocol = RetryProtocol::uc, .payload = 1000};
        const RetryPoint point = run(with_unit_error(settings, p), 60'000);
        EXPECT_EQ(count(point, RetryCount::accepted), 60'000U);
        EXPECT_EQ(count(point, RetryCount::resent), 0U);
        EXPECT_EQ(count(point, RetryCount::wasted) + 60'000, count(point, RetryCount::units));
        EXPECT_TRUE(agrees(point)) << p;
        EXPECT_NEAR(*point.closed_etr(), (1 - p) * point.link.unit.efficiency(), 1e-12);
        // All units have the same latency: each arrives when it has left.
        EXPECT_EQ(point.latency[3], static_cast<std::uint64_t>(point.link.unit.bytes()));
    }
}

// More lost packets in a row than half the circle of numbers in this simulation.
TEST(RetryPacketsStatistics, UcTakesTheNextWholePacketHoweverManyWereLost) {
    const auto trace = LossTrace::read("ok 1000\nbad 600\n", "t");
    ASSERT_TRUE(trace);
    const RetrySettings settings{.protocol = RetryProtocol::uc,
                                 .loss_trace = std::make_shared<LossTrace>(*trace),
                                 .payload = 64};
    EXPECT_EQ(count(run(settings, 50'000), RetryCount::wasted), 49U * 600);
    const RetrySettings often{.protocol = RetryProtocol::uc, .bit_error = 2e-4};
    EXPECT_TRUE(agrees(run(often, 500)));
}

}  // namespace
}  // namespace wireproof::lab
