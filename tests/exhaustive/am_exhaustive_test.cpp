// Tries all combinations of fates for the first frames of small worlds. A frame is delivered, lost,
// repeated, swapped with the next frame or damaged. The wire carries all later frames without
// fault. Each run must deliver each message exactly once, in order, at a bounded cost.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "tests/exhaustive/fates.hpp"

namespace wireproof::tiny {
namespace {

using Operation = lab::AmCall;
using Programs = lab::AmPrograms;

struct Case {
    const char* name;
    Programs programs;
};

Operation request(bool answered) {
    return {.what = Operation::What::request, .answered = answered};
}
Operation store_of(std::size_t bytes) {
    return {.what = Operation::What::store, .bytes = bytes};
}
Operation get_of(std::size_t bytes) {
    return {.what = Operation::What::get, .bytes = bytes};
}

// A chunk has 64 bytes. So 100 bytes are two chunks, and the last packet is short.
std::vector<Case> cases() {
    return {
        {"requests and replies",
         {{{request(true), request(false), request(true), request(true)}, {}}}},
        {"requests both ways", {{{request(true), request(true)}, {request(true), request(false)}}}},
        {"a store among requests", {{{request(false), store_of(100), request(true)}, {}}}},
        {"a store against a request", {{{store_of(100)}, {request(true)}}}},
        {"a get", {{{get_of(100), request(true)}, {}}}},
        {"gets both ways", {{{get_of(100)}, {get_of(40)}}}},
    };
}

void try_everything(am::Recovery recovery, std::uint32_t window, std::uint64_t forth,
                    std::uint64_t back, std::size_t bundle_max = 0) {
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t codes = 1;
    for (std::uint64_t i = 0; i < forth + back; ++i) codes *= fates;
    std::uint64_t runs = 0;
    for (const Case& which : cases()) {
        am::Config config = lab::am_search_config(recovery, window, 4 * window + 1);
        config.bundle_max = bundle_max;
        const auto fresh = lab::AmEnd::both(config, which.programs);
        for (std::uint64_t code = 0; code < codes; ++code, ++runs) {
            const FateCode fate{{forth, back}, code};
            ASSERT_EQ(run_with_fates(fresh, fate), "")
                << which.name << ", window " << window << ", fates " << fate.spelled()
                << " (delivered, lost, repeated, swapped, X damaged)";
        }
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::printf("%llu runs in %.1f s\n", static_cast<unsigned long long>(runs), taken.count());
    testing::Test::RecordProperty("runs", std::to_string(runs));
}

TEST(AmExhaustive, GoBackNSurvivesEveryFateOfTheFirstFrames) {
    try_everything(am::Recovery::go_back_n, 4, 4, 3);
    try_everything(am::Recovery::go_back_n, 3, 3, 2);
}

TEST(AmExhaustive, SelectiveRecoverySurvivesEveryFateOfTheFirstFrames) {
    try_everything(am::Recovery::selective, 4, 4, 3);
    try_everything(am::Recovery::selective, 3, 3, 2);
}

TEST(AmExhaustive, BundlesSurviveEveryFateOfTheFirstFrames) {
    for (const am::Recovery recovery : {am::Recovery::go_back_n, am::Recovery::selective}) {
        try_everything(recovery, 4, 3, 2, 24);
        try_everything(recovery, 3, 3, 2, 16);
    }
}

}  // namespace
}  // namespace wireproof::tiny
