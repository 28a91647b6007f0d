// A wire that listens at each address of its host. Its peer hears only the address that it asked:
// its socket is connected to that address.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "wireproof/wire/udp/ipv6_test_kit.hpp"
#include "wireproof/wire/udp/namespaces_test_kit.hpp"
#include "wireproof/wire/udp/super_packet_test_kit.hpp"

namespace wireproof::test {
namespace {

UdpWire listening_at(const std::string& host) {
    auto wire = UdpWire::open({.local = *Address::parse(host + ":0"), .peers = {Address{}}});
    WIREPROOF_CHECK(wire.has_value());
    return std::move(*wire);
}

UdpWire asking(const UdpWire& hub, const std::string& at) {
    const std::string port = std::to_string(hub.local_address().port);
    const bool ipv6 = at.front() == '[';
    auto wire = UdpWire::open(
        {.local = *Address::parse(ipv6 ? "[::]:0" : "0.0.0.0:0"), .only_peer = first});
    WIREPROOF_CHECK(wire.has_value());
    WIREPROOF_CHECK(wire->set_peer(first, *Address::parse(at + ":" + port)).has_value());
    return std::move(*wire);
}

/// Frames alone and in super-packets, both ways.
void expect_conversation(UdpWire& hub, UdpWire& asker) {
    send(asker, first, {{1, 700}, {2, 700}, {3, 700}, {4, 300}});
    EXPECT_EQ(received(hub), "1x700 2x700 3x700 4x300");
    send(hub, first, {{5, 20}});
    EXPECT_EQ(received(asker), "5x20");
    send(hub, first, {{6, 700}, {7, 700}, {8, 700}});
    EXPECT_EQ(received(asker), "6x700 7x700 8x700");
    EXPECT_EQ(hub.counters().super_packets_sent, 1U);
    EXPECT_EQ(hub.counters().send_failed + hub.counters().segments_refused, 0U);
}

void expect_answers(const std::string& listens_at, const std::string& asked_at,
                    const std::string& heard_at) {
    UdpWire hub = listening_at(listens_at);
    UdpWire asker = asking(hub, asked_at);
    expect_conversation(hub, asker);
    EXPECT_EQ(hub.lane(first).asked_at().host_text(), heard_at);
}

TEST(UdpAnyAddress, AnswersLeaveFromTheAddressThatWasAsked) {
    expect_answers("0.0.0.0", "127.0.0.2", "127.0.0.2");
    expect_answers("0.0.0.0", "127.0.0.1", "127.0.0.1");
}

TEST(UdpAnyAddress, AlsoOverIpv4ThroughASocketOfIpv6) {
    if (!host_has_ipv6()) GTEST_SKIP() << no_ipv6;
    expect_answers("[::]", "127.0.0.2", "::ffff:127.0.0.2");
    expect_answers("[::]", "[::1]", "::1");
}

TEST(UdpAnyAddress, AlsoFromASecondAddressOfIpv6) {
    if (!host_has_ipv6()) GTEST_SKIP() << no_ipv6;
    bool permitted = false;
    std::thread([&] {
        const Namespace alone;
        permitted = alone.is_there() && ran("ip link set lo up");
        if (!permitted) return;
        for (const char* const address : {"fd91::1", "fd91::2"}) {
            ASSERT_TRUE(ran(std::string("ip -6 address add ") + address + "/64 dev lo"));
            ASSERT_TRUE(is_ours(address));
        }
        for (const char* const host : {"fd91::1", "fd91::2", "::1"}) {
            expect_answers("[::]", "[" + std::string(host) + "]", host);
        }
    }).join();
    if (!permitted) GTEST_SKIP() << "no network namespaces here";
}

TEST(UdpAnyAddress, EachPeerIsAnsweredFromTheAddressThatItAsked) {
    UdpWire hub = listening_at("0.0.0.0");
    ASSERT_TRUE(hub.set_peer(second, Address{}));
    UdpWire one = asking(hub, "127.0.0.2");
    UdpWire other = asking(hub, "127.0.0.3");
    send(one, first, {{1, 5}});
    EXPECT_EQ(received(hub), "1x5");
    hub.settle(first);
    send(other, first, {{2, 5}});
    EXPECT_EQ(received(hub), "2x5");
    for (int round = 0; round < 3; ++round) {
        send(hub, first, {{3, 5}});
        send(hub, second, {{4, 5}});
        EXPECT_EQ(received(one), "3x5");
        EXPECT_EQ(received(other), "4x5");
    }
}

TEST(UdpAnyAddress, APeerMayAskAtAnotherAddressLater) {
    UdpWire hub = listening_at("0.0.0.0");
    UdpWire asker = asking(hub, "127.0.0.2");
    expect_conversation(hub, asker);
    hub.settle(first);
    Address there = hub.local_address();
    there.host = {127, 0, 0, 3};
    ASSERT_TRUE(asker.set_peer(first, there));
    send(asker, first, {{1, 5}});
    EXPECT_EQ(received(hub), "1x5");
    send(hub, first, {{2, 5}});
    EXPECT_EQ(received(asker), "2x5");
}

}  // namespace
}  // namespace wireproof::test
