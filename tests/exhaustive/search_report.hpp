// Runs a search, prints its figures and keeps them with the test's results.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "wireproof/lab/search_pair.hpp"

namespace wireproof::lab {

template <class End>
SearchResult run_and_tell(const std::string& what, PairSearch<End>& search) {
    const auto start = std::chrono::steady_clock::now();
    const SearchResult result = search.run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::printf("%s: %zu states, %zu edges in %.2f s\n", what.c_str(), result.states, result.edges,
                taken.count());
    testing::Test::RecordProperty(what, std::to_string(result.states));
    return result;
}

template <class End>
std::string told(PairSearch<End>& search, const SearchResult& result) {
    return search_ladder(search.story(result.path), result.circle);
}

/// Safe, live and searched to the end.
template <class End>
SearchResult expect_holds(const std::string& what, PairSearch<End>& search) {
    const SearchResult result = run_and_tell(what, search);
    EXPECT_EQ(result.verdict, SearchVerdict::holds) << what << ": " << result.violation << "\n"
                                                    << told(search, result);
    return result;
}

template <class End>
SearchResult expect_refuted(const std::string& what, PairSearch<End>& search, SearchVerdict verdict,
                            const std::string& violation) {
    const SearchResult result = run_and_tell(what, search);
    EXPECT_EQ(result.verdict, verdict) << what << ": " << result.violation;
    EXPECT_EQ(result.violation, violation) << told(search, result);
    return result;
}

}  // namespace wireproof::lab
