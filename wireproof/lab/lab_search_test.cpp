// Searches and random worlds, as a program sees them.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "wireproof/lab.hpp"
#include "wireproof/lab/search/search_am.hpp"
#include "wireproof/lab/search/search_link.hpp"
#include "wireproof/lab/worlds/am_world.hpp"
#include "wireproof/lab/worlds/ib_world.hpp"

namespace wireproof::lab {
namespace {

TEST(LabSearch, EveryProtocolIsSearched) {
    for (const std::string_view protocol : search_protocols()) {
        ExhaustiveSearch asked;
        asked.protocol = protocol;
        asked.window = 2;
        asked.messages = 1;
        asked.in_flight = 1;
        asked.faults = 1;
        const auto findings = exhaustive_search(asked);
        ASSERT_TRUE(findings) << protocol << ": " << findings.error();
        EXPECT_EQ(findings->verdict, "holds") << protocol << ": " << findings->violation;
        EXPECT_FALSE(findings->found());
        EXPECT_GT(findings->states, 10U) << protocol;
        EXPECT_GT(findings->end_states, 1U) << protocol;
        EXPECT_GT(findings->edges, findings->states) << protocol;
        EXPECT_GT(findings->moves_to_finish, 0U) << protocol;
        EXPECT_EQ(findings->scenario + findings->ladder + findings->path, "") << protocol;
    }
}

TEST(LabSearch, IsThatOfTheLaboratory) {
    const auto found = exhaustive_search({.protocol = "pcie", .window = 2, .messages = 3});
    ASSERT_TRUE(found) << found.error();
    const auto modulus = smallest_modulus(Protocol::pcie, 2);
    const Scenario::Engine engine = search_engine(Protocol::pcie, 2, modulus, 0);
    const auto search = make_link_search(engine, {.messages = 3}, possible(engine, {}));
    const SearchResult result = search->run();
    EXPECT_EQ(found->states, result.states);
    EXPECT_EQ(found->edges, result.edges);
    EXPECT_EQ(found->end_states, search->end_states());
    EXPECT_EQ(found->moves_to_finish, result.moves_to_finish);
    EXPECT_EQ(found->waits_to_finish, result.waits_to_finish);
}

TEST(LabSearch, EverySettingReachesTheSearch) {
    const auto states = [](auto&& change, const char* protocol = "pcie") {
        ExhaustiveSearch asked;
        asked.protocol = protocol;
        asked.messages = 2;
        asked.window = 2;
        asked.faults = 1;
        change(asked);
        const auto findings = exhaustive_search(asked);
        EXPECT_TRUE(findings) << (findings ? "" : findings.error());
        return findings ? findings->states * 1000 + findings->edges % 1000 : 0;
    };
    const auto plain = states([](ExhaustiveSearch&) {});
    EXPECT_EQ(states([](ExhaustiveSearch&) {}), plain);
    EXPECT_NE(states([](ExhaustiveSearch& s) { s.window = 1; }), plain);
    EXPECT_NE(states([](ExhaustiveSearch& s) { s.messages = 3; }), plain);
    EXPECT_NE(states([](ExhaustiveSearch& s) { s.both_ways = true; }), plain);
    EXPECT_NE(states([](ExhaustiveSearch& s) { s.in_flight = 1; }), plain);
    EXPECT_NE(states([](ExhaustiveSearch& s) { s.faults = 2; }), plain);
    EXPECT_NE(states([](ExhaustiveSearch& s) {
                  s.faults.reset();
                  s.any_faults = true;
              }),
              plain);
    EXPECT_NE(states([](ExhaustiveSearch& s) { s.damage = false; }, "hippi6400"),
              states([](ExhaustiveSearch&) {}, "hippi6400"));
    EXPECT_NE(states([](ExhaustiveSearch& s) { s.duplicates = true; }), plain);
    EXPECT_NE(states([](ExhaustiveSearch& s) { s.reorder = true; }), plain);
    EXPECT_NE(states([](ExhaustiveSearch& s) { s.early_timers = false; }), plain);
    const auto am = states([](ExhaustiveSearch&) {}, "sp-am");
    EXPECT_NE(states([](ExhaustiveSearch& s) { s.recovery = "selective"; }, "sp-am"), am);
    EXPECT_EQ(states([](ExhaustiveSearch& s) { s.recovery = "go-back-n"; }, "sp-am"), am);
}

TEST(LabSearch, ACounterexampleIsAPathALadderAndAScenario) {
    const auto found =
        exhaustive_search({.protocol = "hippi6400", .damage = false, .rule = "literal"});
    ASSERT_TRUE(found) << found.error();
    ASSERT_TRUE(found->found());
    EXPECT_NE(found->verdict, "holds");
    const auto path = nlohmann::json::parse(found->path);
    ASSERT_GT(path.size(), 3U);
    EXPECT_TRUE(path[0].contains("move"));
    for (const auto& line : {found->ladder, found->violation}) EXPECT_NE(line, "");
    EXPECT_NE(found->ladder.find("A"), std::string::npos);
    const auto drawn = draw_scenario(found->scenario);
    ASSERT_TRUE(drawn) << drawn.error() << found->scenario;
    EXPECT_GT(drawn->frames, 3U);
}

TEST(LabSearch, MayStopAtALimitOrByProgress) {
    const auto small = exhaustive_search({.protocol = "pcie", .states_max = 50});
    ASSERT_TRUE(small) << small.error();
    EXPECT_EQ(small->verdict, "too_many_states");
    EXPECT_FALSE(small->found());
    std::uint64_t most = 0;
    const auto progress = [&most](std::uint64_t states) {
        most = states;
        throw std::runtime_error("enough");
    };
    EXPECT_THROW(static_cast<void>(exhaustive_search({.protocol = "pcie", .progress = progress})),
                 std::runtime_error);
    EXPECT_GT(most, 0U);
}

TEST(LabSearch, WhatCannotBeSearchedIsReportedInOneLine) {
    const auto why = [](const ExhaustiveSearch& asked) {
        const auto findings = exhaustive_search(asked);
        EXPECT_FALSE(findings);
        return findings ? std::string() : findings.error();
    };
    EXPECT_EQ(why({.protocol = "tcp"}).rfind("no protocol is called tcp; there are pcie, ", 0), 0U);
    EXPECT_EQ(why({.window = 0}), "window is 1 to 16");
    EXPECT_EQ(why({.window = 17}), "window is 1 to 16");
    EXPECT_EQ(why({.modulus = 1}), "modulus is 2 to 65536");
    EXPECT_EQ(why({.messages = 101}), "messages is 1 to 100");
    EXPECT_EQ(why({.in_flight = 0}), "in_flight is 1 to 6");
    EXPECT_EQ(why({.faults = 101}), "faults is 0 to 100");
    EXPECT_EQ(why({.faults = 1, .any_faults = true}),
              "either there is a limit of faults, or any number of them");
    EXPECT_EQ(why({.states_max = 0}), "states_max is 1 to 1000000000");
    EXPECT_EQ(why({.protocol = "hippi6400", .rule = "x"}),
              "rule: there is no x; there are status-null, literal, re-arm");
    EXPECT_EQ(why({.rule = "x"}), "rule: this protocol has none");
    EXPECT_EQ(why({.protocol = "sp-am", .rule = "x"}), "rule: this protocol has none");
    EXPECT_EQ(why({.recovery = "selective"}), "recovery is only of sp-am");
    EXPECT_EQ(why({.protocol = "sp-am", .recovery = "x"}),
              "recovery: there is no x; there are go-back-n, selective");
}

TEST(LabWorld, IsThatOfItsSeed) {
    const auto am = run_world({.protocol = "sp-am", .seed = 4711});
    ASSERT_TRUE(am) << am.error();
    const AmWorldResult own = run_am_world({.seed = 4711});
    EXPECT_EQ(am->what, own.what);
    EXPECT_EQ(am->violation, "");
    EXPECT_EQ(am->operations, own.operations);
    EXPECT_EQ(am->frames, own.frames);
    EXPECT_EQ(am->faults, own.lost);
    EXPECT_EQ(am->resent, own.resent);
    EXPECT_GT(am->seconds, 0);
    const auto rc = run_world({.protocol = "rc", .seed = 5, .congestion = "off"});
    ASSERT_TRUE(rc) << rc.error();
    const IbWorldResult queue_pairs = run_ib_world(
        {.seed = 5, .transport = proto::ib::Transport::rc, .congestion = congestion::Kind::off});
    EXPECT_EQ(rc->what, queue_pairs.what);
    EXPECT_EQ(rc->operations, queue_pairs.asked);
    EXPECT_EQ(rc->failed, queue_pairs.failed);
    EXPECT_EQ(rc->faults, queue_pairs.faults);
    EXPECT_FALSE(rc->controlled);
    EXPECT_TRUE(run_world({.protocol = "rc", .seed = 5, .congestion = "path"})->controlled);
    EXPECT_NE(run_world({.protocol = "uc", .seed = 5})->frames, rc->frames);
    EXPECT_TRUE(run_world({.protocol = "ib", .seed = 5}));
}

TEST(LabWorld, WhatDoesNotExistIsReportedInOneLine) {
    EXPECT_EQ(run_world({.protocol = "tcp"}).error(),
              "there are worlds of sp-am, rc, uc and ib, not of tcp");
    EXPECT_EQ(run_world({.congestion = "fast"}).error(),
              "congestion control is off, loss or path, not fast");
}

}  // namespace
}  // namespace wireproof::lab
