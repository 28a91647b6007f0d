// Runs a search, prints its figures and records them as properties of the test. Figures that
// docs/guide/links/search.md shows are compared with that page.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "tests/docs/document.hpp"

#include "wireproof/lab/search/search.hpp"
#include "wireproof/lab/search/search_story.hpp"

namespace wireproof::lab {

inline constexpr auto never_finishes = "whatever happens from here on, this never finishes";
inline constexpr auto another_message = "a message was delivered that is not the next one";

/// Searches that have a row on the page: the name in these tests, then the text of the row.
inline constexpr std::array<std::pair<const char*, const char*>, 9> documented_searches = {{
    {"UC, any faults, writes", "UC: two Writes, one with immediate, two Sends"},
    {"RC, three sends, 3 faults", "RC: three Sends"},
    {"RC, writes, 3 faults", "RC: two Writes and one with immediate"},
    {"RC, reads among sends, 3 faults", "RC: Read, Send, Read"},
    {"RC, atomics among sends, 3 faults", "RC: Atomic, Send, Atomic"},
    {"RC, late receives, 3 faults",
     "RC: Send, Write with immediate, Send; receives posted at any time"},
    {"RC, credits, 3 faults", "the same with credits"},
    {"RC, four kinds, 3 faults", "RC: Send, Read, Atomic, Write with immediate"},
    {"RC, one retry, 4 faults", "RC: Send, Atomic, Read; one retry, then all ends in error"},
}};

/// The same for searches that the command can do, too: the text of the row is a command line.
inline constexpr std::array<std::pair<const char*, const char*>, 5> documented_commands = {{
    {"flit, window 3 of 7, any faults", "flit --window 3 --messages 8"},
    {"ucie, window 3 of 7, any faults", "flit --rule ucie --window 3 --messages 8"},
    {"flit selective, window 3 of 7, 5 faults",
     "flit --rule selective --window 3 --messages 8 --faults 5"},
    {"CXL, window 3 of 5, 5 faults", "cxl-llr --window 3 --messages 9 --faults 5"},
    {"CXL, window 2 of 4, any damage", "cxl-llr --messages 7 --any-faults --no-early-timers"},
}};

inline void expect_documented(const std::string& what, std::size_t states) {
    const auto expect = [states](const std::string& pattern) {
        docs::Document("guide/links/search.md")
            .expect_figures(pattern, {static_cast<double>(states)});
    };
    for (const auto& [name, row] : documented_searches) {
        if (what != name) continue;
        expect("\\| " + std::string(row) + " \\| [a-z0-9 ]+ \\| \\d \\| ([\\d ]+) \\| ");
    }
    for (const auto& [name, row] : documented_commands) {
        if (what != name) continue;
        expect("\\| `" + std::string(row) +
               "` \\| [a-z0-9 ]+ \\| ([\\d ]+) \\| [\\d.]+ \\| [\\d.]+ GB \\|");
    }
    if (what == "UC, mode off") expect("`uc_drop_behind` is refuted in (\\d+) states");
}

template <class Search>
SearchResult run_and_tell(const std::string& what, Search& search) {
    const auto start = std::chrono::steady_clock::now();
    const SearchResult result = search.run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::printf("%s: %zu states, %zu edges in %.2f s\n", what.c_str(), result.states, result.edges,
                taken.count());
    testing::Test::RecordProperty(what, std::to_string(result.states));
    expect_documented(what, result.states);
    return result;
}

template <class Search>
std::string told(Search& search, const SearchResult& result) {
    return search_ladder(search.story(result.path), result.circle);
}

/// Expects that the search visits all states and finds each state safe and live.
template <class Search>
SearchResult expect_holds(const std::string& what, Search& search) {
    const SearchResult result = run_and_tell(what, search);
    EXPECT_EQ(result.verdict, SearchVerdict::holds) << what << ": " << result.violation << "\n"
                                                    << told(search, result);
    return result;
}

template <class Search>
SearchResult expect_refuted(const std::string& what, Search& search, SearchVerdict verdict,
                            const std::string& violation) {
    const SearchResult result = run_and_tell(what, search);
    EXPECT_EQ(result.verdict, verdict) << what << ": " << result.violation;
    EXPECT_EQ(result.violation, violation) << told(search, result);
    return result;
}

}  // namespace wireproof::lab
