// Simulated points: closed forms that a short run confirms, the ends of a run, and settings that
// are refused.
#include <gtest/gtest.h>

#include <cmath>

#include "wireproof/lab/link_retry/retry_test_kit.hpp"

namespace wireproof::lab {
namespace {

using namespace test;

struct GivenUp {};

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

// ETR-15
TEST(RetryPoint, ATlpMayHaveAnotherOverhead) {
    for (const std::uint32_t overhead : {24U, 40U}) {  // without an ECRC; with a longer header
        RetrySettings settings = engine(RetryProtocol::pcie, 2'000);
        settings.overhead = overhead;
        EXPECT_EQ(run(settings, 10'000).etr(), 4096.0 / (4096 + overhead));
        const RetryPoint point = run(with_unit_error(settings, 1e-3), 300'000);
        EXPECT_EQ(point.link.unit.bytes(), 4096 + overhead);
        EXPECT_TRUE(agrees(point)) << overhead;
    }
    EXPECT_EQ(resolve({.overhead = 8}).error().message, "overhead of pcie is 12 to 64");
    RetrySettings other;
    other.protocol = RetryProtocol::hippi6400;
    other.overhead = 24;
    EXPECT_EQ(resolve(other).error().message, "overhead works only with pcie");
}

TEST(RetryPoint, AStalledSenderLosesThroughputAndNoEtr) {
    for (const auto protocol : {RetryProtocol::pcie, RetryProtocol::ideal}) {
        RetrySettings settings = engine(protocol, 8'248);
        settings.buffer = 2;  // the loop holds 3
        const RetryPoint point = run(settings, 30'000);
        EXPECT_EQ(point.etr(), 4096.0 / 4124);
        EXPECT_NEAR(point.throughput(), window_throughput(2, 8'248, 4'124) * 4096 / 4124, 1e-4);
        EXPECT_EQ(point.kept_most, 2U);
    }
}

// ETR-21: one Ack for each TLP or for eight TLPs changes only the frames of the way back.
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
    // If no head of a replay is bad, the results are equal to the byte.
    settings = with_unit_error(settings, 1e-4);
    settings.ack_every = 1;
    const double rare = run(settings, 100'000).etr();
    settings.ack_every = 8;
    EXPECT_EQ(run(settings, 100'000).etr(), rare);
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

// The receiver takes none of four million units in a row.
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

// Each failure costs a round, and the sender keeps the units of one round.
TEST(RetryPoint, ModelsCountWhatIsKeptAndHowLateAUnitIs) {
    for (const auto protocol : {RetryProtocol::ideal, RetryProtocol::go_back_n}) {
        RetrySettings settings{.protocol = protocol, .loop = 12'372};
        settings = with_unit_error(settings, 0.002);
        const RetryPoint point = run(settings, 100'000);
        EXPECT_GT(point.jumped, Wide{90'000});
        EXPECT_EQ(point.kept_most, 4U);
        EXPECT_NEAR(point.kept_mean, 4, 0.05) << name_of(protocol);
        // One unit in 500 is late. The figures of a histogram have three digits.
        for (const std::size_t share : {0U, 1U}) {
            EXPECT_NEAR(static_cast<double>(point.latency[share]), 4'124, 8);
        }
        EXPECT_NEAR(static_cast<double>(point.latency[2]), 4'124 + 16'496, 1'000);
        EXPECT_EQ((point.latency[3] - 4'124) % 16'496, 0U);
        const auto lived =
            run_retry_point(settings, {.packets = 100'000, .jump = false, .seed = seed});
        EXPECT_EQ(lived->latency, point.latency);
        EXPECT_EQ(lived->totals, point.totals);
        EXPECT_EQ(lived->kept_mean, point.kept_mean);
    }
}

// The run asks now and then, also when it jumps, and its counts up to then are right.
TEST(RetryPoint, IsStoppedWhenItsTimeIsOver) {
    for (const auto protocol : {RetryProtocol::pcie, RetryProtocol::hippi6400, RetryProtocol::sp_am,
                                RetryProtocol::rc, RetryProtocol::ideal}) {
        for (const bool jump : {true, false}) {
            if (jump && protocol == RetryProtocol::ideal) continue;  // the run ends at once
            int asked = 0;
            RetryPlan plan{.packets = 10'000'000'000, .jump = jump, .out_of_time = [&asked] {
                               return ++asked == 3;
                           }};
            const RetrySettings settings{.protocol = protocol, .bit_error = 1e-5, .payload = 64};
            const auto point = run_retry_point(settings, plan);
            ASSERT_TRUE(point) << name_of(protocol);
            EXPECT_TRUE(point->stopped) << name_of(protocol);
            EXPECT_EQ(asked, 3);
            EXPECT_GT(point->packets(), 0);
            EXPECT_LT(point->packets(), 1e7);
            plan = {.packets = static_cast<std::uint64_t>(point->packets()), .jump = jump};
            const auto whole = run_retry_point(settings, plan);
            EXPECT_FALSE(whole->stopped);
            EXPECT_EQ(whole->resend_ratio(), point->resend_ratio()) << name_of(protocol);
        }
    }
}

// Without errors there is no notice, so none is lost, and nothing else is.
TEST(RetryPoint, TheLossOfNoticesLosesNothingOnALineWithoutErrors) {
    for (std::size_t i = 0; i < retry_protocol_names.size(); ++i) {
        RetrySettings settings{.protocol = static_cast<RetryProtocol>(i), .notice_loss = 0.9};
        if (!resolve(settings)) continue;
        const auto point = run_retry_point(settings, {.packets = 20'000});
        settings.notice_loss = 0;
        const auto quiet = run_retry_point(settings, {.packets = 20'000});
        ASSERT_TRUE(point && quiet) << retry_protocol_names[i];
        EXPECT_TRUE(point->totals == quiet->totals) << retry_protocol_names[i];
        EXPECT_EQ(point->totals[RetryCount::timeouts], 0U) << retry_protocol_names[i];
    }
}

}  // namespace
}  // namespace wireproof::lab
