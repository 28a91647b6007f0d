#include <gtest/gtest.h>

#include "wireproof/base/cases_test_kit.hpp"
#include "wireproof/front/am/shm_hostile_test_kit.hpp"

namespace wireproof::am::test {
namespace {

TEST(ShmHostile, APeerThatChangesAFrameMeanwhileReachesNothingElse) {
    Scribbler scribbler;
    std::uint64_t handled = 0;
    for (std::uint64_t seed = 1; seed <= cases(12); ++seed) {
        Attack attack(seed);
        attack.run(scribbler, 100);
        handled += attack.handled();
        if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
    EXPECT_GT(handled, cases(12)) << "the peer was not refused from the beginning";
    EXPECT_GT(scribbler.changes(), 0U);
}

}  // namespace
}  // namespace wireproof::am::test
