// Tests which senders a wire receives from, and how it asks the kernel for datagrams. The engine
// above must not notice a difference.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

#include "wireproof/wire/udp/super_packet_test_kit.hpp"

namespace wireproof::test {
namespace {

// A wire connects its socket to its only peer when that peer's address is set.
TEST(OnlyPeer, IsReceivedFromAndNobodyElseIs) {
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

// On a connected socket, the kernel reports that nobody listens, both when the wire receives and
// when it sends.
TEST(OnlyPeer, ThatIsAwayForAWhileLosesNoLaterFrame) {
    Two two({.only_peer = first});
    const Address where = two.b.local_address();
    two.b = open({});  // with another port
    send(two.a, first, {{1, 5}});
    EXPECT_EQ(received(two.a), "");
    EXPECT_EQ(two.a.counters().send_refused, 1U);
    EXPECT_EQ(two.a.counters().receive_failed, 0U);
    auto back = UdpWire::open({.local = where, .peers = {two.a.local_address()}});
    ASSERT_TRUE(back) << back.error().message;
    send(two.a, first, {{2, 5}});
    EXPECT_EQ(received(*back), "2x5");
}

// The wire asks for one datagram while both ends take turns, and for many at once when they do not.
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

/// Sends frames one by one. Between them, the receiver finds nothing.
void converse(Two& two, int turns) {
    for (int i = 0; i < turns; ++i) {
        send(two.a, first, {{1, 100}});
        ASSERT_EQ(received(two.b), "1x100") << i;
    }
}

// In a conversation, the wire has told the kernel not to report super-packets, so the kernel cuts
// them up.
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

// If the peer answers at once, each receive call brings one datagram, and no more wait.
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

// A node that sends much gets acknowledgements like this.
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

// A super-packet that waits when the conversation begins is still reported as one, whichever
// receive call finds it.
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

TEST(Conversation, WhatTheKernelDropsMeanwhileIsReportedBehindIt) {
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

TEST(Conversation, AnotherPeerIsReceivedAfterIt) {
    Two two({.only_peer = first}, {.only_peer = first});
    converse(two, 100);
    UdpWire c = open({});
    ASSERT_TRUE(c.set_peer(first, two.b.local_address()));
    ASSERT_TRUE(two.b.set_peer(first, Address{}));  // an open place
    send(c, first, {{7, 30}});
    const auto frame = two.b.receive(now);
    ASSERT_TRUE(frame);
    EXPECT_EQ(two.b.lane(first).address(), c.local_address());
    ASSERT_TRUE(two.b.set_peer(first, two.a.local_address()));
    converse(two, 100);
}

}  // namespace
}  // namespace wireproof::test
