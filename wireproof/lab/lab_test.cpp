// Uses the public header as a program does.
#include "wireproof/lab.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

#include "wireproof/lab/link_retry/retry_point.hpp"
#include "wireproof/lab/sweep/sweep_file.hpp"
#include "wireproof/lab/sweep/sweep_json.hpp"
#include "wireproof/lab/sweep/sweep_quantities.hpp"

namespace wireproof::lab {
namespace {

TEST(Lab, EveryProtocolRunsAndHasTheFiguresOfThePoint) {
    const auto protocols = point_protocols();
    EXPECT_NE(std::find(protocols.begin(), protocols.end(), "pcie"), protocols.end());
    for (const std::string_view protocol : protocols) {
        PointSettings settings;
        settings.protocol = protocol;
        settings.bit_error_rate = 2e-5;  // flits with error correction meet few errors
        settings.payload = 1024;
        settings.loop = 5'000;
        settings.clean_back = true;
        const auto figures = run_point(settings, {.packets = 100'000, .seed = 9});
        ASSERT_TRUE(figures) << protocol << ": " << figures.error();
        const auto point = run_retry_point({.protocol = *retry_protocol(protocol),
                                            .bit_error = 2e-5,
                                            .clean_back = true,
                                            .payload = 1024,
                                            .loop = 5'000},
                                           {.packets = 100'000, .seed = 9})
                               .value();
        EXPECT_EQ(figures->packets, 100'000) << protocol;
        EXPECT_EQ(figures->etr, point.etr()) << protocol;
        EXPECT_EQ(figures->throughput, point.throughput()) << protocol;
        EXPECT_EQ(figures->relative_error, point.relative_error()) << protocol;
        const bool shown = point.shows_closed_form();
        EXPECT_EQ(figures->deviation, shown ? point.deviation() : std::nullopt) << protocol;
        EXPECT_EQ(figures->resent, static_cast<double>(point.totals[RetryCount::resent]));
        EXPECT_EQ(figures->latency, point.latency) << protocol;
        EXPECT_GT(figures->resend_ratio, 0) << protocol;
    }
}

TEST(Lab, EverySettingReachesTheLink) {
    const auto etr = [](auto&& change) {
        PointSettings settings;
        settings.bit_error_rate = 3e-6;
        change(settings);
        const auto figures = run_point(settings, {.packets = 50'000});
        EXPECT_TRUE(figures) << (figures ? "" : figures.error());
        return figures ? std::array{figures->resend_ratio, figures->throughput, figures->acks}
                       : std::array<double, 3>{};
    };
    const auto plain = etr([](PointSettings&) {});
    EXPECT_EQ(etr([](PointSettings&) {}), plain);
    EXPECT_NE(etr([](PointSettings& s) { s.bit_error_rate = 4e-6; }), plain);
    EXPECT_NE(etr([](PointSettings& s) { s.clean_back = true; }), plain);
    EXPECT_NE(etr([](PointSettings& s) { s.notice_loss = 0.5; }), plain);
    EXPECT_NE(etr([](PointSettings& s) { s.payload = 2048; }), plain);
    EXPECT_NE(etr([](PointSettings& s) { s.loop = 20'000; }), plain);
    EXPECT_NE(etr([](PointSettings& s) { s.buffer = 1; }), plain);
    EXPECT_NE(etr([](PointSettings& s) { s.ack_every = 2; }), plain);
    EXPECT_NE(etr([](PointSettings& s) { s.timer = 60'000; }), plain);
    EXPECT_NE(etr([](PointSettings& s) { s.renak_on_bad_head = true; }), plain);
    EXPECT_NE(etr([](PointSettings& s) { s.loaded_back = true; }), plain);
    EXPECT_NE(etr([](PointSettings& s) { s.bursts = {0.01, 0.5, 0.5}; }), plain);
}

TEST(Lab, EveryPartOfThePlanIsFollowed) {
    const PointSettings settings{.bit_error_rate = 1e-9};
    const auto jumped = run_point(settings, {.packets = 300'000, .seed = 5});
    const auto lived = run_point(settings, {.packets = 300'000, .jump = false, .seed = 5});
    EXPECT_GT(jumped->jumped, 0);
    EXPECT_EQ(lived->jumped, 0);
    EXPECT_EQ(jumped->resend_ratio, lived->resend_ratio);
    EXPECT_NE(run_point(settings, {.packets = 300'000, .seed = 6})->resend_ratio,
              jumped->resend_ratio);
    EXPECT_LE(run_point(settings, {.relative_error = 0.1})->relative_error.value(), 0.1);
    EXPECT_EQ(run_point(settings, {.packets_max = 1'000})->packets, 1'000);
}

TEST(Lab, WhatProgressThrowsComesThrough) {
    double told = -1;
    const PointPlan plan{.packets = 3'000'000, .jump = false, .progress = [&](double share) {
                             told = share;
                             throw std::runtime_error("enough");
                         }};
    EXPECT_THROW((void)run_point({.bit_error_rate = 1e-7}, plan), std::runtime_error);
    EXPECT_GE(told, 0);
    EXPECT_LE(told, 1);
}

TEST(Lab, ProgressIsAShare) {
    int told = 0;
    const PointPlan plan{.packets = 200'000, .seed = 1, .progress = [&](double share) {
                             EXPECT_GE(share, 0);
                             EXPECT_LE(share, 1);
                             ++told;
                         }};
    PointSettings settings;
    settings.bursts = {.begin = 1e-6, .end = 1, .bad = 1};  // so no frame is skipped by a jump
    EXPECT_TRUE(run_point(settings, plan));
    EXPECT_GT(std::exchange(told, 0), 2);
    EXPECT_TRUE(draw_first_failure(settings, plan));  // fails after two thirds
    EXPECT_GT(told, 2);
}

TEST(Lab, WhatProgressThrowsEndsALadder) {
    PointSettings settings;
    settings.bursts = {.begin = 1e-6, .end = 1, .bad = 1};
    const PointPlan plan{.seed = 1, .progress = [](double) { throw std::runtime_error("enough"); }};
    EXPECT_THROW((void)draw_first_failure(settings, plan), std::runtime_error);
}

TEST(Lab, WhatCannotWorkIsReportedInOneLine) {
    const auto why = [](const PointSettings& settings, const PointPlan& plan = {}) {
        const auto figures = run_point(settings, plan);
        const auto ladder = draw_first_failure(settings, plan);
        EXPECT_FALSE(figures);
        EXPECT_FALSE(ladder);
        return figures || ladder ? std::string() : figures.error();
    };
    EXPECT_EQ(why({.protocol = "tcp"}).rfind("no protocol is called tcp; there are pcie, ", 0), 0U);
    EXPECT_EQ(why({.payload = 5'000}), "payload of pcie is 1 to 4096");
    EXPECT_NE(why({.bit_error_rate = 0.5}), "");
    EXPECT_EQ(why({}, {.relative_error = 0}), "a relative error is more than 0");
    EXPECT_EQ(why({}, {.packets_max = 0}), "a point has at least one packet");
}

constexpr auto small_sweep = R"(name = "small"
seed = 7
packets = 20000
point_seconds = 60
[grid]
protocol = ["pcie", "hippi6400"]
ber = [1e-6, 1e-5]
)";

TEST(Lab, ASweepIsThatOfItsText) {
    const auto sweep = PointSweep::read(small_sweep);
    ASSERT_TRUE(sweep) << sweep.error();
    EXPECT_EQ(sweep->name(), "small");
    EXPECT_EQ(sweep->points(), 4U);
    EXPECT_EQ(sweep->seed(), 7U);
    EXPECT_EQ(sweep->point_seconds(), 60);
    EXPECT_EQ(sweep->loss_trace(), "");
    const auto wrong = PointSweep::read("[grid]\nber = 2\n");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().rfind("sweep:2:7: a bit error rate is", 0), 0U) << wrong.error();
}

TEST(Lab, APointOfASweepHasItsOwnSeedInAnyOrder) {
    const auto sweep = PointSweep::read(small_sweep);
    const Sweep own = read_sweep(small_sweep, "small").value();
    std::set<std::string> different;
    for (const std::size_t point : {3U, 0U, 2U, 1U}) {
        const auto json = sweep->run(point);
        ASSERT_TRUE(json) << json.error();
        different.insert(*json);
        RetryPlan plan = own.plan;
        plan.seed = point_seed(own.points[point], 7);
        const auto run = run_retry_point(own.points[point], plan).value();
        EXPECT_EQ(*json, sweep_json(sweep_point(own.points[point], run), own.plan).dump());
        EXPECT_NE(json->find("\"packets\":20000,"), std::string::npos) << *json;
    }
    EXPECT_EQ(different.size(), 4U);
    const auto none = sweep->run(4);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error(), "there is no point 4: the sweep has 4");
}

TEST(Lab, ASweepMayHaveAnotherSeedAndEnd) {
    auto sweep = *PointSweep::read(small_sweep);
    const PointSweep before = sweep;
    sweep.set_seed(8);
    EXPECT_NE(*sweep.run(0), *before.run(0));
    EXPECT_EQ(before.seed(), 7U);
    ASSERT_TRUE(sweep.set_packets(100));
    EXPECT_NE(sweep.run(0)->find("\"packets\":100,"), std::string::npos);
    EXPECT_FALSE(sweep.set_packets(0));
    EXPECT_FALSE(sweep.set_packets(1'000'000'000'000'000'001));
    EXPECT_TRUE(sweep.set_packets(1'000'000'000'000'000'000));
    for (const double wrong : {0.0, 0.00009, 0.51, -1.0, std::nan("")}) {
        EXPECT_FALSE(sweep.set_relative_error(wrong)) << wrong;
    }
    auto by_error = *PointSweep::read("[grid]\nber = 1e-5\n");
    const auto units = [](const PointSweep& of) {
        return nlohmann::json::parse(*of.run(0)).at("packets").get<std::uint64_t>();
    };
    const std::uint64_t at_two_per_cent = units(by_error);
    ASSERT_TRUE(by_error.set_relative_error(0.2));
    EXPECT_LT(10 * units(by_error), at_two_per_cent);
}

TEST(Lab, APointOfASweepEndsWhenItsTimeIsOverOrProgressThrows) {
    const auto sweep = PointSweep::read("packets = 1000000000000000\n[grid]\nber = 1e-3\n");
    const auto json = sweep->run(0, {.out_of_time = [] { return true; }});
    ASSERT_TRUE(json) << json.error();
    EXPECT_NE(json->find("\"stopped\":true"), std::string::npos) << *json;
    EXPECT_THROW(static_cast<void>(
                     sweep->run(0, {.progress = [](double) { throw std::runtime_error("no"); }})),
                 std::runtime_error);
}

TEST(Lab, ASweepIsDrawnFromItsResults) {
    const auto sweep = PointSweep::read(small_sweep);
    const Sweep own = read_sweep(small_sweep, "small").value();
    std::vector<std::string> results;
    std::vector<SweepPoint> points;
    for (std::size_t i = 0; i < sweep->points(); ++i) {
        results.push_back(*sweep->run(i));
        RetryPlan plan = own.plan;
        plan.seed = point_seed(own.points[i], 7);
        points.push_back(sweep_point(own.points[i], run_retry_point(own.points[i], plan).value()));
    }
    const auto drawn = sweep->draw(results);
    ASSERT_TRUE(drawn) << drawn.error();
    EXPECT_EQ(*drawn, picture_of(figures_of(points)));
    // A stopped point, or one without a result, is left out.
    std::vector<std::string> fewer = results;
    fewer[1] = "";
    fewer[3].insert(1, "\"stopped\":true,");
    const auto some = sweep->draw(fewer);
    ASSERT_TRUE(some) << some.error();
    EXPECT_EQ(*some, picture_of(figures_of(std::vector{points[0], points[2]})));
}

TEST(Lab, ATextOfAnotherPointIsNotDrawn) {
    const auto sweep = PointSweep::read(small_sweep);
    std::vector<std::string> results;
    for (std::size_t i = 0; i < sweep->points(); ++i) results.push_back(*sweep->run(i));
    const std::string good = results[2];
    for (const std::string& wrong :
         {results[1], std::string("{"), std::string("[]"), std::string("{\"asked\":7}"),
          good.substr(0, good.find(",\"packets\"")) + "}"}) {
        results[2] = wrong;
        const auto drawn = sweep->draw(results);
        ASSERT_FALSE(drawn) << wrong;
        EXPECT_EQ(drawn.error(), "result 2 does not belong to its point") << wrong;
    }
    results.pop_back();
    EXPECT_EQ(sweep->draw(results).error(), "there are 3 results, and the sweep has 4 points");
    EXPECT_EQ(sweep->draw(std::vector<std::string>(4)).error(), "there are no points to draw");
}

TEST(Lab, ASweepHasItsLossesFromAText) {
    auto sweep = *PointSweep::read(
        "packets = 1000\n[grid]\nber = 0\n[line]\nloss_trace = \"cable.trace\"\n");
    EXPECT_EQ(sweep.loss_trace(), "cable.trace");
    const auto missing = sweep.run(0);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error(), "the losses of cable.trace are missing: set_loss_trace");
    const auto wrong = sweep.set_loss_trace("ok 1\nno\n");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().rfind("cable.trace:2:1: ", 0), 0U) << wrong.error();
    ASSERT_TRUE(sweep.set_loss_trace("ok 99\nbad\n"));
    const auto json = nlohmann::json::parse(*sweep.run(0));
    EXPECT_GE(json.at("resent").get<int>(), 10);
}

TEST(Lab, TheFirstFailureIsDrawn) {
    const auto ladder = draw_first_failure({.bit_error_rate = 1e-6});
    ASSERT_TRUE(ladder) << ladder.error();
    EXPECT_EQ(ladder->name, "pcie-first-failure");
    EXPECT_EQ(ladder->frames, 12U);
    EXPECT_NE(ladder->text.find("==== TLP 1 ="), std::string::npos);
    EXPECT_EQ(ladder->svg.rfind("<svg ", 0), 0U);
    const auto none = draw_first_failure({.protocol = "ideal", .bit_error_rate = 1e-6});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error(), "ideal is a model and has no frames to draw");
}

TEST(Lab, AScenarioIsDrawn) {
    const auto ladder = draw_scenario("protocol = \"pcie\"\n[[traffic]]\nfrom = \"A\"\n");
    ASSERT_TRUE(ladder) << ladder.error();
    EXPECT_EQ(ladder->frames, 2U);  // a TLP and its Ack
    EXPECT_NE(ladder->text.find("---- TLP 0 -"), std::string::npos);
    const auto wrong = draw_scenario("protocol = \"pcie\"\nspeed = 3\n[[traffic]]\nfrom = \"A\"\n");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().rfind("scenario:2:1: ", 0), 0U) << wrong.error();
}

}  // namespace
}  // namespace wireproof::lab
