// Flows of SP AM in one bottleneck. They must fill it, share it and leave a fair share to other
// flows. The tests print the shares.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "wireproof/lab/sharing/store_flow.hpp"
#include "wireproof/lab/sharing/tcp_flow.hpp"

namespace wireproof::lab {
namespace {

class AmCongestion : public testing::TestWithParam<am::Congestion> {
protected:
    static am::Config with_congestion_control() {
        am::Config config = am::Config::ethernet();
        config.congestion = GetParam();
        return config;
    }
};

INSTANTIATE_TEST_SUITE_P(, AmCongestion,
                         testing::Values(am::Congestion::by_loss, am::Congestion::by_path),
                         [](const auto& each) {
                             return each.param == am::Congestion::by_loss ? "ByLoss" : "ByPath";
                         });

constexpr Instant at(std::int64_t milliseconds) {
    return Instant(Duration::milliseconds(milliseconds));
}

const am::Stats& stats_of(const LinkFlow& flow) {
    return dynamic_cast<const StoreFlow&>(flow).asking().stats();
}

// The highest rate of stored bytes on the link, in bytes per second.
double best(const SharedLink::Config& config) {
    return static_cast<double>(config.bytes_per_second) * 1424 / 1472;
}

double jain(const std::vector<double>& rates) {
    const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
    double squares = 0;
    for (const double rate : rates) squares += rate * rate;
    return sum * sum / (static_cast<double>(rates.size()) * squares);
}

void print_shares(const char* what, const std::vector<double>& rates, double of) {
    std::printf("%s:", what);
    for (const double rate : rates) std::printf(" %.2f", rate / of);
    std::printf(" of the link\n");
}

TEST_P(AmCongestion, OneFlowFillsABottleneckAndLosesLittleToItsQueue) {
    for (const std::size_t queue : {25'000u, 50'000u, 500'000u}) {
        const SharedLink::Config config{.queue = queue};
        SharedLink link(config);
        LinkFlow& flow =
            link.add(std::make_unique<StoreFlow>(with_congestion_control(), 0), Instant());
        link.run_until(at(500));
        const auto rates = link.rates_until(at(4'000));
        print_shares("alone", rates, best(config));
        EXPECT_GE(rates[0], 0.85 * best(config)) << "with a queue of " << queue;
        const sim::CableCounts& counts = link.there().counts();
        EXPECT_LE(static_cast<double>(counts.overflowed), 0.01 * static_cast<double>(counts.frames))
            << "with a queue of " << queue;
        EXPECT_LE(stats_of(flow).keepalive_timeouts, 10u);
    }
}

// AM-54: the bottleneck marks packets before its queue is full. Control by loss halves the window
// for a mark, so a queue of less than half a round trip is too short to keep the link busy.
TEST_P(AmCongestion, AFlowFillsABottleneckThatMarksItAndLosesNothingToItsQueue) {
    for (const auto& [mark_above, least] :
         {std::pair{12'000u, 0.75}, std::pair{25'000u, 0.85}, std::pair{50'000u, 0.85}}) {
        const SharedLink::Config config{.queue = 100'000, .mark_above = mark_above};
        SharedLink link(config);
        LinkFlow& flow =
            link.add(std::make_unique<StoreFlow>(with_congestion_control(), 0), Instant());
        link.run_until(at(500));
        const std::uint64_t lost = link.there().counts().overflowed;
        const auto rates = link.rates_until(at(4'000));
        const sim::CableCounts& counts = link.there().counts();
        print_shares("marked", rates, best(config));
        EXPECT_GE(rates[0], least * best(config)) << mark_above;
        EXPECT_EQ(counts.overflowed, lost) << mark_above;
        EXPECT_GT(counts.marked, 0U) << mark_above;
        EXPECT_LE(stats_of(flow).marked_at_peer, counts.marked) << mark_above;
        EXPECT_GE(stats_of(flow).marked_at_peer + 50, counts.marked) << mark_above;
    }
}

TEST(AmNoCongestionControl, AFlowLosesMuchOfWhatItSends) {
    const am::Config config = am::Config::ethernet();
    SharedLink link({});
    link.add(std::make_unique<StoreFlow>(config, 0), Instant());
    link.run_until(at(1'000));
    const sim::CableCounts& counts = link.there().counts();
    EXPECT_GT(static_cast<double>(counts.overflowed), 0.1 * static_cast<double>(counts.frames));
}

TEST_P(AmCongestion, TwoFlowsThatBeganApartShareFairly) {
    const SharedLink::Config config;
    SharedLink link(config);
    link.add(std::make_unique<StoreFlow>(with_congestion_control(), 0), Instant());
    link.add(std::make_unique<StoreFlow>(with_congestion_control(), 1), at(700));
    link.run_until(at(2'000));
    const auto rates = link.rates_until(at(8'000));
    print_shares("two flows", rates, best(config));
    EXPECT_GE(jain(rates), 0.9);
    EXPECT_GE(rates[0] + rates[1], 0.85 * best(config));
}

// A flow that probes fills the queue and takes packets from the other. If this made its rate
// higher, the two would take each other for flows that keep the queue full.
TEST(AmCongestionByPath, TwoFlowsShareALongPathWithADeepQueue) {
    am::Config config = am::Config::ethernet();
    config.congestion = am::Congestion::by_path;
    SharedLink link({.round_trip = Duration::milliseconds(20), .queue = 2'500'000});
    link.add(std::make_unique<StoreFlow>(config, 0), Instant());
    link.add(std::make_unique<StoreFlow>(config, 1), at(500));
    link.run_until(at(2'500));
    const auto rates = link.rates_until(at(8'000));
    print_shares("two flows", rates, best({}));
    EXPECT_LE(std::max(rates[0], rates[1]), 1.5 * std::min(rates[0], rates[1]));
}

// The test adds the rates of two runs, in which one or the other flow starts first. One run says
// little, because it is chance which flow loses packets to a full queue first.
TEST_P(AmCongestion, AFlowBesideRenoGetsBetweenHalfAndTwiceItsShare) {
    for (const std::size_t queue : {25'000u, 50'000u, 200'000u}) {
        double ours = 0;
        double renos = 0;
        for (const bool reno_first : {false, true}) {
            const SharedLink::Config config{.queue = queue};
            SharedLink link(config);
            link.add(std::make_unique<StoreFlow>(with_congestion_control(), 0),
                     at(reno_first ? 500 : 0));
            link.add(std::make_unique<TcpFlow>(Tcp::reno, 1), at(reno_first ? 0 : 500));
            link.run_until(at(2'000));
            const auto rates = link.rates_until(at(6'000));
            print_shares("beside Reno", rates, best(config));
            ours += rates[0];
            renos += rates[1];
        }
        EXPECT_GE(ours, 0.5 * renos) << queue;
        EXPECT_LE(ours, 2.0 * renos) << queue;
    }
}

TEST_P(AmCongestion, RandomLossAloneLeavesMostOfTheRate) {
    const bool by_path = GetParam() == am::Congestion::by_path;
    for (const auto& [loss, least] :
         {std::pair{0.01, by_path ? 0.85 : 0.7}, std::pair{0.05, by_path ? 0.8 : 0.25}}) {
        const SharedLink::Config config{.loss = loss};
        SharedLink link(config);
        link.add(std::make_unique<StoreFlow>(with_congestion_control(), 0), Instant());
        link.run_until(at(500));
        const auto rates = link.rates_until(at(4'000));
        print_shares("with random loss", rates, best(config));
        EXPECT_GE(rates[0], least * best(config)) << "at " << loss;
    }
}

// The window falls to one packet again and again, and keep-alives and their answers are lost, too.
TEST_P(AmCongestion, NeverStallsHoweverLittleTheQueueHoldsOrHowMuchIsLost) {
    for (const double loss : {0.0, 0.1, 0.3}) {
        SharedLink link({.bytes_per_second = 1'250'000, .queue = 3'000, .loss = loss});
        LinkFlow& flow =
            link.add(std::make_unique<StoreFlow>(with_congestion_control(), 0), Instant());
        for (std::int64_t second = 0; second < 10; ++second) {
            const std::uint64_t before = flow.arrived();
            link.run_until(at(1'000 * (second + 1)));
            EXPECT_GT(flow.arrived(), before) << "in second " << second << " at " << loss;
        }
    }
}

}  // namespace
}  // namespace wireproof::lab
