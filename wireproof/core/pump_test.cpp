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

/// Of an engine and a lane, what transmit_alone asks for.
struct NotingLone {
    bool leaves_alone(int) const { return leaves; }
    std::size_t write_alone(int message, Bytes room) {
        room[0] = static_cast<std::byte>(message);
        calls += "written ";
        return 1;
    }
    void left_alone(Instant, int message) { calls += "left " + std::to_string(message) + " "; }

    std::string calls;
    bool leaves = true;
};

struct NotingLoneLane : NotingLane {
    Bytes claim_alone() { return frames == frames_max ? Bytes() : Bytes(room); }
    void show_alone(std::size_t size) { calls += "shown " + std::to_string(size) + " "; }
};
static_assert(LoneLane<NotingLoneLane>);

TEST(Pump, ShowsAMessageThatLeavesAloneBeforeTheEngineNotesItDown) {
    NotingLone engine;
    NotingLoneLane lane{{engine.calls}};
    const auto now = [&] {
        engine.calls += "clock ";
        return Instant();
    };
    EXPECT_TRUE(transmit_alone(engine, lane, 7, now));
    EXPECT_EQ(engine.calls, "written shown 1 clock left 7 ");
    EXPECT_EQ(lane.room[0], std::byte{7});
    engine.calls.clear();
    lane.frames_max = 0;
    EXPECT_FALSE(transmit_alone(engine, lane, 8, now)) << "there is no room";
    lane.frames_max = 100;
    engine.leaves = false;
    EXPECT_FALSE(transmit_alone(engine, lane, 9, now));
    EXPECT_EQ(engine.calls, "");
}

}  // namespace
}  // namespace wireproof
