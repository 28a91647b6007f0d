// A library without the laboratory.
#include <gtest/gtest.h>

#include <array>

#include "wireproof/wireproof.h"

namespace wireproof::c {
namespace {

TEST(CNoLab, EachFunctionSaysThatItIsNotBuilt) {
    std::array<char, 64> why{};
    auto* const wrong = reinterpret_cast<wireproof_ladder*>(&why);
    wireproof_ladder* ladder = wrong;
    EXPECT_EQ(wireproof_has_lab(), 0);
    EXPECT_EQ(wireproof_point_protocol(0), nullptr);
    EXPECT_EQ(wireproof_point_run(nullptr, nullptr, nullptr, why.data(), why.size()),
              WIREPROOF_NOT_BUILT);
    EXPECT_STREQ(why.data(), "the library was built without the laboratory");
    EXPECT_EQ(wireproof_ladder_of_first_failure(nullptr, nullptr, &ladder, nullptr, 0),
              WIREPROOF_NOT_BUILT);
    EXPECT_EQ(ladder, nullptr);
    ladder = wrong;
    EXPECT_EQ(wireproof_ladder_of_scenario("", 0, &ladder, nullptr, 0), WIREPROOF_NOT_BUILT);
    EXPECT_EQ(ladder, nullptr);
    EXPECT_EQ(wireproof_ladder_of_scenario("", 0, nullptr, nullptr, 0), WIREPROOF_NOT_BUILT);
    EXPECT_STREQ(wireproof_ladder_name(nullptr), "");
    EXPECT_STREQ(wireproof_ladder_text(nullptr), "");
    EXPECT_STREQ(wireproof_ladder_svg(nullptr), "");
    EXPECT_EQ(wireproof_ladder_frames(nullptr), 0U);
    wireproof_ladder_free(nullptr);
}

}  // namespace
}  // namespace wireproof::c
