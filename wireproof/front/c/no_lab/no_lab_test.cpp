// A library without the laboratory.
#include <gtest/gtest.h>

#include <array>

#include "wireproof/lab.h"
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

TEST(CNoLab, EachFunctionOfSweepsAndSearchesSaysThatItIsNotBuilt) {
    std::array<char, 64> why{};
    wireproof_sweep* sweep = reinterpret_cast<wireproof_sweep*>(&why);
    EXPECT_EQ(wireproof_sweep_read("", 0, &sweep, why.data(), why.size()), WIREPROOF_NOT_BUILT);
    EXPECT_STREQ(why.data(), "the library was built without the laboratory");
    EXPECT_EQ(sweep, nullptr);
    EXPECT_STREQ(wireproof_sweep_name(nullptr), "");
    EXPECT_STREQ(wireproof_sweep_loss_trace(nullptr), "");
    EXPECT_EQ(wireproof_sweep_points(nullptr), 0U);
    EXPECT_EQ(wireproof_sweep_seed(nullptr), 0U);
    EXPECT_EQ(wireproof_sweep_point_seconds(nullptr), 0);
    EXPECT_EQ(wireproof_sweep_set_seed(nullptr, 1), WIREPROOF_NOT_BUILT);
    EXPECT_EQ(wireproof_sweep_set_packets(nullptr, 1, nullptr, 0), WIREPROOF_NOT_BUILT);
    EXPECT_EQ(wireproof_sweep_set_relative_error(nullptr, 1, nullptr, 0), WIREPROOF_NOT_BUILT);
    EXPECT_EQ(wireproof_sweep_set_loss_trace(nullptr, "", 0, nullptr, 0), WIREPROOF_NOT_BUILT);
    char* text = why.data();
    EXPECT_EQ(wireproof_sweep_run(nullptr, 0, 1, nullptr, nullptr, &text, nullptr, 0),
              WIREPROOF_NOT_BUILT);
    EXPECT_EQ(text, nullptr);
    text = why.data();
    EXPECT_EQ(wireproof_sweep_draw(nullptr, nullptr, 0, &text, nullptr, 0), WIREPROOF_NOT_BUILT);
    EXPECT_EQ(text, nullptr);
    wireproof_sweep_free(nullptr);
    wireproof_text_free(nullptr);
    wireproof_search_settings settings{};
    EXPECT_EQ(wireproof_search_settings_init(&settings, sizeof settings), WIREPROOF_OK);
    EXPECT_STREQ(settings.protocol, "pcie");
    wireproof_search* search = reinterpret_cast<wireproof_search*>(&why);
    EXPECT_EQ(wireproof_search_protocol(0), nullptr);
    EXPECT_EQ(wireproof_search_run(&settings, nullptr, nullptr, &search, nullptr, 0),
              WIREPROOF_NOT_BUILT);
    EXPECT_EQ(search, nullptr);
    EXPECT_EQ(wireproof_search_get(nullptr, nullptr), WIREPROOF_NOT_BUILT);
    wireproof_search_free(nullptr);
    char* broken = why.data();
    text = why.data();
    EXPECT_EQ(wireproof_world_run("rc", 1, nullptr, nullptr, &text, &broken, nullptr, 0),
              WIREPROOF_NOT_BUILT);
    EXPECT_EQ(text, nullptr);
    EXPECT_EQ(broken, nullptr);
}

}  // namespace
}  // namespace wireproof::c
