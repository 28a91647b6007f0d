// A report as one HTML file that opens offline. It has tables, pictures and plots that the reader
// can zoom. It follows the reader's light or dark colours, and a printed report is complete.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wireproof::report {

/// Series of values over a common x, drawn as lines. A missing value is left out.
struct ReportPlot {
    using Values = std::vector<std::optional<double>>;  // one for each x

    struct Series {
        std::string name;  // must differ from the other names of the plot
        Values values;
        /// The ends of a band around the values. Both are empty if there is no band.
        Values low = {};
        Values high = {};
        /// An index of the palette. If it is empty, the index of the series is used.
        std::optional<std::size_t> color = {};
        /// If set, the series is the closed form of the series with this index, and is drawn thin
        /// and dashed.
        std::optional<std::size_t> formula_of = {};
    };
    std::string title;
    std::string x_name;
    std::string y_name;
    bool log_x = false;
    bool log_y = false;
    std::vector<double> x;
    std::vector<Series> series;
    bool decades = false;  // the marks of a logarithmic x are powers of ten, not of two
    bool percent = false;  // y is shown in percent
};

struct ReportTable {
    std::vector<std::string> head;
    std::vector<std::vector<std::string>> rows;
    bool sortable = false;                // by a click or a key on a heading
    std::vector<std::size_t> texts = {};  // text columns besides the first
};

class ReportPage {
public:
    using Terms = std::vector<std::pair<std::string, std::string>>;

    explicit ReportPage(std::string title) : title_(std::move(title)) {}

    void add_heading(std::string_view heading);
    void add_text(std::string_view paragraph);
    /// Adds pairs of a name and its value.
    void add_terms(const Terms& terms);
    void add_table(const ReportTable& table);
    void add_plot(const ReportPlot& plot) { add_plots(plot.title, {&plot, 1}); }
    /// Adds plots under one heading, side by side if there is room. If there are several, each
    /// shows its title.
    void add_plots(std::string_view heading, std::span<const ReportPlot> plots);
    /// Adds an `<svg>` element unchanged. The caller must have escaped its texts.
    void add_picture(std::string_view svg);

    std::string html() const;

private:
    void add_panel(const ReportPlot& plot, bool titled);

    std::string title_;
    std::string body_;
    std::string script_;
    std::size_t plots_ = 0;
    bool sorts_ = false;
};

/// The script and style of dygraphs and of the page. The build embeds them.
std::string_view dygraphs_script();
std::string_view dygraphs_style();
std::string_view report_script();
std::string_view report_style();

}  // namespace wireproof::report
