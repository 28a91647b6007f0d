// Frames that leave and arrive as segments of super-packets: the engine above must not notice a
// difference.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

#include "wireproof/wire/udp/super_packet_test_kit.hpp"

namespace wireproof::test {
namespace {

TEST(SuperPacket, FramesOfOneLengthLeaveTogetherAndArriveApart) {
    Two two;
    send(two.a, first, {{1, 700}, {2, 700}, {3, 700}});
    EXPECT_EQ(received(two.b), "1x700 2x700 3x700");
    EXPECT_EQ(two.a.counters().frames_sent, 3U);
    EXPECT_EQ(two.a.counters().bytes_sent, 2100U);
    EXPECT_EQ(two.a.counters().super_packets_sent, 1U);
    EXPECT_EQ(two.b.counters().super_packets_received, 1U);
    EXPECT_EQ(two.b.counters().frames_received, 3U);
    EXPECT_EQ(two.b.counters().bytes_received, 2100U);
}

TEST(SuperPacket, AShorterFrameEndsOneAndALongerBeginsTheNext) {
    Two two;
    send(two.a, first, {{1, 500}, {2, 500}, {3, 20}, {4, 500}, {5, 900}, {6, 900}, {7, 1}});
    EXPECT_EQ(received(two.b), "1x500 2x500 3x20 4x500 5x900 6x900 7x1");
    EXPECT_EQ(two.a.counters().super_packets_sent, 2U);  // 1 to 3, and 5 to 7
    EXPECT_EQ(two.a.counters().frames_sent, 7U);
}

TEST(SuperPacket, FramesWrittenAtOnceJoinThoseBeforeAndBehind) {
    Two two({.batch = 10});
    UdpLane& lane = two.a.lane(first);
    const auto put = [&](std::uint8_t number, std::size_t frames) {
        const FrameRun run = lane.claim_run(700, frames);
        EXPECT_EQ(run.size, 700U);
        EXPECT_TRUE(run.wants_check);
        EXPECT_EQ(run.room.size(), run.frames * 700);
        for (std::size_t i = 0; i < run.room.size(); ++i) {
            run.room[i] = static_cast<std::byte>(number + i / 700);
        }
        lane.commit_run(run);
        return run.frames;
    };
    const std::vector<std::byte> payload(700, std::byte{1});
    commit(two.a, first, {1, 700}, payload);
    EXPECT_EQ(put(2, 3), 3U);
    commit(two.a, first, {5, 700}, std::vector<std::byte>(700, std::byte{5}));
    EXPECT_EQ(put(6, 100), 5U) << "as many as the batch has room for";
    EXPECT_EQ(lane.claim_run(700, 2).frames, 0U);
    EXPECT_EQ(lane.claim(), nullptr);
    two.a.flush(now);
    EXPECT_EQ(received(two.b), "1x700 2x700 3x700 4x700 5x700 6x700 7x700 8x700 9x700 10x700");
    EXPECT_EQ(two.a.counters().super_packets_sent, 1U);
    EXPECT_EQ(two.a.counters().frames_sent, 10U);
    EXPECT_EQ(two.a.counters().bytes_sent, 7000U);
    EXPECT_EQ(put(1, 2), 2U) << "after the flush there is room again";
}

TEST(SuperPacket, FramesWrittenAtOnceFillSuperPacketsAndBeginOthers) {
    Two two;
    UdpLane& lane = two.a.lane(first);
    const std::vector<std::byte> payload(1472, std::byte{1});
    commit(two.a, first, {1, 1472}, payload);
    std::size_t frames = 1;
    for (int i = 0; i < 3; ++i) {
        const FrameRun run = lane.claim_run(1472, 31);
        ASSERT_EQ(run.frames, 31U);
        std::fill(run.room.begin(), run.room.end(), std::byte{1});
        lane.commit_run(run);
        frames += run.frames;
    }
    const FrameRun shorter = lane.claim_run(700, 3);
    std::fill(shorter.room.begin(), shorter.room.end(), std::byte{1});
    lane.commit_run(shorter);
    two.a.flush(now);
    std::string wanted = "1x1472";
    for (std::size_t i = 1; i < frames; ++i) wanted += " 1x1472";
    EXPECT_EQ(received(two.b), wanted + " 1x700 1x700 1x700");
    EXPECT_EQ(two.a.counters().super_packets_sent, 4U);  // of 44, 44, 6 and a shorter, 2
    EXPECT_EQ(two.a.counters().frames_sent, 97U);
    EXPECT_EQ(two.b.counters().super_packets_received, 4U);
}

TEST(SuperPacket, LongFramesWrittenAtOnceAreNoMoreThanThereIsRoomFor) {
    Two two({.frame_max = 4000, .batch = 10}, {.frame_max = 4000});
    UdpLane& lane = two.a.lane(first);
    const FrameRun run =
        lane.claim_run(4000, 10);  // the room is for shorter ones, and one of these
    EXPECT_EQ(run.frames, 6U);
    std::fill(run.room.begin(), run.room.end(), std::byte{1});
    lane.commit_run(run);
    EXPECT_EQ(lane.claim(), nullptr);
    two.a.flush(now);
    EXPECT_EQ(received(two.b), "1x4000 1x4000 1x4000 1x4000 1x4000 1x4000");
}

TEST(SuperPacket, NothingIsLentForFramesThatAreNotCopiedOrHaveNowhereToGo) {
    Two long_ones({.frame_max = 9000}, {.frame_max = 9000});
    EXPECT_EQ(long_ones.a.lane(first).claim_run(8972, 4).frames, 0U);
    EXPECT_EQ(long_ones.a.lane(first).claim_run(700, 1).frames, 0U) << "one is no run";
    Two longest({.frame_max = 40'000}, {.frame_max = 40'000});
    EXPECT_FALSE(longest.a.lane(first).capabilities().prefers_equal_sizes)
        << "two are no super-packet";
    EXPECT_TRUE(long_ones.a.lane(first).capabilities().prefers_equal_sizes);
    Two plain({.segments = false});
    EXPECT_FALSE(plain.a.lane(first).capabilities().prefers_equal_sizes);
    EXPECT_EQ(plain.a.lane(first).claim_run(700, 4).frames, 0U);
    UdpWire nobody = open({});
    WIREPROOF_CHECK(nobody.set_peer(first, Address{}).has_value());
    EXPECT_EQ(nobody.lane(first).claim_run(700, 4).frames, 0U);
}

TEST(SuperPacket, PayloadCopiedAndPointedAtMayStandSideBySide) {
    Two two({.frame_max = 9000}, {.frame_max = 9000});
    send(two.a, first, {{1, 700}, {2, 700}, {3, 6000}, {4, 6000}, {5, 6000}, {6, 700}, {7, 700}});
    EXPECT_EQ(received(two.b), "1x700 2x700 3x6000 4x6000 5x6000 6x700 7x700");
    EXPECT_EQ(two.a.counters().super_packets_sent, 2U);  // 1 and 2, 3 to 6; 7 is alone

    const std::vector<std::byte> eight(5000, std::byte{8});
    const std::vector<std::byte> nine(5000, std::byte{9});
    for (const auto* const whole : {&eight, &nine}) {  // one piece for each, not one for both
        TxFrame* const room = two.a.lane(first).claim();
        ASSERT_NE(room, nullptr);
        room->add_payload(*whole);
        two.a.lane(first).commit();
    }
    two.a.flush(now);
    EXPECT_EQ(received(two.b), "8x5000 9x5000");
}

TEST(SuperPacket, NoneIsLongerThanADatagramOrHasMoreSegmentsThanAKernelTakes) {
    Two two({.batch = 256}, {.batch = 256});
    std::vector<Numbered> frames;
    std::string wanted;
    for (std::uint8_t i = 0; i < 100; ++i) {
        frames.push_back({static_cast<std::uint8_t>(i + 1), 1472});
        wanted += (i > 0 ? " " : "") + std::to_string(i + 1) + "x1472";
    }
    send(two.a, first, frames);
    EXPECT_EQ(received(two.b), wanted);
    EXPECT_EQ(two.a.counters().super_packets_sent, 3U);  // of 44, 44 and 12
    for (Numbered& frame : frames) frame.size = 3;
    send(two.a, first, frames);
    EXPECT_NE(received(two.b), "");
    EXPECT_EQ(two.a.counters().super_packets_sent, 5U);  // of 64 and 36
    EXPECT_EQ(two.b.counters().frames_received, 200U);
}

// 41 frames of 1,600 bytes are 65,600, more than one datagram holds.
TEST(SuperPacket, FramesThatFillOneAreNotRefusedByTheKernel) {
    Two two({.frame_max = 1600, .batch = 64}, {.frame_max = 1600, .batch = 64});
    std::vector<Numbered> frames;
    for (std::uint8_t i = 1; i <= 41; ++i) frames.push_back({i, 1600});
    send(two.a, first, frames);
    EXPECT_NE(received(two.b), "");
    EXPECT_EQ(two.a.counters().super_packets_sent, 1U);  // of 40; the last is a datagram
    // 50 of 1,300 are 65,000 to the byte.
    frames.assign(50, {1, 1300});
    send(two.a, first, frames);
    EXPECT_NE(received(two.b), "");
    EXPECT_EQ(two.a.counters().super_packets_sent, 2U);
    EXPECT_EQ(two.a.counters().segments_refused, 0U);
    EXPECT_EQ(two.a.counters().frames_sent, 91U);
    EXPECT_EQ(two.b.counters().frames_received, 91U);
}

TEST(SuperPacket, FramesToOthersDoNotJoin) {
    UdpWire a = open({});
    UdpWire b = open({});
    UdpWire c = open({});
    ASSERT_TRUE(a.set_peer(first, b.local_address()));
    ASSERT_TRUE(a.set_peer(second, c.local_address()));
    ASSERT_TRUE(b.set_peer(first, a.local_address()));
    ASSERT_TRUE(c.set_peer(first, a.local_address()));
    std::vector<std::vector<std::byte>> payloads;
    for (std::uint8_t i = 1; i <= 4; ++i) payloads.push_back(bytes_of({i, 64}));
    commit(a, first, {1, 64}, payloads[0]);
    commit(a, second, {2, 64}, payloads[1]);
    commit(a, second, {3, 64}, payloads[2]);
    commit(a, first, {4, 64}, payloads[3]);
    a.flush(now);
    EXPECT_EQ(received(b), "1x64 4x64");
    EXPECT_EQ(received(c), "2x64 3x64");
    EXPECT_EQ(a.counters().super_packets_sent, 1U);
}

TEST(SuperPacket, WithoutSegmentsTheSameArrives) {
    for (const bool sends : {false, true}) {
        Two two({.segments = sends}, {.segments = !sends});
        send(two.a, first, {{1, 700}, {2, 700}, {3, 9}, {4, 800}});
        EXPECT_EQ(received(two.b), "1x700 2x700 3x9 4x800");
        EXPECT_EQ(two.a.counters().super_packets_sent, sends ? 1U : 0U);
        EXPECT_EQ(two.b.counters().super_packets_received, 0U);
    }
}

// A device or path that cannot cut super-packets up acts like this.
TEST(SuperPacket, AKernelThatRefusesThemGetsFramesOneByOne) {
    Two two;
    const int on = 1;  // the kernel then refuses to segment
    ASSERT_EQ(::setsockopt(two.a.wait_handle(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
    send(two.a, first, {{1, 10}, {2, 700}, {3, 700}, {4, 700}});
    send(two.a, first, {{5, 700}, {6, 700}});
    EXPECT_EQ(received(two.b), "1x10 2x700 3x700 4x700 5x700 6x700");
    EXPECT_EQ(two.a.counters().frames_sent, 6U);
    EXPECT_EQ(two.a.counters().bytes_sent, 3510U);
    EXPECT_EQ(two.a.counters().frames_resent, 0U);
    EXPECT_EQ(two.a.counters().send_failed, 0U);
    EXPECT_EQ(two.a.counters().super_packets_sent, 0U);
    EXPECT_EQ(two.a.counters().segments_refused, 1U);
}

// The path to one peer may be too narrow for a segment, or a tunnel.
TEST(SuperPacket, ARefusalCountsForOnePeerUntilItGetsAnotherAddress) {
    Two two;
    UdpWire c = open({});
    ASSERT_TRUE(two.a.set_peer(second, c.local_address()).has_value());
    ASSERT_TRUE(c.set_peer(first, two.a.local_address()).has_value());
    const auto set_refusing = [&](int on) {
        ASSERT_EQ(::setsockopt(two.a.wait_handle(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
    };
    set_refusing(1);
    send(two.a, first, {{1, 700}, {2, 700}});
    set_refusing(0);
    send(two.a, first, {{3, 700}, {4, 700}});
    EXPECT_EQ(received(two.b), "1x700 2x700 3x700 4x700");
    EXPECT_EQ(two.a.counters().super_packets_sent, 0U);
    EXPECT_FALSE(two.a.lane(first).capabilities().prefers_equal_sizes);
    send(two.a, second, {{5, 700}, {6, 700}});
    EXPECT_EQ(received(c), "5x700 6x700");
    EXPECT_EQ(two.a.counters().super_packets_sent, 1U);
    EXPECT_TRUE(two.a.lane(second).capabilities().prefers_equal_sizes);
    UdpWire d = open({});
    ASSERT_TRUE(two.a.set_peer(first, d.local_address()).has_value());
    ASSERT_TRUE(d.set_peer(first, two.a.local_address()).has_value());
    send(two.a, first, {{7, 700}, {8, 700}});
    EXPECT_EQ(received(d), "7x700 8x700");
    EXPECT_EQ(two.a.counters().super_packets_sent, 2U);
    EXPECT_EQ(two.a.counters().segments_refused, 1U);
}

TEST(SuperPacket, FramesOfManyPiecesAndAShorterOneAreTakenApart) {
    Two two({.frame_max = 9000}, {.frame_max = 9000});
    const int on = 1;
    ASSERT_EQ(::setsockopt(two.a.wait_handle(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
    send(two.a, first, {{1, 6000}, {2, 6000}, {3, 6000}, {4, 700}, {5, 800}, {6, 800}});
    EXPECT_EQ(received(two.b), "1x6000 2x6000 3x6000 4x700 5x800 6x800");
    EXPECT_EQ(two.a.counters().frames_sent, 6U);
    EXPECT_EQ(two.a.counters().bytes_sent, 20'300U);
    EXPECT_EQ(two.a.counters().segments_refused, 1U);
}

TEST(SuperPacket, SegmentsLongerThanAFrameAreCountedEach) {
    Two two({.frame_max = 900}, {.frame_max = 800});
    send(two.a, first, {{1, 900}, {2, 900}, {3, 700}});
    EXPECT_EQ(received(two.b), "3x700");
    EXPECT_EQ(two.b.counters().too_long, 2U);
    EXPECT_EQ(two.b.counters().frames_received, 1U);
}

// The wire knows the source also if it drops all frames of a super-packet but the last.
TEST(SuperPacket, FramesAreTheirSendersWhateverWasDroppedBeforeThem) {
    Two two({.frame_max = 900}, {.frame_max = 800});
    UdpWire other = open({.frame_max = 900});
    ASSERT_TRUE(two.b.set_peer(second, other.local_address()));
    ASSERT_TRUE(other.set_peer(first, two.b.local_address()));
    send(two.a, first, {{1, 700}, {2, 700}});
    send(other, first, {{3, 900}, {4, 900}, {5, 600}});
    send(two.a, first, {{6, 900}, {7, 500}});
    std::vector<std::pair<std::size_t, PeerId>> heard;
    for (int i = 0; i < 20; ++i) {
        if (const auto frame = two.b.receive(now))
            heard.emplace_back(frame->bytes.size(), frame->from);
    }
    const std::vector<std::pair<std::size_t, PeerId>> wanted = {
        {700, first}, {700, first}, {600, second}, {500, first}};
    EXPECT_EQ(heard, wanted);
}

TEST(SuperPacket, LongHeadersFillABatchSooner) {
    Two two({.frame_max = 5000, .batch = 8}, {.frame_max = 5000});
    std::size_t taken = 0;
    while (TxFrame* const room = two.a.lane(first).claim()) {
        for (std::byte& byte : room->add_room(5000)) byte = std::byte{9};
        two.a.lane(first).commit();
        ASSERT_LT(++taken, 8U);
    }
    EXPECT_GE(taken, 2U);
    two.a.flush(now);
    EXPECT_NE(two.a.lane(first).claim(), nullptr);
    std::string wanted = "9x5000";
    for (std::size_t i = 1; i < taken; ++i) wanted += " 9x5000";
    EXPECT_EQ(received(two.b), wanted);
}

/// Sends frames of 100 bytes, at most `most`. Returns how many could be claimed.
std::size_t fill(UdpWire& wire, std::size_t most) {
    std::size_t frames = 0;
    for (; frames < most; ++frames) {
        TxFrame* const room = wire.lane(first).claim();
        if (room == nullptr) break;
        for (std::byte& byte : room->add_room(100)) byte = std::byte{1};
        wire.lane(first).commit();
    }
    wire.flush(now);
    return frames;
}

TEST(SuperPacket, ABatchDoublesAfterAFullOneAndIsShortAgainAfterAnyOther) {
    Two two({.batch = 10, .batch_most = 35});
    constexpr std::size_t all = 1000;
    EXPECT_EQ(fill(two.a, 10), 10U);
    EXPECT_EQ(fill(two.a, all), 10U) << "no more were asked for than the one before had";
    EXPECT_EQ(fill(two.a, all), 20U);
    EXPECT_EQ(fill(two.a, all), 35U);
    two.a.flush(now);  // an empty flush
    EXPECT_EQ(fill(two.a, all), 35U);
    EXPECT_EQ(fill(two.a, 34), 34U);
    EXPECT_EQ(fill(two.a, all), 10U);
    EXPECT_EQ(two.a.counters().frames_sent, 154U);
    EXPECT_EQ(two.a.counters().send_dropped, 0U);
}

TEST(SuperPacket, NoBatchIsLongerThanTheKernelHasRoomFor) {
    Two two({.frame_max = 60'000, .send_buffer = 1, .batch = 2});
    EXPECT_EQ(fill(two.a, 10), 2U);
    EXPECT_EQ(fill(two.a, 10), 2U);
}

TEST(SuperPacket, WhatFollowsAFrameInItsOwnMayBeTakenAtOnce) {
    Two two({.frame_max = 900}, {.frame_max = 800});
    EXPECT_EQ(two.b.following().frames, 0U);
    send(two.a, first, {{1, 700}, {2, 700}, {3, 700}, {4, 700}, {5, 20}});
    auto frame = two.b.receive(now);
    if (!frame) frame = two.b.receive(now);
    ASSERT_TRUE(frame);
    const RxRun run = two.b.following();
    ASSERT_EQ(run.frames, 3U) << "the last is shorter";
    EXPECT_EQ(run.size, 700U);
    for (std::uint8_t i = 0; i < 3; ++i) {
        EXPECT_EQ(run.frame(i).size(), 700U);
        EXPECT_EQ(run.frame(i).front(), static_cast<std::byte>(i + 2));
        EXPECT_EQ(run.frame(i).back(), static_cast<std::byte>(i + 2));
    }
    two.b.take_following(2);
    EXPECT_EQ(two.b.counters().frames_received, 3U);
    EXPECT_EQ(two.b.counters().bytes_received, 2100U);
    EXPECT_EQ(two.b.following().frames, 1U);
    EXPECT_EQ(received(two.b), "4x700 5x20");
    EXPECT_EQ(two.b.following().frames, 0U);
    EXPECT_EQ(two.b.counters().frames_received, 5U);
    EXPECT_EQ(two.b.counters().bytes_received, 2820U);

    send(two.a, first, {{1, 700}, {2, 700}});
    frame = two.b.receive(now);
    if (!frame) frame = two.b.receive(now);
    two.b.take_following(1);
    EXPECT_EQ(received(two.b), "") << "all of it was taken";

    send(two.a, first, {{1, 900}, {2, 900}, {3, 700}});
    EXPECT_EQ(received(two.b), "3x700");
    EXPECT_EQ(two.b.following().frames, 0U) << "a frame that is too long is never shown";
}

}  // namespace
}  // namespace wireproof::test
