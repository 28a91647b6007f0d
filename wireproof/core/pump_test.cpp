// Tests the order of the calls that move a frame.
#include "wireproof/core/pump.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace wireproof {
namespace {

/// The part of an engine that transmit_run uses. The engine and its lane record the calls.
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
    LaneCapabilities capabilities() const { return {.frame_max = room.size()}; }
    TxFrame* claim() {
        if (frames == frames_max) return nullptr;
        frame.open(room, capabilities());
        return &frame;
    }
    void commit() {
        ++frames;
        calls.append("commit ");
    }
    void publish() { calls.append("show "); }

    std::string& calls;
    int frames_max = 100;
    int frames = 0;
    std::array<std::byte, 16> room{};
    TxFrame frame{};
};

Instant started() {
    return Instant();
}

// The peer waits for the frames. Nobody waits for what the engine records about them.
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

/// The parts of an engine and a lane that transmit_single uses.
struct NotingLone {
    bool leaves_single(int) const { return leaves; }
    std::size_t write_single(int message, Bytes room) {
        room[0] = static_cast<std::byte>(message);
        calls += "written ";
        return 1;
    }
    void single_left(Instant, int message) { calls += "left " + std::to_string(message) + " "; }

    std::string calls;
    bool leaves = true;
};

struct NotingSingleLane : NotingLane {
    Bytes claim_single() { return frames == frames_max ? Bytes() : Bytes(room); }
    void publish_single(std::size_t size) { calls += "shown " + std::to_string(size) + " "; }
};
static_assert(SingleLane<NotingSingleLane>);

TEST(Pump, ShowsAMessageThatLeavesAloneBeforeTheEngineNotesItDown) {
    NotingLone engine;
    NotingSingleLane lane{{engine.calls}};
    const auto now = [&] {
        engine.calls += "clock ";
        return Instant();
    };
    EXPECT_TRUE(transmit_single(engine, lane, 7, now));
    EXPECT_EQ(engine.calls, "written shown 1 clock left 7 ");
    EXPECT_EQ(lane.room[0], std::byte{7});
    engine.calls.clear();
    lane.frames_max = 0;
    EXPECT_FALSE(transmit_single(engine, lane, 8, now)) << "there is no room";
    lane.frames_max = 100;
    engine.leaves = false;
    EXPECT_FALSE(transmit_single(engine, lane, 9, now));
    EXPECT_EQ(engine.calls, "");
}

/// An engine that can take a run of frames, and a wire that has three more frames after the first.
/// Both record the calls.
struct NotingReceiver {
    using Delivery = int;

    RxVerdict on_frame(Instant, const RxFrame& frame) {
        *calls += "frame " + std::to_string(frame.bytes.size()) + " ";
        return RxVerdict::held;
    }
    bool takes_run() const { return taken > 0; }
    std::uint32_t on_run(Instant, const RxRun& run) {
        *calls += "run " + std::to_string(run.frames) + " ";
        return std::min(taken, run.frames);
    }
    std::optional<Delivery> next_delivery() {
        *calls += "draw ";
        return std::nullopt;
    }
    void on_deadline(Instant) {}
    void on_wire_event(Instant, WireEvent) {}
    bool poll_transmit(Instant, TxFrame&) { return false; }
    Instant next_deadline() const { return never; }
    void fingerprint(Instant, Fingerprint&) const {}

    std::string* calls;
    std::uint32_t taken = 0;
};

struct NotingWire {
    NotingLane& lane(PeerId) { return to; }
    std::optional<RxFrame> receive(Instant) {
        if (left == 0) return std::nullopt;
        --left;
        return RxFrame{.bytes = ConstBytes(bytes).first(4), .from = PeerId{5}, .lent = {}};
    }
    RxRun following() const { return {bytes.data(), left, 4}; }
    void take_following(std::size_t frames) {
        to.calls += "taken " + std::to_string(frames) + " ";
        left -= static_cast<std::uint32_t>(frames);
    }
    void flush(Instant) {}
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return std::nullopt; }
    Instant next_deadline() const { return never; }

    NotingLane to;
    std::uint32_t left = 4;
    std::array<std::byte, 16> bytes{};
};
static_assert(RunWire<NotingWire>);

TEST(Pump, TakesAtOnceWhatFollowsAFrameAndJudgesEach) {
    const auto pumped = [](std::uint32_t taken) {
        std::string calls;
        NotingReceiver engine{&calls, taken};
        NotingWire wire{NotingLane{calls}};
        pump(
            engine, wire, PeerId{0}, Instant(), [](int) {},
            [&](const RxFrame& frame, RxVerdict verdict) {
                EXPECT_EQ(frame.bytes.size(), 4U);
                EXPECT_EQ(frame.from, PeerId{5});
                calls += verdict == RxVerdict::accepted ? "accepted " : "held ";
            });
        return calls;
    };
    EXPECT_EQ(pumped(3), "frame 4 held draw run 3 taken 3 accepted accepted accepted draw ");
    EXPECT_EQ(pumped(2),
              "frame 4 held draw run 3 taken 2 accepted accepted frame 4 held draw draw ");
    EXPECT_EQ(pumped(0),
              "frame 4 held draw frame 4 held draw frame 4 held draw frame 4 held draw "
              "draw ");
}

}  // namespace
}  // namespace wireproof
