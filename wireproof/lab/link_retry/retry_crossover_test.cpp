#include "wireproof/lab/link_retry/retry_crossover.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "wireproof/lab/link_retry/retry_paper.hpp"

namespace wireproof::lab {
namespace {

using Measured = std::array<EtrDifference, crossover_rates>;

// Values as if measured without an error; `near` is not the crossover itself.
Measured exactly(const std::array<RetryCurve, 2>& curves, double near) {
    Measured measured{};
    constexpr std::array<double, crossover_rates> factors = {0.8, 0.9, 1, 1.1, 1.25};
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const double b = near * factors[i];
        measured[i] = {b, curves[0].etr(b) - curves[1].etr(b), 1e-6};
    }
    return measured;
}

std::array<RetryCurve, 2> as_specified() {
    return closed_forms_of(crossover_sides(paper::equal_loop, paper::equal_loop, false)).value();
}

// A straight line is 0.6 to 0.9 % too low here, which is more than the standard error.
TEST(FittedCrossover, FollowsTheBendOfTheDifference) {
    for (const auto& curves :
         {paper::corrected_curves(), paper::curves_with_loop(paper::equal_loop), as_specified()}) {
        const double b = crossover(curves[0], curves[1]).value();
        for (const double near : {b, 0.95 * b, 1.05 * b}) {
            const auto found = fitted_crossover(exactly(curves, near));
            ASSERT_TRUE(found) << found.error().message;
            EXPECT_NEAR(found->bit_error / b, 1, 5e-4) << near / b;
        }
        // The order of the sides makes no difference.
        const auto turned = fitted_crossover(exactly({curves[1], curves[0]}, b));
        EXPECT_NEAR(turned.value().bit_error / b, 1, 5e-4);
    }
}

// If one measurement moves by its standard error, the zero moves too. The squares of these
// movements must add up to the variance of the zero.
TEST(FittedCrossover, TheStandardErrorIsThatOfTheZero) {
    const auto curves = paper::curves_with_loop(paper::equal_loop);
    Measured measured = exactly(curves, crossover(curves[0], curves[1]).value());
    for (std::size_t i = 0; i < measured.size(); ++i) {
        measured[i].variance = 1e-8 * static_cast<double>(i + 1);
    }
    const SimulatedCrossover zero = fitted_crossover(measured).value();
    double squares = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) {
        Measured moved = measured;
        moved[i].difference += std::sqrt(moved[i].variance);
        const double by = fitted_crossover(moved).value().bit_error - zero.bit_error;
        squares += by * by;
    }
    EXPECT_NEAR(zero.standard_error / std::sqrt(squares), 1, 0.02);
}

TEST(FittedCrossover, DoesNotExistIfTheCurvesDoNotMeetThere) {
    const auto curves = paper::corrected_curves();
    const double b = crossover(curves[0], curves[1]).value();
    EXPECT_FALSE(fitted_crossover(exactly(curves, 2 * b)));
    EXPECT_FALSE(fitted_crossover(exactly(curves, b / 2)));
}

// The program must compare with the formula of the engines that it simulates: PCIe's notices wait
// for the end of a replay, and HIPPI's window of 127 limits what a timeout may cost.
TEST(Crossover, TheClosedFormOfTheEnginesHasAllTheirTerms) {
    const auto [tlp, micropacket] = as_specified();
    EXPECT_EQ(tlp.scheme, RetryScheme::patient_notice);
    EXPECT_EQ(micropacket.scheme, RetryScheme::one_notice);
    EXPECT_EQ(micropacket.costs.head_timer, 127);
    const double b = crossover(tlp, micropacket).value();
    EXPECT_NEAR(b, 3.7935e-6, 5e-11);
    const RetryCurve hasty{RetryScheme::one_notice, tlp.unit, tlp.costs};
    EXPECT_NEAR(crossover(hasty, micropacket).value(), 3.8546e-6, 5e-11);
}

// Micropackets that are simulated beside TLPs with a fresh notice for every failure follow form
// (ii), but the paper's comparison uses form (i) for them. This hardly moves the crossover.
TEST(Crossover, OfThePaperHardlyDependsOnTheFormOfTheMicropackets) {
    const auto moved = [](const std::array<RetryCurve, 2>& paper_curves, double tlp_loop,
                          double micropacket_loop) {
        const auto curves =
            closed_forms_of(crossover_sides(tlp_loop, micropacket_loop, true)).value();
        EXPECT_EQ(curves[0].scheme, RetryScheme::fresh_notice);
        return crossover(curves[0], curves[1]).value() /
                   crossover(paper_curves[0], paper_curves[1]).value() -
               1;
    };
    EXPECT_NEAR(moved(paper::corrected_curves(), paper::tlp_loop, paper::micropacket_loop), 0,
                0.002);
    EXPECT_NEAR(
        moved(paper::curves_with_loop(paper::equal_loop), paper::equal_loop, paper::equal_loop), 0,
        0.002);
}

}  // namespace
}  // namespace wireproof::lab
