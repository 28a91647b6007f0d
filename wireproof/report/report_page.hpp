// A report as one HTML file that opens offline: tables, pictures, and plots that can be zoomed. It
// follows the reader's light or dark colours, and on paper nothing of it is cut.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wireproof::report {

/// Values over a common x, drawn as lines; a missing value is passed over.
struct ReportPlot {
    using Values = std::vector<std::optional<double>>;  // one for each x

    struct Series {
        std::string name;  // no two of a plot are equal
        Values values;
        /// Of the band around it; both empty: there is none.
        Values low = {};
        Values high = {};
        /// Of the palette; without it, that of its place.
        std::optional<std::size_t> color = {};
        /// Drawn thin and dashed, as the closed form of the series in this place.
        std::optional<std::size_t> formula_of = {};
    };
    std::string title;
    std::string x_name;
    std::string y_name;
    bool log_x = false;
    bool log_y = false;
    std::vector<double> x;
    std::vector<Series> series;
    bool decades = false;  // a logarithmic x is named in powers of ten, not of two
    bool percent = false;  // y is a share
};

struct ReportTable {
    std::vector<std::string> head;
    std::vector<std::vector<std::string>> rows;
    bool sortable = false;                // by a click or a key on a heading
    std::vector<std::size_t> texts = {};  // columns that are not numbers, besides the first
};

class ReportPage {
public:
    using Terms = std::vector<std::pair<std::string, std::string>>;

    explicit ReportPage(std::string title) : title_(std::move(title)) {}

    void add_heading(std::string_view heading);
    void add_text(std::string_view paragraph);
    /// Names, and what each is here.
    void add_terms(const Terms& terms);
    void add_table(const ReportTable& table);
    void add_plot(const ReportPlot& plot) { add_plots(plot.title, {&plot, 1}); }
    /// Under one heading, side by side where there is room; each has its title if they are several.
    void add_plots(std::string_view heading, std::span<const ReportPlot> plots);
    /// An `<svg>` element as it is, from who can be trusted to have escaped what needs it.
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

/// Of the library that draws, and of the page; embedded when this was built.
std::string_view dygraphs_script();
std::string_view dygraphs_style();
std::string_view report_script();
std::string_view report_style();

}  // namespace wireproof::report
