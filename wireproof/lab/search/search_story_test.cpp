// Counterexamples as ladders and as scenario files that replay them.
#include "wireproof/lab/search/search_story.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "wireproof/lab/ladder/ladder.hpp"
#include "wireproof/lab/ladder/scenario_file.hpp"
#include "wireproof/lab/search/search_am.hpp"
#include "wireproof/lab/search/search_link.hpp"

namespace wireproof::lab {
namespace {

struct Told {
    SearchResult result;
    std::vector<SearchStep> steps{};
    std::string ladder{};
};

template <class Search>
Told tell(Search& search) {
    Told told{search.run()};
    told.steps = search.story(told.result.path);
    told.ladder = search_ladder(told.steps, told.result.circle);
    return told;
}

template <class Config>
std::string scenario_text(const Told& told, const Config& config, SearchScenario about) {
    about.name = "found";
    about.title = "Found by a search.";
    about.engine = scenario_engine(config, is_hasty(told.steps));
    return search_scenario(about, told.steps);
}

Ladder replayed(const std::string& text) {
    const auto scenario = read_scenario(text, "found.toml");
    EXPECT_TRUE(scenario.has_value()) << scenario.error().message << "\n" << text;
    const auto ladder = run_scenario(*scenario);
    EXPECT_TRUE(ladder.has_value()) << text;
    return *ladder;
}

hippi::Config literal(std::uint32_t window) {
    hippi::Config config =
        HippiAdapter::search_config(window, HippiAdapter::smallest_modulus(window));
    config.duplicates = hippi::Duplicates::literal;
    return config;
}

TEST(SearchStory, DrawsTheLiteralLivelockOfHippi) {
    HippiSearch search(literal(1), {.messages = 1}, {.damage = false, .early_timers = false});
    EXPECT_EQ(tell(search).ladder,
              R"(        A                                     B
     1  |---- data 2 ------------------------>|  accepted, message 1
     2  |               x--------- null 0 ----|  lost
     3  | * timer                             |
     4  |---- data 2 ------------------------>|  duplicate
     5  |               x--------- null 0 ----|  lost
  from here on, again and again:
     6  | * timer                             |
     7  |---- data 2 ------------------------>|  duplicate
)");
}

// A half of a flit that is used twice.
TEST(SearchStory, ADamagedTailIsDrawnAndWritten) {
    flit::Config config = FlitAdapter::search_config(2, FlitAdapter::smallest_modulus(2));
    FlitAdapter::set_rule(config, FlitAdapter::rules.size() - 1);
    FlitSearch search(config, {.messages = 3}, {.faults = 1});
    const Told told = tell(search);
    EXPECT_NE(told.ladder.find("|  tail damaged: corrupt, message 1\n"), std::string::npos)
        << told.ladder;
    const std::string text = scenario_text(told, config, {.protocol = "flit", .messages = {3, 0}});
    EXPECT_NE(text.find("fate = \"damaged\"\nintact = 128\n"), std::string::npos) << text;
    EXPECT_EQ(replayed(text).wrong, "message 2 is not what was sent");
}

// In the timed world, too, A sends forever what B already has, and B never reports it.
TEST(SearchStory, TheLiteralLivelockReplaysAsALadder) {
    for (const std::uint32_t messages : {1U, 2U, 4U}) {
        const hippi::Config config = literal(2);
        HippiSearch search(config, {.messages = messages},
                           {.damage = false, .early_timers = false});
        const Told told = tell(search);
        ASSERT_EQ(told.result.verdict, SearchVerdict::stuck);
        const Ladder ladder = replayed(scenario_text(
            told, config, {.protocol = "hippi6400", .messages = {messages, 0}, .bytes = 32}));
        EXPECT_EQ(ladder.wrong, "");
        EXPECT_EQ(ladder.end, LadderEnd::frame_limit) << "it would have gone on";
        ASSERT_GT(ladder.frames.size(), 20U);
        const auto after_faults =
            std::find_if(ladder.frames.rbegin(), ladder.frames.rend(),
                         [](const LadderFrame& frame) { return frame.from == Side::b; });
        ASSERT_NE(after_faults, ladder.frames.rend());
        EXPECT_TRUE(after_faults->fate.lost) << "B's last word was lost";
        EXPECT_GE(after_faults - ladder.frames.rbegin(), 15) << "and much followed it";
    }
}

TEST(SearchStory, AWindowOfTheWholeCircleReplaysAsAWrongDelivery) {
    const pcie::Config pcie_config = PcieAdapter::search_config(4, 4);
    PcieSearch pcie(pcie_config, {.messages = 6}, {.in_flight = 4});
    const hippi::Config hippi_config = HippiAdapter::search_config(3, 3);
    HippiSearch hippi(hippi_config, {.messages = 6}, {.in_flight = 3});
    EXPECT_NE(replayed(scenario_text(tell(pcie), pcie_config,
                                     {.protocol = "pcie", .any_window = true, .messages = {6, 0}}))
                  .wrong,
              "");
    EXPECT_NE(
        replayed(
            scenario_text(
                tell(hippi), hippi_config,
                {.protocol = "hippi6400", .any_window = true, .messages = {6, 0}, .bytes = 32}))
            .wrong,
        "");
}

TEST(SearchStory, FitsEightyColumnsWhateverItSays) {
    AmPrograms programs;
    programs[0].resize(6);
    AmSearch search(
        am_search_config(am::Recovery::go_back_n, 4, 4), programs,
        {.in_flight = 4, .faults = 3, .repeat = true, .overtake = true, .early_timers = true});
    const Told told = tell(search);
    ASSERT_TRUE(told.result.found());
    std::istringstream lines(told.ladder);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

// A frame that n frames overtook is held behind n frames. A frame that arrived twice has one
// duplicate.
TEST(SearchStory, AScenarioHasOneFateForEachFaultedFrame) {
    using What = SearchMove::What;
    const auto step = [](What what, std::size_t frame) {
        SearchStep made{.move = {.what = what}};
        made.info.kind = "REQ";
        made.frame = frame;
        if (what == What::arrive || what == What::repeat) made.verdict = RxVerdict::accepted;
        return made;
    };
    SearchStep ahead = step(What::arrive, 2);
    ahead.overtaken = {1};
    const std::vector<SearchStep> steps{
        step(What::leave, 1),  step(What::leave, 2), ahead,
        step(What::arrive, 1), step(What::leave, 3), step(What::repeat, 3),
        step(What::lose, 3),   step(What::leave, 4), step(What::repeat, 4),
        step(What::arrive, 4), step(What::leave, 5), step(What::damage, 5),
        step(What::leave, 6),  step(What::lose, 6)};
    const std::string text = search_scenario(
        {.name = "x", .title = "y", .protocol = "sp-am", .messages = {6, 0}, .bytes = 4}, steps);
    const auto scenario = read_scenario(text, "x.toml");
    ASSERT_TRUE(scenario.has_value()) << scenario.error().message << "\n" << text;
    const auto& faults = scenario->faults;
    ASSERT_EQ(faults.size(), 4U) << "the copy of 3 that was lost leaves it as it was";
    EXPECT_EQ(faults[0].rule.nth_first, 1U);
    EXPECT_EQ(faults[0].rule.fate.held_behind, 1U);
    EXPECT_EQ(faults[1].rule.nth_first, 4U);
    EXPECT_TRUE(faults[1].rule.fate.duplicated);
    EXPECT_EQ(faults[2].rule.nth_first, 5U);
    EXPECT_TRUE(faults[2].rule.fate.damaged);
    EXPECT_EQ(faults[3].rule.nth_first, 6U);
    EXPECT_TRUE(faults[3].rule.fate.lost);
}

}  // namespace
}  // namespace wireproof::lab
