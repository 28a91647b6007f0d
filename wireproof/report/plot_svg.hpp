// A plot as a still picture: for paper, for documents, for who runs no scripts.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/report/report_page.hpp"

namespace wireproof::report {

/// On white; a series without a colour of its own has that of its place, modulo their number.
inline constexpr std::array<std::string_view, 8> plot_colors = {
    "#0969da", "#cf222e", "#1a7f37", "#8250df", "#9a6700", "#bf3989", "#1b7c83", "#57606a"};

struct PlotSize {
    double width = 690;   // pixels; the key and both axes are within
    double height = 320;  // and what a key of more than two lines needs besides
};

/// Self-contained: no font, script or style from elsewhere.
std::string svg_of(const ReportPlot& plot, const PlotSize& size);

/// Rows of plots as one picture; those of a row have their titles, and share its width.
std::string svg_of(std::span<const std::vector<ReportPlot>> rows);

/// Where an axis has its marks, and what stands there.
struct AxisMark {
    double value = 0;
    std::string text;
};
enum class AxisScale : std::uint8_t { plain, percent, decades, sizes };

/// Marks between two values of which the first is smaller; at most about `most`, at least two where
/// the scale has as many.
std::vector<AxisMark> axis_marks(AxisScale scale, double from, double to, std::size_t most);

}  // namespace wireproof::report
