// ECN of RoCEv2 packets on loopback: a sender sets the ECN field of its own socket to CE.
#include <gtest/gtest.h>

#include "wireproof/wire/udp/ecn_test_kit.hpp"
#include "wireproof/wire/udp/ipv6_test_kit.hpp"
#include "wireproof/wire/udp/rocev2_test_kit.hpp"

namespace wireproof::test {
namespace {

// UC-3: the ICRC covers neither the TOS of IPv4 nor the traffic class of IPv6.
TEST(Rocev2Ecn, AMarkBreaksNoIcrc) {
    for (const SuperPackets super : {SuperPackets::nowhere, SuperPackets::on_loopback}) {
        Rocev2Wire a = open_rocev2(
            {.local = host(0), .peers = {host(1)}, .super_packets = super, .ecn = Ecn::on});
        Rocev2Wire b = open_rocev2(
            {.local = host(1), .peers = {host(0)}, .super_packets = super, .ecn = Ecn::on});
        EXPECT_EQ(field_of(a.wait_handle()), ecn_ect0);
        const Packet packet = packet_of(64);
        const auto send_three = [&] {
            for (int i = 0; i < 3; ++i) commit(a, first, packet);
            a.flush(now);
        };
        send_three();
        EXPECT_EQ(marks(b), "...");
        set_field(a.wait_handle(), dscp | ecn_marked);
        send_three();
        EXPECT_EQ(marks(b), "!!!");
        EXPECT_EQ(b.counters().udp.frames_marked, 3U);
        EXPECT_EQ(b.counters().icrc_wrong, 0U);
        EXPECT_EQ(b.counters().udp.super_packets_received > 0, super == SuperPackets::on_loopback);
    }
}

TEST(Rocev2Ecn, NothingChangesUnlessItIsOn) {
    for (const auto from :
         {IdentificationSource::worked_out, IdentificationSource::shown_if_permitted}) {
        Rocev2Wire a = open_rocev2({.local = host(0), .peers = {host(1)}});
        Rocev2Wire b = open_rocev2({.local = host(1), .peers = {host(0)}, .identification = from});
        EXPECT_EQ(field_of(a.wait_handle()), 0);
        set_field(a.wait_handle(), ecn_marked);
        const Packet packet = packet_of(64);
        commit(a, first, packet);
        a.flush(now);
        EXPECT_EQ(marks(b), ".");
        EXPECT_EQ(b.counters().udp.frames_marked, 0U);
    }
}

TEST(Rocev2Ecn, MarksAreReadFromHeadersThatAreShown) {
    for (const Ecn ecn : {Ecn::off, Ecn::on}) {
        Rocev2Wire a = open_rocev2(
            {.local = host(0), .peers = {host(1)}, .super_packets = SuperPackets::nowhere});
        auto b = Rocev2Wire::open({.local = host(1),
                                   .peers = {host(0)},
                                   .identification = IdentificationSource::shown,
                                   .ecn = ecn});
        if (!b) GTEST_SKIP() << "raw sockets need a privilege";
        ASSERT_TRUE(b->shows_identifications());
        const Packet packet = packet_of(64);
        for (const int field : {ecn_marked, ecn_ect0, dscp | ecn_marked, dscp}) {
            set_field(a.wait_handle(), field);
            commit(a, first, packet);
            a.flush(now);
        }
        EXPECT_EQ(marks(*b), ecn == Ecn::on ? "!.!." : "....");
        EXPECT_EQ(b->counters().udp.frames_marked, ecn == Ecn::on ? 2U : 0U);
    }
}

TEST(Rocev2Ecn, Ipv6HasMarksToo) {
    if (!host_has_ipv6()) GTEST_SKIP() << no_ipv6;
    const Address one = own_ipv6(0);
    const Address other = own_ipv6(1);
    Rocev2Wire a = open_rocev2({.local = other, .peers = {one}});
    Rocev2Wire b = open_rocev2({.local = one, .peers = {other}, .ecn = Ecn::on});
    const Packet packet = packet_of(64);
    for (const int field : {dscp | ecn_marked, dscp | ecn_ect0}) {
        set_field(a.wait_handle(), field, true);
        commit(a, first, packet);
        a.flush(now);
    }
    EXPECT_EQ(marks(b), "!.");
    EXPECT_EQ(b.counters().icrc_wrong, 0U);
}

}  // namespace
}  // namespace wireproof::test
