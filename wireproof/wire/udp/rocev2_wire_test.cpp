// RoCEv2 between addresses of the loopback network, and with datagrams made by hand. Each test has
// addresses of its own, because all tests use port 4791.
#include "wireproof/wire/udp/rocev2_wire.hpp"

#include <gtest/gtest.h>
#include <netinet/udp.h>

#include <string>
#include <vector>

#include "wireproof/wire/udp/ipv6_test_kit.hpp"
#include "wireproof/wire/udp/rocev2_test_kit.hpp"

namespace wireproof::test {
namespace {

TEST(Rocev2Wire, CarriesPacketsOfEverySizeBothWays) {
    Rocev2Wire a = open_rocev2({.local = host(0), .peers = {host(1)}});
    Rocev2Wire b = open_rocev2({.local = host(1), .peers = {host(0)}});
    EXPECT_EQ(a.local_address().port, 4791);
    EXPECT_EQ(a.lane(first).capabilities().frame_max, 1056U);
    EXPECT_TRUE(a.lane(first).capabilities().carries_intact);
    EXPECT_FALSE(a.lane(first).capabilities().carries_all);
    for (std::size_t size = 12; size <= 1056; size += 4) {
        const Packet packet = packet_of(size, size);
        commit(a, first, packet);
        a.flush(now);
        EXPECT_EQ(next(b), packet) << size;
        commit(b, first, packet);
        b.flush(now);
        EXPECT_EQ(next(a), packet) << size;
    }
    EXPECT_EQ(b.counters().udp.frames_received, 262U);
    EXPECT_EQ(b.counters().icrc_wrong, 0U);
    EXPECT_EQ(b.counters().identified, 0U);
}

TEST(Rocev2Wire, CarriesABatchInOrder) {
    Rocev2Wire a = open_rocev2({.local = host(0), .peers = {host(1)}, .batch = 8});
    Rocev2Wire b = open_rocev2({.local = host(1), .peers = {host(0)}});
    std::vector<Packet> packets;  // must stay valid until the flush
    for (std::uint64_t i = 0; i < 8; ++i) packets.push_back(packet_of(64 + 4 * i, i));
    for (const Packet& packet : packets) commit(a, first, packet);
    EXPECT_EQ(a.lane(first).claim(), nullptr);
    a.flush(now);
    for (const Packet& packet : packets) EXPECT_EQ(next(b), packet);
}

TEST(Rocev2Wire, ADamagedPacketIsToldByItsIcrcAlone) {
    Rocev2Wire a = open_rocev2({.local = host(0), .peers = {host(1)}});
    Rocev2Wire b = open_rocev2({.local = host(1), .peers = {host(0)}});
    const Packet packet = packet_of(40);
    const std::size_t bits = 8 * packet.size();
    for (std::size_t bit = 64; bit < bits; ++bit) {  // after the congestion bits
        Rocev2Lane& lane = a.lane(first);
        std::ranges::copy(packet, lane.claim()->add_all(packet.size()).begin());
        lane.commit_damaged(bit);
        commit(a, first, packet);
        a.flush(now);
        EXPECT_EQ(next(b), packet) << bit;
    }
    EXPECT_EQ(b.counters().icrc_wrong, bits - 64);
    EXPECT_EQ(b.counters().udp.frames_received, bits - 64);
}

TEST(Rocev2Wire, CarriesPacketsOverIpv6) {
    if (!host_has_ipv6()) GTEST_SKIP() << no_ipv6;
    const Address one = own_ipv6(0);
    const Address other = own_ipv6(1);
    Rocev2Wire a = open_rocev2({.local = one, .peers = {other}});
    Rocev2Wire b = open_rocev2({.local = other, .peers = {one}});
    const Packet packet = packet_of(100);
    commit(a, first, packet);
    a.flush(now);
    EXPECT_EQ(next(b), packet);
    commit(b, first, packet);
    b.flush(now);
    EXPECT_EQ(next(a), packet);
}

TEST(Rocev2Wire, TakesPacketsOverIpv6WhoseSenderLeftTheUdpChecksumOut) {
    if (!host_has_ipv6()) GTEST_SKIP() << no_ipv6;
    const Address here = own_ipv6(0);
    Rocev2Wire wire = open_rocev2({.local = here, .peers = {own_ipv6(1)}});
    const auto socket = UdpSocket::open({.local = *Address::parse("[::1]:0")});
    ASSERT_TRUE(socket);
    const int on = 1;
    ASSERT_EQ(::setsockopt(socket->handle(), IPPROTO_UDP, UDP_NO_CHECK6_TX, &on, sizeof on), 0);
    Packet packet = packet_of(40);
    const IcrcCover cover({.from = socket->local_address(), .to = here, .packet = 40});
    const std::uint32_t icrc = cover.icrc(packet);
    packet.resize(44);
    store_le<std::uint32_t>(Bytes(packet).last<4>(), icrc);
    const SocketAddress there = to_socket_address(here);
    ASSERT_EQ(
        ::sendto(socket->handle(), packet.data(), packet.size(), 0, &there.any, length_of(there)),
        44);
    EXPECT_EQ(next(wire).size(), 40U);
}

TEST(Rocev2Wire, WhatLeavesIsThePacketAndItsIcrc) {
    Address there = host(1);
    there.port = rocev2_port;
    Stranger stranger(there);
    Rocev2Wire wire = open_rocev2({.local = host(0), .peers = {host(1)}});
    const Packet packet = packet_of(52);
    commit(wire, first, packet);
    wire.flush(now);
    const Packet got = stranger.receive();
    ASSERT_EQ(got.size(), 56U);
    const IcrcCover cover({.from = wire.local_address(), .to = there, .packet = 52});
    EXPECT_EQ(load_le<std::uint32_t>(ConstBytes(got).last<4>()), cover.icrc(packet));
    EXPECT_EQ(Packet(got.begin(), got.end() - 4), packet);
}

TEST(Rocev2Wire, APeerMaySendFromAnyPort) {
    Rocev2Wire wire = open_rocev2({.local = host(0), .peers = {host(1)}});
    Stranger stranger(host(1));
    const Packet packet = packet_of(40);
    stranger.send(wire.local_address(), stranger.with_icrc(wire.local_address(), packet));
    EXPECT_EQ(next(wire), packet);
}

// Each packet is dropped and counted for its reason.
TEST(Rocev2Wire, WhatIsDroppedIsCountedByItsReason) {
    Rocev2Wire wire = open_rocev2({.local = host(0), .peers = {host(1)}});
    const Address here = wire.local_address();
    Stranger peer(host(1));
    Stranger stranger(host(2));
    const Packet good = peer.with_icrc(here, packet_of(40));
    for (std::size_t size = 0; size < 16; ++size) peer.send(here, ConstBytes(good).first(size));
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.counters().too_short, 16U);

    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        if (bit / 8 == 4) continue;  // congestion bits, which are not covered
        Packet damaged = good;
        damaged[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        peer.send(here, damaged);
        EXPECT_TRUE(nothing_comes(wire)) << bit;
    }
    EXPECT_EQ(wire.counters().icrc_wrong, 8 * good.size() - 8);

    stranger.send(here, stranger.with_icrc(here, packet_of(40)));
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.counters().udp.unknown_source, 1U);

    peer.send(here, packet_of(1061));
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.counters().udp.too_long, 1U);
    EXPECT_EQ(wire.counters().udp.frames_received, 0U);

    peer.send(here, good);
    EXPECT_EQ(next(wire).size(), 40U);
}

TEST(Rocev2Wire, AStrangerBecomesAPeerByARightPacketWhileThereIsRoom) {
    Rocev2Wire wire = open_rocev2({.local = host(0), .strangers_max = 1});
    Stranger one(host(1));
    Stranger two(host(2));
    const Address here = wire.local_address();
    Packet damaged = one.with_icrc(here, packet_of(40));
    damaged[20] ^= std::byte{1};
    one.send(here, damaged);
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.peers(), 0U);
    one.send(here, one.with_icrc(here, packet_of(40)));
    PeerId from{7};
    EXPECT_EQ(next(wire, &from), packet_of(40));
    EXPECT_EQ(from, first);
    EXPECT_EQ(wire.lane(first).address().port, rocev2_port);  // not where it sends from
    two.send(here, two.with_icrc(here, packet_of(40)));
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.counters().udp.unknown_source, 1U);
    EXPECT_FALSE(wire.peer_at(host(2)));
    wire.welcome(2);
    two.send(here, two.with_icrc(here, packet_of(40)));
    EXPECT_EQ(next(wire, &from), packet_of(40));
    EXPECT_EQ(from, PeerId{1});
    EXPECT_EQ(wire.peer_at(host(1)), first);
    EXPECT_EQ(wire.peer_at(host(2)), PeerId{1});
}

TEST(Rocev2Wire, AForgottenHostGivesItsNumberToTheNextAndMayComeAgain) {
    Rocev2Wire wire =
        open_rocev2({.local = host(0), .peers = {host(1), host(2)}, .strangers_max = 1});
    const Address here = wire.local_address();
    Stranger one(host(3));
    Stranger two(host(4));
    PeerId from{7};
    one.send(here, one.with_icrc(here, packet_of(40)));
    EXPECT_EQ(next(wire, &from), packet_of(40));
    EXPECT_EQ(from, PeerId{2});
    EXPECT_TRUE(wire.lane(from).take_new());
    EXPECT_FALSE(wire.lane(from).take_new());
    EXPECT_EQ(wire.peers(), 3U);
    EXPECT_EQ(wire.strangers(), 1U);
    two.send(here, two.with_icrc(here, packet_of(40)));
    EXPECT_TRUE(nothing_comes(wire));

    wire.forget(PeerId{2});
    wire.forget(PeerId{2});  // no harm
    EXPECT_FALSE(wire.is_peer(PeerId{2}));
    EXPECT_FALSE(wire.peer_at(host(3)));
    EXPECT_EQ(wire.lane(PeerId{2}).claim(), nullptr);
    EXPECT_EQ(wire.peers(), 2U);
    EXPECT_EQ(wire.strangers(), 0U);
    two.send(here, two.with_icrc(here, packet_of(40)));
    EXPECT_EQ(next(wire, &from), packet_of(40));
    EXPECT_EQ(from, PeerId{2});
    EXPECT_EQ(wire.peer_at(host(4)), PeerId{2});
    EXPECT_TRUE(wire.lane(from).take_new());

    wire.forget(first);
    EXPECT_EQ(wire.next_peer(), first);
    ASSERT_TRUE(wire.set_peer(first, host(5)));
    EXPECT_EQ(wire.next_peer(), PeerId{3});
    wire.forget(PeerId{2});
    one.send(here, one.with_icrc(here, packet_of(40)));
    EXPECT_EQ(next(wire, &from), packet_of(40));
    EXPECT_EQ(from, PeerId{2});
}

TEST(Rocev2Wire, AHostThatTheUserNamesIsNoStranger) {
    Rocev2Wire wire = open_rocev2({.local = host(0), .strangers_max = 1});
    const auto stranger = wire.add_stranger(host(1));
    ASSERT_TRUE(stranger);
    EXPECT_TRUE(wire.is_stranger(*stranger));
    EXPECT_FALSE(wire.add_stranger(host(2)));
    wire.acquaint(*stranger);
    EXPECT_EQ(wire.strangers(), 0U);
    EXPECT_FALSE(wire.add_stranger(host(1)));  // a peer already
    const auto other = wire.add_stranger(host(2));
    ASSERT_TRUE(other);
    ASSERT_TRUE(wire.set_peer(*other, host(3)));
    EXPECT_FALSE(wire.is_stranger(*other));
    EXPECT_EQ(wire.strangers(), 0U);
}

// The refusal and the error were those of the host that had the number before.
TEST(Rocev2Wire, WhatIsKnownOfAHostIsNotKnownOfTheNextWithItsNumber) {
    Rocev2Wire wire =
        open_rocev2({.local = host(0), .peers = {*Address::parse("255.255.255.255:0")}});
    const Packet packet = packet_of(40);  // must stay valid until the flush
    commit(wire, first, packet);
    wire.flush(now);
    EXPECT_NE(wire.trouble(first).cause, "");
    wire.forget(first);
    ASSERT_TRUE(wire.set_peer(first, host(1)));
    EXPECT_EQ(wire.trouble(first).cause, "");
}

// Broadcasting needs a permission for which the socket never asked.
TEST(Rocev2Wire, WhatTheKernelRefusesIsNamedAndCountedForItsPeer) {
    constexpr PeerId second{1};
    Rocev2Wire wire =
        open_rocev2({.local = host(0), .peers = {host(1), *Address::parse("255.255.255.255:0")}});
    const Rocev2Wire peer = open_rocev2({.local = host(1)});
    const Packet packet = packet_of(40);  // must stay valid until the flush
    commit(wire, first, packet);
    commit(wire, second, packet);
    commit(wire, second, packet);
    wire.flush(now);
    EXPECT_EQ(wire.trouble(first).cause, "");
    EXPECT_EQ(wire.trouble(second).cause, "Permission denied (sendmsg)");
    EXPECT_EQ(wire.trouble(second).frames_refused, 2U);
    EXPECT_EQ(wire.counters().udp.send_errors.to_string(), "Permission denied (2 packets)");
}

TEST(Rocev2Wire, APeerThatIsHeardIsReachedAgain) {
    const auto refused = [](Rocev2Wire& wire) {
        const Packet packet = packet_of(40);
        commit(wire, first, packet);
        wire.flush(now);
        return wire.trouble(first).cause;
    };
    Rocev2Wire wire =
        open_rocev2({.local = host(0), .peers = {*Address::parse("255.255.255.255:0")}});
    EXPECT_EQ(refused(wire), "Permission denied (sendmsg)");
    ASSERT_TRUE(wire.set_peer(first, host(1)));
    Stranger peer(host(1));
    peer.send(wire.local_address(), peer.with_icrc(wire.local_address(), packet_of(40)));
    EXPECT_EQ(next(wire), packet_of(40));
    EXPECT_EQ(wire.trouble(first).cause, "");
}

TEST(Rocev2Wire, SaysWhatItCannotBeOpenedWith) {
    const auto error = [](const Rocev2Wire::Config& config) {
        const auto wire = Rocev2Wire::open(config);
        return wire ? "none" : wire.error().message;
    };
    EXPECT_EQ(error({.local = *Address::parse("0.0.0.0:0")}),
              "RoCEv2 wire: the local address must be that of one interface, because the "
              "check of each packet covers it");
    EXPECT_EQ(error({}), error({.local = *Address::parse("[::]:0")}));
    EXPECT_EQ(error({.local = host(0), .frame_max = 5000}),
              "RoCEv2 wire: frame_max is 5000, not 12 to 4140");
    EXPECT_EQ(error({.local = host(0), .batch = 0}), "RoCEv2 wire: batch is 0, not 1 to 1024");
    EXPECT_NE(error({.local = host(0), .peers = {*Address::parse("[::1]:0")}}).find("same family"),
              std::string::npos);
    EXPECT_NE(error({.local = host(0), .peers = {host(1), host(1)}}).find("peer 0 already"),
              std::string::npos);
    const Rocev2Wire taken = open_rocev2({.local = host(0)});
    EXPECT_NE(error({.local = host(0)}).find("in use"), std::string::npos);
}

TEST(Rocev2Wire, KnowsHowLongAPacketTheWayCarries) {
    EXPECT_EQ(Rocev2Wire::frame_max_between(host(0), host(1)), 4140U);  // loopback has 65536
    EXPECT_FALSE(Rocev2Wire::frame_max_between(host(0), *Address::parse("[::1]:0")));
    const Address ipv6 = *Address::parse("[::1]:0");
    EXPECT_EQ(Rocev2Wire::frame_max_between(ipv6, ipv6).value_or(4140), 4140U);  // if there is one
}

TEST(Rocev2Wire, CarriesTheLongestPacketWhole) {
    Rocev2Wire a = open_rocev2({.local = host(0), .peers = {host(1)}, .frame_max = 4140});
    Rocev2Wire b = open_rocev2({.local = host(1), .peers = {host(0)}, .frame_max = 4140});
    const Packet longest = packet_of(4140);
    commit(a, first, longest);
    a.flush(now);
    EXPECT_EQ(next(b), longest);
}

}  // namespace
}  // namespace wireproof::test
