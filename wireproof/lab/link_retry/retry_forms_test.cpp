#include "wireproof/lab/link_retry/retry_forms.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "wireproof/lab/link_retry/retry_paper.hpp"

namespace wireproof::lab {
namespace {

// ETR-1: each figure, to as many digits as the analysis gives.
TEST(RetryPaper, RecomputesEachFigureOfTheTable) {
    EXPECT_NEAR(paper::tlp_etr_printed(0), 0.993210, 5e-7);
    EXPECT_NEAR(paper::tlp_etr_printed(1), 0.24830, 5e-6);
    EXPECT_NEAR(paper::tlp_etr_printed(2), 0.12415, 5e-6);
    EXPECT_NEAR(paper::tlp_etr_printed(3), 0.08277, 5e-6);
    EXPECT_NEAR(paper::tlp_etr(1), 0.24830, 5e-6);
    EXPECT_NEAR(paper::tlp_etr(2), 0.14189, 5e-6);
    EXPECT_NEAR(paper::tlp_etr(3), 0.09932, 5e-6);
    EXPECT_NEAR(paper::micropacket_etr(0), 0.8, 1e-15);
    EXPECT_NEAR(paper::micropacket_etr(1), 0.57528, 5e-6);
    EXPECT_NEAR(paper::micropacket_etr(2), 0.44912, 5e-6);
    EXPECT_NEAR(paper::micropacket_etr(3), 0.36835, 5e-6);
    EXPECT_NEAR(unit_error(1e-15, 4096), 3.2768e-11, 5e-16);
    EXPECT_NEAR(unit_error(1e-15, 4124), 3.2992e-11, 5e-16);
    EXPECT_NEAR(unit_error(1e-15, 5120), 4.0960e-11, 5e-16);
}

// ETR-2
TEST(RetryPaper, TheLiteralSumsAreEqualAtTheRootAndNotAtTheRoundedRootOfThePaper) {
    const double equal = paper::equal_message_error();
    EXPECT_NEAR(equal, 0.37808, 5e-6);
    EXPECT_NEAR(paper::message_bit_error(equal), 1.4494e-5, 5e-10);
    EXPECT_NEAR(paper::tlp_average(0.40), 0.6720, 5e-5);
    EXPECT_NEAR(paper::micropacket_average(0.40), 0.6827, 5e-5);
}

// ETR-3
TEST(RetryPaper, ThePrintedCrossoverIsThatOfTheRoundedProbability) {
    EXPECT_NEAR(unit_error(paper::printed_crossover, 4096), 0.4002, 5e-5);
    EXPECT_NEAR(paper::message_bit_error(0.40), 1.5589e-5, 5e-10);
}

// ETR-4: the table of section 4, and the error probabilities of the units to its digits.
TEST(RetryForms, GiveTheReferenceTableToSixDigits) {
    struct Row {
        double bit_error, tlp, micropacket, tlp_selective, micropacket_selective, tlp_error,
            micropacket_error;
    };
    constexpr std::array<Row, 11> rows = {{
        {1e-15, .993210, .800000, .993210, .800000, 3.2992e-11, 3.2e-13},
        {1e-12, .993210, .800000, .993210, .800000, 3.2992e-8, 3.2e-10},
        {1e-9, .993112, .799987, .993178, .800000, 3.29915e-5, 3.2e-7},
        {1e-8, .992228, .799872, .992883, .799997, 3.29866e-4, 3.19999e-6},
        {1e-7, .983461, .798722, .989939, .799974, 3.29376e-3, 3.19995e-5},
        {1e-6, .902404, .787400, .960977, .799744, .0324537, 3.19949e-4},
        {5e-6, .645764, .740697, .842170, .798721, .152073, 1.59872e-3},
        {1e-5, .457158, .689502, .714099, .797444, .281020, 3.19490e-3},
        {1.56e-5, .328953, .639884, .593634, .796016, .402308, 4.97960e-3},
        {3e-5, .163575, .539695, .369137, .792357, .628340, 9.55421e-3},
        {1e-4, .012527, .304651, .036656, .774804, .963093, .031495},
    }};
    const auto [tlp, micropacket] = paper::corrected_curves();
    RetryCurve tlp_selective = tlp;
    RetryCurve micropacket_selective = micropacket;
    tlp_selective.scheme = micropacket_selective.scheme = RetryScheme::selective_repeat;
    for (const Row& row : rows) {
        const double b = row.bit_error;
        EXPECT_NEAR(tlp.etr(b), row.tlp, 5.1e-7) << b;
        EXPECT_NEAR(micropacket.etr(b), row.micropacket, 5.1e-7) << b;
        EXPECT_NEAR(tlp_selective.etr(b), row.tlp_selective, 5.1e-7) << b;
        EXPECT_NEAR(micropacket_selective.etr(b), row.micropacket_selective, 5.1e-7) << b;
        EXPECT_NEAR(unit_error(b, 4124), row.tlp_error, 2e-5 * row.tlp_error) << b;
        EXPECT_NEAR(unit_error(b, 40), row.micropacket_error, 2e-5 * row.micropacket_error) << b;
    }
}

// ETR-4, ETR-12, ETR-13: the crossovers in closed form, and the best payloads.
TEST(RetryForms, GiveTheReferenceCrossovers) {
    struct Row {
        double loop, tlp_lost, micropackets_lost, crossover, etr;
    };
    constexpr std::array<Row, 6> rows = {{{0, 1, 1, 6.6213e-6, .79831},
                                          {2000, 2, 51, 4.7238e-6, .74270},
                                          {4124, 2, 105, 7.3414e-6, .64156},
                                          {8248, 3, 208, 7.9413e-6, .52313},
                                          {12372, 4, 311, 8.4676e-6, .43388},
                                          {50000, 14, 1251, 7.9414e-6, .19124}}};
    for (const Row& row : rows) {
        const auto [tlp, micropacket] = paper::curves_with_loop(row.loop);
        EXPECT_EQ(tlp.costs.by_notice, row.tlp_lost) << row.loop;
        EXPECT_EQ(micropacket.costs.by_notice, row.micropackets_lost) << row.loop;
        const auto b = crossover(tlp, micropacket);
        ASSERT_TRUE(b) << row.loop;
        EXPECT_NEAR(*b, row.crossover, 5e-11) << row.loop;
        EXPECT_NEAR(tlp.etr(*b), row.etr, 5e-6) << row.loop;
    }
    const auto [tlp, micropacket] = paper::corrected_curves();
    const double b = crossover(tlp, micropacket).value();
    EXPECT_NEAR(b, 2.8768e-6, 5e-11);
    EXPECT_NEAR(tlp.etr(b), 0.7648, 5e-5);
    EXPECT_NEAR(unit_error(b, 4124), 0.09055, 5e-6);
    EXPECT_EQ(best_payload(1e-6, 28, 2000), 1972);
    EXPECT_EQ(best_payload(1e-5, 28, 2000), 640);
    EXPECT_EQ(best_payload(1e-4, 28, 2000), 172);
    // A curve that is better everywhere has no crossover.
    EXPECT_FALSE(crossover(tlp, {RetryScheme::fresh_notice, tlp.unit, {.by_notice = 4}}));
}

// ETR-18: PCIe and HIPPI as specified, scheme (ii).
TEST(RetryForms, GiveTheReferenceCrossoversOfOneNoticePerGap) {
    const auto curve = [](const LineUnit& unit, FailureCosts costs) {
        return RetryCurve{RetryScheme::one_notice, unit, costs};
    };
    const auto between = [&](FailureCosts tlp, FailureCosts micropacket) {
        return crossover(curve(paper::tlp, tlp), curve(paper::micropacket, micropacket)).value();
    };
    EXPECT_NEAR(between({.by_notice = 3, .head_timer = 5}, {.by_notice = 50, .head_timer = 199}),
                2.6993e-6, 5e-11);
    EXPECT_NEAR(between({.by_notice = 2, .head_timer = 5}, {.by_notice = 51, .head_timer = 205}),
                3.8564e-6, 5e-11);
    EXPECT_NEAR(between({.by_notice = 2, .head_timer = 7}, {.by_notice = 51, .head_timer = 205}),
                3.5126e-6, 5e-11);
    EXPECT_EQ(FailureCosts::of({.unit = 4124, .loop = 2000, .timer = 12429}).head_timer, 5);
}

// ETR-10
TEST(RetryForms, WithoutErrorsEverySchemeGivesItsEfficiencyExactly) {
    const FailureCosts costs{.by_notice = 51, .first_timer = 253, .head_timer = 205};
    for (const auto scheme : {RetryScheme::selective_repeat, RetryScheme::fresh_notice,
                              RetryScheme::one_notice, RetryScheme::timeout_only}) {
        EXPECT_EQ((RetryCurve{scheme, paper::tlp, costs}.etr(0)), 4096.0 / 4124);
        EXPECT_EQ((RetryCurve{scheme, paper::micropacket, costs}.etr(0)), 0.8);
        EXPECT_EQ(resend_ratio_error(scheme, 0, costs, 1), 0);
    }
}

// ETR-11
TEST(RetryForms, GoingBackByOneUnitIsSelectiveRepeat) {
    for (const double p : {1e-12, 1e-3, 0.1, 0.5}) {
        EXPECT_DOUBLE_EQ(resend_ratio(RetryScheme::fresh_notice, p, {.by_notice = 1}),
                         resend_ratio(RetryScheme::selective_repeat, p, {.by_notice = 9}));
    }
}

// ETR-14
TEST(RetryPaper, OneAcknowledgementATlpCostsATenthOfAPercent) {
    EXPECT_NEAR(paper::tlp_etr_with_acks(), 0.991288, 5e-7);
}

// ETR-17
TEST(RetryForms, ProbabilitiesKeepTheirDigitsAtTheSmallestRates) {
    EXPECT_NEAR(unit_error(1e-15, 4124) / 3.2992e-11, 1, 1e-9);
    EXPECT_NEAR(unit_error(1e-30, 4124) / 3.2992e-26, 1, 1e-9);
    EXPECT_NEAR(bit_error_of(unit_error(1e-15, 4124), 4124) / 1e-15, 1, 1e-12);
    const double ratio =
        resend_ratio(RetryScheme::fresh_notice, unit_error(1e-15, 4124), {.by_notice = 3});
    EXPECT_NEAR(ratio / (3 * 3.2992e-11), 1, 1e-9);
}

// ETR-19: a failure of a fresh unit and of the head of a replay have different costs.
TEST(RetryForms, KeepTheTwoKindsOfTimerFailureApart) {
    const FailureCosts apart =
        FailureCosts::of({.unit = 40, .loop = 49.5 * 40, .timer = 203.5 * 40}, 0.3);
    EXPECT_EQ(apart.by_notice, 51);
    EXPECT_EQ(apart.first_timer, 253);
    EXPECT_EQ(apart.head_timer, 205);
    FailureCosts one = apart;
    one.first_timer = one.head_timer;
    EXPECT_NEAR(1 + resend_ratio(RetryScheme::one_notice, 0.05, apart), 7.12, 5e-3);
    EXPECT_NEAR(1 + resend_ratio(RetryScheme::one_notice, 0.05, one), 6.40, 5e-3);
    EXPECT_NEAR(1 + resend_ratio(RetryScheme::timeout_only, 0.05, apart), 14.19, 5e-3);
    EXPECT_NEAR(1 + resend_ratio(RetryScheme::timeout_only, 0.05, one), 11.79, 5e-3);
}

// p^2 (1 - p^2)^k is the probability that a timeout was k + 1 units ago. The rest of its replay of
// M2 units is the cost of one more failure.
TEST(RetryForms, ANoticeThatWaitsForAReplayCostsTheRestOfIt) {
    const FailureCosts costs{.by_notice = 2, .first_timer = 4, .head_timer = 5};
    const double p = 0.3;
    EXPECT_NEAR(resend_ratio(RetryScheme::patient_notice, p, costs),
                resend_ratio(RetryScheme::one_notice, p, costs) +
                    p * (p * p * (4 - 2) + p * p * (1 - p * p) * (3 - 2)),
                1e-12);
    EXPECT_EQ(resend_ratio(RetryScheme::patient_notice, 1e-9, costs),
              resend_ratio(RetryScheme::one_notice, 1e-9, costs));
    // If the timer is shorter than the way of a notice, no replay is left to wait for.
    EXPECT_EQ(resend_ratio(RetryScheme::patient_notice, p, {.by_notice = 4, .head_timer = 5}),
              resend_ratio(RetryScheme::one_notice, p, {.by_notice = 4, .head_timer = 5}));
}

// The results of the slot simulations that the analysis quotes.
TEST(RetryForms, GiveTheThroughputOfTheAnalysis) {
    const auto share = [](RetryScheme scheme, double p, const FailureCosts& costs) {
        return 1 / (1 + resend_ratio(scheme, p, costs));
    };
    const FailureCosts four{.by_notice = 4, .first_timer = 13, .head_timer = 13};
    EXPECT_NEAR(share(RetryScheme::fresh_notice, 0.1, four), .6923, 5e-5);
    EXPECT_NEAR(share(RetryScheme::one_notice, 0.1, four), .6475, 5e-5);
    FailureCosts deaf = four;
    deaf.notice_loss = 0.5;
    EXPECT_NEAR(share(RetryScheme::one_notice, 0.1, deaf), .5014, 5e-5);
    EXPECT_NEAR(
        1 + resend_ratio(RetryScheme::fresh_notice, 0.1,
                         {.by_notice = 4, .first_timer = 14, .head_timer = 13, .notice_loss = 0.3}),
        1.774, 5e-4);
    EXPECT_EQ(window_throughput(2, 8248, 4124), 2.0 / 3);
    EXPECT_EQ(window_throughput(9, 8248, 4124), 1);
}

// The error is N sqrt(p) / ((1 - p) sqrt n) for scheme (i). Timeouts make it larger.
TEST(RetryForms, TheStandardErrorIsThatOfTheGeometricLaw) {
    const FailureCosts costs{.by_notice = 51, .first_timer = 253, .head_timer = 205};
    const double p = 0.1;
    EXPECT_NEAR(resend_ratio_error(RetryScheme::fresh_notice, p, costs, 1e6),
                51 * std::sqrt(p) / (1 - p) / 1e3, 1e-9);
    const double g1 = p / (1 - p);
    const double g2 = p * (1 + p) / (1 - p) / (1 - p);
    const double ratio = resend_ratio(RetryScheme::one_notice, p, costs);
    EXPECT_NEAR(resend_ratio_error(RetryScheme::one_notice, p, costs, 1e6),
                std::sqrt(p * (51 * 51 + 2 * 51 * 205 * g1 + 205 * 205 * g2) - ratio * ratio) / 1e3,
                1e-9);
}

}  // namespace
}  // namespace wireproof::lab
