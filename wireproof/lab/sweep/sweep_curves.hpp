// What a sweep looks like: which of the quantities that were varied is the x axis, which points are
// one curve, and what stands around and beside it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "wireproof/lab/retry/retry_point.hpp"
#include "wireproof/report/report_page.hpp"

namespace wireproof::lab {

/// One of the settings of a point, for readers.
struct SweepQuantity {
    std::string name;  // "loop"
    std::string unit;  // "bytes", or nothing
    std::string text;  // "2000"; of what is not a number as it names a curve, or nothing
    std::optional<double> number = {};
    bool own = false;  // no number because the protocol has its own, or none at all
};

/// The quantity along which closed forms are drawn between the points, too.
inline constexpr std::string_view bit_error_rate = "bit error rate";

/// A point that was simulated, now or long ago.
struct SweepFigures {
    RetrySettings settings;
    std::vector<SweepQuantity> asked;  // of all points of a sweep the same, in one order
    double etr = 0;
    double throughput = 0;
    double resend_ratio = 0;
    std::optional<double> relative_error = {};
    std::optional<double> closed_etr = {};
    std::optional<double> closed_ratio = {};
};

/// Whether the points differ in the quantity of this place.
bool varies(std::span<const SweepFigures> points, std::size_t quantity);

/// Plots over the number of which a curve has the most values, or over the first of those, of the
/// points that have it. A curve for each
/// combination of all others; where these are many, a plot for each value of one.
struct SweepCurves {
    std::vector<report::ReportPlot> etr;         // with 95 % confidence and the closed form
    std::vector<report::ReportPlot> resends;     // the same of the resend ratio, on a logarithmic
                                                 // axis; not where it is zero throughout
    std::vector<report::ReportPlot> throughput;  // none over a single value
    std::size_t left_out = 0;  // points without x, or at zero of a logarithmic axis
};
SweepCurves curves_of(std::span<const SweepFigures> points);

/// Of what was measured with this relative error of its resend ratio, the ratios between which the
/// true one is with 95 % confidence.
std::pair<double, double> confidence(double resend_ratio, double relative_error);

}  // namespace wireproof::lab
