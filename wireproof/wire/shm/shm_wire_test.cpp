// Tests the frames between nodes, the order in which peers take turns, and sleep.
#include <cstring>

#include "wireproof/wire/shm/shm_test_kit.hpp"

namespace wireproof {
namespace {

using namespace shm_test;

TEST(ShmWire, CarriesFramesBothWaysAsTheyWereSent) {
    auto [a, b] = pair();
    EXPECT_EQ(a.lane(one).capabilities().frame_max, 16U * 1024 - 8);
    EXPECT_TRUE(a.lane(one).capabilities().carries_all);
    EXPECT_TRUE(a.lane(one).capabilities().carries_intact);
    EXPECT_EQ(next(b), "nothing");
    ASSERT_TRUE(commit(a, one, "first"));
    ASSERT_TRUE(commit(a, one, ""));
    EXPECT_EQ(next(b), "nothing");  // not flushed
    a.flush(Instant());
    ASSERT_TRUE(send(b, zero, "back"));
    EXPECT_EQ(next(b), "0:first");
    EXPECT_EQ(next(b), "0:");
    EXPECT_EQ(next(b), "nothing");
    EXPECT_EQ(next(a), "1:back");
    EXPECT_EQ(a.counters().frames_sent, 2U);
    EXPECT_EQ(b.counters().bytes_received, 5U);
    EXPECT_EQ(event(a) + event(b), "nonenone");
    EXPECT_EQ(a.next_deadline(), never);
}

TEST(ShmWire, ALaneShowsWhatItHasBeforeTheFlush) {
    auto [a, b] = pair();
    EXPECT_EQ(next(a), "nothing");
    ASSERT_TRUE(commit(a, one, "first"));
    ASSERT_TRUE(commit(a, one, "second"));
    a.lane(one).publish();
    EXPECT_TRUE(a.is_still(Instant())) << "the flush has nothing left to do";
    EXPECT_EQ(next(b), "0:first");
    EXPECT_EQ(next(b), "0:second");
    ASSERT_TRUE(commit(a, one, "third"));
    EXPECT_FALSE(a.is_still(Instant()));
    EXPECT_EQ(next(b), "nothing");
    a.flush(Instant());
    EXPECT_EQ(next(b), "0:third");
}

// A sender can write to its room in the ring at any time.
TEST(ShmWire, AReceivedFrameStaysTheSameWhateverItsSenderWrites) {
    for (const bool alone : {false, true}) {
        auto [a, b] = pair();
        EXPECT_EQ(next(b), "nothing");
        for (const std::size_t size : {1U, 48U, 56U, 57U, 2176U, 2177U, 16'376U}) {
            const Bytes room = a.lane(one).claim()->add_room(size);
            std::ranges::fill(room, std::byte{'a'});
            a.lane(one).commit();
            a.flush(Instant());
            if (alone) b.expect_single();
            const auto frame = b.receive(Instant());
            ASSERT_TRUE(frame.has_value());
            std::ranges::fill(room, std::byte{'b'});
            EXPECT_EQ(text_of(frame->bytes), std::string(size, 'a')) << size;
            EXPECT_EQ(next(b), "nothing");
        }
    }
}

/// Sends one frame with publish_single. False: it may not leave alone.
bool send_single(ShmWire& wire, PeerId to, std::string_view text) {
    const Bytes room = wire.lane(to).claim_single();
    if (room.empty()) return false;
    std::memcpy(room.data(), text.data(), text.size());
    wire.lane(to).publish_single(text.size());
    return true;
}

TEST(ShmWire, AFrameByItselfIsSeenAtOnceAndLeavesNothingToFlush) {
    auto [a, b] = pair();
    EXPECT_EQ(next(a), "nothing");
    ASSERT_TRUE(send_single(a, one, "alone"));
    EXPECT_TRUE(a.is_still(Instant()));
    EXPECT_EQ(next(b), "0:alone");
    EXPECT_EQ(a.counters().frames_sent, 1U);
    EXPECT_EQ(a.counters().bytes_sent, 5U);
    ASSERT_TRUE(send(a, one, "flushed"));
    EXPECT_EQ(next(b), "0:flushed");
}

TEST(ShmWire, AFrameByItselfWakesASleeper) {
    auto [a, b] = pair();
    EXPECT_EQ(next(b), "nothing");
    ASSERT_TRUE(b.prepare_to_sleep());
    ASSERT_FALSE(rings(b));
    ASSERT_TRUE(send_single(a, one, "alone"));
    EXPECT_TRUE(rings(b));
    EXPECT_EQ(a.counters().doorbells_rung, 1U);
}

TEST(ShmWire, NoFrameByItselfOvertakesOneThatWaitsForTheFlush) {
    auto [a, b] = pair();
    ASSERT_TRUE(commit(a, one, "first"));
    EXPECT_FALSE(send_single(a, one, "second"));
    a.flush(Instant());
    EXPECT_TRUE(send_single(a, one, "second"));
    EXPECT_EQ(next(b), "0:first");
    EXPECT_EQ(next(b), "0:second");
}

// A caller that has nothing to send after all keeps the room claimed.
TEST(ShmWire, RoomThatWasClaimedAndNotUsedIsLentForAFrameByItself) {
    auto [a, b] = pair({.frame_max = 1016, .lines = 64});
    for (const std::string text : {"first", "second"}) {
        TxFrame* const frame = a.lane(one).claim();
        ASSERT_NE(frame, nullptr);
        const Bytes room = frame->add_room(500);
        std::fill(room.begin(), room.end(), std::byte{0xFF});  // at the places of the next words
        ASSERT_TRUE(send_single(a, one, text));
        a.lane(one).commit();  // of room that is no longer claimed
        a.flush(Instant());
        EXPECT_EQ(next(b), "0:" + text);
        EXPECT_EQ(next(b), "nothing");
    }
    EXPECT_TRUE(b.connected(zero));
}

TEST(ShmWire, CarriesTheLongestFrameRoundTheRingManyTimes) {
    auto [a, b] = pair({.frame_max = 1016, .lines = 64});
    for (int i = 0; i < 1000; ++i) {
        const std::string text(static_cast<std::size_t>(1016 - i % 200),
                               static_cast<char>('a' + i % 26));
        ASSERT_TRUE(send(a, one, text)) << i;
        ASSERT_EQ(next(b), "0:" + text);
        ASSERT_EQ(next(b), "nothing");
    }
}

TEST(ShmWire, AFullRingStopsOneLaneAndLosesNothing) {
    auto [a, b] = pair({.frame_max = 56, .lines = 64});
    int sent = 0;
    while (commit(a, one, "frame " + std::to_string(sent))) ++sent;
    EXPECT_EQ(sent, 60);  // four words are kept zero
    EXPECT_EQ(a.counters().full_rings, 1U);
    a.flush(Instant());
    for (int i = 0; i < sent; ++i) ASSERT_EQ(next(b), "0:frame " + std::to_string(i));
    EXPECT_EQ(next(b), "nothing");
    EXPECT_TRUE(send(a, one, "again"));
    EXPECT_EQ(next(b), "0:again");
}

TEST(ShmWire, ReturnsNothingNowAndThenSoThatTheCallersLoopGoesOn) {
    auto [a, b] = pair({.batch = 3});
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(send(a, one, "x"));
    std::string heard;
    for (int i = 0; i < 5; ++i) heard += next(b);
    EXPECT_EQ(heard, "0:x0:x0:xnothing0:x");
}

TEST(ShmWire, IsStillWhileATurnWouldFindNothingToDo) {
    auto [a, b] = pair();
    EXPECT_FALSE(b.is_still(Instant())) << "the sockets were not looked at yet";
    EXPECT_EQ(next(b), "nothing");
    EXPECT_EQ(next(a), "nothing");
    EXPECT_TRUE(b.is_still(Instant()));
    ASSERT_TRUE(commit(a, one, "frame"));
    EXPECT_FALSE(a.is_still(Instant())) << "a frame is to be flushed";
    EXPECT_TRUE(b.is_still(Instant()));
    a.flush(Instant());
    EXPECT_TRUE(a.is_still(Instant()));
    EXPECT_FALSE(b.is_still(Instant())) << "a frame has come";
    EXPECT_EQ(next(b), "0:frame");
    EXPECT_TRUE(b.is_still(Instant()));
    const Instant later{Duration::milliseconds(2)};
    EXPECT_FALSE(b.is_still(later)) << "the sockets are to be looked at";
    EXPECT_EQ(next(b, later), "nothing");
    EXPECT_TRUE(b.is_still(later));
}

TEST(ShmWire, IsNotStillWhenItsPeerHasGone) {
    const std::string name = unique_name();
    Time time;
    ShmWire a = open({.name = name, .node = 0});
    {
        ShmWire b = open({.name = name, .node = 1});
        ASSERT_TRUE(meet(a, one, b, zero, time));
    }
    EXPECT_EQ(next(a, time.pass()), "nothing");
    EXPECT_FALSE(a.is_still(time.now())) << "an event waits";
    EXPECT_EQ(event(a), "1 gone");
    EXPECT_TRUE(a.is_still(time.now()));
}

TEST(ShmWire, AFrameThatIsExpectedAloneComesAlone) {
    auto [a, b] = pair();
    EXPECT_EQ(next(b), "nothing");
    ASSERT_TRUE(b.is_still(Instant()));
    b.expect_single();
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(send(a, one, "x"));
    std::string heard;
    for (int i = 0; i < 6; ++i) heard += next(b);
    EXPECT_EQ(heard, "0:xnothing0:x0:x0:xnothing");
}

TEST(ShmWire, RingsTheBellOnceForASleeperAndNeverForOthers) {
    auto [a, b] = pair();
    ASSERT_TRUE(send(a, one, "awake"));
    EXPECT_FALSE(rings(b));
    EXPECT_FALSE(b.prepare_to_sleep());  // a frame is there
    EXPECT_EQ(next(b), "0:awake");
    EXPECT_EQ(next(b), "nothing");
    EXPECT_TRUE(b.prepare_to_sleep());
    EXPECT_FALSE(rings(b));
    ASSERT_TRUE(commit(a, one, "wake"));
    EXPECT_FALSE(rings(b));
    a.flush(Instant());
    EXPECT_TRUE(rings(b));
    ASSERT_TRUE(send(a, one, "up"));
    EXPECT_EQ(a.counters().doorbells_rung, 1U);
    EXPECT_EQ(next(b), "0:wake");
    EXPECT_EQ(next(b), "0:up");
    EXPECT_EQ(next(b), "nothing");
    ASSERT_TRUE(send(a, one, "awake again"));
    EXPECT_EQ(a.counters().doorbells_rung, 1U);
    EXPECT_EQ(next(b), "0:awake again");
    EXPECT_EQ(next(b), "nothing");
    EXPECT_TRUE(b.prepare_to_sleep());
    EXPECT_FALSE(rings(b)) << "the old bell is still heard";
}

TEST(ShmWire, RoomWakesASleeperThatLackedIt) {
    auto [a, b] = pair({.frame_max = 56, .lines = 64});
    for (const bool wants_more : {true, false}) {
        while (b.receive(Instant()) || b.receive(Instant())) {
        }
        int sent = 0;
        for (; sent < 50; ++sent) ASSERT_TRUE(send(a, one, "x"));
        while (wants_more && send(a, one, "x")) ++sent;
        ASSERT_TRUE(a.prepare_to_sleep());
        for (int i = 0; i < 20; ++i) EXPECT_EQ(next(b), "0:x");
        EXPECT_EQ(rings(a), wants_more);
        EXPECT_EQ(b.counters().doorbells_rung, 1U);
        EXPECT_EQ(next(a), "nothing");
    }
    // Room that came before the sleep is reported once.
    while (send(a, one, "x")) {
    }
    for (int i = 0; i < 20; ++i) EXPECT_EQ(next(b), "0:x");
    EXPECT_FALSE(a.prepare_to_sleep());
    EXPECT_TRUE(a.prepare_to_sleep());
}

// If a node found no room because there was no peer yet, it must not sleep on when a peer comes.
TEST(ShmWire, APeerThatComesIsRoomForWhoWantedSome) {
    const std::string name = unique_name();
    Time time;
    ShmWire a = open({.name = name, .node = 0});
    EXPECT_EQ(a.lane(one).claim(), nullptr);
    EXPECT_EQ(a.counters().full_rings, 0U);
    ShmWire b = open({.name = name, .node = 1});
    bool sleeps = true;
    for (int i = 0; i < 500 && !a.connected(one); ++i) {
        b.receive(time.pass());
        sleeps = a.prepare_to_sleep();
    }
    ASSERT_TRUE(a.connected(one));
    EXPECT_FALSE(sleeps);
    EXPECT_TRUE(a.prepare_to_sleep());
}

TEST(ShmWire, ADyingPeerWakesASleeper) {
    const std::string name = unique_name();
    Time time;
    ShmWire a = open({.name = name, .node = 0});
    auto b = std::make_unique<ShmWire>(open({.name = name, .node = 1}));
    ASSERT_TRUE(meet(a, one, *b, zero, time));
    while (!a.prepare_to_sleep()) a.receive(time.now());
    EXPECT_FALSE(rings(a));
    b.reset();
    EXPECT_TRUE(rings(a));
    EXPECT_EQ(next(a, time.now()), "nothing");
    EXPECT_EQ(event(a), "1 gone");
}

TEST(ShmWire, LanesStayWhereTheyAreWhenTheWireMoves) {
    auto [a, b] = pair();
    ShmLane* const lane = &a.lane(one);
    ShmWire moved = std::move(a);
    EXPECT_EQ(&moved.lane(one), lane);
    ASSERT_TRUE(send(moved, one, "still here"));
    EXPECT_EQ(next(b), "0:still here");
}

std::vector<ShmWire> three_that_met(Time& time) {
    const std::string name = unique_name();
    std::vector<ShmWire> wires;
    for (std::size_t i = 0; i < 3; ++i) {
        wires.push_back(open({.name = name, .node = i, .nodes = 3}));
    }
    for (int i = 0; i < 20; ++i) {
        time.pass();
        for (ShmWire& wire : wires) wire.receive(time.now());
    }
    return wires;
}

TEST(ShmWire, LanesShowInAnyOrderAndTheFlushMissesNone) {
    constexpr PeerId two{2};
    Time time;
    std::vector<ShmWire> wires = three_that_met(time);
    const auto commit_to_both = [&](std::string_view text) {
        ASSERT_TRUE(commit(wires[0], one, text));
        ASSERT_TRUE(commit(wires[0], two, text));
    };
    for (const PeerId shown : {one, two}) {
        commit_to_both("shown");
        wires[0].lane(shown).publish();
        const std::size_t other = shown == one ? 2 : 1;
        EXPECT_EQ(next(wires[3 - other], time.now()), "0:shown");
        EXPECT_EQ(next(wires[other], time.now()), "nothing");
        commit_to_both("flushed");
        wires[0].flush(time.now());
        EXPECT_EQ(next(wires[3 - other], time.now()), "0:flushed");
        EXPECT_EQ(next(wires[other], time.now()), "0:shown");
        EXPECT_EQ(next(wires[other], time.now()), "0:flushed");
    }
}

TEST(ShmWire, TakesTurnsAmongPeers) {
    Time time;
    std::vector<ShmWire> wires = three_that_met(time);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(send(wires[1], zero, "1"));
        ASSERT_TRUE(send(wires[2], zero, "2"));
    }
    std::string order;
    for (int i = 0; i < 200; ++i) order += text_of(wires[0].receive(time.now())->bytes);
    EXPECT_EQ(order.substr(0, 64), std::string(32, order[0]) + std::string(32, order[32]));
    EXPECT_NE(order[0], order[32]);
    EXPECT_EQ(std::ranges::count(order, '1'), 100);
}

// After expect_single(), the wire takes the next frame for a lone one, also if a note comes with it
// or if it makes the consumer give room back.
TEST(ShmWire, LoneFramesGiveRoomBackAndNoneIsLost) {
    auto [a, b] = pair({.frame_max = 56, .lines = 64});
    EXPECT_EQ(next(b), "nothing");
    for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(b.is_still(Instant())) << i;
        b.expect_single();
        ASSERT_TRUE(send(a, one, "x")) << i;
        ASSERT_EQ(next(b), "0:x") << i;
        EXPECT_TRUE(b.is_alone());
        ASSERT_EQ(next(b), "nothing") << i;
        EXPECT_FALSE(b.is_alone());
    }
    EXPECT_EQ(a.counters().full_rings, 0U);
}

TEST(ShmWire, ALoneFrameBehindAShareNoteIsHandedOut) {
    auto [a, b] = pair();
    std::vector<std::byte> memory(64);
    EXPECT_EQ(next(b), "nothing");
    ASSERT_TRUE(b.is_still(Instant()));
    b.expect_single();
    ASSERT_TRUE(a.share(one, 4096, memory, true, true));
    ASSERT_TRUE(send(a, one, "x"));
    EXPECT_EQ(next(b), "0:x");
    EXPECT_EQ(next(b), "nothing");
}

// A note alone is no frame: the wire looks for frames after it as usual.
TEST(ShmWire, AShareNoteAloneIsNoLoneFrame) {
    auto [a, b] = pair();
    std::vector<std::byte> memory(64);
    EXPECT_EQ(next(b), "nothing");
    ASSERT_TRUE(b.is_still(Instant()));
    b.expect_single();
    ASSERT_TRUE(a.share(one, 4096, memory, true, true));
    a.flush(Instant());
    EXPECT_EQ(next(b), "nothing");
    EXPECT_FALSE(b.is_alone());
    ASSERT_TRUE(send(a, one, "x"));
    ASSERT_TRUE(send(a, one, "y"));
    EXPECT_EQ(next(b), "0:x");
    EXPECT_EQ(next(b), "0:y");
}

}  // namespace
}  // namespace wireproof
