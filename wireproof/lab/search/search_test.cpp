// Tests of the search itself, on hand-made worlds of a few states: what it must find.
#include "wireproof/lab/search/search.hpp"

#include <gtest/gtest.h>

#include <map>

namespace wireproof::lab {
namespace {

struct Way {
    std::uint32_t to = 0;
    bool fault = false;
    bool wait = false;
};

/// States by number, from 0, and the states to which each leads.
struct Map {
    std::map<std::uint32_t, std::vector<Way>> ways;
    std::uint32_t goal = 9;
    std::uint32_t forbidden = 99;
};

struct Walker {
    const Map* map;
    std::uint32_t at = 0;

    const std::vector<Way>& ways() const {
        static const std::vector<Way> none;
        const auto found = map->ways.find(at);
        return found == map->ways.end() ? none : found->second;
    }
    void moves(std::vector<SearchMove>& moves) const {
        for (std::uint8_t i = 0; i < ways().size(); ++i) {
            const Way way = ways()[i];
            const auto what = way.wait ? SearchMove::What::wait : SearchMove::What::leave;
            moves.push_back({.what = what, .place = i, .fault = way.fault});
        }
    }
    void take(SearchMove move) { at = ways()[move.place].to; }
    bool finished() const { return at == map->goal; }
    std::string violation() const { return at == map->forbidden ? "forbidden" : ""; }
    PackedState packed() const {
        PackedState packed;
        packed.add(at, 4);
        return packed;
    }
    void unpack(ConstBytes bytes) { at = PackedReader(bytes).read(4); }
};
static_assert(SearchWorld<Walker>);

SearchResult search(const Map& map, SearchLimits limits = {}) {
    return Search<Walker>(std::move(limits)).run(Walker{&map});
}

std::vector<std::uint32_t> places(const Map& map, const SearchResult& result) {
    Walker walker{&map};
    std::vector<std::uint32_t> places;
    for (const SearchMove move : result.path) {
        walker.take(move);
        places.push_back(walker.at);
    }
    return places;
}

using Places = std::vector<std::uint32_t>;

TEST(Search, CountsStatesAndWaysAndWhatTheWorstStateStillNeeds) {
    const Map map{{{0, {{1}, {2, true}}}, {1, {{9}}}, {2, {{3, false, true}}}, {3, {{9}}}}};
    const SearchResult result = search(map);
    EXPECT_EQ(result.verdict, SearchVerdict::holds);
    EXPECT_FALSE(result.found());
    EXPECT_EQ(result.states, 5U);
    EXPECT_EQ(result.edges, 5U);
    EXPECT_EQ(result.finished, 1U);
    EXPECT_EQ(result.moves_to_finish, 2U);
    EXPECT_EQ(result.waits_to_finish, 1U);
}

TEST(Search, FindsTheShortestWayToABrokenPromise) {
    const Map map{{{0, {{1}, {2}}}, {1, {{3}}}, {3, {{99}}}, {2, {{99, true}}}, {99, {{9}}}}};
    const SearchResult result = search(map);
    EXPECT_EQ(result.verdict, SearchVerdict::broken);
    EXPECT_EQ(result.violation, "forbidden");
    EXPECT_EQ(places(map, result), (Places{2, 99}));
    EXPECT_EQ(result.circle, 2U);
}

TEST(Search, FindsADeadEnd) {
    const Map map{{{0, {{9}, {1, true}}}, {1, {{2}}}}};
    const SearchResult result = search(map);
    EXPECT_EQ(result.verdict, SearchVerdict::stuck);
    EXPECT_EQ(result.stuck, 2U);
    EXPECT_EQ(places(map, result), (Places{1, 2}));
    EXPECT_EQ(result.circle, 2U) << "nothing is repeated";
}

TEST(Search, FindsAStateWhoseOnlyMoveIsAFault) {
    const Map map{{{0, {{9}, {1, true}}}, {1, {{9, true}}}}};
    const SearchResult result = search(map);
    EXPECT_EQ(result.verdict, SearchVerdict::stuck);
    EXPECT_EQ(result.violation, "nothing more will happen, and not all is done");
    EXPECT_EQ(places(map, result), (Places{1}));
}

// More states than are expanded at once, and than the table holds before it grows. A way back from
// each of them shows that the shortest path is found.
TEST(Search, FindsTheShortestWayAmongManyStates) {
    Map map;
    for (std::uint32_t i = 100; i < 20'100; ++i) map.ways[i] = {{i + 1}, {100 + (i * 7) % 20'000}};
    map.ways[0] = {{100}};
    map.ways[20'100] = {{9}};
    map.forbidden = 17'000;
    const SearchResult result = search(map);
    EXPECT_EQ(result.verdict, SearchVerdict::broken);
    std::map<std::uint32_t, std::size_t> steps{{0, 0}};
    std::vector<std::uint32_t> open{0};
    for (std::size_t k = 0; k < open.size(); ++k) {
        for (const Way way : map.ways[open[k]]) {
            if (steps.try_emplace(way.to, steps[open[k]] + 1).second) open.push_back(way.to);
        }
    }
    EXPECT_EQ(result.path.size(), steps[17'000]);
    EXPECT_EQ(places(map, result).back(), 17'000U);
}

TEST(Search, FindsALivelockThatOnlyAFaultLeadsOutOf) {
    const Map map{{{0, {{9}, {1, true}}}, {1, {{2}}}, {2, {{3}}}, {3, {{2}, {9, true}}}}};
    const SearchResult result = search(map);
    EXPECT_EQ(result.verdict, SearchVerdict::stuck);
    EXPECT_EQ(result.stuck, 3U);
    EXPECT_EQ(places(map, result), (Places{1, 2, 3, 2}));
    EXPECT_EQ(result.circle, 2U) << "2 and 3 are repeated";
}

// Another move could finish the run, but the first move never does.
TEST(Search, FindsACircleOfARunInWhichNobodyHurries) {
    const Map map{{{0, {{1}}}, {1, {{2}}}, {2, {{1}, {9}}}}};
    const SearchResult result = search(map);
    EXPECT_EQ(result.verdict, SearchVerdict::in_circles);
    EXPECT_EQ(result.stuck, 0U);
    EXPECT_EQ(places(map, result).back(), places(map, result)[result.circle - 1]);
}

TEST(Search, SaysThatItWasNotCompleted) {
    Map map;
    for (std::uint32_t i = 100; i < 10'100; ++i) map.ways[i] = {{i + 1}};
    map.ways[0] = {{100}};
    const SearchResult too_many = search(map, {.states = 50});
    EXPECT_EQ(too_many.verdict, SearchVerdict::too_many_states);
    EXPECT_FALSE(too_many.found());
    EXPECT_EQ(too_many.states, 51U);
    const SearchResult interrupted =
        search(map, {.go_on = [](std::size_t states) { return states < 4'000; }});
    EXPECT_EQ(interrupted.verdict, SearchVerdict::interrupted);
    EXPECT_FALSE(interrupted.found());
    EXPECT_LT(interrupted.states, 10'000U);
}

}  // namespace
}  // namespace wireproof::lab
