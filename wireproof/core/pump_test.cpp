// In which order what moves a frame is called.
#include "wireproof/core/pump.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace wireproof {
namespace {

/// Of an engine, what transmit_run asks for; it and its lane note the calls.
struct Noting {
    std::string calls;
    int left = 0;

    RunStart begin_run() { return left > 0 ? RunStart::begun : RunStart::quiet; }
    bool in_run() const { return left > 0; }
    void next_of_run(TxFrame&) {
        calls += "frame ";
        --left;
    }
    bool end_run(Instant) {
        calls += "end ";
        return true;
    }
};

struct NotingLane {
    LaneTerms terms() const { return {.frame_max = room.size()}; }
    TxFrame* claim() {
        if (frames == frames_max) return nullptr;
        frame.open(room, terms());
        return &frame;
    }
    void commit() {
        ++frames;
        calls.append("commit ");
    }
    void show() { calls.append("show "); }

    std::string& calls;
    int frames_max = 100;
    int frames = 0;
    std::array<std::byte, 16> room{};
    TxFrame frame{};
};

Instant started() {
    return Instant();
}

// The peer waits for the frames, and nobody for what is written down of them.
TEST(Pump, ShowsARunOfFramesBeforeTheEngineEndsIt) {
    Noting engine{{}, 2};
    NotingLane lane{engine.calls};
    const Transmitted sent = transmit_run(engine, lane, started);
    EXPECT_EQ(engine.calls, "frame commit frame commit show end ");
    EXPECT_EQ(sent.frames, 2U);
    EXPECT_TRUE(sent.quiet);
}

TEST(Pump, ShowsWhatWentBeforeTheLaneWasFull) {
    Noting engine{{}, 2};
    NotingLane lane{engine.calls, 1};
    const Transmitted sent = transmit_run(engine, lane, started);
    EXPECT_EQ(engine.calls, "frame commit show end ");
    EXPECT_TRUE(sent.lane_full);
    EXPECT_FALSE(sent.quiet);
}

TEST(Pump, ShowsNothingWhereNothingLeft) {
    Noting engine{{}, 1};
    NotingLane full{engine.calls, 0};
    EXPECT_TRUE(transmit_run(engine, full, started).lane_full);
    engine.left = 0;
    NotingLane lane{engine.calls};
    EXPECT_TRUE(transmit_run(engine, lane, started).quiet);
    EXPECT_EQ(engine.calls, "");
}

}  // namespace
}  // namespace wireproof
