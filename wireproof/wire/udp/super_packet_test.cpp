// Frames that leave and arrive as segments of super-packets: nobody above may notice.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

#include "wireproof/wire/udp/udp_wire.hpp"

namespace wireproof {
namespace {

constexpr Instant now{};
constexpr PeerId first{0};
constexpr PeerId second{1};

UdpWire open(UdpWire::Config config) {
    config.local = *Address::parse("127.0.0.1:0");
    auto wire = UdpWire::open(config);
    WIREPROOF_CHECK(wire.has_value());
    return std::move(*wire);
}

struct Two {
    explicit Two(UdpWire::Config of_a = {}, UdpWire::Config of_b = {})
        : a(open(std::move(of_a))), b(open(std::move(of_b))) {
        WIREPROOF_CHECK(a.set_peer(first, b.local_address()).has_value());
        WIREPROOF_CHECK(b.set_peer(first, a.local_address()).has_value());
    }

    UdpWire a;
    UdpWire b;
};

/// Begun in place, the rest pointed at; all bytes tell its number.
struct Numbered {
    std::uint8_t number = 0;
    std::size_t size = 0;
};

std::vector<std::byte> bytes_of(const Numbered& frame) {
    return std::vector<std::byte>(frame.size, std::byte{frame.number});
}

void commit(UdpWire& wire, PeerId to, const Numbered& frame, std::span<const std::byte> payload) {
    TxFrame* const room = wire.lane(to).claim();
    ASSERT_NE(room, nullptr);
    const std::size_t in_place = std::min<std::size_t>(frame.size, 48);
    for (std::byte& byte : room->add_room(in_place)) byte = std::byte{frame.number};
    room->add_payload(payload.subspan(in_place));
    wire.lane(to).commit();
}

void send(UdpWire& wire, PeerId to, const std::vector<Numbered>& frames) {
    std::vector<std::vector<std::byte>> payloads;
    payloads.reserve(frames.size());
    for (const Numbered& frame : frames) {
        payloads.push_back(bytes_of(frame));
        commit(wire, to, frame, payloads.back());
    }
    wire.flush(now);
}

/// "1x700 2x700 …" of all that arrived; '?' marks bytes that are not the frame's own.
std::string received(UdpWire& wire) {
    std::string text;
    for (int silent = 0; silent < 3;) {
        const auto frame = wire.receive(now);
        if (!frame) {
            ++silent;
            continue;
        }
        silent = 0;
        const auto number = frame->bytes.empty() ? std::byte{0} : frame->bytes.front();
        text += (text.empty() ? "" : " ") + std::to_string(std::to_integer<int>(number)) + "x" +
                std::to_string(frame->bytes.size());
        for (const std::byte byte : frame->bytes) {
            if (byte != number) return text + "?";
        }
    }
    return text;
}

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
    EXPECT_FALSE(longest.a.lane(first).terms().prefers_alike) << "two are no super-packet";
    EXPECT_TRUE(long_ones.a.lane(first).terms().prefers_alike);
    Two plain({.segments = false});
    EXPECT_FALSE(plain.a.lane(first).terms().prefers_alike);
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
    for (const auto* const whole : {&eight, &nine}) {  // one piece each, and not one of both
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

// As on a device or path that cannot cut them up.
TEST(SuperPacket, AKernelThatRefusesThemGetsFramesOneByOne) {
    Two two;
    const int on = 1;  // for the kernel a reason not to segment
    ASSERT_EQ(::setsockopt(two.a.wait_handle(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
    send(two.a, first, {{1, 10}, {2, 700}, {3, 700}, {4, 700}});
    send(two.a, first, {{5, 700}, {6, 700}});
    EXPECT_EQ(received(two.b), "1x10 2x700 3x700 4x700 5x700 6x700");
    EXPECT_EQ(two.a.counters().frames_sent, 6U);
    EXPECT_EQ(two.a.counters().send_failed, 0U);
    EXPECT_EQ(two.a.counters().super_packets_sent, 0U);
    EXPECT_EQ(two.a.counters().segments_refused, 1U);
}

TEST(SuperPacket, SegmentsLongerThanAFrameAreCountedEach) {
    Two two({.frame_max = 900}, {.frame_max = 800});
    send(two.a, first, {{1, 900}, {2, 900}, {3, 700}});
    EXPECT_EQ(received(two.b), "3x700");
    EXPECT_EQ(two.b.counters().too_long, 2U);
    EXPECT_EQ(two.b.counters().frames_received, 1U);
}

// Of a super-packet of which only the end is heard the source is known, too.
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

// A wire whose only peer has an address of its own is connected to it.
TEST(OnlyPeer, IsHeardAndNobodyElseIs) {
    Two two({.only_peer = first}, {.only_peer = first});
    UdpWire stranger = open({});
    ASSERT_TRUE(stranger.set_peer(first, two.b.local_address()));
    send(stranger, first, {{9, 5}});
    send(two.a, first, {{1, 5}});
    EXPECT_EQ(received(two.b), "1x5");
    EXPECT_EQ(two.b.counters().unknown_source, 0U);  // the kernel does not even show it
    send(two.b, first, {{2, 6}, {3, 6}});
    EXPECT_EQ(received(two.a), "2x6 3x6");
}

TEST(OnlyPeer, MayMoveAndMayBecomeAnOpenPlace) {
    Two two({.only_peer = first});
    UdpWire c = open({});
    ASSERT_TRUE(c.set_peer(first, two.a.local_address()));
    ASSERT_TRUE(two.a.set_peer(first, c.local_address()));
    send(two.a, first, {{1, 5}});
    EXPECT_EQ(received(c), "1x5");
    EXPECT_EQ(received(two.b), "");
    ASSERT_TRUE(two.a.set_peer(first, Address{}));
    send(two.b, first, {{2, 5}});
    EXPECT_EQ(received(two.a), "2x5");
    send(two.a, first, {{3, 5}});
    EXPECT_EQ(received(two.b), "3x5");
}

// The kernel reports to a connected socket that nobody listens, when receiving as when sending.
TEST(OnlyPeer, ThatIsAwayForAWhileLosesNoLaterFrame) {
    Two two({.only_peer = first});
    const Address where = two.b.local_address();
    two.b = open({});  // somewhere else
    send(two.a, first, {{1, 5}});
    EXPECT_EQ(received(two.a), "");
    EXPECT_EQ(two.a.counters().send_refused, 1U);
    EXPECT_EQ(two.a.counters().receive_failed, 0U);
    auto back = UdpWire::open({.local = where, .peers = {two.a.local_address()}});
    ASSERT_TRUE(back) << back.error().message;
    send(two.a, first, {{2, 5}});
    EXPECT_EQ(received(*back), "2x5");
}

// One look for one datagram while both ends take turns; many at once when they do not.
TEST(ReceiveBatch, FramesOfManyDatagramsArriveInOrderHoweverManyAreAskedFor) {
    Two two({.segments = false}, {.batch = 8, .segments = false});
    for (int round = 0; round < 6; ++round) {
        std::vector<Numbered> frames;
        for (std::uint8_t i = 1; i <= 20; ++i) frames.push_back({i, 40});
        send(two.a, first, frames);
        std::size_t seen = 0;
        for (int i = 0; i < 100 && seen < 20; ++i) {
            const auto frame = two.b.receive(now);
            if (!frame) continue;
            ++seen;
            EXPECT_EQ(frame->bytes.front(), std::byte(seen));
        }
        EXPECT_EQ(seen, 20U);
    }
}

/// Frames that come one by one, with looks between them that bring nothing.
void converse(Two& two, int turns) {
    for (int i = 0; i < turns; ++i) {
        send(two.a, first, {{1, 100}});
        ASSERT_EQ(received(two.b), "1x100") << i;
    }
}

// There the kernel is not asked to tell super-packets, and cuts them up.
TEST(Conversation, ASuperPacketArrivesAsItsFramesAndALaterOneWhole) {
    Two two({.only_peer = first}, {.only_peer = first});
    converse(two, 100);
    send(two.a, first, {{1, 700}, {2, 700}, {3, 700}, {4, 20}});
    EXPECT_EQ(received(two.b), "1x700 2x700 3x700 4x20");
    EXPECT_EQ(two.b.counters().super_packets_received, 0U);
    send(two.a, first, {{1, 300}, {2, 300}, {3, 300}});
    EXPECT_EQ(received(two.b), "1x300 2x300 3x300");
    EXPECT_EQ(two.b.counters().super_packets_received, 1U);
}

TEST(Conversation, SuperPacketsEndItAsOftenAsTheyCome) {
    Two two({.only_peer = first}, {.only_peer = first});
    for (int round = 0; round < 5; ++round) {
        converse(two, 40 << round);
        std::string wanted = "1x50";
        std::vector<Numbered> frames{{1, 50}};
        for (std::uint8_t i = 2; i <= 30; ++i) {
            frames.push_back({i, 50});
            wanted += " " + std::to_string(i) + "x50";
        }
        send(two.a, first, frames);
        EXPECT_EQ(received(two.b), wanted);
        EXPECT_EQ(two.b.counters().super_packets_received, 0U) << round;
    }
}

TEST(Conversation, IsNoneWhereSuperPacketsCome) {
    Two two({.only_peer = first}, {.only_peer = first});
    for (unsigned i = 1; i <= 100; ++i) {
        send(two.a, first, {{1, 60}, {2, 60}});
        EXPECT_EQ(received(two.b), "1x60 2x60");
        EXPECT_EQ(two.b.counters().super_packets_received, i);
    }
}

// Of a peer who answers at once each look brings one, and no more waits.
TEST(Conversation, GoesOnWithoutLooksInVain) {
    Two two({.only_peer = first}, {.only_peer = first});
    converse(two, 100);
    for (int i = 0; i < 100; ++i) {
        send(two.a, first, {{1, 100}});
        int seen = 0;
        for (int turns = 0; turns < 3 && seen == 0; ++turns) {
            while (two.b.receive(now)) ++seen;
        }
        ASSERT_EQ(seen, 1);
    }
    send(two.a, first, {{1, 60}, {2, 60}});
    EXPECT_EQ(received(two.b), "1x60 2x60");
    EXPECT_EQ(two.b.counters().super_packets_received, 0U);
}

// As acknowledgements come to who sends much.
TEST(Conversation, DoesNotBeginWhereDatagramsComeTogether) {
    Two two({.only_peer = first}, {.only_peer = first});
    for (int i = 0; i < 100; ++i) {
        send(two.a, first, {{1, 100}});
        send(two.a, first, {{2, 100}});
        ASSERT_EQ(received(two.b), "1x100 2x100") << i;
    }
    send(two.a, first, {{1, 60}, {2, 60}});
    EXPECT_EQ(received(two.b), "1x60 2x60");
    EXPECT_EQ(two.b.counters().super_packets_received, 1U);
}

// Whatever the look it is found by: what waited as the conversation began has its description.
TEST(Conversation, WhatCameBeforeItBeganIsStillTakenApart) {
    for (int round = 0; round < 160; ++round) {
        const int turns = 1 + round / 4;
        Two two({.only_peer = first}, {.only_peer = first});
        for (int i = 0; i < turns; ++i) {
            for (int looks = 0; looks < 2; ++looks) ASSERT_FALSE(two.b.receive(now));
            send(two.a, first, {{1, 100}});
            ASSERT_TRUE(two.b.receive(now)) << i;
        }
        for (int looks = 0; looks < round % 4; ++looks) ASSERT_FALSE(two.b.receive(now));
        send(two.a, first, {{1, 60}, {2, 60}});
        EXPECT_EQ(received(two.b), "1x60 2x60") << turns;
    }
}

TEST(Conversation, CountsWhatIsTooLong) {
    Two two({.only_peer = first}, {.frame_max = 500, .only_peer = first});
    converse(two, 100);
    send(two.a, first, {{1, 501}});
    send(two.a, first, {{2, 500}});
    EXPECT_EQ(received(two.b), "2x500");
    EXPECT_EQ(two.b.counters().too_long, 1U);
}

TEST(Conversation, WhatTheKernelDropsMeanwhileIsToldBehindIt) {
    Two two({.only_peer = first}, {.receive_buffer = 32'768, .only_peer = first});
    converse(two, 100);
    for (int i = 0; i < 100; ++i) send(two.a, first, {{2, 1000}});
    std::uint64_t arrived = 0;
    for (int looks = 0; looks < 300; ++looks) arrived += two.b.receive(now) ? 1U : 0U;
    ASSERT_LT(arrived, 100U);
    EXPECT_EQ(two.b.counters().kernel_dropped, 0U);
    send(two.a, first, {{3, 10}});
    EXPECT_EQ(received(two.b), "3x10");
    EXPECT_EQ(two.b.counters().kernel_dropped, 100 - arrived);
}

TEST(Conversation, AnotherPeerIsHeardAfterIt) {
    Two two({.only_peer = first}, {.only_peer = first});
    converse(two, 100);
    UdpWire c = open({});
    ASSERT_TRUE(c.set_peer(first, two.b.local_address()));
    ASSERT_TRUE(two.b.set_peer(first, Address{}));  // whoever comes
    send(c, first, {{7, 30}});
    const auto frame = two.b.receive(now);
    ASSERT_TRUE(frame);
    EXPECT_EQ(two.b.lane(first).address(), c.local_address());
    ASSERT_TRUE(two.b.set_peer(first, two.a.local_address()));
    converse(two, 100);
}

}  // namespace
}  // namespace wireproof
