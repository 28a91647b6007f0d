// Points on a line of flits. The units here are those of a model: 236 bytes of payload, and 20
// more.
#include "wireproof/lab/link_retry/retry_unit_line.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "wireproof/lab/link_retry/retry_goal.hpp"
#include "wireproof/lab/link_retry/retry_models.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"

namespace wireproof::lab {
namespace {

constexpr std::uint64_t loop = 50 * 256;

RetryLink link_of(const RetrySettings& settings) {
    RetryLink link = resolve({.protocol = settings.protocol, .payload = 236, .loop = loop}).value();
    link.unit = {236, 20};
    link.buffer = 51;
    link.costs = FailureCosts::of({.unit = 256, .loop = loop, .window = 51});
    link.line = UnitLineTerms();
    EXPECT_TRUE(apply_line(settings, link));
    return link;
}

struct Ran {
    RetryPoint point;
    Wide jumped = 0;
};

Ran run(const RetrySettings& settings, Wide units, bool jumps, std::uint64_t seed = 1) {
    const RetryLink link = link_of(settings);
    RetryModel model(link, faults_of(settings, link, seed), jumps);
    model.advance(units);
    Ran ran{point_of(settings, link), model.jumped()};
    take_figures(model, ran.point);
    return ran;
}

RetrySettings line_flits(double bit_error, RetryFec fec) {
    return {.protocol = RetryProtocol::go_back_n, .bit_error = bit_error, .loop = loop, .fec = fec};
}

TEST(RetryUnitLine, TheCostsAreThoseOfTheUnitsThatTheCodeDoesNotRepair) {
    for (const double bit_error : {1e-8, 1e-6, 1e-5, 1e-4}) {
        for (const RetryFec fec : {RetryFec::on, RetryFec::off}) {
            const double failure =
                unit_failure(*link_of(line_flits(bit_error, fec)).line, bit_error);
            const auto units = static_cast<std::uint64_t>(std::max(1e4 / failure, 1e5));
            const RetryPoint point = run(line_flits(bit_error, fec), units, true).point;
            EXPECT_EQ(point.unit_error, failure);
            EXPECT_LT(std::abs(point.deviation().value()), 4) << bit_error;
            // A bad unit costs itself and a loop of 50 units.
            EXPECT_NEAR(point.resend_ratio() / (failure / (1 - failure) * 51), 1, 0.1) << bit_error;
        }
    }
}

// Published: with 100 ns, 0.352 % of the line at 1e-5 with the code, and its whole time without.
TEST(RetryUnitLine, TheCodeSavesTheLine) {
    const double with = run(line_flits(1e-5, RetryFec::on), 20'000'000, true).point.resend_ratio();
    const double without =
        run(line_flits(1e-5, RetryFec::off), 1'000'000, true).point.resend_ratio();
    EXPECT_NEAR(with, 0.00351, 0.0005);
    EXPECT_NEAR(without, 1.055, 0.05);
}

TEST(RetryUnitLine, AJumpEqualsTheUnitsItJumpsOver) {
    for (const RetrySettings& settings :
         {line_flits(1e-5, RetryFec::on), line_flits(1e-6, RetryFec::off), [] {
              RetrySettings bursts = line_flits(1e-5, RetryFec::on);
              bursts.burst_bits = 9;
              bursts.lane_correlation = 0.01;
              return bursts;
          }()}) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            const Ran jumped = run(settings, 1'000'000, true, seed);
            const Ran lived = run(settings, 1'000'000, false, seed);
            EXPECT_GT(jumped.jumped, 900'000U);
            EXPECT_EQ(lived.jumped, 0U);
            for (const auto what : {RetryCount::accepted, RetryCount::units, RetryCount::resent,
                                    RetryCount::wasted, RetryCount::time}) {
                EXPECT_EQ(jumped.point.totals[what], lived.point.totals[what]);
            }
            EXPECT_EQ(jumped.point.line_counts.detected, lived.point.line_counts.detected);
            EXPECT_EQ(jumped.point.line_counts.miscorrected, lived.point.line_counts.miscorrected);
        }
    }
}

// Events are 3000 times as frequent as bad units. A jump passes them, so a point at 1e-9 is quick.
TEST(RetryUnitLine, AJumpPassesEventsThatTheCodeRepairs) {
    const Ran far = run(line_flits(1e-9, RetryFec::on), Wide{1'000'000'000'000'000}, true);
    EXPECT_GT(far.point.line_counts.detected + far.point.line_counts.miscorrected, 500U);
    EXPECT_NEAR(far.point.resend_ratio(), 51 * 6.909e-13, 51 * 6.909e-13 * 0.2);
}

TEST(RetryUnitLine, BadUnitsAreDetectedOrMiscorrected) {
    const RetryPoint point = run(line_flits(1e-5, RetryFec::on), 50'000'000, true).point;
    const UnitLineCounts counts = point.line_counts;
    const auto bad = static_cast<double>(counts.detected + counts.miscorrected);
    const double expected = static_cast<double>(point.totals[RetryCount::units]) * point.unit_error;
    EXPECT_NEAR(bad, expected, 4 * std::sqrt(expected));
    EXPECT_GT(counts.miscorrected, counts.detected / 4);
}

TEST(RetryUnitLine, ALossOfANoticeIsTheFailureOfItsUnit) {
    RetryLink link = link_of(line_flits(1e-6, RetryFec::on));
    EXPECT_EQ(frame_error(link, 1e-6, 8), unit_failure(UnitLineTerms(), 1e-6));
    link.line.reset();
    EXPECT_EQ(frame_error(link, 1e-6, 8), unit_error(1e-6, 8));
}

std::string refused(const RetrySettings& settings, RetryLink link) {
    const auto good = apply_line(settings, link);
    return good ? "" : good.error().message;
}

TEST(RetryUnitLine, RefusesALineThatCannotBe) {
    RetryLink link;
    link.line = UnitLineTerms();
    EXPECT_EQ(refused({}, link), "");
    EXPECT_EQ(refused({.burst_bits = 256, .lanes = 32, .lane_correlation = 1}, link), "");
    EXPECT_NE(refused({.burst_bits = 257}, link), "");
    for (const std::uint32_t lanes : {3U, 64U}) EXPECT_NE(refused({.lanes = lanes}, link), "");
    for (const double share : {-0.1, 1.1, std::nan("")}) {
        EXPECT_NE(refused({.lane_correlation = share}, link), "");
    }
    EXPECT_NE(refused({.lanes = 1, .lane_correlation = 0.1}, link), "");
    link.line->groups = 0;
    EXPECT_EQ(refused({.protocol = RetryProtocol::pcie, .fec = RetryFec::on}, link),
              "pcie has no error-correcting code");
    EXPECT_TRUE(apply_line({}, link));
    EXPECT_FALSE(link.line->corrects);
}

TEST(RetryUnitLine, APresetMayDescribeTheLine) {
    RetryPreset preset;
    preset.bytes_per_second = 32e9;
    preset.settings.lanes = 4;
    preset.settings.fec = RetryFec::off;
    RetryLink link;
    link.line = UnitLineTerms();
    link.bytes_per_second = 128e9;
    EXPECT_TRUE(apply_line(with_preset({}, preset), link));
    EXPECT_EQ(link.line->lanes, 4U);
    EXPECT_FALSE(link.line->corrects);
    EXPECT_EQ(link.bytes_per_second, 32e9);
    const RetrySettings given = with_preset({.fec = RetryFec::on, .lanes = 8}, preset);
    EXPECT_EQ(given.lanes, 8U);
    EXPECT_EQ(given.fec, RetryFec::on);
}

TEST(RetryUnitLine, AProtocolWithoutFlitsHasNoneOfIt) {
    for (const auto protocol : {RetryProtocol::pcie, RetryProtocol::hippi6400, RetryProtocol::sp_am,
                                RetryProtocol::rc, RetryProtocol::ideal}) {
        RetrySettings settings{.protocol = protocol, .payload = 64};
        EXPECT_TRUE(resolve(settings));
        settings.fec = RetryFec::off;
        EXPECT_EQ(resolve(settings).error().message,
                  std::string(name_of(protocol)) +
                      " has no flits: fec, burst bits, lanes and lane correlation are of protocols "
                      "with flits");
        EXPECT_TRUE(resolve(fit_line(settings)));
        for (const RetrySettings& more :
             {RetrySettings{.protocol = protocol, .burst_bits = 2},
              RetrySettings{.protocol = protocol, .lanes = 4},
              RetrySettings{.protocol = protocol, .lane_correlation = 0.1}}) {
            EXPECT_FALSE(resolve(more));
        }
    }
}

}  // namespace
}  // namespace wireproof::lab
