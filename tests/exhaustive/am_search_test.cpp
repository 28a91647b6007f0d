// Small worlds searched to the end: one-way requests, requests with replies, a store in chunks.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "tests/exhaustive/search.hpp"

namespace wireproof::tiny {
namespace {

am::Config roomy(am::Recovery recovery, std::uint32_t window) {
    am::Config wide = config(recovery, window);
    wide.modulus = 64;
    wide.first_number = {63, 62};
    return wide;
}

void search_all(const char* name, const am::Config& config, const Programs& programs,
                const SearchLimits& limits) {
    const auto start = std::chrono::steady_clock::now();
    const SearchResult result = search(config, programs, limits);
    EXPECT_EQ(result.violation, "") << name;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::printf("%s: %zu states in %.1f s\n", name, result.states, taken.count());
    testing::Test::RecordProperty(name, std::to_string(result.states));
}

Operation request(bool answered) {
    return {.what = Operation::What::request, .answered = answered};
}

class AmSearch : public testing::TestWithParam<am::Recovery> {};

TEST_P(AmSearch, OneWayRequestsAreSafeAndLive) {
    const Programs programs{{{request(false), request(false), request(false), request(false)}, {}}};
    search_all("window 2, four requests", roomy(GetParam(), 2), programs, {3, 3});
    search_all("window 3, four requests", roomy(GetParam(), 3), programs, {3, 2});
}

TEST_P(AmSearch, RequestsAndRepliesAreSafeAndLive) {
    const Programs programs{{{request(true), request(true), request(true)}, {}}};
    search_all("window 2, three requests and replies", roomy(GetParam(), 2), programs, {2, 2});
}

TEST_P(AmSearch, AChunkIsSafeAndLive) {
    const Programs programs{{{{.what = Operation::What::store, .bytes = 100}, request(false)}, {}}};
    search_all("window 3, a store of two chunks and a request", roomy(GetParam(), 3), programs,
               {3, 2});
}

INSTANTIATE_TEST_SUITE_P(Recovery, AmSearch,
                         testing::Values(am::Recovery::go_back_n, am::Recovery::selective),
                         [](const auto& chosen) {
                             return chosen.param == am::Recovery::go_back_n ? "GoBackN"
                                                                            : "Selective";
                         });

}  // namespace
}  // namespace wireproof::tiny
