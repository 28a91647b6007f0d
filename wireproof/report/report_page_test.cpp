#include "wireproof/report/report_page.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace wireproof::report {
namespace {

TEST(ReportPage, HasEverythingInOneFile) {
    ReportPage page("figures");
    page.add_plot({"rate", "bytes", "per second", true, true, {8, 64}, {{"ours", {1.5, 2}}}});
    const std::string html = page.html();
    EXPECT_NE(html.find("Dygraph"), std::string::npos);
    for (const char* const outside :
         {"<script src", "<link", "<img", "@import", "url(http", "sourceMappingURL"}) {
        EXPECT_EQ(html.find(outside), std::string::npos) << outside;
    }
    // The library's script must not contain the tag that ends a script.
    EXPECT_EQ(dygraphs_script().find("</script"), std::string::npos);
    EXPECT_GT(dygraphs_script().size(), 100'000U);
}

TEST(ReportPage, TextFromElsewhereIsOnlyText) {
    ReportPage page("<b>&");
    page.add_text("a < b");
    page.add_table({{"<th>"}, {{"\"x\""}}});
    page.add_terms({{"<dt>", "<dd>"}});
    page.add_heading("<h2>");
    page.add_plot({"t", "</script>", "\n", false, false, {1}, {{"\"];alert(1)//", {2}}}});
    const std::string html = page.html();
    EXPECT_NE(html.find("<title>&lt;b&gt;&amp;</title>"), std::string::npos);
    EXPECT_NE(html.find("<p>a &lt; b</p>"), std::string::npos);
    EXPECT_NE(html.find("<th>&lt;th&gt;</th>"), std::string::npos);
    EXPECT_NE(html.find("<dt>&lt;dt&gt;</dt><dd>&lt;dd&gt;</dd>"), std::string::npos);
    EXPECT_NE(html.find("<h2>&lt;h2&gt;</h2>"), std::string::npos);
    EXPECT_NE(html.find("\"\\u0022];alert(1)//\""), std::string::npos);
    EXPECT_NE(html.find("xName:\"\\u003c/script\\u003e\",yName:\"\\u000a\""), std::string::npos);
}

TEST(ReportPage, WhatIsMissingLeavesAGap) {
    ReportPage page("gaps");
    page.add_plot(
        {"t", "x", "y", false, false, {1, 2, 3}, {{"a", {1, std::nullopt, 3}}, {"b", {4}}}});
    EXPECT_NE(page.html().find("[[1,1,4],[2,null,null],[3,3,null],]"), std::string::npos);
}

TEST(ReportPage, AValueWithABandIsThree) {
    ReportPage page("bands");
    ReportPlot plot{"t", "x", "y", true, true, {1, 2}, {{"a", {3, std::nullopt}}, {"b", {4, 5}}}};
    plot.series[0].low = {2, std::nullopt};
    plot.series[0].high = {6, std::nullopt};
    plot.series[1].formula_of = 0;
    plot.series[1].color = 0;
    page.add_plot(plot);
    EXPECT_NE(page.html().find("bars:true,names:[\"a\",\"b\",],colors:[0,0,],formulaOf:[-1,0,],"
                               "rows:[[1,[2,3,6],[4,4,4]],[2,[null,null,null],[5,5,5]],]"),
              std::string::npos);
}

TEST(ReportPage, ATableThatSortsSaysSoInEveryHeading) {
    ReportPage page("table");
    page.add_table({{"a", "b"}, {{"1", "x"}}, true, {1}});
    const std::string html = page.html();
    EXPECT_NE(
        html.find(
            "<th scope=\"col\" aria-sort=\"none\"><span role=\"button\" tabindex=\"0\">a</span>"),
        std::string::npos);
    EXPECT_NE(html.find("<td>1</td><td class=\"text\">x</td>"), std::string::npos);
    EXPECT_NE(html.find("function sortTable"), std::string::npos);
    EXPECT_EQ(html.find(dygraphs_script().substr(0, 100)), std::string::npos);
}

TEST(ReportPage, PlotsOfOneHeadingStandSideBySideWithTheirTitles) {
    const ReportPlot plot{"small", "x", "y", false, false, {1}, {{"a", {1}}}};
    ReportPage several("page");
    several.add_plots("both", std::vector<ReportPlot>{plot, plot});
    EXPECT_NE(several.html().find("<h2>both</h2>\n<div class=\"panels\">"), std::string::npos);
    EXPECT_NE(several.html().find("<h3>small</h3>"), std::string::npos);
    ReportPage one("page");
    one.add_plot(plot);
    EXPECT_NE(one.html().find("<h2>small</h2>\n<div class=\"panels one\">"), std::string::npos);
    EXPECT_EQ(one.html().find("<h3>"), std::string::npos);
}

TEST(ReportPage, APlotIsThereAsAStillPictureToo) {
    ReportPage page("paper");
    page.add_plot({"t", "x", "y", false, false, {1, 2}, {{"a", {1, 2}}}});
    const std::string html = page.html();
    const std::size_t still = html.find("<div class=\"still\"><svg ");
    ASSERT_NE(still, std::string::npos);
    EXPECT_NE(html.find("<polyline", still), std::string::npos);
}

TEST(ReportPage, WithoutPlotsNeedsNoScript) {
    ReportPage page("words");
    page.add_text("only words");
    page.add_table({{"a"}, {{"1"}}});
    EXPECT_EQ(page.html().find("<script"), std::string::npos);
}

}  // namespace
}  // namespace wireproof::report
