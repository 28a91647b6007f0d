#include "wireproof/lab/sweep/sweep_curves.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace wireproof::lab {
namespace {

constexpr std::size_t together_max = 6;  // curves in a plot, if more plots are possible
constexpr double log_from = 8;           // an axis with a larger ratio of its ends is logarithmic
constexpr int points_per_decade = 8;     // of a closed form
constexpr double alone_decades = 2;      // on each side of a single point
constexpr double ratio_drawn = 100;      // a closed form is not drawn above it

constexpr auto nowhere = static_cast<std::size_t>(-1);

using Points = std::span<const SweepFigures>;

/// The values of the quantity, of the points that have one.
std::set<double> values_of(Points points, std::size_t quantity) {
    std::set<double> values;
    for (const SweepFigures& point : points) {
        if (const auto& number = point.asked[quantity].number) values.insert(*number);
    }
    return values;
}

/// The number of values of the quantity along the longest curve on which nothing else varies. For
/// presets, each with its own timer, the number is 1.
std::size_t longest_along(Points points, std::size_t quantity) {
    std::map<std::string, std::set<double>> curves;
    std::size_t longest = 0;
    for (const SweepFigures& point : points) {
        if (!point.asked[quantity].number) continue;
        std::string rest;
        for (std::size_t i = 0; i < point.asked.size(); ++i) {
            if (i != quantity) rest += point.asked[i].text + "\n";
        }
        std::set<double>& values = curves[rest];
        values.insert(*point.asked[quantity].number);
        longest = std::max(longest, values.size());
    }
    return longest;
}

std::size_t x_of(Points points) {
    std::size_t best = nowhere;
    std::size_t most = 0;
    for (std::size_t i = 0; i < points.front().asked.size(); ++i) {
        const std::size_t values = longest_along(points, i);
        if (values <= most) continue;
        most = values;
        best = i;
    }
    return best;
}

std::string title_of(const SweepQuantity& quantity) {
    return label_of(quantity) + (quantity.unit.empty() ? "" : " " + quantity.unit);
}

/// The label of the axis: "loop, bytes".
std::string name_of(const SweepQuantity& quantity) {
    return quantity.name + (quantity.unit.empty() ? "" : ", " + quantity.unit);
}

struct Curve {
    std::string name;
    std::vector<const SweepFigures*> points;
};

/// Divides the points into curves by these quantities, in the order of the points.
std::vector<Curve> divide(const std::vector<const SweepFigures*>& points,
                          const std::vector<std::size_t>& by) {
    std::vector<Curve> curves;
    std::map<std::string, std::size_t> place;
    for (const SweepFigures* point : points) {
        std::string name;
        for (const std::size_t quantity : by) {
            const std::string label = label_of(point->asked[quantity]);
            name += (name.empty() || label.empty() ? "" : ", ") + label;
        }
        // A label may be empty ("not so"). Then the first quantity of the points names the curve.
        if (name.empty()) name = label_of(point->asked.front());
        const auto [at, is_new] = place.try_emplace(name, curves.size());
        if (is_new) curves.push_back({name, {}});
        curves[at->second].points.push_back(point);
    }
    return curves;
}

bool has_values(const report::ReportPlot::Series& series) {
    return std::any_of(series.values.begin(), series.values.end(),
                       [](const auto& value) { return value.has_value(); });
}

bool has_values(const report::ReportPlot& plot) {
    return std::any_of(plot.series.begin(), plot.series.end(),
                       [](const report::ReportPlot::Series& series) { return has_values(series); });
}

class Panel {
public:
    Panel(std::string title, std::vector<Curve> curves, std::size_t x, bool log_x)
        : title_(std::move(title)), curves_(std::move(curves)), x_(x), log_x_(log_x) {
        std::set<double> places;
        for (const Curve& curve : curves_) {
            for (const SweepFigures* point : curve.points) places.insert(x_of(*point));
        }
        if (over_rates() && log_x_) add_places_between(places);
        places_.assign(places.begin(), places.end());
    }

    report::ReportPlot etr() const {
        report::ReportPlot plot = empty("ETR");
        plot.percent = true;
        add_measured(
            plot, [](const SweepFigures& point) { return point.etr; },
            [](const SweepFigures& point, double ratio) {
                return point.etr * (1 + point.resend_ratio) / (1 + ratio);
            });
        add_closed(
            plot, [](const RetryPoint& point) { return point.closed_etr(); },
            [](const SweepFigures& point) { return point.closed_etr; });
        return plot;
    }
    report::ReportPlot resends() const {
        report::ReportPlot plot = empty("resend ratio, S − 1");
        plot.log_y = true;
        const auto positive = [](std::optional<double> ratio) {
            return ratio && *ratio > 0 ? ratio : std::nullopt;
        };
        add_measured(
            plot, [&](const SweepFigures& point) { return positive(point.resend_ratio); },
            [](const SweepFigures&, double ratio) { return ratio; });
        add_closed(
            plot, [&](const RetryPoint& point) { return positive(point.closed_ratio()); },
            [&](const SweepFigures& point) { return positive(point.closed_ratio); });
        return plot;
    }
    report::ReportPlot throughput() const {
        report::ReportPlot plot = empty("throughput");
        plot.percent = true;
        for (const Curve& curve : curves_) {
            report::ReportPlot::Series series{curve.name, room()};
            for (const SweepFigures* point : curve.points) {
                series.values[place_of(*point)] = point->throughput;
            }
            plot.series.push_back(std::move(series));
        }
        return plot;
    }

private:
    bool over_rates() const { return quantity().name == bit_error_rate; }
    const SweepQuantity& quantity() const { return curves_.front().points.front()->asked[x_]; }
    double x_of(const SweepFigures& point) const { return *point.asked[x_].number; }
    std::size_t place_of(const SweepFigures& point) const {
        const auto at = std::lower_bound(places_.begin(), places_.end(), x_of(point));
        return static_cast<std::size_t>(at - places_.begin());
    }
    report::ReportPlot::Values room() const { return report::ReportPlot::Values(places_.size()); }

    static void add_places_between(std::set<double>& places) {
        double from = std::log10(*places.begin());
        double to = std::log10(*places.rbegin());
        if (from == to) {
            from -= alone_decades;
            to = std::min(to + alone_decades, -1.0);
        }
        const int steps = static_cast<int>(std::ceil((to - from) * points_per_decade));
        for (int i = 0; i <= steps; ++i) {
            places.insert(std::pow(10.0, from + (to - from) * i / std::max(steps, 1)));
        }
    }

    report::ReportPlot empty(std::string y_name) const {
        report::ReportPlot plot;
        plot.title = title_;
        plot.x_name = name_of(quantity());
        plot.y_name = std::move(y_name);
        plot.log_x = log_x_;
        plot.decades = over_rates();
        plot.x = places_;
        return plot;
    }

    /// `of(point)` is the value; `with(point, ratio)` is the value for another resend ratio.
    template <class Of, class With>
    void add_measured(report::ReportPlot& plot, Of&& of, With&& with) const {
        for (const Curve& curve : curves_) {
            report::ReportPlot::Series series{curve.name, room(), room(), room()};
            for (const SweepFigures* point : curve.points) {
                const std::size_t place = place_of(*point);
                const std::optional<double> value = of(*point);
                series.values[place] = series.low[place] = series.high[place] = value;
                if (!value || !point->relative_error) continue;
                const auto [few, many] = confidence(point->resend_ratio, *point->relative_error);
                series.low[place] = std::min(with(*point, few), with(*point, many));
                series.high[place] = std::max(with(*point, few), with(*point, many));
            }
            plot.series.push_back(std::move(series));
        }
    }

    /// If the axis is the error rate, draws the closed form at every place; otherwise only at the
    /// points.
    template <class At, class Of>
    void add_closed(report::ReportPlot& plot, At&& at, Of&& of) const {
        for (std::size_t i = 0; i < curves_.size(); ++i) {
            report::ReportPlot::Series series{curves_[i].name + ", closed form", room()};
            series.color = series.formula_of = i;
            if (over_rates()) {
                for (std::size_t place = 0; place < places_.size(); ++place) {
                    if (const auto point =
                            foreseen_at(*curves_[i].points.front(), places_[place])) {
                        series.values[place] = at(*point);
                    }
                }
            } else {
                for (const SweepFigures* point : curves_[i].points) {
                    series.values[place_of(*point)] = of(*point);
                }
            }
            if (has_values(series)) plot.series.push_back(std::move(series));
        }
    }

    static std::optional<RetryPoint> foreseen_at(const SweepFigures& like, double bit_error) {
        RetrySettings settings = like.settings;
        settings.bit_error = bit_error;
        const auto point = foreseen_point(settings);
        if (!point || !point->shows_closed_form()) return std::nullopt;
        if (point->closed_ratio().value_or(0) > ratio_drawn) return std::nullopt;
        return *point;
    }

    std::string title_;
    std::vector<Curve> curves_;
    std::size_t x_;
    bool log_x_;
    std::vector<double> places_;
};

/// Whether a logarithmic axis is better for these points. For rates it is, unless all are 0: a line
/// may have only recorded losses or bursts, and no bit errors.
bool is_logarithmic(Points points, std::size_t x) {
    const std::set<double> values = values_of(points, x);
    if (*values.rbegin() == 0) return false;
    if (points.front().asked[x].name == bit_error_rate) return true;
    return *values.begin() > 0 && *values.rbegin() >= log_from * *values.begin();
}

/// The quantity whose values each get a plot; nowhere if all curves fit in one plot.
std::size_t panels_by(const std::vector<const SweepFigures*>& points,
                      const std::vector<std::size_t>& others) {
    if (others.size() < 2 || divide(points, others).size() <= together_max) return nowhere;
    for (const std::size_t quantity : others) {
        const bool is_number =
            std::any_of(points.begin(), points.end(), [quantity](const SweepFigures* point) {
                return point->asked[quantity].number.has_value();
            });
        if (!is_number) continue;
        if (divide(points, {quantity}).size() <= together_max) return quantity;
    }
    return nowhere;
}

/// Removes each number that does not help to tell curves apart from the names of the curves.
void leave_out_redundant(const std::vector<const SweepFigures*>& points,
                         std::vector<std::size_t>& others) {
    const std::size_t curves = divide(points, others).size();
    for (std::size_t i = others.size(); i-- > 0;) {
        if (!points.front()->asked[others[i]].number) continue;
        std::vector<std::size_t> fewer = others;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (divide(points, fewer).size() == curves) others = std::move(fewer);
    }
}

}  // namespace

std::string label_of(const SweepQuantity& quantity) {
    const bool named = quantity.number || quantity.own;
    return named ? quantity.name + " " + quantity.text : quantity.text;
}

bool varies(Points points, std::size_t quantity) {
    return std::any_of(points.begin(), points.end(), [&](const SweepFigures& point) {
        return point.asked[quantity].text != points.front().asked[quantity].text;
    });
}

std::pair<double, double> confidence(double resend_ratio, double relative_error) {
    // Symmetric in the logarithm, so that no ratio is negative.
    const double factor = std::exp(1.96 * relative_error);
    return {resend_ratio / factor, resend_ratio * factor};
}

SweepCurves curves_of(Points points) {
    SweepCurves curves;
    if (points.empty()) return curves;
    const std::size_t x = x_of(points);
    if (x == nowhere) return curves;
    const bool log_x = is_logarithmic(points, x);
    std::vector<const SweepFigures*> drawn;
    for (const SweepFigures& point : points) {
        const auto& number = point.asked[x].number;
        if (number && (!log_x || *number > 0)) drawn.push_back(&point);
    }
    curves.left_out = points.size() - drawn.size();
    if (drawn.empty()) return curves;
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < points.front().asked.size(); ++i) {
        if (i != x && varies(points, i)) others.push_back(i);
    }
    leave_out_redundant(drawn, others);
    if (others.empty()) others.push_back(0);
    const std::size_t panel = panels_by(drawn, others);
    std::vector<Curve> parts{{"", drawn}};
    if (panel != nowhere) {
        parts = divide(drawn, {panel});
        std::erase(others, panel);
    }
    for (const Curve& part : parts) {
        const std::string title =
            panel == nowhere ? "" : title_of(part.points.front()->asked[panel]);
        const Panel shown(title, divide(part.points, others), x, log_x);
        curves.etr.push_back(shown.etr());
        // A logarithmic axis cannot show a curve on which nothing was resent.
        if (report::ReportPlot resends = shown.resends(); has_values(resends)) {
            curves.resends.push_back(std::move(resends));
        }
        if (varies(points, x)) curves.throughput.push_back(shown.throughput());
    }
    return curves;
}

}  // namespace wireproof::lab
