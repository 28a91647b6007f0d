#include "wireproof/wire/udp/icrc.hpp"

#include <gtest/gtest.h>

#include <charconv>
#include <string_view>
#include <vector>

#include "wireproof/base/random.hpp"

namespace wireproof {
namespace {

std::vector<std::byte> from_hex(std::string_view text) {
    std::vector<std::byte> bytes(text.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::uint8_t value = 0;
        std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, value, 16);
        bytes[i] = std::byte{value};
    }
    return bytes;
}

// scapy's test of its own RoCE layer: UC SEND Only.
constexpr std::string_view scapy =
    "45010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff000000d300cf1710463081"
    "8be28935d90e9a95505401be885e50000078f353f3";
// A congestion notification that scapy's authors captured from an adapter.
constexpr std::string_view notification =
    "45c2003c718c4000401191610a0011010a001201000012b7002800008100ffff4000011800000000000000"
    "0000000000000000000000000082fd002a";
// Soft-RoCE, rc_tos: RC SEND Only with TOS 0x6a.
constexpr std::string_view soft_roce =
    "456a00542d144000401180f1c6120002c6120003d29912b7004000000400ffff0000004580fffffa01080f"
    "161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b124e9fc35b";
// Soft-RoCE, rc_ipv6: RC Acknowledge.
constexpr std::string_view over_ipv6 =
    "60000000001c1140fe80000000000000505400fffe120002fe80000000000000505400fffe120001d32412"
    "b7001c00001100ffff0000004600fffffc1f000001d6f335c9";

/// A captured datagram, from its IP header on.
struct Captured {
    explicit Captured(std::string_view hex) : bytes(from_hex(hex)) {}

    std::size_t head() const { return bytes[0] == std::byte{0x45} ? 28 : 48; }
    ConstBytes packet() const {
        return ConstBytes(bytes).subspan(head(), bytes.size() - head() - IcrcCover::icrc_size);
    }
    std::uint32_t stored() const { return load_le<std::uint32_t>(ConstBytes(bytes).last<4>()); }
    std::uint32_t computed() const { return IcrcCover::of_headers(bytes)->icrc(packet()); }

    std::vector<std::byte> bytes;
};

// UC-2
TEST(Icrc, IsThatOfOtherImplementations) {
    for (const std::string_view hex : {scapy, notification, soft_roce, over_ipv6}) {
        const Captured datagram(hex);
        EXPECT_EQ(datagram.computed(), datagram.stored()) << hex;
    }
    EXPECT_EQ(Captured(scapy).computed(), 0xF353F378U);
    EXPECT_EQ(Captured(notification).computed(), 0x2A00FD82U);
}

/// The bits of an IP datagram that do not change the ICRC, counted from its first bit.
std::vector<std::size_t> free_bits(const Captured& original) {
    std::vector<std::size_t> bits;
    Captured changed = original;
    const std::size_t all = 8 * (original.bytes.size() - IcrcCover::icrc_size);
    for (std::size_t bit = 0; bit < all; ++bit) {
        const std::byte mask{static_cast<std::uint8_t>(0x80U >> bit % 8)};
        changed.bytes[bit / 8] ^= mask;
        // If the change makes the header invalid, the bit is not free.
        const auto cover = IcrcCover::of_headers(changed.bytes);
        if (cover && cover->icrc(changed.packet()) == original.stored()) bits.push_back(bit);
        changed.bytes[bit / 8] ^= mask;
    }
    return bits;
}

void add(std::vector<std::size_t>& bits, std::size_t first_byte, std::size_t last_byte) {
    for (std::size_t bit = 8 * first_byte; bit < 8 * (last_byte + 1); ++bit) bits.push_back(bit);
}

// UC-3: TOS, TTL, header checksum, UDP checksum, congestion bits; every other bit is covered.
TEST(Icrc, LeavesOutOverIpv4WhatRoutersChangeAndNothingElse) {
    std::vector<std::size_t> expected;
    add(expected, 1, 1);
    add(expected, 8, 8);
    add(expected, 10, 11);
    add(expected, 26, 27);
    add(expected, 28 + 4, 28 + 4);
    EXPECT_EQ(free_bits(Captured(scapy)), expected);
}

// UC-3: traffic class, flow label, hop limit, UDP checksum, congestion bits.
TEST(Icrc, LeavesOutOverIpv6WhatRoutersChangeAndNothingElse) {
    std::vector<std::size_t> expected = {4, 5, 6, 7};
    add(expected, 1, 3);
    add(expected, 7, 7);
    add(expected, 46, 47);
    add(expected, 48 + 4, 48 + 4);
    EXPECT_EQ(free_bits(Captured(over_ipv6)), expected);
}

TEST(Icrc, HeadersMadeOfAddressesAreThoseThatWereCaptured) {
    const Captured ipv4(soft_roce);
    const IcrcCover made({.from = Address::parse("198.18.0.2:53913").value(),
                          .to = Address::parse("198.18.0.3:4791").value(),
                          .packet = ipv4.packet().size(),
                          .identification = 0x2D14});
    EXPECT_EQ(made.icrc(ipv4.packet()), ipv4.stored());
    const Captured ipv6(over_ipv6);
    const IcrcCover made6({.from = Address::parse("[fe80::5054:ff:fe12:2%1]:54052").value(),
                           .to = Address::parse("[fe80::5054:ff:fe12:1%1]:4791").value(),
                           .packet = ipv6.packet().size()});
    EXPECT_EQ(made6.icrc(ipv6.packet()), ipv6.stored());
}

TEST(Icrc, OfPiecesIsThatOfTheWhole) {
    const Captured whole(soft_roce);
    const auto cover = IcrcCover::of_headers(whole.bytes);
    const ConstBytes packet = whole.packet();
    for (std::size_t cut = IcrcCover::packet_least; cut <= packet.size(); ++cut) {
        const std::array pieces{packet.first(cut), packet.subspan(cut)};
        EXPECT_EQ(cover->icrc(pieces), whole.stored()) << cut;
    }
}

TEST(Icrc, OtherKindsOfHeadersHaveNoIcrc) {
    const auto covers = [](std::vector<std::byte> bytes) {
        return IcrcCover::of_headers(bytes).has_value();
    };
    const auto with = [](std::string_view hex, std::size_t at, std::uint8_t value) {
        auto bytes = from_hex(hex);
        bytes[at] = std::byte{value};
        return bytes;
    };
    EXPECT_FALSE(covers({}));
    EXPECT_TRUE(covers(from_hex(scapy)));
    EXPECT_FALSE(covers(with(scapy, 0, 0x46)));   // options
    EXPECT_FALSE(covers(with(scapy, 9, 6)));      // TCP
    EXPECT_FALSE(covers(with(over_ipv6, 6, 0)));  // extension headers
    auto bytes = from_hex(scapy);
    bytes.resize(27);
    EXPECT_FALSE(covers(bytes));
}

// Every identification, at lengths from the shortest packet to the longest.
TEST(Icrc, TheIdentificationFollowsFromTheDifference) {
    Random random(1);
    for (const std::size_t size : {12U, 16U, 52U, 290U, 1068U, 4128U}) {
        std::vector<std::byte> packet(size);
        for (auto& byte : packet) byte = static_cast<std::byte>(random.next());
        IcrcCover::Datagram datagram{.from = Address::parse("127.0.0.1:49152").value(),
                                     .to = Address::parse("127.0.0.2:4791").value(),
                                     .packet = size};
        const std::uint32_t with_zero = IcrcCover(datagram).icrc(packet);
        for (std::uint32_t id = 0; id <= 0xFFFF; id += size > 1000 ? 251 : 17) {
            datagram.identification = static_cast<std::uint16_t>(id);
            const std::uint32_t sent = IcrcCover(datagram).icrc(packet);
            ASSERT_EQ(identification_behind(with_zero ^ sent, size), id) << size;
            ASSERT_EQ(difference_by(datagram.identification, size), with_zero ^ sent) << size;
        }
    }
}

// For bits after the identification, no identification explains a single wrong bit, and few double
// errors have an explanation.
TEST(Icrc, NoIdentificationExplainsASingleWrongBit) {
    const Captured original(soft_roce);
    const std::size_t size = original.packet().size();
    Captured changed = original;
    std::size_t explained = 0;
    std::size_t tried = 0;
    for (std::size_t bit = 8 * 12; bit < 8 * original.bytes.size(); ++bit) {
        const auto flip = [&](std::size_t which) {
            changed.bytes[which / 8] ^= std::byte{static_cast<std::uint8_t>(1U << which % 8)};
        };
        flip(bit);
        const std::uint32_t difference = changed.computed() ^ changed.stored();
        EXPECT_TRUE(difference == 0 || !identification_behind(difference, size)) << bit;
        for (std::size_t second = bit + 1; second < 8 * original.bytes.size(); ++second) {
            flip(second);
            const std::uint32_t both = changed.computed() ^ changed.stored();
            ++tried;
            if (both != 0 && identification_behind(both, size)) ++explained;
            flip(second);
        }
        flip(bit);
    }
    EXPECT_GT(tried, 100'000U);
    EXPECT_LT(explained, 30U);
}

}  // namespace
}  // namespace wireproof
