#include "wireproof/report/plot_svg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace wireproof::report {
namespace {

std::string texts(const std::vector<AxisMark>& marks) {
    std::string all;
    for (const AxisMark& mark : marks) all += (all.empty() ? "" : " | ") + mark.text;
    return all;
}

std::size_t count(std::string_view text, std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos; ++found) {
        at = text.find(what, at + what.size());
    }
    return found;
}

// The numbers in the first attribute of that name.
std::vector<double> numbers(std::string_view svg, std::string_view attribute) {
    const std::string begin = " " + std::string(attribute) + "=\"";
    const std::size_t at = svg.find(begin);
    EXPECT_NE(at, std::string_view::npos) << attribute;
    std::string list(svg.substr(at + begin.size(), svg.find('"', at + begin.size())));
    std::replace(list.begin(), list.end(), ',', ' ');
    std::vector<double> values;
    char* next = list.data();
    for (char* end = nullptr;; next = end) {
        const double value = std::strtod(next, &end);
        if (end == next) return values;
        values.push_back(value);
    }
}

ReportPlot rates() {
    ReportPlot plot;
    plot.x_name = "bit error rate";
    plot.log_x = plot.log_y = plot.decades = true;
    plot.x = {1e-9, 1e-8, 1e-7};
    plot.series = {{"pcie", {1e-5, 1e-4, 1e-3}}};
    return plot;
}

TEST(AxisMarks, StandAtRoundNumbersOfEveryScale) {
    EXPECT_EQ(texts(axis_marks(AxisScale::plain, 0.03, 0.97, 5)), "0.2 | 0.4 | 0.6 | 0.8");
    EXPECT_EQ(texts(axis_marks(AxisScale::plain, -1, 1, 5)), "-1 | -0.5 | 0 | 0.5 | 1");
    EXPECT_EQ(texts(axis_marks(AxisScale::plain, -0.05, 1, 5)), "0 | 0.5 | 1");
    EXPECT_EQ(texts(axis_marks(AxisScale::percent, -0.05, 1.05, 5)), "0 % | 50 % | 100 %");
    EXPECT_EQ(texts(axis_marks(AxisScale::plain, 0, 1, 5)), "0 | 0.2 | 0.4 | 0.6 | 0.8 | 1");
    EXPECT_EQ(texts(axis_marks(AxisScale::percent, 0.681, 0.903, 5)),
              "70 % | 75 % | 80 % | 85 % | 90 %");
    EXPECT_EQ(texts(axis_marks(AxisScale::percent, 0.9931, 0.9933, 3)),
              "99.31 % | 99.32 % | 99.33 %");
    EXPECT_EQ(texts(axis_marks(AxisScale::decades, 1e-15, 1e-5, 5)),
              "10⁻¹⁵ | 10⁻¹³ | 10⁻¹¹ | 10⁻⁹ | 10⁻⁷ | 10⁻⁵");
    EXPECT_EQ(texts(axis_marks(AxisScale::decades, 1.5e-6, 3e-5, 5)),
              "10⁻⁵ | 2·10⁻⁶ | 5·10⁻⁶ | 2·10⁻⁵");
    EXPECT_EQ(texts(axis_marks(AxisScale::sizes, 256, 4096, 9)), "256 | 512 | 1 Ki | 2 Ki | 4 Ki");
    EXPECT_EQ(axis_marks(AxisScale::percent, 0.681, 0.903, 5)[1].value, 0.75);
}

TEST(AxisMarks, AreTwoAtLeastOnEveryLogarithm) {
    EXPECT_EQ(texts(axis_marks(AxisScale::decades, 2.1e-7, 4.9e-7, 7)), "3·10⁻⁷ | 4·10⁻⁷");
    EXPECT_EQ(texts(axis_marks(AxisScale::decades, 5.1e-7, 9.9e-7, 7)),
              "6·10⁻⁷ | 7·10⁻⁷ | 8·10⁻⁷ | 9·10⁻⁷");
    EXPECT_EQ(texts(axis_marks(AxisScale::decades, 0.0211, 0.0294, 4)),
              "0.022 | 0.024 | 0.026 | 0.028");
    for (double from = 1e-7; from < 1e-6; from *= 1.01) {
        for (double to = from * 1.02; to < 50 * from; to *= 1.05) {
            const auto marks = axis_marks(AxisScale::decades, from, to, 7);
            EXPECT_GE(marks.size(), 2U) << from << " " << to;
            for (const AxisMark& mark : marks) {
                EXPECT_GT(mark.value, from * (1 - 1e-6));
                EXPECT_LT(mark.value, to * (1 + 1e-6));
            }
        }
    }
}

// Measured shares may differ only in their last digits, for example by 1e-17.
TEST(AxisMarks, AreFewWhereAllIsWithinRounding) {
    for (const double from : {32.0 / 60, 0.8, 1e6}) {
        const double to = std::nextafter(std::nextafter(from, 1e9), 1e9);
        for (const auto scale : {AxisScale::plain, AxisScale::percent}) {
            EXPECT_LE(axis_marks(scale, from, to, 7).size(), 15U) << from;
        }
    }
}

TEST(PlotSvg, StepsOfALogarithmAreEvenlySpaced) {
    const std::string svg = svg_of(rates(), {});
    const auto points = numbers(svg, "points");
    ASSERT_EQ(points.size(), 6U);
    EXPECT_NEAR(points[2] - points[0], points[4] - points[2], 0.11);
    EXPECT_NEAR(points[1] - points[3], points[3] - points[5], 0.11);
    EXPECT_GT(points[1], points[5]);  // larger values are higher up
    EXPECT_EQ(count(svg, "<circle"), 3U);
}

TEST(PlotSvg, ABandGoesThereAboveAndBackBelow) {
    ReportPlot plot = rates();
    plot.series[0].low = {5e-6, std::nullopt, 5e-4};
    plot.series[0].high = {2e-5, 2e-4, 2e-3};
    const std::string svg = svg_of(plot, {});
    const std::size_t at = svg.find("<polygon");
    ASSERT_NE(at, std::string::npos);
    const auto band = numbers(svg.substr(at), "points");
    ASSERT_EQ(band.size(), 8U);  // there is no band where an end is missing
    EXPECT_EQ(band[0], band[6]);
    EXPECT_LT(band[1], band[7]);
    EXPECT_EQ(band[2], band[4]);
}

TEST(PlotSvg, AClosedFormIsDashedWithoutPointsInTheColourOfItsSeries) {
    ReportPlot plot = rates();
    plot.series.push_back({"other", {2e-5, 2e-4, 2e-3}});
    plot.series.push_back({"other, closed form", {2e-5, 2e-4, 2e-3}});
    plot.series[2].color = plot.series[2].formula_of = 1;
    const std::string svg = svg_of(plot, {});
    EXPECT_EQ(count(svg, "<circle"), 6U);
    EXPECT_EQ(count(svg, "<polyline"), 3U);
    const std::string_view last = std::string_view(svg).substr(svg.rfind("<polyline"));
    EXPECT_NE(last.find("stroke-dasharray"), std::string::npos);
    EXPECT_NE(last.find(plot_colors[1]), std::string::npos);
    EXPECT_EQ(count(svg, ">closed form</text>"), 1U);
    EXPECT_EQ(svg.find("other, closed form"), std::string::npos);
}

TEST(PlotSvg, WhatCannotBeDrawnIsPassedOver) {
    ReportPlot plot = rates();
    plot.series[0].values = {0, std::nullopt, 1e-3};  // zero has no logarithm
    const std::string svg = svg_of(plot, {});
    EXPECT_EQ(count(svg, "<circle"), 1U);
    for (const char* const none : {"nan", "inf"}) EXPECT_EQ(svg.find(none), std::string::npos);
    plot.series[0].values = {};
    EXPECT_EQ(count(svg_of(plot, {}), "<polyline"), 0U);
    EXPECT_EQ(svg_of(ReportPlot(), {}), "");
}

TEST(PlotSvg, ASinglePointStandsInTheMiddle) {
    ReportPlot plot;
    plot.x = {2000};
    plot.series = {{"one", {0.5}}};
    const auto points = numbers(svg_of(plot, {.width = 690, .height = 320}), "points");
    ASSERT_EQ(points.size(), 2U);
    EXPECT_NEAR(points[0], 62 + (690 - 62 - 14) / 2, 1);
}

// The lowest line of the key must be above the highest point.
TEST(PlotSvg, AKeyOfManyCurvesTakesNothingFromThem) {
    ReportPlot plot = rates();
    plot.series.clear();
    for (int i = 0; i < 60; ++i) {
        plot.series.push_back({"preset number " + std::to_string(i), {1e-5, 1e-4, 1e-3}});
    }
    const std::string svg = svg_of(plot, {});
    const auto points = numbers(svg, "points");
    EXPECT_GT(points[1], points[5] + 200);  // larger values are higher up
    const std::size_t name = svg.find(">preset number 59</text>");
    const auto below = numbers(svg.substr(svg.rfind("<text", name)), "y");
    EXPECT_LT(below[0], points[5]);
    const double height = numbers(svg, "viewBox")[3];
    EXPECT_GT(height, below[0] + 200);
    const std::vector<std::vector<ReportPlot>> rows = {{plot}, {rates()}};
    const std::string both = svg_of(rows);
    EXPECT_EQ(numbers(both, "viewBox")[3], height + 10 + 320 + 10);
    EXPECT_EQ(numbers(svg_of(rates(), {}), "viewBox")[3], 320);
}

TEST(PlotSvg, ValuesThatDifferByRoundingAreOneValue) {
    ReportPlot plot;
    plot.percent = true;
    plot.x = {1000, 2000};
    plot.series = {{"ideal", {0.8, std::nextafter(0.8, 1)}}};
    const std::string svg = svg_of(plot, {.width = 690, .height = 320});
    const auto points = numbers(svg, "points");
    ASSERT_EQ(points.size(), 4U);
    EXPECT_EQ(points[1], points[3]);
    EXPECT_NE(svg.find(">80 %</text>"), std::string::npos);
}

TEST(PlotSvg, RowsOfPlotsAreOnePicture) {
    ReportPlot titled = rates();
    titled.title = "payload 256 bytes";
    const std::vector<std::vector<ReportPlot>> rows = {{titled, titled}, {}, {rates()}};
    const std::string svg = svg_of(rows);
    EXPECT_EQ(numbers(svg, "viewBox"), (std::vector<double>{0, 0, 690, 260 + 22 + 10 + 320 + 10}));
    EXPECT_EQ(count(svg, "<polyline"), 3U);
    EXPECT_EQ(count(svg, ">payload 256 bytes</text>"), 2U);
    EXPECT_NE(svg.find("translate(345.0 22.0)"), std::string::npos);
    EXPECT_NE(svg.find("translate(0.0 292.0)"), std::string::npos);
}

TEST(PlotSvg, NamesAreOnlyText) {
    ReportPlot plot = rates();
    plot.series[0].name = "</svg><script>";
    EXPECT_EQ(svg_of(plot, {}).find("<script>"), std::string::npos);
}

}  // namespace
}  // namespace wireproof::report
