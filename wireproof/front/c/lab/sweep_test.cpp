// Sweeps, as a program in C sees them.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "wireproof/lab.h"
#include "wireproof/lab.hpp"

namespace {

constexpr auto toml =
    "name = \"small\"\nseed = 7\npackets = 2000\npoint_seconds = 5\n"
    "[grid]\nprotocol = [\"pcie\", \"ideal\"]\nber = [1e-5]\n";

struct Free {
    void operator()(wireproof_sweep* sweep) const { wireproof_sweep_free(sweep); }
    void operator()(char* text) const { wireproof_text_free(text); }
};
using Sweep = std::unique_ptr<wireproof_sweep, Free>;

struct Answer {
    wireproof_status status = WIREPROOF_OK;
    std::string json;
    std::string why;
};

Sweep read(const char* text) {
    wireproof_sweep* sweep = nullptr;
    std::array<char, 256> why{};
    EXPECT_EQ(wireproof_sweep_read(text, std::strlen(text), &sweep, why.data(), why.size()),
              WIREPROOF_OK)
        << why.data();
    return Sweep(sweep);
}

Answer run(const wireproof_sweep* sweep, std::size_t point, wireproof_progress progress = nullptr,
           void* user = nullptr) {
    std::array<char, 256> why{};
    char* json = nullptr;
    Answer answer;
    answer.status =
        wireproof_sweep_run(sweep, point, 1, progress, user, &json, why.data(), why.size());
    const std::unique_ptr<char, Free> owner(json);
    answer.json = json != nullptr ? json : "";
    answer.why = why.data();
    return answer;
}

TEST(CSweep, PointsAreThoseOfTheClass) {
    const Sweep sweep = read(toml);
    const auto same = *wireproof::lab::PointSweep::read(toml);
    EXPECT_STREQ(wireproof_sweep_name(sweep.get()), "small");
    EXPECT_STREQ(wireproof_sweep_loss_trace(sweep.get()), "");
    EXPECT_EQ(wireproof_sweep_seed(sweep.get()), 7U);
    EXPECT_EQ(wireproof_sweep_point_seconds(sweep.get()), 5);
    ASSERT_EQ(wireproof_sweep_points(sweep.get()), 2U);
    for (std::size_t point = 0; point < 2; ++point) {
        const Answer answer = run(sweep.get(), point);
        EXPECT_EQ(answer.status, WIREPROOF_OK) << answer.why;
        EXPECT_EQ(answer.json, *same.run(point));
    }
    EXPECT_EQ(run(sweep.get(), 2).status, WIREPROOF_FAILED);
    EXPECT_EQ(run(sweep.get(), 2).why, "there is no point 2: the sweep has 2");
}

TEST(CSweep, WhatIsSetReplacesTheText) {
    const Sweep sweep = read(toml);
    const std::string before = run(sweep.get(), 0).json;
    std::array<char, 256> why{};
    EXPECT_EQ(wireproof_sweep_set_seed(sweep.get(), 8), WIREPROOF_OK);
    EXPECT_NE(run(sweep.get(), 0).json, before);
    EXPECT_EQ(wireproof_sweep_set_packets(sweep.get(), 500, why.data(), why.size()), WIREPROOF_OK);
    EXPECT_NE(run(sweep.get(), 0).json.find("\"packets\":500,"), std::string::npos);
    EXPECT_EQ(wireproof_sweep_set_packets(sweep.get(), 0, why.data(), why.size()),
              WIREPROOF_FAILED);
    EXPECT_STREQ(why.data(), "a point ends after 1 to 1e18 units");
    EXPECT_EQ(wireproof_sweep_set_relative_error(sweep.get(), 0.1, nullptr, 0), WIREPROOF_OK);
    EXPECT_EQ(wireproof_sweep_set_relative_error(sweep.get(), 2, why.data(), why.size()),
              WIREPROOF_FAILED);
    EXPECT_EQ(wireproof_sweep_set_loss_trace(sweep.get(), "no", 2, why.data(), why.size()),
              WIREPROOF_FAILED);
}

TEST(CSweep, ProgressStopsAPointOrTheRun) {
    const Sweep sweep = read("packets = 1000000000000000\n[grid]\nber = 1e-3\n");
    const auto answer = [](double share, void* user) {
        EXPECT_GE(share, 0);
        return *static_cast<int*>(user);
    };
    int what = WIREPROOF_STOP_POINT;
    const Answer stopped = run(sweep.get(), 0, answer, &what);
    EXPECT_EQ(stopped.status, WIREPROOF_OK) << stopped.why;
    EXPECT_NE(stopped.json.find("\"stopped\":true"), std::string::npos);
    what = WIREPROOF_STOP;
    EXPECT_EQ(run(sweep.get(), 0, answer, &what).status, WIREPROOF_CANCELLED);
    const auto throws = [](double, void*) -> int { throw std::runtime_error("enough"); };
    const Answer threw = run(sweep.get(), 0, throws);
    EXPECT_EQ(threw.status, WIREPROOF_HANDLER_THREW);
    EXPECT_EQ(threw.why, "enough");
}

TEST(CSweep, NullAndMistakesAreReportedInOneLine) {
    std::array<char, 256> why{};
    wireproof_sweep* sweep = nullptr;
    EXPECT_EQ(wireproof_sweep_read("[grid]\nber = 2\n", 15, &sweep, why.data(), why.size()),
              WIREPROOF_FAILED);
    EXPECT_EQ(sweep, nullptr);
    EXPECT_EQ(std::string(why.data()).rfind("sweep:2:7: ", 0), 0U) << why.data();
    EXPECT_EQ(wireproof_sweep_read(nullptr, 1, &sweep, nullptr, 0), WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_sweep_read("", 0, nullptr, nullptr, 0), WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_sweep_points(nullptr), 0U);
    EXPECT_EQ(wireproof_sweep_seed(nullptr), 0U);
    EXPECT_EQ(wireproof_sweep_point_seconds(nullptr), 0);
    EXPECT_STREQ(wireproof_sweep_name(nullptr), "");
    EXPECT_STREQ(wireproof_sweep_loss_trace(nullptr), "");
    EXPECT_EQ(wireproof_sweep_set_seed(nullptr, 1), WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_sweep_set_packets(nullptr, 1, nullptr, 0), WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_sweep_set_relative_error(nullptr, 0.1, nullptr, 0), WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_sweep_set_loss_trace(nullptr, "ok", 2, nullptr, 0), WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(run(nullptr, 0).status, WIREPROOF_BAD_ARGUMENT);
    const Sweep good = read(toml);
    EXPECT_EQ(wireproof_sweep_run(good.get(), 0, 1, nullptr, nullptr, nullptr, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
    char* json = nullptr;
    EXPECT_EQ(wireproof_sweep_run(good.get(), 0, 2, nullptr, nullptr, &json, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_sweep_set_loss_trace(good.get(), nullptr, 1, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_sweep_draw(good.get(), nullptr, 0, nullptr, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_sweep_draw(nullptr, nullptr, 0, &json, nullptr, 0), WIREPROOF_BAD_ARGUMENT);
    EXPECT_EQ(wireproof_sweep_draw(good.get(), nullptr, 2, &json, nullptr, 0),
              WIREPROOF_BAD_ARGUMENT);
    wireproof_sweep_free(nullptr);
    wireproof_text_free(nullptr);
}

TEST(CSweep, APictureIsThatOfTheClass) {
    const Sweep sweep = read(toml);
    const auto same = *wireproof::lab::PointSweep::read(toml);
    const std::string first = run(sweep.get(), 0).json;
    const std::array<const char*, 2> results = {first.c_str(), nullptr};
    char* svg = nullptr;
    std::array<char, 256> why{};
    ASSERT_EQ(wireproof_sweep_draw(sweep.get(), results.data(), results.size(), &svg, why.data(),
                                   why.size()),
              WIREPROOF_OK)
        << why.data();
    const std::unique_ptr<char, Free> owner(svg);
    EXPECT_EQ(std::string(svg), *same.draw({first, ""}));
    EXPECT_EQ(wireproof_sweep_draw(sweep.get(), results.data(), 1, &svg, why.data(), why.size()),
              WIREPROOF_FAILED);
    EXPECT_STREQ(why.data(), "there are 1 results, and the sweep has 2 points");
    EXPECT_EQ(svg, nullptr);
}

}  // namespace
