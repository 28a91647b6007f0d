#include "wireproof/lab/ladder/scenario_file.hpp"

#include <gtest/gtest.h>

namespace wireproof::lab {
namespace {

constexpr std::string_view whole = R"(name = "mine"
title = "All that can be said."
protocol = "pcie"
seed = 9
show_start = true

[link]
latency_ns = 300
bytes_per_second = 500_000_000

[engine]
ack_latency_ns = 700
first_number = 4090

[[traffic]]
from = "B"
at_ns = 50
every_ns = 10
messages = 7
bytes = 5

[[fault]]
direction = "B->A"
kind = "TLP"
number = [4094, 1]
nth = [2, 3]
fate = "held"
behind = 4

[[fault]]
direction = "A->B"
fate = "damaged"

[[random]]
direction = "A->B"
loss = 0.25
burst_begin = 1

[stop]
until_ns = 5000
frames = 60
)";

TEST(ScenarioFile, EveryKeyArrivesWhereItBelongs) {
    const auto read = read_scenario(whole, "x.toml");
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->name, "mine");
    EXPECT_EQ(read->title, "All that can be said.");
    EXPECT_EQ(read->protocol(), Protocol::pcie);
    EXPECT_EQ(read->seed, 9U);
    EXPECT_TRUE(read->show_start);
    EXPECT_EQ(read->link.latency, Duration::nanoseconds(300));
    const auto& engine = std::get<pcie::Config>(read->engine);
    EXPECT_EQ(engine.byte_time, Duration::nanoseconds(2));
    EXPECT_EQ(engine.ack_latency, Duration::nanoseconds(700));
    EXPECT_EQ(engine.first_number, 4090U);
    ASSERT_EQ(read->traffic.size(), 1U);
    EXPECT_EQ(read->traffic[0].from, Side::b);
    EXPECT_EQ(read->traffic[0].messages, 7U);
    EXPECT_EQ(read->traffic[0].bytes, 5U);
    EXPECT_EQ(read->traffic[0].every, Duration::nanoseconds(10));
    ASSERT_EQ(read->faults.size(), 2U);
    const FaultRule& rule = read->faults[0].rule;
    EXPECT_EQ(rule.kind, "TLP");
    EXPECT_EQ(rule.number_first, 4094U);
    EXPECT_EQ(rule.number_last, 1U);
    EXPECT_EQ(rule.nth_first, 2U);
    EXPECT_EQ(rule.nth_last, 3U);
    EXPECT_EQ(rule.fate, Fate{.held_behind = 4});
    EXPECT_EQ(read->faults[1].from, Side::a);
    EXPECT_EQ(read->faults[1].rule.nth_last, 1U) << "the first unless said otherwise";
    EXPECT_EQ(read->faults[1].rule.fate, Fate{.damaged = true});
    EXPECT_EQ(read->noise[0].rates.loss, 0.25);
    EXPECT_EQ(read->noise[0].bursts.begin, 1);
    EXPECT_EQ(read->noise[1].rates, FaultRates());
    EXPECT_EQ(read->stop.until, Duration::nanoseconds(5000));
    EXPECT_EQ(read->stop.frames, 60U);
}

TEST(ScenarioFile, TimersFollowFromTheLinkUnlessGiven) {
    const std::string text = "protocol = \"hippi6400\"\n[[traffic]]\nfrom = \"A\"\n";
    const auto slow = read_scenario(text + "[link]\nlatency_ns = 10_000\n", "x.toml");
    ASSERT_TRUE(slow.has_value()) << slow.error().message;
    EXPECT_GT(std::get<hippi::Config>(slow->engine).retry_after, Duration::microseconds(80));
    EXPECT_EQ(slow->name, "x") << "the file's stem where there is no name";
}

TEST(ScenarioFile, SpAmComesInTwoSizes) {
    const auto big = read_scenario(
        "protocol = \"sp-am\"\n[engine]\npreset = \"ethernet\"\nhello = true\n"
        "[[traffic]]\nfrom = \"A\"\nwhat = \"get\"\nbytes = 100000\n",
        "x.toml");
    ASSERT_TRUE(big.has_value()) << big.error().message;
    const auto& engine = std::get<am::Config>(big->engine);
    EXPECT_EQ(engine.layout, am::Layout::ethernet);
    EXPECT_FALSE(engine.cookie.has_value());
    EXPECT_EQ(big->traffic[0].what, Traffic::What::get);
}

struct Mistake {
    const char* text;
    const char* complaint;  // after "f.toml:"
};

constexpr const char* pcie = "protocol = \"pcie\"\n";
constexpr const char* traffic_table = "[[traffic]]\nfrom = \"A\"\n";

std::string complaint_about(const std::string& text) {
    const auto read = read_scenario(text, "f.toml");
    return read ? "nothing" : read.error().message;
}

TEST(ScenarioFile, AMistakeIsReportedInOneLineWithLineAndColumn) {
    const std::string good = std::string(pcie) + traffic_table;
    EXPECT_EQ(complaint_about(good), "nothing");
    const std::vector<Mistake> mistakes = {
        {"sped = 1\n", "5:1: unknown key \"sped\" in [[fault]]"},
        {"fate = \"eaten\"\n",
         "5:8: \"fate\" must be \"lost\", \"damaged\", \"duplicated\" or \"held\", not \"eaten\""},
        {"fate = 3\n", "5:8: \"fate\" must be \"lost\", \"damaged\", \"duplicated\" or \"held\""},
        {"nth = 0\n", "5:7: \"nth\" must be a whole number from 1 on"},
        {"nth = [3, 2]\n", "5:7: \"nth\" must name the earlier frame first"},
        {"nth = [1, 2, 3]\n", "5:7: \"nth\" must be one number, or the first and the last of many"},
        {"number = -1\n", "5:10: \"number\" must be a whole number, 0 to 4294967295"},
        {"number = [1, 2.5]\n", "5:14: \"number\" must be a whole number, 0 to 4294967295"},
        {"behind = 2\n", "5:10: \"behind\" is for the fate \"held\""},
        {"intact = 2\n", "5:10: \"intact\" is for the fate \"damaged\""},
        {"direction = \"A->C\"\n",
         "5:13: \"direction\" must be \"A->B\" or \"B->A\", not \"A->C\""},
    };
    for (const Mistake& one : mistakes) {
        const bool names_way = std::string(one.text).starts_with("direction");
        const std::string way = names_way ? "" : "direction = \"A->B\"\n";
        EXPECT_EQ(complaint_about(good + "[[fault]]\n" + one.text + way),
                  std::string("f.toml:") + one.complaint);
    }
}

TEST(ScenarioFile, EveryTableIsReadAsStrictly) {
    const std::string good = std::string(pcie) + traffic_table;
    EXPECT_EQ(complaint_about(""), "f.toml:1:1: the file needs the key \"protocol\"");
    EXPECT_EQ(complaint_about("protocol = \"tcp\"\n"),
              "f.toml:1:12: \"protocol\" must be \"pcie\", \"hippi6400\", \"flit\", \"ue-llr\", "
              "\"cxl-llr\" or "
              "\"sp-am\", not \"tcp\"");
    EXPECT_EQ(complaint_about("link = 3\nprotocoll = \"pcie\"\n"),
              "f.toml:2:1: unknown key \"protocoll\" in the file");
    EXPECT_EQ(complaint_about(pcie), "f.toml:1:1: the file needs the key \"traffic\"");
    EXPECT_EQ(complaint_about(std::string(pcie) + "[[traffic]]\nbytes = 9\n"),
              "f.toml:2:1: [[traffic]] needs the key \"from\"");
    EXPECT_EQ(complaint_about(std::string(pcie) + "traffic = 7\n"),
              "f.toml:2:11: \"traffic\" must be tables, each begun by [[traffic]]");
    EXPECT_EQ(complaint_about(std::string(pcie) + "link = 7\n" + traffic_table),
              "f.toml:2:8: \"link\" must be a table, begun by [link]");
    EXPECT_EQ(complaint_about(std::string(pcie) + "[link]\nbytes_per_second = 7\n" + traffic_table),
              "f.toml:3:20: \"bytes_per_second\" must be 0, or at least 1000");
    EXPECT_EQ(complaint_about(good + "bytes = 4097\n"),
              "f.toml:4:9: \"bytes\" must be a whole number, 0 to 4096");
    EXPECT_EQ(complaint_about(good + "bytes = \"many\"\n"),
              "f.toml:4:9: \"bytes\" must be a whole number, 0 to 4096");
    const std::string kinds =
        complaint_about(good + "[[fault]]\ndirection = \"A->B\"\nkind = \"REQ\"\n");
    EXPECT_TRUE(kinds.starts_with("f.toml:6:8: \"kind\" must be \"TLP\", ")) << kinds;
    EXPECT_TRUE(kinds.ends_with(", not \"REQ\"")) << kinds;
    EXPECT_EQ(complaint_about(good + "[[random]]\nloss = 1.5\n"),
              "f.toml:5:8: \"loss\" must be a probability, 0 to 1");
    EXPECT_EQ(complaint_about(good + "[[random]]\nloss = nan\n"),
              "f.toml:5:8: \"loss\" must be a probability, 0 to 1");
    EXPECT_EQ(complaint_about("show_start = 1\n" + good),
              "f.toml:1:14: \"show_start\" must be true or false");
    EXPECT_EQ(complaint_about("title = \"\\u001b[2J\"\n" + good),
              "f.toml:1:9: \"title\" must be plain text of 1 to 400 bytes");
    EXPECT_EQ(complaint_about("title = \"\\u009b2J\"\n" + good),
              "f.toml:1:9: \"title\" must be plain text of 1 to 400 bytes");
    EXPECT_EQ(complaint_about(good + "[engine]\nw_max = 3\n"),
              "f.toml:5:1: unknown key \"w_max\" in [engine]");
    EXPECT_EQ(complaint_about("w_max = 3\n" + good),
              "f.toml:1:1: unknown key \"w_max\" in the file");
    EXPECT_EQ(complaint_about(good + "[engine]\npayload_max = 64\ndata_credits = 1\n"),
              "f.toml:4:1: 1 data credits do not hold the largest payload");
    EXPECT_EQ(complaint_about("protocol = \"sp-am\"\n[[traffic]]\nfrom = \"A\"\nbytes = 6\n"),
              "f.toml:4:9: \"bytes\" of a request must be whole words of 4");
}

TEST(ScenarioFile, WhatIsNoTomlIsReportedWhereItEnds) {
    for (const char* text : {"protocol = \"pcie\nfrom", "[[[", "x = 1\nx = 2\n", "a = \xff\n",
                             "a = 1\xef\xb3\xbf\n", "\xef\xb3\xbf", "protocol = pcie"}) {
        const std::string complaint = complaint_about(text);
        EXPECT_EQ(complaint.substr(0, 7), "f.toml:") << complaint;
        EXPECT_EQ(complaint.find('\n'), std::string::npos) << complaint;
    }
    EXPECT_EQ(complaint_about("x = 1\nx = 2\n").substr(0, 9), "f.toml:2:");
    EXPECT_EQ(complaint_about("x = 1\n[[["), "f.toml:2:3: this is no TOML");
}

TEST(ScenarioFile, OfSeveralMistakesTheFirstInTheFileIsReported) {
    const std::string text = std::string(pcie) + traffic_table + "zeal = 1\nbytes = -1\n[anger]\n";
    EXPECT_EQ(complaint_about(text), "f.toml:4:1: unknown key \"zeal\" in [[traffic]]");
}

TEST(ScenarioFile, AModulusTooSmallForTheWindowMustBeAskedFor) {
    const auto with = [](std::string_view protocol, std::string_view engine) {
        return read_scenario("protocol = \"" + std::string(protocol) + "\"\n[engine]\n" +
                                 std::string(engine) + "\n[[traffic]]\nfrom = \"A\"\n",
                             "x.toml");
    };
    EXPECT_TRUE(with("pcie", "modulus = 4\noutstanding = 1"));
    EXPECT_FALSE(with("pcie", "modulus = 4\noutstanding = 4"));
    EXPECT_TRUE(with("pcie", "modulus = 4\noutstanding = 4\nany_window = true"));
    EXPECT_FALSE(with("pcie", "modulus = 4\noutstanding = 5\nany_window = true"));
    EXPECT_FALSE(with("pcie", "modulus = 5\noutstanding = 1\nany_window = true"));
    EXPECT_TRUE(with("hippi6400", "modulus = 3\nw_max = 2"));
    EXPECT_FALSE(with("hippi6400", "modulus = 3\nw_max = 3"));
    EXPECT_TRUE(with("hippi6400", "modulus = 3\nw_max = 3\nany_window = true"));
    const std::string am = "window = 4\nchunk_packets = 1\nmodulus = 4\nfirst_number = ";
    EXPECT_FALSE(with("sp-am", am + "0"));
    EXPECT_TRUE(with("sp-am", am + "3\nany_window = true"));
    EXPECT_FALSE(with("sp-am", am + "4\nany_window = true"));
    EXPECT_FALSE(with("pcie", "modulus = 3"));
    EXPECT_FALSE(with("hippi6400", "modulus = 256"));
}

}  // namespace
}  // namespace wireproof::lab
