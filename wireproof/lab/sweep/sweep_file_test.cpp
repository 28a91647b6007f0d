// Reads sweep files and compares their points.
#include "wireproof/lab/sweep/sweep_file.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace wireproof::lab {
namespace {

std::vector<RetrySettings> points_of(std::string_view text) {
    const auto sweep = read_sweep(text, "grid.toml");
    EXPECT_TRUE(sweep) << (sweep ? "" : sweep.error().message);
    return sweep ? sweep->points : std::vector<RetrySettings>();
}

std::string complaint(std::string_view text) {
    const auto sweep = read_sweep(text, "grid.toml");
    return sweep ? "" : sweep.error().message;
}

TEST(SweepFile, ListsMultiplyAndTheLastChangesFastest) {
    const auto points = points_of("[grid]\npayload = [256, 512]\nloop = [0, 9]\nber = [0, 1e-9]\n");
    ASSERT_EQ(points.size(), 8U);
    EXPECT_EQ(points[1].bit_error, 1e-9);
    EXPECT_EQ(points[2].loop, 9U);
    EXPECT_EQ(points[3].payload, 256U);
    EXPECT_EQ(points[4].payload, 512U);
}

TEST(SweepFile, WhatAProtocolHasNotIsLeftOutForIt) {
    const auto points = points_of(R"([grid]
protocol = ["pcie", "ideal", "go-back-n", "uc", "rc"]
loaded_back = true
timer = 20000
ack_every = 2
[line]
notice_loss = 0.5
)");
    ASSERT_EQ(points.size(), 5U);
    EXPECT_TRUE(points[0].loaded_back && points[0].timer == 20'000 && points[0].notice_loss == 0.5);
    for (std::size_t i = 1; i < 4; ++i) {
        EXPECT_FALSE(points[i].loaded_back) << i;
        EXPECT_EQ(points[i].timer, 0U) << i;
        EXPECT_EQ(points[i].notice_loss, 0) << i;
    }
    EXPECT_EQ(points[4].ack_every, 0U);
}

// pcie has no flits, so all its points are the same.
TEST(SweepFile, SettingsOfFlitsAreLeftOutForOtherProtocols) {
    const auto points = points_of(R"([grid]
protocol = ["pcie", "ideal"]
fec = ["on", "off"]
burst_bits = [1, 4]
[line]
lanes = 8
lane_correlation = 0.01
)");
    ASSERT_EQ(points.size(), 2U);
    EXPECT_EQ(points[0].fec, RetryFec::own);
    EXPECT_EQ(points[0].burst_bits + points[0].lanes, 0U);
    EXPECT_EQ(points[0].lane_correlation, 0);
    EXPECT_NE(complaint("[grid]\nfec = true\n"), "");
    EXPECT_NE(complaint("[grid]\nfec = \"maybe\"\n"), "");
    EXPECT_NE(complaint("[grid]\nburst_bits = 0\n"), "");
    EXPECT_NE(complaint("[grid]\n[line]\nlanes = 33\n"), "");
    EXPECT_NE(complaint("[grid]\n[line]\nlane_correlation = 2\n"), "");
}

// "protocol buffer" of each point.
TEST(SweepFile, PointsThatAreThenTheSameAreOne) {
    std::ostringstream all;
    for (const RetrySettings& point :
         points_of("[grid]\nprotocol = [\"uc\", \"pcie\"]\nbuffer = [8, 2, 4]\n")) {
        all << name_of(point.protocol) << " " << point.buffer << "; ";
    }
    EXPECT_EQ(all.str(), "uc 0; pcie 8; pcie 2; pcie 4; ");
    EXPECT_EQ(points_of("[grid]\nprotocol = [\"pcie\", \"ideal\"]\nloaded_back = [true, false]\n"
                        "ber = [1e-9, 1e-8, 1e-9]\n")
                  .size(),
              3U * 2);
    // A line with a preset name and a line without are different.
    EXPECT_EQ(points_of("[grid]\npreset = [\"sp2\", \"pcie-gen3-x4\", \"sp2\"]\n").size(), 2U);
}

TEST(SweepFile, AWholeNumberMayHaveAnExponent) {
    const auto sweep =
        read_sweep("packets = 1e15\nseed = 2.5e1\n[grid]\nloop = [2e3, 2000]\npayload = 5.12E2\n",
                   "grid.toml");
    ASSERT_TRUE(sweep) << sweep.error().message;
    EXPECT_EQ(sweep->plan.packets, 1'000'000'000'000'000U);
    EXPECT_EQ(sweep->plan.seed, 25U);
    ASSERT_EQ(sweep->points.size(), 1U);
    EXPECT_EQ(sweep->points[0].loop, 2'000U);
    EXPECT_EQ(sweep->points[0].payload, 512U);
    for (const char* const value :
         {"1.5", "2.5e0", "1e-3", "1e19", "-1e3", "inf", "nan", "1e300"}) {
        EXPECT_EQ(complaint("packets = " + std::string(value) + "\n[grid]\n"),
                  "grid.toml:1:11: \"packets\" must be a whole number, 1 to 1000000000000000000")
            << value;
    }
}

TEST(SweepFile, APointMayHaveALimitOfTime) {
    EXPECT_EQ(read_sweep("[grid]\n", "grid.toml")->point_seconds, 0);
    EXPECT_EQ(read_sweep("point_seconds = 90\n[grid]\n", "grid.toml")->point_seconds, 90);
    EXPECT_EQ(read_sweep("point_seconds = 0.5\n[grid]\n", "grid.toml")->point_seconds, 0.5);
    for (const char* const value : {"0", "0.001", "-1", "1e8", "inf", "nan", "true", "\"1\""}) {
        EXPECT_EQ(complaint("point_seconds = " + std::string(value) + "\n[grid]\n"),
                  "grid.toml:1:17: \"point_seconds\" must be 0.01 to 10000000")
            << value;
    }
    EXPECT_EQ(complaint("relative_error = 0.6\n[grid]\n"),
              "grid.toml:1:18: \"relative_error\" must be 0.0001 to 0.5");
}

TEST(SweepFile, WhatIsWrongHasItsPlace) {
    EXPECT_EQ(complaint("[grid]\nber = 2\n").rfind("grid.toml:2:7: ", 0), 0U);
    EXPECT_EQ(complaint("seed = 1\n").rfind("grid.toml:1:1: ", 0), 0U);
    const auto place = [](const std::string& text) {
        const std::string line = complaint(text);
        return line.substr(0, line.find(": "));
    };
    EXPECT_EQ(place("[grid]\nprotocol = \"pcie\"\nloop = 2000\ntimer = [99999, 100]\n"),
              "grid.toml:4:17");
    EXPECT_EQ(place("[grid]\nprotocol = [\"pcie\",\n  \"hippi6400\"]\nbuffer = [20,\n  255]\n"),
              "grid.toml:5:3");
    EXPECT_EQ(place("[grid]\nprotocol = \"ideal\"\n[line]\nlanes = 3\n"), "");
    EXPECT_EQ(place("[grid]\npreset = \"pcie-gen6-x16\"\n[line]\nlanes = 3\n"), "grid.toml:4:9");
    EXPECT_EQ(place("[grid]\nbuffer = [2]\nack_every = 4\n"), "grid.toml:2:11");
    EXPECT_EQ(complaint("[grid]\n[line]\nbursts = { end = 0.5, bad = 0.5 }\n"),
              "grid.toml:3:10: [bursts] needs the key \"begin\"");
}

}  // namespace
}  // namespace wireproof::lab
