#include "wireproof/lab/report_page.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace wireproof::lab {
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
    // Nothing ends the script before its time.
    EXPECT_EQ(dygraphs_script().find("</script"), std::string::npos);
    EXPECT_GT(dygraphs_script().size(), 100'000U);
}

TEST(ReportPage, TextFromElsewhereIsOnlyText) {
    ReportPage page("<b>&");
    page.add_text("a < b");
    page.add_table({{"<th>"}, {{"\"x\""}}});
    page.add_plot({"t", "</script>", "\n", false, false, {1}, {{"\"];alert(1)//", {2}}}});
    const std::string html = page.html();
    EXPECT_NE(html.find("<title>&lt;b&gt;&amp;</title>"), std::string::npos);
    EXPECT_NE(html.find("<p>a &lt; b</p>"), std::string::npos);
    EXPECT_NE(html.find("<th>&lt;th&gt;</th>"), std::string::npos);
    EXPECT_NE(html.find("\"\\u0022];alert(1)//\""), std::string::npos);
    EXPECT_NE(html.find("\"\\u003c/script\\u003e\",\"\\u000a\""), std::string::npos);
}

TEST(ReportPage, WhatIsMissingLeavesAGap) {
    ReportPage page("gaps");
    page.add_plot(
        {"t", "x", "y", false, false, {1, 2, 3}, {{"a", {1, std::nullopt, 3}}, {"b", {4}}}});
    EXPECT_NE(page.html().find("[[1,1,4],[2,null,null],[3,3,null],]"), std::string::npos);
}

TEST(ReportPage, WithoutPlotsNeedsNoScript) {
    ReportPage page("words");
    page.add_text("only words");
    EXPECT_EQ(page.html().find("<script"), std::string::npos);
}

}  // namespace
}  // namespace wireproof::lab
