// Searches and random worlds, as a program in C sees them.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "wireproof/lab.h"
#include "wireproof/lab.hpp"

namespace {

struct FreeSearch {
    void operator()(wireproof_search* search) const { wireproof_search_free(search); }
    void operator()(char* text) const { wireproof_text_free(text); }
};

struct Search {
    Search() {
        EXPECT_EQ(wireproof_search_settings_init(&settings, sizeof settings), WIREPROOF_OK);
        findings.size = sizeof findings;
    }
    wireproof_status run(wireproof_progress progress = nullptr, void* user = nullptr) {
        wireproof_search* made = nullptr;
        const auto status =
            wireproof_search_run(&settings, progress, user, &made, why.data(), why.size());
        search.reset(made);
        if (status == WIREPROOF_OK) {
            EXPECT_EQ(wireproof_search_get(made, &findings), WIREPROOF_OK);
        }
        return status;
    }

    wireproof_search_settings settings{};
    wireproof_search_findings findings{};
    std::unique_ptr<wireproof_search, FreeSearch> search;
    std::array<char, 256> why{};
};

TEST(CSearch, FindsWhatTheClassFinds) {
    Search c;
    c.settings.protocol = "hippi6400";
    c.settings.damage = 0;
    c.settings.rule = "literal";
    ASSERT_EQ(c.run(), WIREPROOF_OK) << c.why.data();
    const auto same = *wireproof::lab::exhaustive_search(
        {.protocol = "hippi6400", .damage = false, .rule = "literal"});
    EXPECT_EQ(c.findings.verdict, same.verdict);
    EXPECT_EQ(c.findings.violation, same.violation);
    EXPECT_EQ(c.findings.path, same.path);
    EXPECT_EQ(c.findings.ladder, same.ladder);
    EXPECT_EQ(c.findings.scenario, same.scenario);
    EXPECT_EQ(c.findings.states, same.states);
    EXPECT_EQ(c.findings.edges, same.edges);
    EXPECT_EQ(c.findings.end_states, same.end_states);
    EXPECT_EQ(c.findings.circle, same.circle ? static_cast<std::int64_t>(*same.circle) : -1);
    ASSERT_TRUE(same.found());
}

TEST(CSearch, EverySettingReachesTheClass) {
    Search c;
    c.settings.protocol = "sp-am";
    c.settings.recovery = "selective";
    c.settings.window = 3;
    c.settings.modulus = 32;
    c.settings.messages = 2;
    c.settings.in_flight = 1;
    c.settings.both_ways = 1;
    c.settings.faults = 1;
    c.settings.duplicates = 0;
    c.settings.reorder = 1;
    c.settings.early_timers = 0;
    ASSERT_EQ(c.run(), WIREPROOF_OK) << c.why.data();
    wireproof::lab::ExhaustiveSearch asked;
    asked.protocol = "sp-am";
    asked.recovery = "selective";
    asked.window = 3;
    asked.modulus = 32;
    asked.messages = 2;
    asked.in_flight = 1;
    asked.both_ways = true;
    asked.faults = 1;
    asked.duplicates = false;
    asked.reorder = true;
    asked.early_timers = false;
    const auto same = *wireproof::lab::exhaustive_search(asked);
    EXPECT_EQ(c.findings.states, same.states);
    EXPECT_EQ(c.findings.edges, same.edges);
    EXPECT_EQ(c.findings.moves_to_finish, same.moves_to_finish);
    EXPECT_EQ(c.findings.waits_to_finish, same.waits_to_finish);
    EXPECT_EQ(c.findings.circle, -1);
    EXPECT_STREQ(c.findings.path, "");
    c.settings.faults = WIREPROOF_NO_LIMIT;
    c.settings.states_max = 100;
    ASSERT_EQ(c.run(), WIREPROOF_OK) << c.why.data();
    EXPECT_STREQ(c.findings.verdict, "too_many_states");
}

TEST(CSearch, ProgressStopsIt) {
    Search c;
    const auto stop = [](double share, void*) -> int { return share >= 0 ? 1 : 0; };
    EXPECT_EQ(c.run(stop), WIREPROOF_CANCELLED);
    EXPECT_EQ(c.search, nullptr);
    const auto throws = [](double, void*) -> int { throw std::runtime_error("enough"); };
    EXPECT_EQ(c.run(throws), WIREPROOF_HANDLER_THREW);
    EXPECT_STREQ(c.why.data(), "enough");
}

TEST(CSearch, WhatIsWrongIsReportedInOneLine) {
    const auto why = [](auto&& change, wireproof_status expected) {
        Search c;
        change(c.settings);
        EXPECT_EQ(c.run(), expected);
        return std::string(c.why.data());
    };
    using Settings = wireproof_search_settings;
    EXPECT_EQ(why([](Settings& s) { s.window = 99; }, WIREPROOF_FAILED), "window is 1 to 16");
    const auto senseless = [&](auto&& change) { return why(change, WIREPROOF_BAD_ARGUMENT); };
    EXPECT_EQ(senseless([](Settings& s) { s.protocol = nullptr; }),
              "the value of protocol has no meaning");
    EXPECT_EQ(senseless([](Settings& s) { s.both_ways = 2; }),
              "the value of both_ways has no meaning");
    EXPECT_EQ(senseless([](Settings& s) { s.damage = 2; }), "the value of damage has no meaning");
    EXPECT_EQ(senseless([](Settings& s) { s.faults = -3; }), "the value of faults has no meaning");
    EXPECT_EQ(senseless([](Settings& s) { s.duplicates = -2; }),
              "the value of duplicates has no meaning");
    EXPECT_EQ(senseless([](Settings& s) { s.reorder = 2; }), "the value of reorder has no meaning");
    EXPECT_EQ(senseless([](Settings& s) { s.early_timers = 2; }),
              "the value of early_timers has no meaning");
    EXPECT_NE(senseless([](Settings& s) { s.size = 3; }), "");
    Search c;
    EXPECT_EQ(wireproof_search_run(&c.settings, nullptr, nullptr, nullptr, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_search_get(nullptr, &c.findings), WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_search_settings_init(nullptr, sizeof c.settings), WIREPROOF_BAD_ARGUMENT);
    EXPECT_STREQ(wireproof_search_protocol(0), "pcie");
    EXPECT_EQ(wireproof_search_protocol(1000), nullptr);
    wireproof_search_free(nullptr);
}

TEST(CWorld, IsThatOfTheFunction) {
    wireproof_world_findings findings{};
    findings.size = sizeof findings;
    std::array<char, 256> why{};
    char* what = nullptr;
    char* violation = nullptr;
    ASSERT_EQ(
        wireproof_world_run("rc", 5, "off", &findings, &what, &violation, why.data(), why.size()),
        WIREPROOF_OK)
        << why.data();
    const std::unique_ptr<char, FreeSearch> kind(what);
    const std::unique_ptr<char, FreeSearch> broken(violation);
    const auto same =
        *wireproof::lab::run_world({.protocol = "rc", .seed = 5, .congestion = "off"});
    EXPECT_EQ(kind.get(), same.what);
    EXPECT_STREQ(broken.get(), "");
    EXPECT_EQ(findings.operations, same.operations);
    EXPECT_EQ(findings.failed, same.failed);
    EXPECT_EQ(findings.frames, same.frames);
    EXPECT_EQ(findings.faults, same.faults);
    EXPECT_EQ(findings.resent, same.resent);
    EXPECT_EQ(findings.seconds, same.seconds);
    EXPECT_EQ(findings.controlled, 0U);
    EXPECT_EQ(wireproof_world_run("tcp", 5, nullptr, &findings, &what, &violation, why.data(),
                                  why.size()),
              WIREPROOF_FAILED);
    EXPECT_EQ(what, nullptr);
    EXPECT_EQ(wireproof_world_run(nullptr, 5, nullptr, &findings, &what, &violation, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_world_run("rc", 5, nullptr, nullptr, &what, &violation, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_world_run("rc", 5, nullptr, &findings, nullptr, &violation, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
}

}  // namespace
