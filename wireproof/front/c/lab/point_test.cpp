// The laboratory through the interface for C.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include "wireproof/lab.hpp"
#include "wireproof/wireproof.h"

namespace wireproof::c {
namespace {

struct Arguments {
    Arguments() {
        EXPECT_EQ(wireproof_point_settings_init(&settings, sizeof settings), WIREPROOF_OK);
        EXPECT_EQ(wireproof_point_plan_init(&plan, sizeof plan), WIREPROOF_OK);
        settings.bit_error_rate = 1e-6;
        plan.relative_error = 0.05;
        figures.size = sizeof figures;
    }
    wireproof_status run() {
        return wireproof_point_run(&settings, &plan, &figures, why.data(), why.size());
    }

    wireproof_point_settings settings{};
    wireproof_point_plan plan{};
    wireproof_point_figures figures{};
    std::array<char, 256> why{};
};

TEST(CPoint, HasTheFiguresOfTheLaboratory) {
    Arguments c;
    c.settings.payload = 2048;
    c.settings.loop = 3000;
    c.settings.buffer = 5;
    c.settings.ack_every = 2;
    c.settings.timer = 40'000;
    c.settings.notice_loss = 0.25;
    c.settings.renak_on_bad_head = 1;
    c.plan.packets = 100'000;
    c.plan.seed = 9;
    ASSERT_EQ(c.run(), WIREPROOF_OK) << c.why.data();
    const auto expected = lab::run_point({.bit_error_rate = 1e-6,
                                          .notice_loss = 0.25,
                                          .payload = 2048,
                                          .loop = 3000,
                                          .buffer = 5,
                                          .ack_every = 2,
                                          .timer = 40'000,
                                          .renak_on_bad_head = true},
                                         {.packets = 100'000, .seed = 9});
    ASSERT_TRUE(expected);
    const wireproof_point_figures& f = c.figures;
    EXPECT_EQ(f.packets, expected->packets);
    EXPECT_EQ(f.etr, expected->etr);
    EXPECT_EQ(f.throughput, expected->throughput);
    EXPECT_EQ(f.resend_ratio, expected->resend_ratio);
    EXPECT_EQ(f.relative_error, expected->relative_error);
    EXPECT_TRUE(std::isnan(f.closed_etr) && !expected->closed_etr) << "the buffer is too short";
    EXPECT_GT(f.timeouts, 0);
    EXPECT_EQ(f.timeouts, expected->timeouts);
    EXPECT_EQ(f.resent, expected->resent);
    EXPECT_EQ(f.notices, expected->notices);
    EXPECT_EQ(f.acks, expected->acks);
    EXPECT_EQ(f.frames, expected->frames);
    EXPECT_EQ(f.line_bytes, expected->line_bytes);
    EXPECT_EQ(f.jumped, expected->jumped);
    EXPECT_EQ(f.unit_bytes, expected->unit_bytes);
    EXPECT_EQ(f.buffer_mean, expected->buffer_mean);
    EXPECT_EQ(f.buffer_most, expected->buffer_most);
    EXPECT_EQ(f.latency_50, expected->latency[0]);
    EXPECT_EQ(f.latency_99, expected->latency[1]);
    EXPECT_EQ(f.latency_999, expected->latency[2]);
    EXPECT_EQ(f.latency_max, expected->latency[3]);
}

TEST(CPoint, HasTheClosedFormWhereItDescribesTheLink) {
    for (const double bit_error_rate : {1e-8, 3e-6, 3e-5}) {
        Arguments c;
        c.settings.bit_error_rate = bit_error_rate;
        c.plan.packets = 20'000;
        ASSERT_EQ(c.run(), WIREPROOF_OK) << c.why.data();
        const auto expected =
            lab::run_point({.bit_error_rate = bit_error_rate}, {.packets = 20'000});
        ASSERT_TRUE(expected);
        EXPECT_EQ(c.figures.closed_at_edge, bit_error_rate == 3e-6 ? 1U : 0U);
        EXPECT_EQ(expected->closed_at_edge, bit_error_rate == 3e-6);
        if (bit_error_rate == 3e-5) {
            EXPECT_TRUE(std::isnan(c.figures.closed_etr) && std::isnan(c.figures.deviation));
            continue;
        }
        EXPECT_EQ(c.figures.closed_etr, expected->closed_etr);
        EXPECT_EQ(c.figures.closed_ratio, expected->closed_ratio);
        EXPECT_EQ(c.figures.deviation, expected->deviation);
    }
}

TEST(CPoint, BurstsAndTheWayBackArrive) {
    Arguments c;
    c.settings.bursts_begin = 0.001;
    c.settings.bursts_end = 0.5;
    c.settings.bursts_bad = 0.75;
    c.settings.clean_back = 1;
    c.settings.loaded_back = 1;
    c.plan.packets = 20'000;
    c.plan.jump = 0;
    ASSERT_EQ(c.run(), WIREPROOF_OK) << c.why.data();
    const auto expected = lab::run_point({.bit_error_rate = 1e-6,
                                          .clean_back = true,
                                          .loaded_back = true,
                                          .bursts = {.begin = 0.001, .end = 0.5, .bad = 0.75}},
                                         {.packets = 20'000, .jump = false});
    ASSERT_TRUE(expected) << expected.error();
    EXPECT_EQ(c.figures.etr, expected->etr);
    EXPECT_EQ(c.figures.resend_ratio, expected->resend_ratio);
    EXPECT_EQ(c.figures.jumped, 0);
    EXPECT_TRUE(std::isnan(c.figures.closed_etr)) << "there is no closed form";
    EXPECT_TRUE(std::isnan(c.figures.deviation));
}

TEST(CPoint, DefaultsAreThoseOfTheLaboratory) {
    const Arguments c;
    const lab::PointSettings settings;
    const lab::PointPlan plan;
    EXPECT_EQ(c.settings.protocol, settings.protocol);
    EXPECT_EQ(c.settings.payload, settings.payload);
    EXPECT_EQ(c.settings.loop, settings.loop);
    EXPECT_EQ(c.settings.bursts_end, settings.bursts.end);
    EXPECT_EQ(c.plan.packets_max, plan.packets_max);
    EXPECT_EQ(c.plan.jump, 1U);
    EXPECT_EQ(c.plan.seed, plan.seed);
    EXPECT_EQ(c.plan.progress, nullptr);
}

TEST(CPoint, WithoutAPlanTheDefaultsHold) {
    Arguments c;
    c.settings.bit_error_rate = 0;
    EXPECT_EQ(wireproof_point_run(&c.settings, nullptr, &c.figures, nullptr, 0), WIREPROOF_OK);
    EXPECT_GT(c.figures.packets, 0);
    EXPECT_TRUE(std::isnan(c.figures.relative_error)) << "no unit was sent again";
}

TEST(CPoint, AWrongArgumentIsNamed) {
    const auto why_of = [](auto&& change) {
        Arguments c;
        change(c);
        const wireproof_status status = c.run();
        EXPECT_EQ(c.figures.packets, 0) << "nothing was written";
        return std::to_string(status) + " " + c.why.data();
    };
    const auto bad = [](const std::string& member) {
        return "11 the value of " + member + " has no meaning";
    };
    EXPECT_EQ(why_of([](auto& c) { c.settings.protocol = nullptr; }), bad("protocol"));
    EXPECT_EQ(why_of([](auto& c) { c.settings.clean_back = 2; }), bad("clean_back"));
    EXPECT_EQ(why_of([](auto& c) { c.settings.renak_on_bad_head = 2; }), bad("renak_on_bad_head"));
    EXPECT_EQ(why_of([](auto& c) { c.settings.loaded_back = 2; }), bad("loaded_back"));
    EXPECT_EQ(why_of([](auto& c) { c.plan.jump = 2; }), bad("jump"));
    EXPECT_EQ(why_of([](auto& c) { c.plan.reserved = 2; }), bad("reserved"));
    EXPECT_EQ(why_of([](auto& c) { c.settings.protocol = "morse"; }).substr(0, 33),
              "10 no protocol is called morse; t");
    EXPECT_EQ(why_of([](auto& c) { c.plan.relative_error = 0; }),
              "10 a relative error is more than 0");
    EXPECT_EQ(why_of([](auto& c) { c.settings.size = 12; }).substr(0, 3), "11 ");
    EXPECT_EQ(why_of([](auto& c) { c.plan.size = 0; }).substr(0, 3), "11 ");
    EXPECT_EQ(why_of([](auto& c) { c.figures.size = 0; }).substr(0, 3), "11 ");
    EXPECT_EQ(wireproof_point_run(nullptr, nullptr, nullptr, nullptr, 0), WIREPROOF_BAD_ARGUMENT);
    Arguments c;
    EXPECT_EQ(wireproof_point_run(nullptr, nullptr, &c.figures, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_point_settings_init(nullptr, 8), WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_point_plan_init(nullptr, 8), WIREPROOF_BAD_ARGUMENT);
}

/// A point that would take very long.
Arguments endless(wireproof_progress progress, void* user) {
    Arguments c;
    c.plan.packets = 1'000'000'000'000'000;
    c.plan.jump = 0;
    c.plan.progress = progress;
    c.plan.user = user;
    return c;
}

TEST(CPoint, TheProgressFunctionStopsIt) {
    int calls = 0;
    Arguments c = endless(
        [](double share, void* user) {
            EXPECT_GE(share, 0);
            EXPECT_LE(share, 1);
            return ++*static_cast<int*>(user) == 2 ? 1 : 0;
        },
        &calls);
    EXPECT_EQ(c.run(), WIREPROOF_CANCELLED);
    EXPECT_EQ(calls, 2);
    EXPECT_STRNE(c.why.data(), "");
    EXPECT_EQ(c.figures.packets, 0);
}

TEST(CPoint, AProgressFunctionThatThrowsIsAnError) {
    Arguments c =
        endless([](double, void*) -> int { throw std::runtime_error("enough"); }, nullptr);
    EXPECT_EQ(c.run(), WIREPROOF_HANDLER_THREW);
    EXPECT_STREQ(c.why.data(), "enough");
    c = endless([](double, void*) -> int { throw 7; }, nullptr);
    EXPECT_EQ(c.run(), WIREPROOF_HANDLER_THREW);
    EXPECT_STREQ(c.why.data(), "an exception that has no text");
}

TEST(CPoint, ProtocolsAreThoseOfTheLaboratory) {
    const auto expected = lab::point_protocols();
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(wireproof_point_protocol(i), expected[i]);
    }
    EXPECT_EQ(wireproof_point_protocol(expected.size()), nullptr);
    EXPECT_EQ(wireproof_point_protocol(SIZE_MAX), nullptr);
    EXPECT_EQ(wireproof_has_lab(), 1);
}

TEST(CLadder, IsThatOfTheLaboratory) {
    Arguments c;
    wireproof_ladder* ladder = nullptr;
    ASSERT_EQ(wireproof_ladder_of_first_failure(&c.settings, &c.plan, &ladder, c.why.data(),
                                                c.why.size()),
              WIREPROOF_OK)
        << c.why.data();
    const auto expected = lab::draw_first_failure({.bit_error_rate = 1e-6});
    ASSERT_TRUE(expected);
    EXPECT_EQ(wireproof_ladder_name(ladder), expected->name);
    EXPECT_EQ(wireproof_ladder_text(ladder), expected->text);
    EXPECT_EQ(wireproof_ladder_svg(ladder), expected->svg);
    EXPECT_EQ(wireproof_ladder_frames(ladder), expected->frames);
    wireproof_ladder_free(ladder);

    c.settings.protocol = "ideal";
    EXPECT_EQ(wireproof_ladder_of_first_failure(&c.settings, nullptr, &ladder, c.why.data(),
                                                c.why.size()),
              WIREPROOF_FAILED);
    EXPECT_EQ(ladder, nullptr);
    EXPECT_STRNE(c.why.data(), "");
    EXPECT_EQ(wireproof_ladder_of_first_failure(&c.settings, nullptr, nullptr, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_ladder_of_first_failure(nullptr, nullptr, &ladder, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
}

TEST(CLadder, DrawsAScenarioOrSaysWhereItIsWrong) {
    constexpr std::string_view toml =
        "name = \"two\"\nprotocol = \"sp-am\"\n[[traffic]]\nfrom = \"A\"\nnot read";
    wireproof_ladder* ladder = nullptr;
    std::array<char, 256> why{};
    const std::size_t length = toml.find("not read");
    ASSERT_EQ(wireproof_ladder_of_scenario(toml.data(), length, &ladder, why.data(), why.size()),
              WIREPROOF_OK)
        << why.data();
    const auto expected = lab::draw_scenario(toml.substr(0, length));
    ASSERT_TRUE(expected);
    EXPECT_STREQ(wireproof_ladder_name(ladder), "two");
    EXPECT_EQ(wireproof_ladder_text(ladder), expected->text);
    EXPECT_EQ(wireproof_ladder_svg(ladder), expected->svg);
    wireproof_ladder_free(ladder);
    EXPECT_EQ(wireproof_ladder_of_scenario("name = ", 7, &ladder, why.data(), why.size()),
              WIREPROOF_FAILED);
    EXPECT_EQ(ladder, nullptr);
    EXPECT_EQ(std::string(why.data()).substr(0, 11), "scenario:1:") << why.data();
    EXPECT_EQ(wireproof_ladder_of_scenario(nullptr, 7, &ladder, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_ladder_of_scenario("", 0, nullptr, nullptr, 0), WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_ladder_of_scenario(nullptr, 0, &ladder, nullptr, 0),
              lab::draw_scenario("") ? WIREPROOF_OK : WIREPROOF_FAILED);
    wireproof_ladder_free(ladder);
}

TEST(CLadder, NoLadderIsAnEmptyOne) {
    EXPECT_STREQ(wireproof_ladder_name(nullptr), "");
    EXPECT_STREQ(wireproof_ladder_text(nullptr), "");
    EXPECT_STREQ(wireproof_ladder_svg(nullptr), "");
    EXPECT_EQ(wireproof_ladder_frames(nullptr), 0U);
    wireproof_ladder_free(nullptr);
}

}  // namespace
}  // namespace wireproof::c
