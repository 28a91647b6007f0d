#include "wireproof/report/plot_svg.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "wireproof/report/markup.hpp"

namespace wireproof::report {
namespace {

constexpr double left = 62;  // room for the texts of the y axis
constexpr double right = 14;
constexpr double below = 44;
constexpr double key_line = 18;
constexpr double key_room = 16 + key_line;  // room for two lines, included in the height
constexpr double character = 6.4;           // average width in the key
constexpr double mark_width = 58;           // on the x axis
constexpr double mark_height = 34;

constexpr std::string_view ink = "#1f2328";
constexpr std::string_view dim = "#57606a";
constexpr std::string_view line_color = "#d8dee4";

std::string number(double value) {
    std::array<char, 32> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 1);
    return {text.data(), end.ptr};
}

std::string line(double x1, double y1, double x2, double y2, std::string_view more) {
    return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
           "\" y2=\"" + number(y2) + "\" " + std::string(more) + "/>\n";
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view color,
                    std::string_view text, std::string_view more = {}) {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" +
           std::string(anchor) + "\" fill=\"" + std::string(color) + "\"" + std::string(more) +
           ">" + escaped(text) + "</text>\n";
}

std::string stroke(std::string_view color, std::string_view more = {}) {
    return "stroke=\"" + std::string(color) + "\" fill=\"none\" " + std::string(more);
}

/// The range of an axis. Converts values into places on the picture.
class Axis {
public:
    Axis(bool logarithmic, double from, double to)
        : logarithmic_(logarithmic), from_(from), to_(to) {
        // A single value is placed in the middle. Values that differ only by rounding are one
        // value.
        constexpr double nearly = 1e-12;
        if (to_ - from_ <= nearly * std::max(std::abs(from_), std::abs(to_))) {
            from_ = logarithmic ? from_ / 2 : from_ - std::max(0.5 * std::abs(from_), 0.01);
            to_ = logarithmic ? to_ * 2 : to_ + std::max(0.5 * std::abs(to_), 0.01);
        }
    }

    void widen(double share) {
        const double more = (to_ - from_) * share;
        if (logarithmic_) {
            const double factor = std::pow(to_ / from_, share);
            from_ /= factor;
            to_ *= factor;
        } else {
            from_ -= more;
            to_ += more;
        }
    }
    double from() const { return from_; }
    double to() const { return to_; }
    /// 0 at the start of the axis, 1 at its end.
    double part(double value) const {
        if (logarithmic_) return std::log(value / from_) / std::log(to_ / from_);
        return (value - from_) / (to_ - from_);
    }

private:
    bool logarithmic_;
    double from_;
    double to_;
};

class Chart {
public:
    Chart(const ReportPlot& plot, const PlotSize& size)
        : plot_(plot), size_(size), x_(x_axis(plot)), y_(y_axis(plot)) {
        x_.widen(0.02);
        y_.widen(0.05);
        key_ = key();
        size_.height += std::max(0.0, key_bottom_ - key_room);
    }

    double height() const { return size_.height; }

    std::string draw() const {
        std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
                          number(size_.width) + " " + number(size_.height) + "\" width=\"" +
                          number(size_.width) + "\" height=\"" + number(size_.height) +
                          "\" role=\"img\" font-family=\"system-ui, -apple-system, 'Segoe UI', "
                          "'DejaVu Sans', sans-serif\" font-size=\"12\">\n<title>" +
                          escaped(plot_.y_name + " over " + plot_.x_name) +
                          "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
        out += key_ + grid();
        for (std::size_t i = 0; i < plot_.series.size(); ++i) out += band_of(i);
        for (std::size_t i = 0; i < plot_.series.size(); ++i) out += curve_of(i);
        return out + "</svg>\n";
    }

private:
    static Axis x_axis(const ReportPlot& plot) {
        const auto [least, most] = std::minmax_element(plot.x.begin(), plot.x.end());
        return {plot.log_x, *least, *most};
    }
    static Axis y_axis(const ReportPlot& plot) {
        std::optional<double> least;
        std::optional<double> most;
        for (const auto& series : plot.series) {
            for (const auto* values : {&series.values, &series.low, &series.high}) {
                for (const auto& value : *values) {
                    if (!value || (plot.log_y && *value <= 0)) continue;
                    least = std::min(least.value_or(*value), *value);
                    most = std::max(most.value_or(*value), *value);
                }
            }
        }
        return {plot.log_y, least.value_or(plot.log_y ? 0.1 : 0), most.value_or(1)};
    }

    std::string_view color_of(std::size_t i) const {
        return plot_colors[plot_.series[i].color.value_or(i) % plot_colors.size()];
    }
    double top() const { return key_bottom_ + 8; }
    double bottom() const { return size_.height - below; }
    double at_x(double value) const { return left + x_.part(value) * (size_.width - left - right); }
    double at_y(double value) const { return bottom() - y_.part(value) * (bottom() - top()); }

    /// Draws the names of the series, in lines as wide as the picture, and explains that dashes
    /// mean closed forms.
    std::string key() {
        std::string out;
        double x = 4;
        double y = 12;
        const auto add = [&](std::string_view name, const std::string& look) {
            const double width = 34 + character * static_cast<double>(name.size());
            if (x + width > size_.width && x > 4) {
                x = 4;
                y += key_line;
            }
            out += line(x, y - 4, x + 20, y - 4, look);
            out += text_at(x + 26, y, "start", ink, name);
            x += width + 8;
        };
        bool formulas = false;
        for (std::size_t i = 0; i < plot_.series.size(); ++i) {
            if (plot_.series[i].formula_of) {
                formulas = true;
            } else {
                add(plot_.series[i].name, stroke(color_of(i), "stroke-width=\"2.5\""));
            }
        }
        if (formulas)
            add("closed form", stroke(dim, "stroke-width=\"1.4\" stroke-dasharray=\"5 3\""));
        key_bottom_ = y + 4;
        return out;
    }

    AxisScale x_scale() const {
        if (!plot_.log_x) return AxisScale::plain;
        return plot_.decades ? AxisScale::decades : AxisScale::sizes;
    }
    AxisScale y_scale() const {
        if (plot_.log_y) return AxisScale::decades;
        return plot_.percent ? AxisScale::percent : AxisScale::plain;
    }

    std::string grid() const {
        std::string out;
        const auto room = [](double length, double each) {
            return static_cast<std::size_t>(std::max(2.0, length / each));
        };
        const double width = size_.width - left - right;
        for (const AxisMark& mark :
             axis_marks(x_scale(), x_.from(), x_.to(), room(width, mark_width))) {
            const double x = at_x(mark.value);
            out += line(x, top(), x, bottom(), stroke(line_color));
            out += text_at(x, bottom() + 16, "middle", dim, mark.text, " font-size=\"11\"");
        }
        for (const AxisMark& mark :
             axis_marks(y_scale(), y_.from(), y_.to(), room(bottom() - top(), mark_height))) {
            const double y = at_y(mark.value);
            out += line(left, y, size_.width - right, y, stroke(line_color));
            out += text_at(left - 6, y + 4, "end", dim, mark.text, " font-size=\"11\"");
        }
        out += line(left, bottom(), size_.width - right, bottom(), stroke(dim));
        out += line(left, top(), left, bottom(), stroke(dim));
        out += text_at(left + width / 2, size_.height - 8, "middle", dim, plot_.x_name);
        const double middle = (top() + bottom()) / 2;
        out += text_at(12, middle, "middle", dim, plot_.y_name,
                       " transform=\"rotate(-90 12 " + number(middle) + ")\"");
        return out;
    }

    bool is_drawn(const std::optional<double>& value) const {
        return value && (!plot_.log_y || *value > 0);
    }

    std::string band_of(std::size_t i) const {
        const ReportPlot::Series& series = plot_.series[i];
        std::string forth;
        std::string back;
        for (std::size_t place = 0; place < plot_.x.size() && place < series.low.size(); ++place) {
            const auto& low = series.low[place];
            const auto& high = series.high[place];
            if (!is_drawn(low) || !is_drawn(high)) continue;
            const std::string x = number(at_x(plot_.x[place])) + ",";
            forth += x + number(at_y(*high)) + " ";
            back = x + number(at_y(*low)) + " " + back;
        }
        if (forth.empty()) return {};
        return "<polygon points=\"" + forth + back + "\" fill=\"" + std::string(color_of(i)) +
               "\" fill-opacity=\"0.16\"/>\n";
    }

    std::string curve_of(std::size_t i) const {
        const ReportPlot::Series& series = plot_.series[i];
        std::string points;
        std::string dots;
        for (std::size_t place = 0; place < plot_.x.size() && place < series.values.size();
             ++place) {
            if (!is_drawn(series.values[place])) continue;
            const std::string x = number(at_x(plot_.x[place]));
            const std::string y = number(at_y(*series.values[place]));
            points += x + "," + y + " ";
            dots += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"2.4\" fill=\"" +
                    std::string(color_of(i)) + "\"/>\n";
        }
        if (points.empty()) return {};
        const bool formula = series.formula_of.has_value();
        const std::string look =
            stroke(color_of(i), formula ? "stroke-width=\"1.2\" stroke-dasharray=\"5 3\""
                                        : "stroke-width=\"1.7\" stroke-linejoin=\"round\"");
        return "<polyline points=\"" + points + "\" " + look + "/>\n" + (formula ? "" : dots);
    }

    const ReportPlot& plot_;
    PlotSize size_;
    Axis x_;
    Axis y_;
    std::string key_;
    double key_bottom_ = 0;
};

}  // namespace

std::string svg_of(const ReportPlot& plot, const PlotSize& size) {
    if (plot.x.empty()) return {};
    return Chart(plot, size).draw();
}

std::string svg_of(std::span<const std::vector<ReportPlot>> rows) {
    constexpr PlotSize whole{};
    constexpr PlotSize part{.width = 345, .height = 260};
    constexpr double title_height = 22;
    double width = 0;
    double y = 0;
    std::string plots;
    for (const auto& row : rows) {
        if (row.empty()) continue;
        const PlotSize& size = row.size() == 1 ? whole : part;
        double x = 0;
        double height = size.height;
        for (const ReportPlot& plot : row) {
            if (plot.x.empty()) continue;
            const Chart chart(plot, size);
            const double titled = plot.title.empty() ? 0 : title_height;
            if (titled > 0) {
                plots += text_at(x + 4, y + 15, "start", ink, plot.title, " font-weight=\"600\"");
            }
            plots += "<g transform=\"translate(" + number(x) + " " + number(y + titled) + ")\">\n" +
                     chart.draw() + "</g>\n";
            x += size.width;
            height = std::max(height, chart.height() + titled);
        }
        width = std::max(width, x);
        y += height + 10;
    }
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width) + " " +
           number(y) + "\" width=\"" + number(width) + "\" height=\"" + number(y) +
           "\" font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\" "
           "font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" +
           plots + "</svg>\n";
}

}  // namespace wireproof::report
