// The built-in scenarios of docs/rules/cxl.md, frame by frame.
#include <gtest/gtest.h>

#include <vector>

#include "wireproof/lab/ladder/ladder_test_kit.hpp"

namespace wireproof::lab {
namespace {

/// What one side sent. "*" stands after a resent frame. The five RETRY.Frames before a request or
/// an answer are left out.
std::string order(const Ladder& ladder, Side side) {
    std::string text;
    int frames = 0;
    for (const LadderFrame& frame : ladder.frames) {
        if (frame.from != side) continue;
        if (frame.info.kind == "RETRY.Frame") {
            ++frames;
            continue;
        }
        const bool announced = frame.info.kind == "RETRY.Req" || frame.info.kind == "RETRY.Ack";
        EXPECT_EQ(frames, announced ? 5 : 0) << text;
        frames = 0;
        if (!text.empty()) text += ", ";
        text += label_of(frame) + (frame.resent ? "*" : "");
        if (frame.fate.damaged) text += " damaged";
    }
    return text;
}

void expect_counts(const Ladder& ladder, std::uint64_t delivered, std::uint64_t timeouts) {
    const auto& [a, b] = *ladder.counts;
    EXPECT_EQ(b.delivered, delivered);
    EXPECT_EQ(a.timeouts + b.timeouts, timeouts);
}

// CXL-11, CXL-24
TEST(Ladder, CxlSpoiltFlit) {
    const Ladder ladder = run_built_in("cxl-spoilt-flit");
    EXPECT_EQ(order(ladder, Side::a),
              "data, data damaged, data, data, data, data, RETRY.Ack 2, data*, data*, data*, "
              "data*, data*, LLCRD ack 1");
    EXPECT_EQ(order(ladder, Side::b), "RETRY.Req 2, LLCRD ack 7");
    expect_counts(ladder, 6, 0);
}

// CXL-9
TEST(Ladder, CxlSpoiltAnswer) {
    const Ladder ladder = run_built_in("cxl-spoilt-answer");
    EXPECT_EQ(order(ladder, Side::a),
              "data damaged, data, data, LLCRD ack 1, RETRY.Ack 1 damaged, data*, data*, data*, "
              "LLCRD ack 1*, RETRY.Ack 1, data*, data*, data*, LLCRD ack 1*");
    expect_counts(ladder, 3, 1);
}

// CXL-4, CXL-8
TEST(Ladder, CxlTwoRetries) {
    const Ladder ladder = run_built_in("cxl-two-retries");
    EXPECT_EQ(order(ladder, Side::a),
              "data, data damaged, data, data, LLCRD ack 1, RETRY.Ack 2, data* damaged, data*, "
              "data*, LLCRD ack 1*, RETRY.Ack 2, data*, data*, data*, LLCRD ack 1*");
    std::vector<std::uint32_t> num_retry;
    for (const LadderFrame& frame : ladder.frames) {
        if (frame.info.kind == "RETRY.Req") {
            num_retry.push_back(std::to_integer<std::uint32_t>(frame.bytes[2 + 8 + 2]));
        }
    }
    EXPECT_EQ(num_retry, (std::vector<std::uint32_t>{1, 2}));
    expect_counts(ladder, 4, 0);
}

// CXL-10, CXL-12, CXL-20
TEST(Ladder, CxlPhyReinit) {
    const Ladder ladder = run_built_in("cxl-phy-reinit");
    const std::string from_b = order(ladder, Side::b);
    EXPECT_NE(from_b.find("RETRY.Req 1 damaged, "), std::string::npos) << from_b;
    EXPECT_NE(from_b.find("training, training, "), std::string::npos) << from_b;
    EXPECT_NE(order(ladder, Side::a).find("training, training, RETRY.Req 2, RETRY.Ack 1, data*"),
              std::string::npos)
        << order(ladder, Side::a);
    expect_counts(ladder, 3, 2);
}

}  // namespace
}  // namespace wireproof::lab
