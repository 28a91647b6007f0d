// The comparison of the paper as a page.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "wireproof/app/common/version.hpp"
#include "wireproof/app/sweep/sweep_paper.hpp"
#include "wireproof/lab/link_retry/retry_paper.hpp"
#include "wireproof/report/report_page.hpp"

namespace wireproof::app {
namespace {

namespace paper = lab::paper;

constexpr int first_decade = -9;
constexpr int last_decade = -4;
constexpr int points_per_decade = 10;
constexpr std::array<const char*, 2> sides = {"packets of 4096 bytes", "micropackets of 32 bytes"};

std::vector<double> rates_of(const SweepPaper& result) {
    std::set<double> rates;
    for (int i = 0; i <= (last_decade - first_decade) * points_per_decade; ++i) {
        rates.insert(std::pow(10.0, first_decade + static_cast<double>(i) / points_per_decade));
    }
    const double first = *rates.begin();
    for (const SweepPaper::Row& row : result.rows) {
        if (row.bit_error >= first) rates.insert(row.bit_error);
    }
    return {rates.begin(), rates.end()};
}

/// The closed forms of both sides and, if they were simulated, the results.
report::ReportPlot plot_of(const SweepPaper& result, std::string title,
                           const std::array<lab::RetryCurve, 2>& curves, bool simulated) {
    report::ReportPlot plot{
        std::move(title), "bit error rate", "ETR", true, false, rates_of(result), {}};
    plot.decades = plot.percent = true;
    for (std::size_t side = 0; side < 2; ++side) {
        report::ReportPlot::Series series{sides[side], {}};
        for (const double rate : plot.x) {
            std::optional<double> etr;
            for (const SweepPaper::Row& row : result.rows) {
                if (simulated && row.bit_error == rate) etr = row.simulated[side];
            }
            series.values.push_back(simulated ? etr : curves[side].etr(rate));
        }
        plot.series.push_back(std::move(series));
    }
    for (std::size_t side = 0; simulated && side < 2; ++side) {
        report::ReportPlot::Series series{std::string(sides[side]) + ", closed form", {}};
        series.color = series.formula_of = side;
        for (const double rate : plot.x) series.values.push_back(curves[side].etr(rate));
        plot.series.push_back(std::move(series));
    }
    return plot;
}

report::ReportTable crossovers_of(const SweepPaper& result) {
    report::ReportTable table;
    table.head = {"both are worth the same at", "closed form", "simulated", "± %"};
    table.rows.push_back({"as printed", fmt::format("{:.4g}", paper::printed_crossover), "", ""});
    table.rows.push_back({"the paper's own arithmetic, done exactly",
                          fmt::format("{:.5g}", result.recomputed), "", ""});
    const auto add = [&table](const char* what, const SweepPaper::Crossover& c) {
        const double error = 100 * c.simulated.standard_error / c.simulated.bit_error;
        table.rows.push_back({what, fmt::format("{:.5g}", c.closed_form),
                              fmt::format("{:.4g}", c.simulated.bit_error),
                              fmt::format("{:.1f}", error)});
    };
    add("the paper's loops, errors of method taken out", result.costs_corrected);
    add("equal loops of 2000 bytes", result.equal_loop_2000);
    add("the same, PCIe as specified (one Nak for a gap)", result.equal_loop_as_specified);
    return table;
}

report::ReportTable figures_table() {
    report::ReportTable table{.head = {"figure", "printed", "recomputed"}, .rows = {}};
    for (const paper::Figure& figure : paper::figures()) {
        table.rows.push_back({std::string(figure.what), fmt::format("{:.4g}", figure.printed),
                              fmt::format("{:.5g}", figure.recomputed)});
    }
    return table;
}

report::ReportTable rates_table(const SweepPaper& result) {
    report::ReportTable table;
    table.head = {"bit error rate", "packets, closed form", "simulated",
                  "micropackets, closed form", "simulated"};
    for (const SweepPaper::Row& row : result.rows) {
        table.rows.push_back(
            {fmt::format("{:.3g}", row.bit_error), fmt::format("{:.5f}", row.closed_form[0]),
             fmt::format("{:.5f}", row.simulated[0]), fmt::format("{:.5f}", row.closed_form[1]),
             fmt::format("{:.5f}", row.simulated[1])});
    }
    return table;
}

}  // namespace

std::string paper_html(const SweepPaper& result, std::uint64_t seed) {
    report::ReportPage page("PCI Express against HIPPI-6400: section 5 of the paper, put right");
    page.add_text(
        "At which bit error rate are packets of 4096 bytes and micropackets of 32 worth the same? "
        "The paper counts the retries of a packet as 4 k and those of micropackets as 1 + k, "
        "averages ratios where bytes should be, has an error strike a message where it strikes a "
        "unit, leaves header bits out, and gives one link two loops: 12 372 and 2000 bytes.");
    page.add_table(crossovers_of(result));
    const auto [lowest, highest] = paper::crossovers_with_loops(2'000, 50'000);
    page.add_text(
        fmt::format("What remains true: large units win at low rates and small ones at high rates. "
                    "If each sender learns of every failure, and no buffer is ever full, both are "
                    "equal at a rate between "
                    "{:.3g} and {:.3g} for any loop of 2000 to 50 000 bytes that is the same for "
                    "both.",
                    lowest, highest));
    page.add_plots(
        "ETR",
        std::array{plot_of(result, "the paper's loops, simulated", paper::corrected_curves(), true),
                   plot_of(result, "equal loops of 2000 bytes, by the closed form",
                           paper::curves_with_loop(paper::equal_loop), false)});
    page.add_heading("ETR with the paper's loops");
    page.add_table(rates_table(result));
    page.add_heading("The paper's figures");
    page.add_table(figures_table());
    page.add_text(fmt::format("Seed {}. Made by {}.", seed, version()));
    return page.html();
}

}  // namespace wireproof::app
