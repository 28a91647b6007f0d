// Arranges the results of a sweep as plots: which of the varied quantities is the x axis, which
// points form one curve, and the names of plots and curves.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "wireproof/lab/link_retry/retry_point.hpp"
#include "wireproof/report/report_page.hpp"

namespace wireproof::lab {

/// One setting of a point, as readers see it.
struct SweepQuantity {
    std::string name;  // "loop"
    std::string unit;  // "bytes", or empty
    std::string text;  // "2000"; if it is no number: its part of a curve's name, or empty
    std::optional<double> number = {};
    bool own = false;  // no number, because the protocol has its own value or none
};

/// "loop 2000"; only the text if it speaks for itself, which may be empty.
std::string label_of(const SweepQuantity& quantity);

/// On an axis with this quantity, closed forms are also drawn between the points.
inline constexpr std::string_view bit_error_rate = "bit error rate";

/// A simulated point of this or an earlier run.
struct SweepFigures {
    RetrySettings settings;
    std::vector<SweepQuantity> asked;  // all points of a sweep: the same, in the same order
    double etr = 0;
    double throughput = 0;
    double resend_ratio = 0;
    std::optional<double> relative_error = {};
    std::optional<double> closed_etr = {};
    std::optional<double> closed_ratio = {};
};

/// Whether the points differ in this quantity.
bool varies(std::span<const SweepFigures> points, std::size_t quantity);

/// The x axis is the quantity of which a curve has the most values (the first one, if several have
/// as many). The plots show the points that have this quantity. Each combination of all other
/// quantities is a curve. If there are too many curves, each value of one quantity has its own
/// plot.
struct SweepCurves {
    std::vector<report::ReportPlot> etr;         // with 95 % confidence and the closed form
    std::vector<report::ReportPlot> resends;     // the same for the resend ratio, logarithmic; no
                                                 // plot if all ratios are zero
    std::vector<report::ReportPlot> throughput;  // none if x has a single value
    std::size_t left_out = 0;  // points without x, or with 0 on a logarithmic axis
};
SweepCurves curves_of(std::span<const SweepFigures> points);

/// The 95 % confidence interval of the true resend ratio, for a measured ratio and its relative
/// error.
std::pair<double, double> confidence(double resend_ratio, double relative_error);

}  // namespace wireproof::lab
