#include "wireproof/host/split_wire.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <deque>

namespace wireproof::host {
namespace {

constexpr PeerId near_peer{0};
constexpr PeerId far_peer{1};

/// Gives the frames that the test puts into it, and counts how often it is asked.
class ScriptedWire {
public:
    class Lane {
    public:
        LaneCapabilities capabilities() const { return {.frame_max = size}; }
        TxFrame* claim() { return nullptr; }
        void commit() {}

        std::size_t size = 0;
    };

    ScriptedWire(PeerId peer, std::size_t frame_max) : peer_(peer) {
        for (Lane& lane : lanes_) lane.size = frame_max;
        EXPECT_EQ(::pipe(pipe_.data()), 0);
    }
    ScriptedWire(const ScriptedWire&) = delete;
    ScriptedWire& operator=(const ScriptedWire&) = delete;
    ~ScriptedWire() {
        for (const int end : pipe_) ::close(end);
    }

    Lane& lane(PeerId peer) { return lanes_.at(static_cast<std::size_t>(peer)); }
    std::optional<RxFrame> receive(Instant) {
        ++asked;
        if (frames == 0) return std::nullopt;
        --frames;
        return RxFrame{{}, peer_, Integrity::intact};
    }
    RxRun following() const { return {nullptr, static_cast<std::uint32_t>(peer_) + 7, 1}; }
    void take_following(std::size_t taken) { followed = taken; }
    void flush(Instant) { ++flushed; }
    std::optional<std::pair<PeerId, WireEvent>> next_event() {
        if (events.empty()) return std::nullopt;
        const WireEvent event = events.front();
        events.pop_front();
        return std::pair(peer_, event);
    }
    Instant next_deadline() const { return deadline; }
    int wait_handle() const { return pipe_[0]; }
    bool prepare_to_sleep() { return may_sleep; }
    void settle(PeerId peer) { settled = peer; }
    void unsettle(PeerId peer) { unsettled = peer; }
    void abandon() { abandoned = true; }
    PeerTrouble trouble(PeerId) const { return {.cause = "trouble", .frames_refused = 5}; }
    void ring() { EXPECT_EQ(::write(pipe_[1], "x", 1), 1); }

    int frames = 0;
    int asked = 0;
    int flushed = 0;
    std::size_t followed = 0;
    std::deque<WireEvent> events;
    Instant deadline = never;
    bool may_sleep = true;
    bool abandoned = false;
    std::optional<PeerId> settled;
    std::optional<PeerId> unsettled;

private:
    PeerId peer_;
    std::array<Lane, 2> lanes_;
    std::array<int, 2> pipe_{};
};

class TwoWires : public testing::Test {
protected:
    TwoWires() {
        auto made = SplitWire::make(AnyWire(std::ref(near)), AnyWire(std::ref(far)), {true, false});
        WIREPROOF_CHECK(made.has_value());
        wire.emplace(std::move(*made));
    }
    std::string next() {
        const auto frame = wire->receive(now);
        if (!frame) return "none";
        return frame->from == near_peer ? "near" : "far";
    }
    /// What the next `calls` of receive() give.
    std::string take(int calls) {
        std::string all;
        for (int i = 0; i < calls; ++i) all += next() + ' ';
        return all;
    }
    bool is_readable() const {
        pollfd handle{.fd = wire->wait_handle(), .events = POLLIN, .revents = 0};
        return ::poll(&handle, 1, 0) == 1;
    }

    ScriptedWire near{near_peer, 100};
    ScriptedWire far{far_peer, 200};
    std::optional<SplitWire> wire;
    Instant now{Duration::milliseconds(1)};
};

TEST_F(TwoWires, EachPeerHasTheLaneOfItsWire) {
    EXPECT_EQ(wire->lane(near_peer).capabilities().frame_max, 100U);
    EXPECT_EQ(wire->lane(far_peer).capabilities().frame_max, 200U);
    EXPECT_TRUE(wire->is_near(near_peer));
    EXPECT_FALSE(wire->is_near(far_peer));
}

// Each poll of a node receives until there is nothing. So it must get the frames of both wires.
TEST_F(TwoWires, OneTurnReceivesTheFramesOfBoth) {
    near.frames = 2;
    far.frames = 2;
    EXPECT_EQ(take(5), "near near far far none ");
}

TEST_F(TwoWires, AsksTheFarWireOnceInAWhileIfItHasNothing) {
    EXPECT_EQ(next(), "none");
    EXPECT_EQ(far.asked, 1);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(next(), "none");
    EXPECT_EQ(far.asked, 1);
    EXPECT_EQ(near.asked, 11);
    now = now + SplitWire::far_look_every;
    EXPECT_EQ(next(), "none");
    EXPECT_EQ(far.asked, 2);
}

TEST_F(TwoWires, AsksTheFarWireInEachTurnWhileItHasFrames) {
    for (int i = 0; i < 3; ++i) {
        far.frames = 1;
        EXPECT_EQ(take(2), "far none ");
    }
}

TEST_F(TwoWires, AFloodOfFarFramesDoesNotHideNearOnes) {
    far.frames = 1'000'000;
    for (std::size_t i = 0; i < SplitWire::far_frames_most; ++i) ASSERT_EQ(next(), "far");
    near.frames = 1;
    EXPECT_EQ(take(3), "none near far ");
}

TEST_F(TwoWires, FollowingFramesAreThoseOfTheLastFrame) {
    near.frames = far.frames = 1;
    EXPECT_EQ(next(), "near");
    EXPECT_EQ(wire->following().frames, 7U);
    wire->take_following(3);
    EXPECT_EQ(near.followed, 3U);
    EXPECT_EQ(next(), "far");
    EXPECT_EQ(wire->following().frames, 8U);
    SplitWire moved = std::move(*wire);
    EXPECT_EQ(moved.following().frames, 8U);
    moved.take_following(2);
    EXPECT_EQ(far.followed, 2U);
    EXPECT_EQ(near.followed, 3U);
}

TEST_F(TwoWires, EventsAndDeadlinesAreThoseOfBoth) {
    near.events = {WireEvent::peer_gone};
    far.events = {WireEvent::new_life};
    EXPECT_EQ(wire->next_event()->first, near_peer);
    EXPECT_EQ(wire->next_event()->first, far_peer);
    EXPECT_FALSE(wire->next_event());
    EXPECT_EQ(wire->next_deadline(), never);
    far.deadline = now + Duration::milliseconds(2);
    EXPECT_EQ(wire->next_deadline(), far.deadline);
    near.deadline = now;
    EXPECT_EQ(wire->next_deadline(), now);
    wire->flush(now);
    EXPECT_EQ(near.flushed + far.flushed, 2);
}

TEST_F(TwoWires, TheHandleIsReadableIfEitherIs) {
    EXPECT_FALSE(is_readable());
    EXPECT_TRUE(wire->prepare_to_sleep());
    far.ring();
    EXPECT_TRUE(is_readable());
    far.may_sleep = false;
    EXPECT_FALSE(wire->prepare_to_sleep());
    far.may_sleep = true;
    near.may_sleep = false;
    EXPECT_FALSE(wire->prepare_to_sleep());
}

TEST_F(TwoWires, TheHandleSurvivesAMoveAndEndsWithAFork) {
    SplitWire moved = std::move(*wire);
    wire.reset();
    near.ring();
    pollfd handle{.fd = moved.wait_handle(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&handle, 1, 0), 1);
    moved.abandon();
    EXPECT_EQ(moved.wait_handle(), -1);
    EXPECT_TRUE(near.abandoned && far.abandoned);
}

TEST_F(TwoWires, CallsThatNameAPeerReachItsWireOnly) {
    wire->settle(far_peer);
    wire->unsettle(near_peer);
    EXPECT_EQ(far.settled, far_peer);
    EXPECT_FALSE(near.settled);
    EXPECT_EQ(near.unsettled, near_peer);
    EXPECT_FALSE(far.unsettled);
    EXPECT_EQ(wire->trouble(far_peer).frames_refused, 5U);
    std::array<std::byte, 4> memory{};
    EXPECT_FALSE(wire->share(far_peer, 1, memory, true, true));
    EXPECT_TRUE(wire->unshared(far_peer, 1));
    EXPECT_FALSE(wire->write_memory(far_peer, 1, memory));
    EXPECT_FALSE(wire->read_memory(far_peer, 1, memory));
}

}  // namespace
}  // namespace wireproof::host
