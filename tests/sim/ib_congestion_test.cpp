// RC queue pairs with congestion control in one bottleneck. The tests print what they measure.
#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>

#include "wireproof/lab/sharing/write_flow.hpp"

namespace wireproof::lab {
namespace {

using proto::ib::Congestion;

constexpr Instant ib_at(std::int64_t milliseconds) {
    return Instant(Duration::milliseconds(milliseconds));
}

/// The highest rate of written bytes on the link, in bytes per second.
double ib_best(const SharedLink::Config& config) {
    return static_cast<double>(config.bytes_per_second) * WriteFlow::path_mtu /
           WriteFlow::packet_bytes;
}

const WriteFlow& add(SharedLink& link, Congestion congestion, std::uint16_t number = 0,
                     Instant start = {}) {
    return dynamic_cast<const WriteFlow&>(
        link.add(std::make_unique<WriteFlow>(congestion, number), start));
}

double resent_share(const WriteFlow& flow) {
    return static_cast<double>(flow.sender().resent) / static_cast<double>(flow.sender().sent);
}

class IbCongestion : public testing::TestWithParam<Congestion> {};
INSTANTIATE_TEST_SUITE_P(, IbCongestion, testing::Values(Congestion::by_loss, Congestion::by_path),
                         [](const auto& each) {
                             return each.param == Congestion::by_loss ? "ByLoss" : "ByPath";
                         });

TEST_P(IbCongestion, OneFlowFillsABottleneckAndLosesLittleToItsQueue) {
    for (const std::size_t queue : {25'000u, 50'000u, 500'000u}) {
        const SharedLink::Config config{.queue = queue};
        SharedLink link(config);
        const WriteFlow& flow = add(link, GetParam());
        link.run_until(ib_at(500));
        const double rate = link.rates_until(ib_at(4'000))[0] / ib_best(config);
        std::printf("queue %zu: %.2f of the link, %.4f resent\n", queue, rate, resent_share(flow));
        EXPECT_GE(rate, 0.8) << queue;
        EXPECT_LE(resent_share(flow), queue < 50'000 ? 0.15 : 0.06) << queue;
        EXPECT_EQ(flow.sender().timeouts, 0U);
    }
}

// Go-back-N sends a whole window again for each loss, so the window of the path decides the cost.
TEST_P(IbCongestion, OnePercentOfLossLeavesMoreThanHalf) {
    const SharedLink::Config config{.loss = 0.01};
    SharedLink link(config);
    const WriteFlow& flow = add(link, GetParam());
    link.run_until(ib_at(500));
    const double rate = link.rates_until(ib_at(4'000))[0] / ib_best(config);
    std::printf("%.2f of the link, %.2f resent, %llu recoveries, %llu silences\n", rate,
                resent_share(flow), static_cast<unsigned long long>(flow.sender().went_back),
                static_cast<unsigned long long>(flow.sender().silences));
    EXPECT_GE(rate, GetParam() == Congestion::by_path ? 0.5 : 0.3);
    EXPECT_LE(resent_share(flow), 0.5);
    EXPECT_EQ(flow.sender().timeouts, 0U);
}

TEST(IbNoCongestionControl, AFlowLosesMuchOfWhatItSends) {
    SharedLink link({});
    const WriteFlow& flow = add(link, Congestion::off);
    link.run_until(ib_at(1'000));
    std::printf("%.2f resent\n", resent_share(flow));
    EXPECT_GT(resent_share(flow), 0.2);
}

TEST_P(IbCongestion, TwoFlowsShareALink) {
    const SharedLink::Config config;
    SharedLink link(config);
    add(link, GetParam(), 0);
    add(link, GetParam(), 1, ib_at(700));
    link.run_until(ib_at(2'000));
    const auto rates = link.rates_until(ib_at(8'000));
    std::printf("%.2f and %.2f of the link\n", rates[0] / ib_best(config),
                rates[1] / ib_best(config));
    EXPECT_GE(rates[0] + rates[1], 0.7 * ib_best(config));
    EXPECT_GE(std::min(rates[0], rates[1]), 0.25 * std::max(rates[0], rates[1]));
}

// The router marks packets long before its queue is full. So nothing is lost.
TEST_P(IbCongestion, MarksKeepTheQueueShort) {
    const SharedLink::Config config{.queue = 200'000, .mark_above = 15'000};
    SharedLink link(config);
    const WriteFlow& flow = add(link, GetParam());
    link.run_until(ib_at(500));
    double longest = 0;
    std::uint64_t before = flow.arrived();
    for (std::int64_t now = 500; now < 3'000; ++now) {
        link.run_until(ib_at(now + 1));
        longest = std::max(longest, link.queued());
    }
    const double rate = static_cast<double>(flow.arrived() - before) / 2.5 / ib_best(config);
    std::printf("%.2f of the link, queue up to %.0f bytes, %llu CNPs\n", rate, longest,
                static_cast<unsigned long long>(flow.receiver().cnps_sent));
    EXPECT_GT(flow.receiver().cnps_sent, 0U);
    EXPECT_LE(flow.sender().cnps_handled, flow.receiver().cnps_sent);
    EXPECT_GT(10 * flow.sender().cnps_handled, 9 * flow.receiver().cnps_sent);
    EXPECT_LE(flow.receiver().cnps_sent, flow.receiver().marked);
    EXPECT_GE(rate, 0.6);
    EXPECT_LE(longest, 100'000);
    EXPECT_EQ(link.there().counts().overflowed, 0U);
}

TEST_P(IbCongestion, NeverStallsHoweverLittleTheQueueHoldsOrHowMuchIsLost) {
    for (const double loss : {0.0, 0.1, 0.2}) {
        SharedLink link({.bytes_per_second = 1'250'000, .queue = 3'000, .loss = loss});
        const WriteFlow& flow = add(link, GetParam());
        for (std::int64_t second = 0; second < 10; ++second) {
            const std::uint64_t before = flow.sender().answers;
            link.run_until(ib_at(1'000 * (second + 1)));
            EXPECT_GT(flow.sender().answers, before) << "in second " << second << " at " << loss;
        }
    }
}

}  // namespace
}  // namespace wireproof::lab
