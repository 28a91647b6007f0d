// RoCEv2 packets that leave and arrive as segments of super-packets: the ICRC of each is right for
// its place, whether the kernel cuts the super-packet up or delivers it whole.
#include <gtest/gtest.h>
#include <netinet/udp.h>
#include <sys/mman.h>

#include <string>
#include <vector>

#include "wireproof/wire/udp/ipv6_test_kit.hpp"
#include "wireproof/wire/udp/rocev2_test_kit.hpp"

namespace wireproof::test {
namespace {

struct Ends {
    explicit Ends(Rocev2Wire::Config of_a = {}, Rocev2Wire::Config of_b = {})
        : a(open_rocev2(with(std::move(of_a), 0))), b(open_rocev2(with(std::move(of_b), 1))) {}

    static Rocev2Wire::Config with(Rocev2Wire::Config config, unsigned number) {
        config.local = host(number);
        if (config.peers.empty()) config.peers = {host(1 - number)};
        return config;
    }

    Rocev2Wire a;
    Rocev2Wire b;
};

std::vector<Packet> packets_of(const std::vector<std::size_t>& sizes) {
    std::vector<Packet> packets;
    for (std::size_t i = 0; i < sizes.size(); ++i) packets.push_back(packet_of(sizes[i], i));
    return packets;
}

/// Sends and flushes while the packets are valid.
void send_packets(Rocev2Wire& wire, const std::vector<Packet>& packets, PeerId to = first) {
    for (const Packet& packet : packets) commit(wire, to, packet);
    wire.flush(now);
}

void expect_all(Rocev2Wire& wire, const std::vector<Packet>& packets) {
    for (std::size_t i = 0; i < packets.size(); ++i) EXPECT_EQ(next(wire), packets[i]) << i;
    EXPECT_TRUE(nothing_comes(wire));
}

void expect_no_complaint(const Rocev2Counters& counters) {
    EXPECT_EQ(counters.icrc_wrong, 0U);
    EXPECT_EQ(counters.identification_jumped, 0U);
    EXPECT_EQ(counters.too_short, 0U);
    EXPECT_EQ(counters.udp.too_long, 0U);
    EXPECT_EQ(counters.udp.segments_refused, 0U);
}

TEST(Rocev2SuperPacket, PacketsOfOneLengthLeaveTogetherAndArriveApart) {
    Ends ends;
    const auto packets = packets_of({1056, 1056, 1056, 1056, 700});
    send_packets(ends.a, packets);
    expect_all(ends.b, packets);
    EXPECT_EQ(ends.a.counters().udp.frames_sent, 5U);
    EXPECT_EQ(ends.a.counters().udp.super_packets_sent, 1U);
    EXPECT_EQ(ends.b.counters().udp.super_packets_received, 1U);
    EXPECT_EQ(ends.b.counters().udp.frames_received, 5U);
    EXPECT_EQ(ends.b.counters().identified, 0U) << "each has the identification of its place";
    expect_no_complaint(ends.b.counters());
}

TEST(Rocev2SuperPacket, LengthsThatDifferEndOneAndBeginTheNext) {
    Ends ends;
    const auto packets =
        packets_of({500, 500, 20, 500, 900, 900, 12, 12, 12, 1056, 1056, 16, 1056});
    send_packets(ends.a, packets);
    expect_all(ends.b, packets);
    // 1 to 3, 5 to 7, 8 and 9, 10 to 12; 4 and 13 alone.
    EXPECT_EQ(ends.a.counters().udp.super_packets_sent, 4U);
    EXPECT_EQ(ends.b.counters().identified, 0U);
    expect_no_complaint(ends.b.counters());
}

TEST(Rocev2SuperPacket, APacketThatIsAWordLongerThanTheOneBeforeJoinsNothing) {
    Ends ends;
    const auto packets = packets_of({500, 504, 508, 508});
    send_packets(ends.a, packets);
    expect_all(ends.b, packets);
    EXPECT_EQ(ends.a.counters().udp.super_packets_sent, 1U);  // of the last two
    EXPECT_EQ(ends.b.counters().identified, 0U);
    expect_no_complaint(ends.b.counters());
}

TEST(Rocev2SuperPacket, ALonePacketLeavesAsBefore) {
    Ends ends;
    for (std::uint64_t i = 0; i < 5; ++i) send_packets(ends.a, {packet_of(1056, i)});
    EXPECT_EQ(ends.a.counters().udp.super_packets_sent, 0U);
    for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(next(ends.b), packet_of(1056, i));
    expect_no_complaint(ends.b.counters());
}

// The kernel cuts them up for such a receiver, which then computes the identifications.
TEST(Rocev2SuperPacket, AReceiverThatTakesNoneGetsEachSegment) {
    Ends ends({.frame_max = 1056}, {.frame_max = 1056, .super_packets = SuperPackets::nowhere});
    std::uint64_t packets = 0;
    for (int round = 0; round < 20; ++round) {
        const auto some = packets_of(std::vector<std::size_t>(64, round % 2 == 0 ? 1056 : 24));
        send_packets(ends.a, some);
        expect_all(ends.b, some);
        packets += some.size();
    }
    const Rocev2Counters& counters = ends.b.counters();
    EXPECT_EQ(counters.udp.frames_received, packets);
    EXPECT_EQ(counters.udp.super_packets_received, 0U);
    EXPECT_EQ(counters.identified, packets - ends.a.counters().udp.super_packets_sent)
        << "all but the first of each";
    expect_no_complaint(counters);
}

TEST(Rocev2SuperPacket, ASenderThatSendsNoneIsHeardByOneThatTakesThem) {
    Ends ends({.super_packets = SuperPackets::nowhere}, {});
    const auto packets = packets_of({1056, 1056, 1056, 700});
    send_packets(ends.a, packets);
    expect_all(ends.b, packets);
    EXPECT_EQ(ends.a.counters().udp.super_packets_sent, 0U);
    EXPECT_EQ(ends.b.counters().identified, 0U);
    expect_no_complaint(ends.b.counters());
}

TEST(Rocev2SuperPacket, DamageOfOneSegmentDropsThatOneOnly) {
    for (std::size_t damaged = 0; damaged < 4; ++damaged) {
        Ends ends;
        const auto packets = packets_of({300, 300, 300, 300});
        for (std::size_t i = 0; i < packets.size(); ++i) {
            Rocev2Lane& lane = ends.a.lane(first);
            std::ranges::copy(packets[i], lane.claim()->add_all(packets[i].size()).begin());
            i == damaged ? lane.commit_damaged(8 * 200 + 3) : lane.commit();
        }
        ends.a.flush(now);
        EXPECT_EQ(ends.a.counters().udp.super_packets_sent, 1U);
        for (std::size_t i = 0; i < packets.size(); ++i) {
            if (i == damaged) continue;
            EXPECT_EQ(next(ends.b), packets[i]) << damaged;
        }
        EXPECT_TRUE(nothing_comes(ends.b));
        EXPECT_EQ(ends.b.counters().icrc_wrong, 1U);
        EXPECT_EQ(ends.b.counters().udp.frames_received, 3U);
    }
}

TEST(Rocev2SuperPacket, PacketsToPeersInTurnsJoinNobodysButTheirOwn) {
    Rocev2Wire a = open_rocev2({.local = host(0), .peers = {host(1), host(2)}});
    Rocev2Wire b = open_rocev2({.local = host(1), .peers = {host(0)}});
    Rocev2Wire c = open_rocev2({.local = host(2), .peers = {host(0)}});
    const auto packets = packets_of({256, 256, 256, 256, 256, 256});
    for (std::size_t i = 0; i < 4; ++i) commit(a, i % 2 == 0 ? first : second, packets[i]);
    commit(a, second, packets[4]);
    commit(a, second, packets[5]);
    a.flush(now);
    EXPECT_EQ(a.counters().udp.super_packets_sent, 1U);  // of the last three
    expect_all(b, {packets[0], packets[2]});
    expect_all(c, {packets[1], packets[3], packets[4], packets[5]});
    for (const Rocev2Wire* const wire : {&b, &c}) {
        EXPECT_EQ(wire->counters().identified, 0U);
        expect_no_complaint(wire->counters());
    }
}

// So segments that arrive one by one have identifications near each other, and no datagram is too
// long.
TEST(Rocev2SuperPacket, NoneHasMoreThan32SegmentsOrMoreBytesThanADatagram) {
    Ends ends({.frame_max = 4140, .batch = 256}, {.frame_max = 4140, .batch = 256});
    const auto small = packets_of(std::vector<std::size_t>(70, 24));
    send_packets(ends.a, small);
    expect_all(ends.b, small);
    EXPECT_EQ(ends.a.counters().udp.super_packets_sent, 3U);  // of 32, 32 and 6
    const auto longest = packets_of(std::vector<std::size_t>(40, 4140));
    send_packets(ends.a, longest);
    expect_all(ends.b, longest);
    EXPECT_EQ(ends.a.counters().udp.super_packets_sent, 6U);  // of 15, 15 and 10
    EXPECT_EQ(ends.b.counters().identified, 0U);
    expect_no_complaint(ends.a.counters());
    expect_no_complaint(ends.b.counters());
}

// On the path to a peer, something may lose super-packets.
TEST(Rocev2SuperPacket, APacketThatIsSentAgainLeavesByItself) {
    Ends ends({}, {.super_packets = SuperPackets::nowhere});
    const auto packets = packets_of({256, 256, 256, 256, 256});
    for (std::size_t i = 0; i < packets.size(); ++i) {
        TxFrame* const frame = ends.a.lane(first).claim();
        std::ranges::copy(packets[i], frame->add_room(packets[i].size()).begin());
        if (i == 2) frame->mark_resent();
        ends.a.lane(first).commit();
    }
    ends.a.flush(now);
    EXPECT_EQ(ends.a.counters().udp.super_packets_sent, 2U);  // of two before and two after
    EXPECT_EQ(ends.a.counters().udp.frames_resent, 1U);
    expect_all(ends.b, packets);
    EXPECT_EQ(ends.b.counters().identified, 2U) << "the second of each";
}

// The kernel refuses super-packets of a socket that has no UDP checksum.
void refuse_segments(Rocev2Wire& wire) {
    const int on = 1;
    ASSERT_EQ(::setsockopt(wire.wait_handle(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
}

TEST(Rocev2SuperPacket, WhereTheKernelRefusesThemPacketsLeaveOneByOne) {
    Ends ends({.frame_max = 1056}, {.frame_max = 1056, .super_packets = SuperPackets::nowhere});
    refuse_segments(ends.a);
    for (int round = 0; round < 3; ++round) {
        const auto packets = packets_of({1056, 1056, 700, 24, 24, 24, 16, 900});
        send_packets(ends.a, packets);
        expect_all(ends.b, packets);
    }
    EXPECT_EQ(ends.a.counters().udp.segments_refused, 1U);
    EXPECT_EQ(ends.a.counters().udp.super_packets_sent, 0U);
    EXPECT_EQ(ends.a.counters().udp.frames_sent, 24U);
    EXPECT_EQ(ends.b.counters().identified, 0U) << "each has identification 0";
    expect_no_complaint(ends.b.counters());
}

// The batch points to payload, and the program may have unmapped it.
/// Sends five packets. The memory of the second one is gone at the flush.
void send_with_payload_that_is_gone(Rocev2Wire& a, Rocev2Wire& b) {
    constexpr std::size_t page = 4096;
    void* const memory =
        ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    const auto packets = packets_of({1056, 1056, 1056, 1056, 40});
    for (std::size_t i = 0; i < packets.size(); ++i) {
        if (i != 1) {
            commit(a, first, packets[i]);
            continue;
        }
        TxFrame* const frame = a.lane(first).claim();
        std::ranges::copy(ConstBytes(packets[i]).first(16), frame->add_room(16).begin());
        frame->add_payload({static_cast<const std::byte*>(memory), 1040});
        a.lane(first).commit();
    }
    ASSERT_EQ(::munmap(memory, page), 0);
    a.flush(now);
    expect_all(b, {packets[0], packets[2], packets[3], packets[4]});
    EXPECT_EQ(a.trouble(first).cause, "Bad address (sendmsg)");
    EXPECT_EQ(a.counters().udp.send_failed, 1U);
    expect_no_complaint(b.counters());
    send_packets(a, {packets[0], packets[2]});
    EXPECT_EQ(a.counters().udp.super_packets_sent, 1U) << "the kernel refused none";
}

TEST(Rocev2SuperPacket, PayloadThatIsGoneTakesNoOtherPacketWithIt) {
    Ends ends;
    send_with_payload_that_is_gone(ends.a, ends.b);
}

// Over IPv6 the ICRC does not cover the place in the super-packet.
TEST(Rocev2SuperPacket, PayloadThatIsGoneTakesNoOtherPacketWithItOverIpv6) {
    if (!host_has_ipv6()) GTEST_SKIP() << no_ipv6;
    const Address one = own_ipv6(0);
    const Address other = own_ipv6(1);
    Rocev2Wire a = open_rocev2({.local = one, .peers = {other}});
    Rocev2Wire b = open_rocev2({.local = other, .peers = {one}});
    send_with_payload_that_is_gone(a, b);
}

// A device that joins packets (GRO) takes packets whose identifications count up from any value, or
// are all the same.
TEST(Rocev2SuperPacket, IdentificationsMayBeginAnywhereOrStayTheSame) {
    Rocev2Wire wire = open_rocev2({.local = host(0), .peers = {host(1)}});
    const Address here = wire.local_address();
    Stranger peer(host(1));
    const auto send_with = [&](const std::vector<std::uint16_t>& identifications) {
        Packet all;
        for (const std::uint16_t id : identifications) {
            const Packet one = peer.with_icrc(here, packet_of(60, id), id);
            all.insert(all.end(), one.begin(), one.end());
        }
        peer.send_segments(here, all, 64);
        for (const std::uint16_t id : identifications) {
            EXPECT_EQ(next(wire), packet_of(60, id)) << id;
        }
    };
    send_with({65'534, 65'535, 0, 1});
    EXPECT_EQ(wire.counters().identified, 1U) << "the others count up from it";
    send_with({7, 8, 9});
    EXPECT_EQ(wire.counters().identified, 2U);
    send_with({0, 0, 0});
    EXPECT_EQ(wire.counters().identified, 4U);
    expect_no_complaint(wire.counters());
    // An identification far from the peer's last one, like that of a damaged packet.
    const Packet one = peer.with_icrc(here, packet_of(60), 0);
    Packet two = peer.with_icrc(here, packet_of(60), 30'000);
    two.insert(two.begin(), one.begin(), one.end());
    peer.send_segments(here, two, 64);
    EXPECT_EQ(next(wire), packet_of(60));
    EXPECT_TRUE(nothing_comes(wire));
    EXPECT_EQ(wire.counters().identification_jumped, 1U);
}

TEST(Rocev2SuperPacket, OverIpv6ThereAreNoIdentifications) {
    if (!host_has_ipv6()) GTEST_SKIP() << no_ipv6;
    const Address one = own_ipv6(0);
    const Address other = own_ipv6(1);
    Rocev2Wire a = open_rocev2({.local = one, .peers = {other}});
    for (const SuperPackets taken : {SuperPackets::on_loopback, SuperPackets::nowhere}) {
        Rocev2Wire b = open_rocev2({.local = other, .peers = {one}, .super_packets = taken});
        const auto packets = packets_of({1056, 1056, 1056, 700, 24, 24});
        send_packets(a, packets);
        expect_all(b, packets);
        EXPECT_EQ(b.counters().udp.super_packets_received,
                  taken == SuperPackets::nowhere ? 0U : 2U);
        EXPECT_EQ(b.counters().identified, 0U);
        expect_no_complaint(b.counters());
    }
    EXPECT_EQ(a.counters().udp.super_packets_sent, 4U);
}

bool leaves_checksums_out(const Rocev2Wire& wire) {
    int value = 0;
    socklen_t length = sizeof value;
    EXPECT_EQ(::getsockopt(wire.wait_handle(), SOL_SOCKET, SO_NO_CHECK, &value, &length), 0);
    return value != 0;
}

// Adapters leave the UDP checksum out. With super-packets this is not possible.
TEST(Rocev2SuperPacket, OnlyAWireWithoutThemLeavesChecksumsOut) {
    EXPECT_FALSE(leaves_checksums_out(open_rocev2({.local = host(0)})));
    EXPECT_FALSE(leaves_checksums_out(
        open_rocev2({.local = host(0), .super_packets = SuperPackets::everywhere})));
    EXPECT_TRUE(leaves_checksums_out(
        open_rocev2({.local = host(0), .super_packets = SuperPackets::nowhere})));
}

// A raw socket would get super-packets whole, and would not be told that they are super-packets.
TEST(Rocev2SuperPacket, OnLoopbackIdentificationsAreNotReadUnlessItIsAskedFor) {
    const Rocev2Wire wire =
        open_rocev2({.local = host(0), .identification = IdentificationSource::shown_if_permitted});
    EXPECT_FALSE(wire.shows_identifications());
}

}  // namespace
}  // namespace wireproof::test
