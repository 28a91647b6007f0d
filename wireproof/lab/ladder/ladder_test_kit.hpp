// Scenarios as tests run and read them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "wireproof/lab/ladder/built_in.hpp"
#include "wireproof/lab/ladder/ladder.hpp"
#include "wireproof/lab/ladder/ladder_render.hpp"
#include "wireproof/lab/ladder/scenario_file.hpp"

namespace wireproof::lab {

/// Runs a scenario file with this text.
inline Ladder run_text(std::string_view text) {
    const auto scenario = read_scenario(text, "test.toml");
    EXPECT_TRUE(scenario.has_value()) << (scenario ? "" : scenario.error().message);
    if (!scenario) return {};
    auto ladder = run_scenario(*scenario);
    EXPECT_TRUE(ladder.has_value());
    return ladder ? *std::move(ladder) : Ladder();
}

/// Runs a built-in scenario. It must end by itself and deliver nothing wrong.
inline Ladder run_built_in(std::string_view name) {
    const BuiltIn* built_in = find_built_in(name);
    EXPECT_NE(built_in, nullptr) << name;
    if (built_in == nullptr) return {};
    Ladder ladder = run_text(built_in->text);
    EXPECT_EQ(ladder.name, name);
    EXPECT_EQ(ladder.end, LadderEnd::idle);
    EXPECT_EQ(ladder.wrong, "");
    return ladder;
}

/// Frames in the order of sending. "<" stands before a frame from B, "*" after a resent frame; the
/// fate follows if the frame was not delivered.
inline std::string order(const Ladder& ladder) {
    std::string text;
    for (const LadderFrame& frame : ladder.frames) {
        if (!text.empty()) text += ", ";
        text += (frame.from == Side::b ? "<" : "") + label_of(frame) + (frame.resent ? "*" : "");
        if (frame.fate_word() != "delivered") text += " " + std::string(frame.fate_word());
    }
    return text;
}

/// Counts of both sides together.
struct Sum {
    std::uint64_t timeouts;
    std::uint64_t resent;
    std::uint64_t delivered;
    friend bool operator==(const Sum&, const Sum&) = default;
};
inline Sum sum_of(const Ladder& ladder) {
    const auto& [a, b] = *ladder.counts;
    return {a.timeouts + b.timeouts, a.resent + b.resent, a.delivered + b.delivered};
}

}  // namespace wireproof::lab
