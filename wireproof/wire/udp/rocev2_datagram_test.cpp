#include "wireproof/wire/udp/rocev2_datagram.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "wireproof/base/random.hpp"

namespace wireproof {
namespace {

using Frame = std::vector<std::byte>;

void put(Frame& frame, std::initializer_list<unsigned> bytes) {
    for (const unsigned byte : bytes) frame.push_back(static_cast<std::byte>(byte));
}

struct Made {
    bool ipv6 = false;
    int tags = 0;
    std::size_t padding = 0;  // after the datagram
};

/// A congestion notification of 28 bytes and its ICRC.
Frame made(const Made& how) {
    Frame frame(12, std::byte{0x52});
    for (int i = 0; i < how.tags; ++i) put(frame, {0x81, 0x00, 0x20, 0x07});
    if (how.ipv6) {
        put(frame, {0x86, 0xDD, 0x60, 0, 0, 0, 0, 40, 17, 64});
        for (unsigned i = 0; i < 32; ++i) put(frame, {i == 15 ? 1U : i == 31 ? 2U : 0U});
    } else {
        put(frame, {0x08, 0x00, 0x45, 0, 0, 60, 0x71, 0x8C, 0x40, 0, 64, 17, 0, 0});
        put(frame, {198, 18, 0, 2, 198, 18, 0, 3});
    }
    const std::size_t ip = 14 + 4 * static_cast<std::size_t>(how.tags);
    put(frame, {0xC0, 0x01, 0x12, 0xB7, 0, 40, 0, 0});
    put(frame, {0x81, 0, 0xFF, 0xFF, 0x40, 0, 0, 1, 0, 0, 0, 0});
    frame.resize(frame.size() + 16);
    const ConstBytes all(frame);
    const auto icrc = IcrcCover::of_headers(all.subspan(ip))->icrc(all.last(28));
    frame.resize(frame.size() + 4 + how.padding);
    store_le<std::uint32_t>(Bytes(frame).last(4 + how.padding).first<4>(), icrc);
    return frame;
}

NotRocev2 reason(const Frame& frame) {
    const auto found = Rocev2Datagram::find(frame);
    EXPECT_FALSE(found);
    return found ? NotRocev2{} : found.error();
}

Frame with(Frame frame, std::size_t at, unsigned value) {
    frame[at] = static_cast<std::byte>(value);
    return frame;
}

TEST(Rocev2Datagram, IsFoundInEveryKindOfFrame) {
    for (const bool ipv6 : {false, true}) {
        for (const int tags : {0, 1, 2}) {
            for (const std::size_t padding : {0U, 6U}) {
                const Frame frame = made({ipv6, tags, padding});
                const auto found = Rocev2Datagram::find(frame);
                ASSERT_TRUE(found) << name_of(found.error());
                EXPECT_EQ(found->from.to_string(), ipv6 ? "[::1]:49153" : "198.18.0.2:49153");
                EXPECT_EQ(found->to.to_string(), ipv6 ? "[::2]:4791" : "198.18.0.3:4791");
                EXPECT_EQ(found->packet.size(), 28U);
                EXPECT_EQ(found->packet[0], std::byte{0x81});
                EXPECT_TRUE(found->icrc_right());
            }
        }
    }
}

TEST(Rocev2Datagram, SeesADamagedPacket) {
    const Frame frame = with(made({}), 14 + 28 + 9, 1);
    EXPECT_FALSE(Rocev2Datagram::find(frame)->icrc_right());
}

TEST(Rocev2Datagram, WhatIsNoneHasAReason) {
    const Frame frame = made({});
    EXPECT_EQ(reason({}), NotRocev2::other);
    EXPECT_EQ(reason(with(frame, 13, 6)), NotRocev2::other);          // ARP
    EXPECT_EQ(reason(with(frame, 14, 0x65)), NotRocev2::other);       // no IPv4
    EXPECT_EQ(reason(with(frame, 14, 0x44)), NotRocev2::other);       // too short a header
    EXPECT_EQ(reason(with(frame, 14 + 9, 6)), NotRocev2::other);      // TCP
    EXPECT_EQ(reason(with(frame, 14 + 23, 0xB8)), NotRocev2::other);  // another port
    EXPECT_EQ(reason(with(frame, 14 + 7, 1)), NotRocev2::other);      // a later fragment
    EXPECT_EQ(reason(with(frame, 14 + 6, 0x20)), NotRocev2::fragment);
    EXPECT_EQ(reason(with(frame, 14 + 25, 41)), NotRocev2::length);
    EXPECT_EQ(reason(with(frame, 14 + 3, 19)), NotRocev2::length);
    Frame tiny = with(with(frame, 14 + 3, 20 + 8 + 15), 14 + 25, 8 + 15);
    EXPECT_EQ(reason(tiny), NotRocev2::length);  // less than a base header and an ICRC
    Frame options = frame;
    options.insert(options.begin() + 14 + 20, 4, std::byte{1});
    EXPECT_EQ(reason(with(options, 14, 0x46)), NotRocev2::ip_options);
    Frame cut = frame;
    cut.pop_back();
    EXPECT_EQ(reason(cut), NotRocev2::cut_short);
    cut.resize(14 + 20 + 6);
    EXPECT_EQ(reason(cut), NotRocev2::cut_short);
}

TEST(Rocev2Datagram, ACaptureMayLeaveTheEndOut) {
    for (const bool ipv6 : {false, true}) {
        const Frame frame = made({.ipv6 = ipv6});
        const ConstBytes ip = ConstBytes(frame).subspan(14);
        const std::size_t headers = (ipv6 ? 40U : 20U) + 8U;
        for (std::size_t kept = 0; kept <= ip.size(); ++kept) {
            const auto found = Rocev2Datagram::find_in_cut_ip(ip.first(kept), rocev2_port);
            if (kept < headers) {
                EXPECT_FALSE(found);
                continue;
            }
            ASSERT_TRUE(found) << kept;
            EXPECT_EQ(found->missing, ip.size() - kept);
            EXPECT_EQ(found->packet.size(), std::min<std::size_t>(kept - headers, 28));
            EXPECT_EQ(found->packet_size(), 28U);
            EXPECT_EQ(found->icrc_right(), kept == ip.size());
            EXPECT_EQ(found->to.port, rocev2_port);
        }
    }
}

TEST(Rocev2Datagram, RandomDamageNeverReadsOutside) {
    Random random(3);
    std::size_t found = 0;
    for (int i = 0; i < 100'000; ++i) {
        Frame frame = made({random.chance(0.5), static_cast<int>(random.below(3)), 0});
        for (std::uint64_t n = random.below(3); n > 0; --n) {
            frame[random.below(frame.size())] = static_cast<std::byte>(random.next());
        }
        frame.resize(random.chance(0.5) ? random.below(frame.size()) : frame.size());
        const auto datagram = Rocev2Datagram::find(frame);
        if (!datagram) continue;
        ++found;
        ASSERT_LE(datagram->packet.data() + datagram->packet.size() + 4,
                  frame.data() + frame.size());
    }
    EXPECT_GT(found, 20'000U);
}

}  // namespace
}  // namespace wireproof
