#include "wireproof/app/capture/link_layer.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "wireproof/base/random.hpp"

namespace wireproof::capture {
namespace {

using Frame = std::vector<std::byte>;

Frame operator+(Frame left, const Frame& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

Frame bytes(std::initializer_list<unsigned> values) {
    Frame frame;
    for (const unsigned value : values) frame.push_back(static_cast<std::byte>(value));
    return frame;
}

Frame pair(unsigned value) {
    return bytes({value >> 8, value & 255});
}

Frame ipv4(unsigned protocol, const Frame& content, unsigned fragment = 0x4000) {
    return bytes({0x45, 0}) + pair(static_cast<unsigned>(20 + content.size())) + bytes({0, 1}) +
           pair(fragment) + bytes({64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}) + content;
}

Frame ipv6(unsigned next, const Frame& content) {
    return bytes({0x60, 0, 0, 0}) + pair(static_cast<unsigned>(content.size())) +
           bytes({next, 64}) + Frame(32, std::byte{7}) + content;
}

Frame udp(unsigned port, const Frame& content) {
    return pair(0xC000) + pair(port) + pair(static_cast<unsigned>(8 + content.size())) + pair(0) +
           content;
}

Frame ethernet(unsigned type, const Frame& content) {
    return Frame(12, std::byte{2}) + pair(type) + content;
}

/// A datagram that must be found: to the port of RoCEv2, with 20 empty bytes.
Frame roce() {
    return ipv4(17, udp(4791, Frame(20)));
}

FrameContent opened(std::uint16_t link_type, const Frame& frame, std::size_t length = 0) {
    return open_frame(
        {.link_type = link_type, .bytes = frame, .length = length == 0 ? frame.size() : length});
}

bool finds(const FrameContent& content, const Frame& what) {
    return content.ip.size() >= what.size() &&
           std::equal(what.begin(), what.end(), content.ip.begin());
}

TEST(LinkLayer, EveryLinkTypeThatCarriesIpIsRead) {
    const Frame v6 = ipv6(17, udp(4791, Frame(20)));
    const std::vector<std::pair<std::uint16_t, Frame>> frames = {
        {0, bytes({2, 0, 0, 0}) + roce()},
        {0, bytes({0, 0, 0, 2}) + roce()},
        {1, ethernet(0x0800, roce())},
        {9, bytes({0xFF, 3, 0, 0x21}) + roce()},
        {9, bytes({0, 0x21}) + roce()},
        {12, roce()},
        {14, roce()},
        {50, bytes({0xFF, 3, 0, 0x21}) + roce()},
        {101, roce()},
        {104, bytes({0x0F, 0, 8, 0}) + roce()},
        {108, bytes({0, 0, 0, 2}) + roce()},
        {109, Frame(12) + roce()},
        {113, Frame(14) + pair(0x0800) + roce()},
        {228, roce()},
        {276, pair(0x0800) + Frame(18) + roce()},
    };
    for (const auto& [link_type, frame] : frames) {
        const FrameContent content = opened(link_type, frame);
        EXPECT_TRUE(finds(content, roce())) << link_type;
        EXPECT_EQ(content.unread, "") << link_type;
        EXPECT_EQ(content.network, "") << link_type;
    }
    for (const unsigned family : {10U, 24U, 28U, 30U}) {
        EXPECT_TRUE(finds(opened(0, bytes({family, 0, 0, 0}) + v6), v6)) << family;
    }
    EXPECT_TRUE(finds(opened(9, bytes({0, 0x57}) + v6), v6));
    EXPECT_TRUE(finds(opened(229, v6), v6));
    EXPECT_TRUE(finds(opened(1, ethernet(0x86DD, v6)), v6));
}

TEST(LinkLayer, EveryOtherLinkTypeIsNamed) {
    EXPECT_EQ(opened(197, roce()).unread, "link type 197 (ERF)");
    EXPECT_EQ(opened(247, roce()).unread, "link type 247 (INFINIBAND)");
    EXPECT_EQ(opened(60'000, roce()).unread, "link type 60000");
    EXPECT_TRUE(opened(197, roce()).ip.empty());
}

TEST(LinkLayer, TagsAndTunnelsAreLookedInto) {
    const Frame inner = ethernet(0x0800, roce());
    const Frame vlan = pair(7) + pair(0x0800) + roce();
    const Frame last = bytes({0, 0, 0x11, 64});
    struct Tunnel {
        const char* what;
        Frame ip;
        std::string network;
    };
    const std::vector<Tunnel> tunnels = {
        {"IP in IP", ipv4(4, roce()), ""},
        {"IPv4 in IPv6", ipv6(4, roce()), ""},
        {"GRE", ipv4(47, bytes({0, 0, 8, 0}) + roce()), ""},
        {"GRE with all",
         ipv4(47, pair(0xB000) + pair(0x0800) + Frame(4) + bytes({0, 0, 1, 2}) + Frame(4) + roce()),
         "gre 258"},
        {"GRE of Ethernet", ipv4(47, bytes({0, 0, 0x65, 0x58}) + inner), ""},
        {"ERSPAN I", ipv4(47, pair(0) + pair(0x88BE) + inner), ""},
        {"ERSPAN II", ipv4(47, pair(0x1000) + pair(0x88BE) + Frame(4) + Frame(8) + inner), ""},
        {"ERSPAN III", ipv4(47, pair(0x1000) + pair(0x22EB) + Frame(4) + Frame(12) + inner), ""},
        {"EtherIP", ipv4(97, bytes({0x30, 0}) + inner), ""},
        {"MPLS in IP", ipv4(137, last + roce()), ""},
        {"VXLAN", ipv4(17, udp(4789, bytes({8, 0, 0, 0, 0, 1, 2, 0}) + inner)), "vxlan 258"},
        {"VXLAN in IPv6", ipv6(17, udp(8472, bytes({8, 0, 0, 0, 0, 0, 9, 0}) + inner)), "vxlan 9"},
        {"VXLAN-GPE", ipv4(17, udp(4790, bytes({12, 0, 0, 1, 0, 0, 9, 0}) + roce())), "vxlan 9"},
        {"GENEVE", ipv4(17, udp(6081, bytes({1, 0, 0x65, 0x58, 0, 0, 9, 0}) + Frame(4) + inner)),
         "geneve 9"},
        {"MPLS in UDP", ipv4(17, udp(6635, last + roce())), ""},
        {"two", ipv4(4, ipv4(17, udp(4789, bytes({8, 0, 0, 0, 0, 0, 9, 0}) + inner))), "vxlan 9"},
    };
    for (const auto& [what, ip, network] : tunnels) {
        const FrameContent content = opened(101, ip);
        EXPECT_TRUE(finds(content, roce())) << what;
        EXPECT_EQ(content.network, network) << what;
        EXPECT_EQ(content.unread, "") << what;
    }
    const std::vector<std::pair<unsigned, Frame>> frames = {
        {0x8100, vlan},
        {0x88A8, pair(3) + pair(0x8100) + vlan},
        {0x9100, pair(3) + pair(0x9200) + pair(3) + pair(0x8100) + vlan},
        {0x8847, bytes({0, 0, 0x10, 64}) + last + roce()},
        {0x8847, last + Frame(4) + inner},
        {0x8847, last + inner},
        {0x8864, bytes({0x11, 0, 0, 1, 0, 50, 0, 0x21}) + roce()},
    };
    for (const auto& [type, content] : frames) {
        EXPECT_TRUE(finds(opened(1, ethernet(type, content)), roce())) << std::hex << type;
    }
}

TEST(LinkLayer, WhatMayHideAPacketIsNamed) {
    EXPECT_EQ(opened(1, ethernet(0x8915, Frame(60))).unread, "RoCEv1 (Ethernet type 8915)");
    EXPECT_EQ(opened(1, ethernet(0x88E5, Frame(60))).unread, "MACsec");
    EXPECT_EQ(opened(101, ipv4(50, Frame(60))).unread, "ESP");
    EXPECT_EQ(opened(101, ipv4(115, Frame(60))).unread, "L2TP");
    EXPECT_EQ(opened(101, ipv4(47, pair(0x3001) + pair(0x880B) + Frame(60))).unread,
              "GRE of another version");
    EXPECT_EQ(opened(101, ipv4(47, pair(0) + pair(0x1234) + Frame(60))).unread, "GRE of type 1234");
    EXPECT_EQ(opened(101, ipv4(17, udp(4791, Frame(40)), 0x0010)).unread,
              "IP fragments behind their first");
    EXPECT_EQ(opened(101, ipv4(17, udp(4789, Frame(40)), 0x2000)).unread, "tunnels in fragments");
    EXPECT_EQ(opened(101, ipv6(0, bytes({17, 0}) + Frame(6) + udp(4791, Frame(20)))).unread,
              "IPv6 extension headers before RoCEv2");
    EXPECT_EQ(opened(101, ipv4(17, {}), 90).unread,
              "the snap length, which ends before the UDP header");
    Frame nested = roce();
    for (int i = 0; i < 40; ++i) nested = ipv4(4, nested);
    EXPECT_EQ(opened(101, nested).unread, "too many headers within each other");
}

TEST(LinkLayer, OtherTrafficHidesNothing) {
    for (const Frame& frame :
         {Frame{}, Frame(13), ethernet(0x0806, Frame(46)), ethernet(0x0040, Frame(64)),
          ethernet(0x0800, ipv4(6, Frame(40))), ethernet(0x0800, ipv4(17, udp(53, Frame(40))))}) {
        const FrameContent content = opened(1, frame);
        EXPECT_TRUE(content.ip.empty());
        EXPECT_EQ(content.unread, "");
    }
}

TEST(LinkLayer, AnyBytesAreReadWithinTheirBounds) {
    Random random(11);
    const Frame inner = ethernet(0x0800, roce());
    const Frame deep = ethernet(
        0x8100, pair(1) + pair(0x0800) +
                    ipv4(47, pair(0x2000) + pair(0x0800) + Frame(4) +
                                 ipv4(17, udp(4789, bytes({8, 0, 0, 0, 0, 1, 2, 0}) + inner))));
    std::size_t found = 0;
    for (int i = 0; i < 50'000; ++i) {
        Frame frame = deep;
        for (std::uint64_t n = random.below(3); n > 0; --n) {
            frame[random.below(frame.size())] = static_cast<std::byte>(random.next());
        }
        frame.resize(random.chance(0.5) ? random.below(frame.size()) : frame.size());
        frame.shrink_to_fit();
        const auto link_type =
            static_cast<std::uint16_t>(random.chance(0.7) ? 1 : random.below(300));
        const FrameContent content = opened(link_type, frame);
        if (content.ip.empty()) continue;
        ++found;
        ASSERT_GE(content.ip.data(), frame.data());
        ASSERT_LE(content.ip.data() + content.ip.size(), frame.data() + frame.size());
    }
    EXPECT_GT(found, 10'000U);
}

}  // namespace
}  // namespace wireproof::capture
