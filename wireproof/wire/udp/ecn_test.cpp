// ECN on loopback. No router marks there, so a sender sets the ECN field of its own socket to CE.
#include <gtest/gtest.h>
#include <netinet/udp.h>

#include <string>

#include "wireproof/wire/udp/ecn_test_kit.hpp"
#include "wireproof/wire/udp/ipv6_test_kit.hpp"
#include "wireproof/wire/udp/super_packet_test_kit.hpp"

namespace wireproof::test {
namespace {

TEST(UdpEcn, FramesLeaveAsEctAndTheDscpStays) {
    for (const char* const local : {"127.0.0.1:0", "[::1]:0", "[::]:0"}) {
        const bool ipv6 = local[0] == '[';
        if (ipv6 && !host_has_ipv6()) GTEST_SKIP() << no_ipv6;
        auto socket = UdpSocket::open({.local = *Address::parse(local)});
        ASSERT_TRUE(socket) << socket.error().message;
        set_field(socket->handle(), dscp);
        if (ipv6) set_field(socket->handle(), dscp, true);
        ASSERT_TRUE(socket->use(Ecn::read));
        EXPECT_EQ(field_of(socket->handle(), ipv6), dscp);
        ASSERT_TRUE(socket->use(Ecn::on));
        EXPECT_EQ(field_of(socket->handle()), dscp | ecn_ect0);
        EXPECT_EQ(field_of(socket->handle(), ipv6), dscp | ecn_ect0);
    }
}

TEST(UdpEcn, NothingChangesUnlessItIsOn) {
    Two two;
    EXPECT_EQ(field_of(two.a.wait_handle()), 0);
    set_field(two.a.wait_handle(), ecn_marked);
    send(two.a, first, {{1, 5}, {2, 5}});
    EXPECT_EQ(marks(two.b), "..");
    EXPECT_EQ(two.b.counters().frames_marked, 0U);
}

TEST(UdpEcn, AFrameWithAMarkIsReportedAndCounted) {
    for (const Ecn ecn : {Ecn::read, Ecn::on}) {
        Two two({.segments = false, .ecn = ecn}, {.segments = false, .ecn = ecn});
        EXPECT_EQ(field_of(two.a.wait_handle()), ecn == Ecn::on ? ecn_ect0 : 0);
        send(two.a, first, {{1, 5}});
        set_field(two.a.wait_handle(), dscp | ecn_marked);
        send(two.a, first, {{2, 5}, {3, 6}});
        set_field(two.a.wait_handle(), dscp | ecn_ect0);
        send(two.a, first, {{4, 5}});
        set_field(two.a.wait_handle(), 1);  // ECT(1)
        send(two.a, first, {{5, 5}});
        EXPECT_EQ(marks(two.b), ".!!..");
        EXPECT_EQ(two.b.counters().frames_marked, 2U);
        EXPECT_EQ(two.b.counters().frames_received, 5U);
        send(two.b, first, {{1, 5}});
        EXPECT_EQ(marks(two.a), ".");
    }
}

TEST(UdpEcn, EachFrameOfASuperPacketHasItsMark) {
    Two two({}, {.ecn = Ecn::on});
    set_field(two.a.wait_handle(), ecn_marked);
    send(two.a, first, {{1, 700}, {2, 700}, {3, 700}, {4, 300}});
    set_field(two.a.wait_handle(), ecn_ect0);
    send(two.a, first, {{5, 700}, {6, 700}, {7, 300}});
    ASSERT_EQ(two.b.counters().frames_received, 0U);
    const auto marked = two.b.receive(now);
    ASSERT_TRUE(marked);
    EXPECT_TRUE(marked->marked);
    EXPECT_EQ(two.b.following().frames, 0U) << "each needs its mark";
    EXPECT_EQ(marks(two.b), "!!!...");
    EXPECT_EQ(two.b.counters().frames_marked, 4U);
    send(two.a, first, {{5, 700}, {6, 700}, {7, 700}});
    while (!two.b.receive(now)) {
    }
    if (two.b.counters().super_packets_received > 0) {
        EXPECT_EQ(two.b.following().frames, 2U);
    }
}

// In a conversation on a connected socket, the kernel reports only the marks of datagrams.
TEST(UdpEcn, ALongConversationHidesNoMark) {
    Two two({}, {.only_peer = first, .ecn = Ecn::on});
    for (int i = 0; i < 100; ++i) {
        send(two.a, first, {{1, 100}});
        ASSERT_EQ(marks(two.b), ".") << i;
    }
    int grouped = 1;
    socklen_t length = sizeof grouped;
    ASSERT_EQ(::getsockopt(two.b.wait_handle(), SOL_UDP, UDP_GRO, &grouped, &length), 0);
    EXPECT_EQ(grouped, 0) << "the conversation has begun";
    for (const bool marked : {true, false, true}) {
        set_field(two.a.wait_handle(), marked ? ecn_marked : ecn_ect0);
        send(two.a, first, {{1, 100}});
        EXPECT_EQ(marks(two.b), marked ? "!" : ".");
    }
    EXPECT_EQ(two.b.counters().frames_marked, 2U);
}

TEST(UdpEcn, BothFamiliesHaveMarks) {
    if (!host_has_ipv6()) GTEST_SKIP() << no_ipv6;
    auto both =
        UdpWire::open({.local = *Address::parse("[::]:0"), .peers = {Address{}}, .ecn = Ecn::on});
    ASSERT_TRUE(both) << both.error().message;
    const std::uint16_t port = both->local_address().port;
    for (const bool ipv6 : {true, false}) {
        const std::string host = ipv6 ? "[::1]" : "127.0.0.1";
        auto sender = UdpWire::open({.local = *Address::parse(host + ":0"),
                                     .peers = {*Address::parse(host + ":" + std::to_string(port))},
                                     .ecn = Ecn::on});
        ASSERT_TRUE(sender) << sender.error().message;
        ASSERT_EQ(field_of(sender->wait_handle(), ipv6), ecn_ect0);
        send(*sender, first, {{1, 5}});
        EXPECT_EQ(marks(*both), ".");
        set_field(sender->wait_handle(), dscp | ecn_marked, ipv6);
        send(*sender, first, {{1, 5}});
        EXPECT_EQ(marks(*both), "!");
    }
    EXPECT_EQ(both->counters().frames_marked, 2U);
}

}  // namespace
}  // namespace wireproof::test
