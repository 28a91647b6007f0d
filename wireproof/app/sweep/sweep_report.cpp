#include "wireproof/app/sweep/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/text.hpp"
#include "wireproof/app/common/version.hpp"
#include "wireproof/app/sweep/sweep_results.hpp"
#include "wireproof/lab/ladder/ladder_render.hpp"
#include "wireproof/lab/link_retry/loss_trace.hpp"
#include "wireproof/lab/link_retry/retry_ladder.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"
#include "wireproof/lab/sweep/sweep_curves.hpp"
#include "wireproof/lab/sweep/sweep_quantities.hpp"

namespace wireproof::app {
namespace {

using lab::figure;
using lab::SweepFigures;
using lab::SweepQuantity;

// A ladder with more bad units than this is hard to read.
constexpr double told_unit_error = 0.05;

// A whole number if it is short enough to read: 1 234 567, but 3.2e10.
std::string count(double number) {
    if (number >= 1e7) return figure(number, 3);
    return grouped(fmt::format("{:.0f}", number), "\u202f");
}

template <class Whole>
std::string count_of(Whole number) {
    return count(static_cast<double>(number));
}

class Page {
public:
    explicit Page(const SweepReport& report)
        : report_(report), page_(title_of(report)), points_(lab::figures_of(report.points)) {}

    std::string html() {
        add_introduction();
        add_terms();
        add_plots();
        add_ladder();
        add_table();
        return page_.html();
    }

private:
    static std::string title_of(const SweepReport& report) {
        return "What link-level retry costs: " + report.name;
    }

    void add_introduction() {
        page_.add_text(
            "A saturated sender over a link with bit errors. ETR is payload over all bytes put on "
            "the line for it, resent ones included; throughput is payload over the line's time, so "
            "a sender that waits loses throughput, but no ETR. The resend ratio, S − 1, is how "
            "many units are sent in vain for each unit that is accepted.");
        page_.add_text(
            "Solid lines are simulated, with their 95 % confidence as measured; dashed lines are "
            "closed forms, drawn where they describe the link; ~ marks one at the edge of its "
            "domain. Lengths and times are in bytes on the line.");
        if (report_.stopped > 0) {
            page_.add_text(
                fmt::format("{} more points were stopped before they were finished, and "
                            "are not shown.",
                            report_.stopped));
        }
        for (const lab::SweepPoint& point : report_.points) {
            if (point.cannot_jump.empty()) continue;
            page_.add_text("Simulated frame by frame because of " + point.cannot_jump + ".");
            break;
        }
    }

    void add_terms() {
        report::ReportPage::Terms terms;
        const auto& asked = points_.front().asked;
        for (std::size_t i = 0; i < asked.size(); ++i) {
            if (lab::varies(points_, i)) continue;
            const SweepQuantity& quantity = asked[i];
            const bool named_by_itself = quantity.text == quantity.name;
            std::string text = quantity.text.empty() ? "no"
                               : named_by_itself     ? "yes"
                                                     : quantity.text;
            if (!quantity.unit.empty()) text += " " + quantity.unit;
            terms.emplace_back(quantity.name, std::move(text));
        }
        if (report_.plan.packets > 0) {
            const auto packets = static_cast<double>(report_.plan.packets);
            terms.emplace_back("each point has", count(packets) + " packets");
        } else {
            terms.emplace_back("to a relative error of", figure(report_.plan.relative_error));
        }
        terms.emplace_back("points", fmt::format("{}", points_.size()));
        terms.emplace_back("seed", fmt::format("{}", report_.plan.seed));
        terms.emplace_back("made by", version());
        page_.add_terms(terms);
    }

    void add_plots() {
        const lab::SweepCurves curves = lab::curves_of(points_);
        page_.add_plots("ETR", curves.etr);
        page_.add_plots("Resend ratio", curves.resends);
        page_.add_plots("Throughput", curves.throughput);
        if (curves.left_out > 0) {
            page_.add_text(
                fmt::format("{} of {} points have no place on the axis, and stand in the table "
                            "only.",
                            curves.left_out, points_.size()));
        }
    }

    void add_ladder() {
        const auto chosen = report_.ladder_point ? report_.ladder_point : telling_point();
        if (!chosen) {
            page_.add_text("No point sent a frame in vain, so there is no ladder of a failure.");
            return;
        }
        const lab::RetrySettings& settings = points_[*chosen - 1].settings;
        lab::RetryPlan plan = report_.plan;
        plan.seed = point_seed(settings, report_.plan.seed);
        plan.progress = [](double) { check_interrupt(); };
        const auto ladder = lab::run_retry_ladder(settings, plan);
        if (!ladder && report_.ladder_point) {
            throw Failure(fmt::format("point {}: {}", *chosen, ladder.error().message));
        }
        page_.add_heading(fmt::format("The first failure of point {}, frame by frame", *chosen));
        if (ladder) {
            page_.add_picture(lab::svg_of(*ladder));
        } else {
            page_.add_text(ladder.error().message);
        }
    }

    /// Chooses among the points whose frames can be shown and were resent: the one with the most
    /// errors up to told_unit_error, otherwise the one with the fewest.
    std::optional<std::size_t> telling_point() const {
        std::optional<std::size_t> best;
        const auto rank = [](double unit_error) {
            return unit_error <= told_unit_error ? unit_error : -unit_error;
        };
        double best_rank = 0;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            const lab::RetrySettings& settings = points_[i].settings;
            if (points_[i].resend_ratio == 0 || !lab::has_frames(settings.protocol)) continue;
            const double here = rank(lab::foreseen_point(settings).value().unit_error);
            if (best && here <= best_rank) continue;
            best = i + 1;
            best_rank = here;
        }
        return best;
    }

    void add_table() {
        report::ReportTable table{.head = {"point"}, .rows = {}, .sortable = true};
        std::vector<std::size_t> varied;
        for (std::size_t i = 0; i < points_.front().asked.size(); ++i) {
            const bool names_it = points_.front().asked[i].name == "protocol";
            if (!names_it && !lab::varies(points_, i)) continue;
            varied.push_back(i);
            if (!points_.front().asked[i].number) table.texts.push_back(table.head.size());
            table.head.push_back(points_.front().asked[i].name);
        }
        for (const char* const head :
             {"packets", "ETR %", "closed form %", "deviation, s.e.", "resend ratio", "± %",
              "throughput %", "resent", "timeouts", "buffer, most", "latency 50 %",
              "latency 99.9 %", "latency, most"}) {
            table.head.emplace_back(head);
        }
        for (std::size_t i = 0; i < points_.size(); ++i) {
            std::vector<std::string> row{fmt::format("{}", i + 1)};
            for (const std::size_t quantity : varied) {
                row.push_back(points_[i].asked[quantity].text);
            }
            add_figures(report_.points[i], row);
            table.rows.push_back(std::move(row));
        }
        page_.add_heading("All points");
        page_.add_table(table);
        add_largest_deviation();
    }

    static void add_figures(const lab::SweepPoint& p, std::vector<std::string>& row) {
        for (std::string cell :
             {count_of(p.packets), percent(p.etr, 4, ""),
              (p.closed_at_edge ? "~" : "") + percent(p.closed_etr, 4, ""),
              p.deviation ? fmt::format("{:+.1f}", *p.deviation) : "",
              figure(p.resend_ratio.value(), 4), percent(p.relative_error, 2, ""),
              percent(p.throughput, 2, ""), count_of(p.resent), count_of(p.timeouts),
              count_of(p.kept_most), count_of(p.latency[0]), count_of(p.latency[2]),
              count_of(p.latency[3])}) {
            row.push_back(std::move(cell));
        }
    }

    void add_largest_deviation() {
        std::size_t at = 0;
        double largest = -1;
        for (std::size_t i = 0; i < report_.points.size(); ++i) {
            const std::optional<double> deviation = report_.points[i].deviation;
            if (!deviation || report_.points[i].closed_at_edge || std::abs(*deviation) <= largest)
                continue;
            largest = std::abs(*deviation);
            at = i + 1;
        }
        if (at == 0) return;
        page_.add_text(
            fmt::format("The largest deviation from a closed form is {:.1f} of its "
                        "standard errors, at point {}.",
                        largest, at));
    }

    const SweepReport& report_;
    report::ReportPage page_;
    std::vector<SweepFigures> points_;
};

}  // namespace

std::string sweep_html(const SweepReport& report) {
    if (report.points.empty()) throw Failure("this part of the sweep has no points to show");
    return Page(report).html();
}

std::string sweep_svg(const SweepReport& report) {
    std::string picture = lab::picture_of(lab::figures_of(report.points));
    if (picture.empty()) throw Failure("this part of the sweep has no points to draw");
    return picture;
}

void check_ladder_point(std::size_t point, const std::vector<lab::RetrySettings>& settings) {
    if (point > settings.size()) {
        throw Failure(
            fmt::format("--ladder-point {}: there are {} points", point, settings.size()));
    }
    const lab::RetrySettings& chosen = settings[point - 1];
    if (!lab::has_frames(chosen.protocol)) {
        throw Failure(fmt::format("--ladder-point {}: {} is a model and has no frames to draw",
                                  point, name_of(chosen.protocol)));
    }
}

}  // namespace wireproof::app
