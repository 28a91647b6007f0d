#include "wireproof/lab/sweep/sweep_curves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace wireproof::lab {
namespace {

SweepFigures point(RetryProtocol protocol, double ber, std::uint32_t payload = 4096,
                   std::uint64_t loop = 2000) {
    SweepFigures figures;
    figures.settings = {.protocol = protocol, .bit_error = ber, .payload = payload, .loop = loop};
    const RetryPoint foreseen = foreseen_point(figures.settings).value();
    figures.closed_ratio = foreseen.closed_ratio();
    figures.closed_etr = foreseen.closed_etr();
    figures.resend_ratio = 1.1 * *figures.closed_ratio;
    figures.etr = etr_of(foreseen.link.unit, figures.resend_ratio);
    figures.throughput = 0.9 * figures.etr;
    figures.relative_error = 0.1;
    figures.asked = {{"protocol", "", std::string(name_of(protocol))},
                     {std::string(bit_error_rate), "", std::to_string(1e15 * ber), ber},
                     {"payload", "bytes", std::to_string(payload), double(payload)},
                     {"loop", "bytes", std::to_string(loop), double(loop)},
                     {"loaded back", "", ""}};
    return figures;
}

std::vector<std::string> names(const report::ReportPlot& plot) {
    std::vector<std::string> all;
    for (const auto& series : plot.series) all.push_back(series.name);
    return all;
}

std::optional<double> value_at(const report::ReportPlot& plot, std::size_t series, double x) {
    for (std::size_t i = 0; i < plot.x.size(); ++i) {
        if (plot.x[i] == x) return plot.series[series].values[i];
    }
    ADD_FAILURE() << x << " is no place of the axis";
    return std::nullopt;
}

TEST(SweepCurves, RatesAreTheAxisAndEveryOtherCombinationACurve) {
    std::vector<SweepFigures> points;
    for (const auto protocol : {RetryProtocol::pcie, RetryProtocol::ideal}) {
        for (const std::uint32_t payload : {256U, 4096U}) {
            for (const double ber : {1e-9, 1e-7}) points.push_back(point(protocol, ber, payload));
        }
    }
    const SweepCurves curves = curves_of(points);
    ASSERT_EQ(curves.etr.size(), 1U);
    const report::ReportPlot& etr = curves.etr[0];
    EXPECT_EQ(names(etr), (std::vector<std::string>{
                              "pcie, payload 256", "pcie, payload 4096", "ideal, payload 256",
                              "ideal, payload 4096", "pcie, payload 256, closed form",
                              "pcie, payload 4096, closed form", "ideal, payload 256, closed form",
                              "ideal, payload 4096, closed form"}));
    EXPECT_EQ(etr.x_name, bit_error_rate);
    EXPECT_TRUE(etr.log_x && etr.decades && etr.percent && !etr.log_y);
    EXPECT_TRUE(curves.resends[0].log_y);
    EXPECT_EQ(value_at(etr, 1, 1e-7), points[3].etr);
    EXPECT_EQ(value_at(curves.resends[0], 2, 1e-9), points[4].resend_ratio);
    EXPECT_EQ(value_at(curves.throughput[0], 3, 1e-7), points[7].throughput);
    EXPECT_EQ(etr.series[5].formula_of, 1U);
    EXPECT_EQ(etr.series[5].color, 1U);
}

TEST(SweepCurves, EveryCurveHasAName) {
    std::vector<SweepFigures> points;
    for (const double ber : {1e-7, 1e-6}) {
        for (const char* const text : {"", "loaded back"}) {
            points.push_back(point(RetryProtocol::pcie, ber));
            points.back().asked.back().text = text;
        }
    }
    EXPECT_EQ(names(curves_of(points).etr[0]),
              (std::vector<std::string>{"pcie", "loaded back", "pcie, closed form",
                                        "loaded back, closed form"}));
}

TEST(SweepCurves, AClosedFormIsThereBetweenThePointsToo) {
    const std::vector<SweepFigures> points = {point(RetryProtocol::pcie, 1e-7),
                                              point(RetryProtocol::pcie, 1e-5)};
    const report::ReportPlot plot = curves_of(points).resends[0];
    EXPECT_GE(plot.x.size(), 17U);
    for (std::size_t i = 0; i < plot.x.size(); ++i) {
        RetrySettings settings = points[0].settings;
        settings.bit_error = plot.x[i];
        const RetryPoint foreseen = foreseen_point(settings).value();
        const bool shown = foreseen.shows_closed_form();
        EXPECT_EQ(plot.series[1].values[i], shown ? foreseen.closed_ratio() : std::nullopt);
        const bool simulated = plot.x[i] == 1e-7 || plot.x[i] == 1e-5;
        EXPECT_EQ(plot.series[0].values[i].has_value(), simulated) << plot.x[i];
    }
}

TEST(SweepCurves, APointAloneStandsOnTheClosedFormAroundIt) {
    const SweepCurves curves = curves_of(std::vector{point(RetryProtocol::pcie, 1e-9)});
    EXPECT_TRUE(curves.throughput.empty());
    const report::ReportPlot& plot = curves.etr[0];
    EXPECT_NEAR(plot.x.front() / 1e-11, 1, 1e-6);
    EXPECT_NEAR(plot.x.back() / 1e-7, 1, 1e-6);
    EXPECT_EQ(names(plot), (std::vector<std::string>{"pcie", "pcie, closed form"}));
}

TEST(SweepCurves, BandsAreTheConfidenceOfTheResendRatio) {
    const std::vector<SweepFigures> points = {point(RetryProtocol::pcie, 1e-6),
                                              point(RetryProtocol::pcie, 1e-5)};
    const SweepCurves curves = curves_of(points);
    const auto [few, many] = confidence(points[1].resend_ratio, 0.1);
    EXPECT_NEAR(many / points[1].resend_ratio, std::exp(0.196), 1e-12);
    EXPECT_NEAR(many * few, points[1].resend_ratio * points[1].resend_ratio, 1e-12);
    const auto& ratio = curves.resends[0].series[0];
    EXPECT_EQ(ratio.low.back(), few);
    EXPECT_EQ(ratio.high.back(), many);
    const auto& etr = curves.etr[0].series[0];
    EXPECT_NEAR(*etr.low.back(), 4096.0 / 4124 / (1 + many), 1e-12);
    EXPECT_NEAR(*etr.high.back(), 4096.0 / 4124 / (1 + few), 1e-12);
    EXPECT_LT(*etr.low.back(), *etr.values.back());
    EXPECT_TRUE(curves.throughput[0].series[0].low.empty());
}

TEST(SweepCurves, TheQuantityOfTheMostValuesIsTheAxis) {
    std::vector<SweepFigures> points;
    for (const std::uint64_t loop : {500U, 2000U, 8000U}) {
        points.push_back(point(RetryProtocol::pcie, 1e-6, 4096, loop));
    }
    const report::ReportPlot plot = curves_of(points).etr[0];
    EXPECT_EQ(plot.x_name, "loop, bytes");
    EXPECT_EQ(plot.x, (std::vector<double>{500, 2000, 8000}));
    EXPECT_TRUE(plot.log_x && !plot.decades);
    EXPECT_EQ(value_at(plot, 1, 2000), points[1].closed_etr);
    std::vector<SweepFigures> rates = points;
    for (const std::uint64_t loop : {500U, 2000U, 8000U}) {
        rates.push_back(point(RetryProtocol::pcie, 1e-5, 4096, loop));
    }
    EXPECT_EQ(curves_of(rates).etr[0].x, plot.x);
    EXPECT_EQ(names(curves_of(rates).etr[0])[1].rfind("bit error rate ", 0), 0U);
    points[0] = point(RetryProtocol::pcie, 1e-6, 4096, 0);
    EXPECT_FALSE(curves_of(points).etr[0].log_x);
}

// uc resends nothing and has no replay buffer.
TEST(SweepCurves, APointWithoutTheQuantityLeavesTheAxisToTheOthers) {
    std::vector<SweepFigures> points;
    for (const double ber : {1e-7, 1e-6}) {
        for (const double buffer : {2, 4, 8}) {
            points.push_back(point(RetryProtocol::pcie, ber));
            points.back().asked.push_back(
                {"replay buffer", "units", std::to_string(int(buffer)), buffer});
        }
        points.push_back(point(RetryProtocol::uc, ber));
        points.back().asked.push_back(
            {.name = "replay buffer", .unit = "", .text = "the protocol's own", .own = true});
    }
    std::rotate(points.begin(), points.begin() + 3, points.end());  // now uc is first
    const SweepCurves curves = curves_of(points);
    EXPECT_EQ(curves.left_out, 2U);
    EXPECT_EQ(curves.etr[0].x_name, "replay buffer, units");
    EXPECT_EQ(curves.etr[0].x, (std::vector<double>{2, 4, 8}));
    points.push_back(point(RetryProtocol::uc, 1e-8));
    points.back().asked.push_back(points.front().asked.back());
    for (const double ber : {1e-9, 1e-8}) {
        points.push_back(point(RetryProtocol::pcie, ber));
        points.back().asked.push_back(points[1].asked.back());
    }
    const report::ReportPlot rates = curves_of(points).etr[0];
    EXPECT_EQ(rates.x_name, bit_error_rate);
    EXPECT_EQ(names(rates)[0], "uc, replay buffer the protocol's own");
}

// Each point has its own loop, so a curve over loops would have only one point.
TEST(SweepCurves, EachNamedLineIsACurveOverTheErrorRate) {
    std::vector<SweepFigures> points;
    for (const std::uint64_t loop : {500U, 1000U, 2000U, 4000U}) {
        for (const double ber : {1e-9, 1e-8}) {
            points.push_back(point(RetryProtocol::pcie, ber, 4096, loop));
            points.back().asked.push_back({"preset", "", "line-" + std::to_string(loop)});
        }
    }
    const report::ReportPlot plot = curves_of(points).etr[0];
    EXPECT_EQ(plot.x_name, bit_error_rate);
    ASSERT_EQ(plot.series.size(), 8U);
    EXPECT_EQ(names(plot)[1], "line-1000");
    EXPECT_EQ(value_at(plot, 1, 1e-8), points[3].etr);
}

TEST(SweepCurves, ManyCurvesHaveAPlotForEachValueOfAQuantity) {
    std::vector<SweepFigures> points;
    for (const auto protocol :
         {RetryProtocol::pcie, RetryProtocol::hippi6400, RetryProtocol::ideal}) {
        for (const std::uint32_t payload : {256U, 1024U, 4096U}) {
            for (const double ber : {1e-9, 1e-8, 1e-7, 1e-6})
                points.push_back(point(protocol, ber, payload));
        }
    }
    const SweepCurves curves = curves_of(points);
    ASSERT_EQ(curves.etr.size(), 3U);
    EXPECT_EQ(curves.etr[1].title, "payload 1024 bytes");
    EXPECT_EQ(curves.throughput[1].series.size(), 3U);
    EXPECT_EQ(names(curves.throughput[1])[1], "hippi6400");
    EXPECT_EQ(value_at(curves.etr[1], 0, 1e-7), points[6].etr);
}

TEST(SweepCurves, PointsWithoutErrorsHaveNoPlaceOnTheAxisAndAreCounted) {
    std::vector<SweepFigures> points = {point(RetryProtocol::pcie, 0),
                                        point(RetryProtocol::pcie, 1e-9)};
    const SweepCurves curves = curves_of(points);
    EXPECT_EQ(curves.left_out, 1U);
    EXPECT_GT(curves.etr[0].x.front(), 0);
}

// The losses of this point come from bursts or a trace.
TEST(SweepCurves, APointWithoutBitErrorsAloneHasAnAxisOfItsOwn) {
    std::vector<SweepFigures> points = {point(RetryProtocol::pcie, 0)};
    points[0].closed_etr = points[0].closed_ratio = std::nullopt;
    points[0].resend_ratio = 0.02;
    SweepCurves curves = curves_of(points);
    EXPECT_EQ(curves.left_out, 0U);
    ASSERT_EQ(curves.etr.size(), 1U);
    EXPECT_FALSE(curves.etr[0].log_x);
    EXPECT_EQ(value_at(curves.etr[0], 0, 0), points[0].etr);
    ASSERT_EQ(curves.resends.size(), 1U);
    EXPECT_EQ(value_at(curves.resends[0], 0, 0), 0.02);
    // If nothing was resent, there is one plot less.
    points[0].resend_ratio = 0;
    curves = curves_of(points);
    EXPECT_EQ(curves.etr.size(), 1U);
    EXPECT_TRUE(curves.resends.empty());
}

TEST(SweepCurves, WithoutABitOfWasteThereIsNoPointOnALogarithmicAxis) {
    std::vector<SweepFigures> points = {point(RetryProtocol::pcie, 1e-12),
                                        point(RetryProtocol::pcie, 1e-9)};
    points[0].resend_ratio = 0;
    points[0].relative_error = std::nullopt;
    const SweepCurves curves = curves_of(points);
    EXPECT_EQ(value_at(curves.resends[0], 0, 1e-12), std::nullopt);
    EXPECT_EQ(value_at(curves.etr[0], 0, 1e-12), points[0].etr);
    EXPECT_EQ(curves.etr[0].series[0].low.front(), points[0].etr);
}

}  // namespace
}  // namespace wireproof::lab
