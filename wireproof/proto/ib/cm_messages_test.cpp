#include "wireproof/proto/ib/cm_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "wireproof/base/random.hpp"

namespace wireproof::ib {
namespace {

using Bytes256 = std::array<std::byte, cm_datagram_size>;

/// The header of a datagram with bytes of chance behind.
Bytes256 random_datagram(Random& dice, std::uint16_t attribute) {
    Bytes256 bytes{};
    for (std::byte& byte : bytes) byte = std::byte(dice.next());
    constexpr std::array<unsigned char, 4> head = {1, 7, 2, 3};
    std::ranges::copy(std::as_bytes(std::span(head)), bytes.begin());
    bytes[16] = std::byte(attribute >> 8);
    bytes[17] = std::byte(attribute & 0xFF);
    return bytes;
}

Bytes256 written(const CmDatagram& datagram) {
    Bytes256 bytes{};
    bytes.fill(std::byte{0xEE});
    datagram.encode(bytes);
    return bytes;
}

TEST(CmDatagram, GivesRandomFieldsBack) {
    Random dice(1);
    for (std::uint16_t attribute = 0x10; attribute <= 0x16; ++attribute) {
        for (int i = 0; i < 300; ++i) {
            const auto read = CmDatagram::decode(random_datagram(dice, attribute));
            ASSERT_TRUE(read) << attribute;
            EXPECT_EQ(read->message.index(), attribute - 0x10U);
            const auto again = CmDatagram::decode(written(*read));
            ASSERT_TRUE(again);
            EXPECT_EQ(*again, *read) << name_of(read->message);
        }
    }
}

// Each bit of a message is of one field, or reserved: turned alone it shows in what is read, and
// is written back, or it does not and is not.
TEST(CmDatagram, EachBitIsAFieldsOrReserved) {
    // Bits of the 232 bytes that are nobody's, by message.
    constexpr std::array<std::size_t, 7> reserved = {
        32 + 32 + 2 * (6 + 3 + 3), 6 + 3, 6 + 1, 8 + 8 + 8 + 4, 0, 8, 0};
    Random dice(2);
    for (std::uint16_t attribute = 0x10; attribute <= 0x16; ++attribute) {
        const auto start = random_datagram(dice, attribute);
        const auto read = CmDatagram::decode(start);
        ASSERT_TRUE(read);
        std::size_t silent = 0;
        for (std::size_t bit = 8 * 24; bit < 8 * cm_datagram_size; ++bit) {
            Bytes256 turned = start;
            turned[bit / 8] ^= std::byte(0x80U >> bit % 8);
            const auto other = CmDatagram::decode(turned);
            ASSERT_TRUE(other);
            const bool shows = *other != *read;
            EXPECT_EQ(written(*other) != written(*read), shows) << attribute << " bit " << bit;
            silent += shows ? 0U : 1U;
        }
        EXPECT_EQ(silent, reserved[attribute - 0x10U]) << name_of(read->message);
    }
}

TEST(CmDatagram, WhatIsNoneHasAReason) {
    Random dice(3);
    const Bytes256 good = random_datagram(dice, 0x10);
    const auto reason = [&](std::size_t at, unsigned byte) {
        Bytes256 bad = good;
        bad[at] = std::byte(byte);
        const auto read = CmDatagram::decode(bad);
        EXPECT_FALSE(read) << at;
        return read ? NotCm::length : read.error();
    };
    EXPECT_EQ(reason(0, 2), NotCm::version);
    EXPECT_EQ(reason(1, 3), NotCm::other);
    EXPECT_EQ(reason(2, 1), NotCm::version);
    EXPECT_EQ(reason(3, 0x81), NotCm::other);
    EXPECT_EQ(reason(17, 0x0F), NotCm::attribute);
    EXPECT_EQ(reason(17, 0x17), NotCm::attribute);
    for (const std::size_t length : {0U, 24U, 255U}) {
        EXPECT_EQ(CmDatagram::decode(ConstBytes(good).first(length)).error(), NotCm::length);
    }
}

TEST(CmDatagram, PathMtusHaveCodes) {
    for (const std::size_t bytes : {256U, 512U, 1024U, 2048U, 4096U}) {
        EXPECT_EQ(path_mtu_of(path_mtu_code(bytes)), bytes);
    }
    EXPECT_EQ(path_mtu_code(256), 1);
    EXPECT_FALSE(path_mtu_of(0));
    EXPECT_FALSE(path_mtu_of(6));
}

TEST(CmIpAddresses, OtherVersionsAreNone) {
    std::array<std::byte, CmIpAddresses::size> bytes{};
    const CmIpAddresses six{.ipv6 = true, .source_port = 9, .source = {1}, .destination = {2}};
    six.encode(bytes);
    EXPECT_EQ(CmIpAddresses::decode(bytes), six);
    for (const std::size_t at : {0U, 1U}) {
        auto bad = bytes;
        bad[at] = std::byte{0x50};
        EXPECT_FALSE(CmIpAddresses::decode(bad)) << at;
    }
}

}  // namespace
}  // namespace wireproof::ib
