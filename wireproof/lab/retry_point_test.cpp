// Simulated points against the closed forms: the engines as they ship, and the two models.
#include <gtest/gtest.h>

#include <cmath>

#include "wireproof/lab/retry_crossover.hpp"
#include "wireproof/lab/retry_paper.hpp"
#include "wireproof/lab/retry_test_kit.hpp"

namespace wireproof::lab {
namespace {

using namespace test;

struct GivenUp {};

RetrySettings engine(RetryProtocol protocol, std::uint64_t loop) {
    return {.protocol = protocol, .clean_back = true, .loop = loop};
}

// ETR-5: N of 1, 4 and 51 from the loop. The engine with a fresh Nak for every failure, too.
TEST(RetryPoint, AFreshNoticeForEveryFailureIsSchemeOne) {
    for (const double p : {0.001, 0.01, 0.1, 0.3}) {
        for (const double n : {1.0, 4.0, 51.0}) {
            RetrySettings settings;
            settings.protocol = RetryProtocol::go_back_n;
            settings.loop = static_cast<std::uint64_t>((n - 1) * 4124);
            const RetryPoint point = run(with_unit_error(settings, p), 400'000);
            ASSERT_EQ(point.link.costs.by_notice, n);
            EXPECT_TRUE(agrees(point)) << p << " " << n;
        }
        RetrySettings settings = engine(RetryProtocol::pcie, 12'000);
        settings.renak_on_bad_head = true;
        const RetryPoint point = run(with_unit_error(settings, p), 100'000);
        ASSERT_EQ(point.link.scheme, RetryScheme::fresh_notice);
        ASSERT_EQ(point.link.costs.by_notice, 4);
        EXPECT_TRUE(agrees(point)) << p;
        EXPECT_EQ(count(point, RetryCount::timeouts), 0U);
    }
}

// ETR-6: with N of 4 and M2 of 5 no notice meets a replay that is longer than its own.
TEST(RetryPoint, PcieIsSchemeTwoAndNotSchemeOne) {
    RetrySettings settings = engine(RetryProtocol::pcie, 12'372);
    settings.timer = 12'429;
    for (const double p : {0.1, 0.2, 0.3}) {
        const RetryPoint point = run(with_unit_error(settings, p), 1'600'000);
        ASSERT_EQ(point.link.costs.head_timer, 5);
        EXPECT_LT(std::abs(away_from(point, RetryScheme::one_notice, point.link.costs)), 4) << p;
        EXPECT_GT(away_from(point, RetryScheme::fresh_notice, point.link.costs), 5) << p;
    }
}

// ETR-6: where the timer is long, notices meet replays and wait for their end (PCIE-35).
TEST(RetryPoint, ANoticeThatWaitsForTheEndOfAReplayIsInTheClosedForm) {
    RetrySettings settings = engine(RetryProtocol::pcie, 2'000);
    settings.timer = 50'000;
    for (const double p : {0.05, 0.3, 0.5}) {
        const RetryPoint point = run(with_unit_error(settings, p), 100'000);
        ASSERT_EQ(point.link.scheme, RetryScheme::patient_notice);
        EXPECT_TRUE(agrees(point)) << p;
    }
    const RetryPoint often = run(with_unit_error(settings, 0.3), 100'000);
    EXPECT_GT(away_from(often, RetryScheme::one_notice, often.link.costs), 10);
}

// ETR-7
TEST(RetryPoint, HippiIsSchemeTwo) {
    for (const double p : {0.01, 0.1, 0.3}) {
        const RetryPoint point =
            run(with_unit_error(engine(RetryProtocol::hippi6400, 2'000), p), 100'000);
        EXPECT_TRUE(agrees(point)) << p;
        ASSERT_EQ(point.link.scheme, RetryScheme::one_notice);
    }
    const RetryPoint often =
        run(with_unit_error(engine(RetryProtocol::hippi6400, 2'000), 0.1), 100'000);
    EXPECT_GT(away_from(often, RetryScheme::fresh_notice, often.link.costs), 10);
    // With its f: errors on the way back, where both copies of a notice are needed.
    RetrySettings deaf = engine(RetryProtocol::hippi6400, 600);
    deaf.notice_loss = 0.1;
    const RetryPoint point = run(with_unit_error(deaf, 0.01), 200'000);
    EXPECT_DOUBLE_EQ(point.link.costs.notice_loss, 1 - 0.9 * 0.9);
    EXPECT_TRUE(agrees(point));
}

// ETR-8: every Nak vanishes. A fresh failure costs M1 of the formula, the head of a replay M2.
TEST(RetryPoint, WithoutNoticesOnlyTheTimerIsLeft) {
    RetrySettings settings = engine(RetryProtocol::pcie, 2'000);
    settings.notice_loss = 1;
    settings.timer = 12'429;
    for (const double p : {0.01, 0.1, 0.3}) {
        const RetryPoint point = run(with_unit_error(settings, p), 200'000);
        ASSERT_EQ(point.link.costs.first_timer, 4);
        ASSERT_EQ(point.link.costs.head_timer, 5);
        EXPECT_LT(std::abs(away_from(point, RetryScheme::timeout_only, point.link.costs)), 4) << p;
        FailureCosts one = point.link.costs;
        one.first_timer = one.head_timer;
        EXPECT_LT(away_from(point, RetryScheme::timeout_only, one), -6) << p;
        EXPECT_EQ(count(point, RetryCount::replays), count(point, RetryCount::timeouts));
    }
}

// ETR-9
TEST(RetryPoint, IdealResendsWhatWasBadAndNothingElse) {
    for (const double p : {0.001, 0.1, 0.3}) {
        RetrySettings settings;
        settings.protocol = RetryProtocol::ideal;
        settings.loop = 12'372;
        const RetryPoint point = run(with_unit_error(settings, p), 400'000);
        EXPECT_TRUE(agrees(point)) << p;
        EXPECT_NEAR(*point.closed_etr(), (1 - p) * 4096 / 4124, 1e-12);
        EXPECT_EQ(point.totals[RetryCount::resent], point.totals[RetryCount::wasted]);
    }
}

// ETR-10, simulated.
TEST(RetryPoint, WithoutErrorsEveryProtocolGivesItsEfficiencyExactly) {
    for (const auto protocol : {RetryProtocol::pcie, RetryProtocol::hippi6400,
                                RetryProtocol::go_back_n, RetryProtocol::ideal}) {
        const RetryPoint point = run(engine(protocol, 2'000), 10'000);
        const double efficiency = protocol == RetryProtocol::hippi6400 ? 0.8 : 4096.0 / 4124;
        EXPECT_EQ(point.etr(), efficiency) << name_of(protocol);
        EXPECT_NEAR(point.throughput(), efficiency, 1e-3) << name_of(protocol);
        EXPECT_EQ(count(point, RetryCount::accepted), 10'000U);
        EXPECT_EQ(count(point, RetryCount::resent) + count(point, RetryCount::timeouts), 0U);
        EXPECT_FALSE(point.relative_error());
    }
}

// ETR-12, ETR-13: set up as section 5 of the analysis says.
TEST(RetryCrossover, StandsWhereTheClosedFormPutsIt) {
    struct Row {
        double tlp_loop, micropacket_loop, expected;
    };
    for (const Row& row : {Row{paper::tlp_loop, paper::micropacket_loop, 2.8768e-6},
                           Row{paper::equal_loop, paper::equal_loop, 4.7238e-6}}) {
        const auto [tlp, micropacket] = crossover_sides(row.tlp_loop, row.micropacket_loop, true);
        const auto found = simulate_crossover(tlp, micropacket, row.expected, seed);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_NEAR(found->bit_error / row.expected, 1, 0.03) << "seed " << seed;
        EXPECT_LT(found->standard_error / row.expected, 0.015);
    }
}

// ETR-18: neither engine is told to do more than is specified.
TEST(RetryCrossover, OfTheEnginesAsSpecifiedIsThatOfSchemeTwo) {
    struct Row {
        double tlp_loop, micropacket_loop, expected;
    };
    for (const Row& row : {Row{paper::tlp_loop, paper::micropacket_loop, 2.6993e-6},
                           Row{paper::equal_loop, paper::equal_loop, 3.8564e-6}}) {
        const auto [tlp, micropacket] = crossover_sides(row.tlp_loop, row.micropacket_loop, false);
        const auto found = simulate_crossover(tlp, micropacket, row.expected, seed);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_NEAR(found->bit_error / row.expected, 1, 0.05) << "seed " << seed;
    }
}

// ETR-15
TEST(RetryPoint, AStalledSenderLosesThroughputAndNoEtr) {
    for (const auto protocol : {RetryProtocol::pcie, RetryProtocol::ideal}) {
        RetrySettings settings = engine(protocol, 8'248);
        settings.buffer = 2;  // of the 3 that the loop holds
        const RetryPoint point = run(settings, 30'000);
        EXPECT_EQ(point.etr(), 4096.0 / 4124);
        EXPECT_NEAR(point.throughput(), window_throughput(2, 8'248, 4'124) * 4096 / 4124, 1e-4);
        EXPECT_EQ(point.kept_most, 2U);
    }
}

// ETR-16: one notice of PCIe, two copies of HIPPI's; heads that are bad again have the timer, too.
TEST(RetryPoint, LostNoticesEndInTimeoutsByTheirNumberOfCopies) {
    constexpr double q = 0.3;
    constexpr double p = 0.002;
    const auto timeouts_per_gap = [&](RetryProtocol protocol) {
        RetrySettings settings = engine(protocol, 500);
        settings.notice_loss = q;
        const RetryPoint point = run(with_unit_error(settings, p), 2'000'000);
        const double heads = p * p / (1 - p) * point.packets();
        return (static_cast<double>(count(point, RetryCount::timeouts)) - heads) /
               (p * point.packets());
    };
    const double gaps = p * 2e6;
    const auto error = [&](double f) { return std::sqrt(f * (1 - f) / gaps + f * f / gaps); };
    EXPECT_NEAR(timeouts_per_gap(RetryProtocol::pcie), q, 4 * error(q));
    const double both = 1 - (1 - q) * (1 - q);
    EXPECT_NEAR(timeouts_per_gap(RetryProtocol::hippi6400), both, 4 * error(both));
}

// ETR-20: 2000 bytes are 50 micropackets exactly, and the bad one is the 51st.
TEST(RetryPoint, ANoticeThatIsDueAtABoundaryIsTakenThere) {
    const auto lost_each = [](std::uint64_t loop) {
        const RetryPoint point =
            run(with_unit_error(engine(RetryProtocol::hippi6400, loop), 1e-4), 400'000);
        EXPECT_EQ(count(point, RetryCount::timeouts), 0U);
        const auto failures = count(point, RetryCount::replays);
        EXPECT_GT(failures, 20U);
        return static_cast<double>(count(point, RetryCount::wasted)) /
               static_cast<double>(failures);
    };
    EXPECT_EQ(lost_each(2'000), 51);
    EXPECT_EQ(lost_each(2'001), 52);
    EXPECT_EQ(lost_each(1'960), 50);
}

// ETR-21: an Ack for each TLP or for eight changes what goes back, and nothing else.
TEST(RetryPoint, WhatGoesBackChangesNoEtr) {
    RetrySettings settings = with_unit_error(engine(RetryProtocol::pcie, 2'000), 0.01);
    settings.timer = 100'000;
    settings.ack_every = 1;
    const RetryPoint each = run(settings, 100'000);
    settings.ack_every = 8;
    const RetryPoint eighth = run(settings, 100'000);
    EXPECT_GT(count(each, RetryCount::bytes_back), 6 * count(eighth, RetryCount::bytes_back));
    const double heads = static_cast<double>(count(each, RetryCount::timeouts));
    EXPECT_NEAR(each.etr(), eighth.etr(), (1 + heads) * 1e-5);
    // Where no head of a replay is bad, not even by a byte.
    settings = with_unit_error(settings, 1e-4);
    settings.ack_every = 1;
    const double rare = run(settings, 100'000).etr();
    settings.ack_every = 8;
    EXPECT_EQ(run(settings, 100'000).etr(), rare);
}

// Errors on the way back cost what a lost notice costs.
TEST(RetryPoint, ErrorsBothWaysAgreeWithTheClosedForm) {
    for (const auto protocol : {RetryProtocol::pcie, RetryProtocol::hippi6400}) {
        for (const double bit_error : {1e-7, 1e-6, 1e-5}) {
            RetrySettings settings{.protocol = protocol, .bit_error = bit_error};
            const RetryPoint point = run(settings, 400'000);
            EXPECT_GT(point.link.costs.notice_loss, 0);
            EXPECT_TRUE(agrees(point)) << name_of(protocol) << bit_error;
        }
    }
}

TEST(RetryPoint, StopsAtTheRelativeErrorThatIsWanted) {
    for (const auto protocol : {RetryProtocol::pcie, RetryProtocol::ideal}) {
        const RetrySettings settings{.protocol = protocol, .bit_error = 1e-9};
        const auto point = run_retry_point(settings, {.relative_error = 0.02, .seed = seed});
        ASSERT_TRUE(point);
        EXPECT_LE(point->relative_error().value(), 0.02);
        EXPECT_GE(point->relative_error().value(), 0.015);
        EXPECT_TRUE(agrees(*point));
    }
}

// Bit errors alone would have it run a hundred thousand times as long.
TEST(RetryPoint, ErrorsThatNoFormKnowsOfEndItAsSoon) {
    RetrySettings settings{.bit_error = 1e-13};
    settings.bursts = {.begin = 0.01, .end = 0.5, .loss_in_burst = 0.5};
    const auto bursts = run_retry_point(settings, {.packets_max = 2'000'000, .seed = seed});
    ASSERT_TRUE(bursts);
    EXPECT_LE(bursts->relative_error().value(), 0.02);
    EXPECT_LT(bursts->packets(), 1'000'000);
    settings.bursts = {};
    settings.loss_trace = std::make_shared<LossTrace>(LossTrace::read("ok 99\nbad\n", "t").value());
    const auto recorded = run_retry_point(settings, {.packets_max = 2'000'000});
    EXPECT_LT(recorded->packets(), 1'000'000);
}

TEST(RetryPoint, EndsWhereNothingIsEverDamaged) {
    RetrySettings settings;
    settings.bursts = {.begin = 0.1, .end = 1, .loss_in_burst = 0};
    const RetryPlan plan{.packets_max = 1'000'000};
    EXPECT_EQ(run_retry_point(settings, plan)->packets(), 100'000);
    settings.bursts = {};
    settings.loss_trace = std::make_shared<LossTrace>(LossTrace::read("ok\n", "t").value());
    EXPECT_EQ(run_retry_point(settings, plan)->packets(), 100'000);
}

// A stride of SP AM are all its numbers.
TEST(RetryPoint, IsHeardOfEveryTensOfThousandsOfUnits) {
    for (const auto protocol : {RetryProtocol::pcie, RetryProtocol::hippi6400, RetryProtocol::sp_am,
                                RetryProtocol::rc, RetryProtocol::ideal}) {
        for (const bool jump : {true, false}) {
            if (jump && protocol == RetryProtocol::ideal) continue;  // it is over at once
            int heard = 0;
            double last = 0;
            const RetryPlan plan{.packets = 300'000, .jump = jump, .progress = [&](double share) {
                                     EXPECT_LE(share - last, 0.2);
                                     last = share;
                                     ++heard;
                                 }};
            const auto point =
                run_retry_point({.protocol = protocol, .bit_error = 1e-5, .payload = 64}, plan);
            EXPECT_TRUE(point);
            EXPECT_GE(heard, 5) << name_of(protocol) << jump;
        }
    }
}

// Four million units in a row that are not taken.
TEST(RetryPoint, CanBeGivenUpWhereNothingIsTaken) {
    RetrySettings settings;
    settings.loss_trace =
        std::make_shared<LossTrace>(LossTrace::read("ok\nbad 4000000\n", "t").value());
    for (const auto protocol : {RetryProtocol::pcie, RetryProtocol::uc, RetryProtocol::ideal}) {
        settings.protocol = protocol;
        const RetryPlan plan{.packets = 2, .progress = [](double) { throw GivenUp(); }};
        EXPECT_THROW((void)run_retry_point(settings, plan), GivenUp) << name_of(protocol);
    }
}

TEST(RetryPoint, RefusesWhatCannotWork) {
    const auto refused = [](const RetrySettings& settings) {
        const auto link = resolve(settings);
        return link ? std::string() : link.error().message;
    };
    EXPECT_EQ(refused({}), "");
    EXPECT_NE(refused({.bit_error = 1e-18}), "");
    EXPECT_NE(refused({.bit_error = std::nan("")}), "");
    EXPECT_NE(refused({.notice_loss = 1.1}), "");
    EXPECT_NE(refused({.payload = 0}), "");
    EXPECT_NE(refused({.payload = 4097}), "");
    EXPECT_NE(refused({.buffer = 2048}), "");
    EXPECT_NE(refused({.buffer = 3, .ack_every = 4}), "");
    EXPECT_NE(refused({.timer = 4124}), "");
    EXPECT_NE(refused({.protocol = RetryProtocol::hippi6400, .buffer = 255}), "");
    EXPECT_NE(refused({.protocol = RetryProtocol::hippi6400, .timer = 2080}), "");
    EXPECT_NE(refused({.protocol = RetryProtocol::hippi6400, .renak_on_bad_head = true}), "");
    for (const auto model : {RetryProtocol::ideal, RetryProtocol::go_back_n}) {
        EXPECT_EQ(refused({.protocol = model}), "");
        EXPECT_NE(refused({.protocol = model, .loaded_back = true}), "");
        EXPECT_NE(refused({.protocol = model, .notice_loss = 0.5}), "");
        EXPECT_NE(refused({.protocol = model, .timer = 20'000}), "");
    }
}

}  // namespace
}  // namespace wireproof::lab
