// The built-in scenarios of docs/rules/ue.md, frame by frame.
#include <gtest/gtest.h>

#include "wireproof/lab/ladder/built_in.hpp"
#include "wireproof/lab/ladder/ladder.hpp"
#include "wireproof/lab/ladder/ladder_render.hpp"
#include "wireproof/lab/ladder/scenario_file.hpp"

namespace wireproof::lab {
namespace {

Ladder run_text(std::string_view text) {
    const auto scenario = read_scenario(text, "test.toml");
    EXPECT_TRUE(scenario.has_value()) << (scenario ? "" : scenario.error().message);
    if (!scenario) return {};
    auto ladder = run_scenario(*scenario);
    EXPECT_TRUE(ladder.has_value());
    return ladder ? *std::move(ladder) : Ladder();
}

/// Runs a built-in scenario, which must end by itself.
Ladder run_built_in(std::string_view name) {
    const BuiltIn* built_in = find_built_in(name);
    EXPECT_NE(built_in, nullptr) << name;
    if (built_in == nullptr) return {};
    Ladder ladder = run_text(built_in->text);
    EXPECT_EQ(ladder.end, LadderEnd::idle);
    EXPECT_EQ(ladder.wrong, "");
    return ladder;
}

/// "<" stands before a frame from B, "*" after a resent frame.
std::string order(const Ladder& ladder) {
    std::string text;
    for (const LadderFrame& frame : ladder.frames) {
        if (!text.empty()) text += ", ";
        text += (frame.from == Side::b ? "<" : "") + label_of(frame) + (frame.resent ? "*" : "");
        if (frame.fate_word() != "delivered") text += " " + std::string(frame.fate_word());
    }
    return text;
}

std::uint64_t timeouts(const Ladder& ladder) {
    const auto& [a, b] = *ladder.counts;
    return a.timeouts + b.timeouts;
}
std::uint64_t delivered(const Ladder& ladder) {
    return (*ladder.counts)[1].delivered;
}

// LLR-5, LLR-6: L1
TEST(Ladder, UeLostFrame) {
    const Ladder ladder = run_built_in("ue-lost-frame");
    EXPECT_EQ(
        order(ladder),
        "FRAME 0, FRAME 1 lost, FRAME 2 refused, <ACK 0, <NACK 0, FRAME 1*, FRAME 2*, <ACK 2");
    EXPECT_EQ(timeouts(ladder), 0U);
    EXPECT_EQ(delivered(ladder), 3U);
}

// LLR-6, LLR-8: L2
TEST(Ladder, UeDamagedFrame) {
    const Ladder ladder = run_built_in("ue-damaged-frame");
    EXPECT_EQ(order(ladder),
              "FRAME 0, FRAME 1 damaged, <ACK 0, <NACK 0, FRAME 1* damaged, FRAME 1*, <ACK 1");
    EXPECT_EQ(timeouts(ladder), 1U);
    EXPECT_EQ(delivered(ladder), 2U);
}

// LLR-5: L3
TEST(Ladder, UeLostAck) {
    const Ladder ladder = run_built_in("ue-lost-ack");
    EXPECT_EQ(order(ladder), "FRAME 0, <ACK 0 lost, FRAME 1, FRAME 2, <ACK 2");
    EXPECT_EQ(timeouts(ladder), 0U);
    EXPECT_EQ(delivered(ladder), 3U);
}

// LLR-8: L4
TEST(Ladder, UeLostNack) {
    const Ladder ladder = run_built_in("ue-lost-nack");
    EXPECT_EQ(order(ladder),
              "FRAME 0, FRAME 1 lost, FRAME 2 refused, <ACK 0, <NACK 0 lost, FRAME 1*, FRAME 2*, "
              "<ACK 1, <ACK 2");
    EXPECT_EQ(timeouts(ladder), 1U);
    EXPECT_EQ(delivered(ladder), 3U);
}

// LLR-8: L5
TEST(Ladder, UeLostLast) {
    const Ladder ladder = run_built_in("ue-lost-last");
    EXPECT_EQ(order(ladder), "FRAME 0, FRAME 1 lost, <ACK 0, FRAME 1*, <ACK 1");
    EXPECT_EQ(timeouts(ladder), 1U);
    EXPECT_EQ(delivered(ladder), 2U);
}

// LLR-17, LLR-28: L6
TEST(Ladder, UeFlush) {
    const Ladder ladder = run_built_in("ue-flush");
    EXPECT_EQ(order(ladder),
              "FRAME 0 lost, FRAME 1 lost, FRAME 0* lost, FRAME 1* lost, INIT 2, <INIT_ECHO 2, "
              "<INIT 0, INIT_ECHO 0, FRAME 2, <ACK 2");
    EXPECT_EQ(timeouts(ladder), 2U);
    EXPECT_EQ(delivered(ladder), 1U);
}

}  // namespace
}  // namespace wireproof::lab
