#include "wireproof/report/report_page.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "wireproof/report/markup.hpp"
#include "wireproof/report/plot_svg.hpp"

namespace wireproof::report {
namespace {

// The text as a string of the script. Characters that could end the string or the script are
// written as numbers.
std::string quoted(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (code < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&') {
            out += "\\u00";
            out += digits[code >> 4];
            out += digits[code & 15];
        } else {
            out += c;
        }
    }
    return out + "\"";
}

std::string number_or_null(std::optional<double> value) {
    if (!value || !std::isfinite(*value)) return "null";
    std::array<char, 32> room{};
    const auto [end, error] = std::to_chars(room.data(), room.data() + room.size(), *value);
    return error == std::errc() ? std::string(room.data(), end) : "null";
}

std::string truth(bool value) {
    return value ? "true" : "false";
}

std::optional<double> at(const ReportPlot::Values& values, std::size_t place) {
    return place < values.size() ? values[place] : std::nullopt;
}

bool has_bands(const ReportPlot& plot) {
    return std::any_of(plot.series.begin(), plot.series.end(),
                       [](const auto& series) { return !series.low.empty(); });
}

// If the plot has bands, each value becomes three: the low end of the band, the value, the high
// end.
std::string cell(const ReportPlot::Series& series, std::size_t place, bool bands) {
    const auto value = at(series.values, place);
    if (!bands) return number_or_null(value);
    if (!value) return "[null,null,null]";
    return "[" + number_or_null(series.low.empty() ? value : at(series.low, place)) + "," +
           number_or_null(value) + "," +
           number_or_null(series.high.empty() ? value : at(series.high, place)) + "]";
}

std::string rows_of(const ReportPlot& plot) {
    const bool bands = has_bands(plot);
    std::string rows;
    for (std::size_t i = 0; i < plot.x.size(); ++i) {
        rows += "[" + number_or_null(plot.x[i]);
        for (const auto& series : plot.series) rows += "," + cell(series, i, bands);
        rows += "],";
    }
    return rows;
}

std::string drawing_of(const ReportPlot& plot, const std::string& id) {
    std::string names;
    std::string colors;
    std::string formulas;
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        const ReportPlot::Series& series = plot.series[i];
        names += quoted(series.name) + ",";
        colors += std::to_string(series.color.value_or(i)) + ",";
        formulas += series.formula_of ? std::to_string(*series.formula_of) + "," : "-1,";
    }
    return "draw({id:" + quoted(id) + ",xName:" + quoted(plot.x_name) +
           ",yName:" + quoted(plot.y_name) + ",logX:" + truth(plot.log_x) +
           ",logY:" + truth(plot.log_y) + ",decades:" + truth(plot.decades) +
           ",percent:" + truth(plot.percent) + ",bars:" + truth(has_bands(plot)) + ",names:[" +
           names + "],colors:[" + colors + "],formulaOf:[" + formulas + "],rows:[" + rows_of(plot) +
           "]});\n";
}

}  // namespace

void ReportPage::add_heading(std::string_view heading) {
    body_ += "<h2>" + escaped(heading) + "</h2>\n";
}

void ReportPage::add_text(std::string_view paragraph) {
    body_ += "<p>" + escaped(paragraph) + "</p>\n";
}

void ReportPage::add_terms(const Terms& terms) {
    body_ += "<dl class=\"terms\">\n";
    for (const auto& [name, value] : terms) {
        body_ += "<div><dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd></div>\n";
    }
    body_ += "</dl>\n";
}

// A heading that sorts is not a <button>: with a <button> in a table's head, Chromium does not
// repeat the head on every printed page.
void ReportPage::add_table(const ReportTable& table) {
    const auto kind = [&table](std::size_t column) {
        const auto& texts = table.texts;
        const bool text = std::find(texts.begin(), texts.end(), column) != texts.end();
        return text ? std::string(" class=\"text\"") : std::string();
    };
    const bool sorts = table.sortable;
    sorts_ |= sorts;
    // If the table is wider than the window, it scrolls by itself, also by keys.
    body_ += "<div class=\"wide\" role=\"region\" aria-label=\"table\" tabindex=\"0\">";
    body_ += sorts ? "<table class=\"sortable\">\n" : "<table>\n";
    body_ += "<thead><tr>";
    for (std::size_t i = 0; i < table.head.size(); ++i) {
        body_ += sorts ? "<th scope=\"col\" aria-sort=\"none\"" + kind(i) +
                             "><span role=\"button\" tabindex=\"0\">" + escaped(table.head[i]) +
                             "</span></th>"
                       : "<th" + kind(i) + ">" + escaped(table.head[i]) + "</th>";
    }
    body_ += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
        body_ += "<tr>";
        for (std::size_t i = 0; i < row.size(); ++i) {
            body_ += "<td" + kind(i) + ">" + escaped(row[i]) + "</td>";
        }
        body_ += "</tr>\n";
    }
    body_ += "</tbody></table></div>\n";
}

void ReportPage::add_plots(std::string_view heading, std::span<const ReportPlot> plots) {
    if (plots.empty()) return;
    const bool several = plots.size() > 1;
    add_heading(heading);
    body_ += several ? "<div class=\"panels\">\n" : "<div class=\"panels one\">\n";
    for (const ReportPlot& plot : plots) add_panel(plot, several);
    body_ += "</div>\n";
}

void ReportPage::add_panel(const ReportPlot& plot, bool titled) {
    const std::string id = "plot" + std::to_string(++plots_);
    body_ += "<figure>";
    if (titled) body_ += "<h3>" + escaped(plot.title) + "</h3>";
    body_ += "\n<div class=\"key\" id=\"" + id + "-key\"></div>\n<div class=\"plot\" id=\"" + id +
             "\"></div>\n<div class=\"still\">" +
             svg_of(plot, titled ? PlotSize{.width = 345, .height = 260} : PlotSize{}) +
             "</div>\n</figure>\n";
    script_ += drawing_of(plot, id);
}

void ReportPage::add_picture(std::string_view svg) {
    body_ += "<figure class=\"picture\" tabindex=\"0\">\n" + std::string(svg) + "</figure>\n";
}

std::string ReportPage::html() const {
    std::string page =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
        escaped(title_) + "</title>\n<style>";
    if (plots_ > 0) page += dygraphs_style();
    page += report_style();
    page += "</style>\n</head>\n<body>\n<h1>" + escaped(title_) + "</h1>\n" + body_;
    if (plots_ > 0) {
        page += "<script>";
        page += dygraphs_script();
        page += "</script>\n";
    }
    if (plots_ > 0 || sorts_) {
        page += "<script>const plotColors=[";
        for (const std::string_view color : plot_colors) page += quoted(color) + ",";
        page += "];\n";
        page += report_script();
        page += script_ + "</script>\n";
    }
    return page + "</body>\n</html>\n";
}

}  // namespace wireproof::report
