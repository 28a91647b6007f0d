// A report as one HTML file that opens offline: tables, and plots that can be zoomed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wireproof::lab {

/// Values over a common x, drawn as lines; a missing value leaves a gap.
struct ReportPlot {
    struct Series {
        std::string name;
        std::vector<std::optional<double>> values;  // one for each x
    };
    std::string title;
    std::string x_name;
    std::string y_name;
    bool log_x = false;
    bool log_y = false;
    std::vector<double> x;
    std::vector<Series> series;
};

struct ReportTable {
    std::vector<std::string> head;
    std::vector<std::vector<std::string>> rows;
};

class ReportPage {
public:
    explicit ReportPage(std::string title) : title_(std::move(title)) {}

    void add_text(std::string paragraph);
    void add_table(const ReportTable& table);
    void add_plot(const ReportPlot& plot);

    std::string html() const;

private:
    std::string title_;
    std::string body_;
    std::string script_;
    std::size_t plots_ = 0;
};

/// Of the library that draws; embedded when this was built.
std::string_view dygraphs_script();
std::string_view dygraphs_style();

}  // namespace wireproof::lab
