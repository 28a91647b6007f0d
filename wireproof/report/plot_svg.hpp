// A plot as a still picture, for paper, for documents, and for readers that run no scripts.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/report/report_page.hpp"

namespace wireproof::report {

/// Colours on a white background. A series without a colour of its own uses the colour of its
/// index, modulo the number of colours.
inline constexpr std::array<std::string_view, 8> plot_colors = {
    "#0969da", "#cf222e", "#1a7f37", "#8250df", "#9a6700", "#bf3989", "#1b7c83", "#57606a"};

struct PlotSize {
    double width = 690;   // pixels, including the key and both axes
    double height = 320;  // a key of more than two lines adds to it
};

/// The picture is self-contained: it uses no font, script or style of another file.
std::string svg_of(const ReportPlot& plot, const PlotSize& size);

/// Draws rows of plots as one picture. The plots of a row share its width, and each has its title.
std::string svg_of(std::span<const std::vector<ReportPlot>> rows);

/// A mark of an axis: its value and its text.
struct AxisMark {
    double value = 0;
    std::string text;
};
enum class AxisScale : std::uint8_t { plain, percent, decades, sizes };

/// Marks between `from` and `to`, where `from` is smaller. There are at most about `most`, and at
/// least two if the scale has two.
std::vector<AxisMark> axis_marks(AxisScale scale, double from, double to, std::size_t most);

}  // namespace wireproof::report
