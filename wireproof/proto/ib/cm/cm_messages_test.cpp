#include "wireproof/proto/ib/cm/cm_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "wireproof/base/random.hpp"

namespace wireproof::proto::ib {
namespace {

using Bytes256 = std::array<std::byte, cm_datagram_size>;

/// A datagram with a valid header and random bytes after it.
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
    for (std::uint16_t attribute = 0x10; attribute <= 0x18; ++attribute) {
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

// Each bit of a message belongs to a field or is reserved. The test flips each bit alone. The bit
// of a field changes the decoded message and is encoded again. A reserved bit does neither.
TEST(CmDatagram, EachBitIsAFieldsOrReserved) {
    // The number of reserved bits in the 232 bytes, by message.
    constexpr std::array<std::size_t, 9> reserved = {
        32 + 32 + 2 * (6 + 3 + 3), 6 + 3, 6 + 1, 8 + 8 + 8 + 4, 0, 8, 0, 16, 16 + 8};
    Random dice(2);
    for (std::uint16_t attribute = 0x10; attribute <= 0x18; ++attribute) {
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
    EXPECT_EQ(reason(17, 0x19), NotCm::attribute);
    EXPECT_EQ(reason(16, 0x01), NotCm::attribute);
    for (const std::size_t length : {0U, 24U, 255U}) {
        EXPECT_EQ(CmDatagram::decode(ConstBytes(good).first(length)).error(), NotCm::length);
    }
}

// The fields are at the places that tables 119 and 120 of the specification and Linux
// (ibta_vol1_c12.h) give.
TEST(CmDatagram, FieldsOfServiceRequestsAreWhereTheSpecificationHasThem) {
    const auto at = [](const Bytes256& bytes, std::size_t place, std::size_t count) {
        std::uint64_t number = 0;
        for (std::size_t i = 0; i < count; ++i) {
            number = number << 8 | std::to_integer<std::uint64_t>(bytes[24 + place + i]);
        }
        return number;
    };
    CmServiceRequest request{.request_id = 0x01020304, .partition = 0x8765, .service = 0x01111C06};
    request.private_bytes.front() = std::byte{0xA1};
    request.private_bytes.back() = std::byte{0xA2};
    const Bytes256 asked = written({.transaction = 7, .message = request});
    EXPECT_EQ(asked[17], std::byte{0x17});
    EXPECT_EQ(at(asked, 0, 4), 0x01020304U);
    EXPECT_EQ(at(asked, 4, 2), 0x8765U);
    EXPECT_EQ(at(asked, 8, 8), 0x01111C06U);
    EXPECT_EQ(at(asked, 16, 1), 0xA1U);
    EXPECT_EQ(asked.back(), std::byte{0xA2});

    CmServiceReply reply{.request_id = 0xF1F2F3F4,
                         .status = CmServiceStatus::no_queue_pair,
                         .detail_length = 72,
                         .queue_pair = 0xABCDEF,
                         .service = 0x0102030405060708,
                         .qkey = 0x01234567};
    reply.detail.front() = std::byte{0xB1};
    reply.private_bytes.front() = std::byte{0xB2};
    reply.private_bytes.back() = std::byte{0xB3};
    const Bytes256 answered = written({.transaction = 7, .message = reply});
    EXPECT_EQ(answered[17], std::byte{0x18});
    EXPECT_EQ(at(answered, 0, 4), 0xF1F2F3F4U);
    EXPECT_EQ(at(answered, 4, 2), 0x0348U);
    EXPECT_EQ(at(answered, 8, 3), 0xABCDEFU);
    EXPECT_EQ(at(answered, 12, 8), 0x0102030405060708U);
    EXPECT_EQ(at(answered, 20, 4), 0x01234567U);
    EXPECT_EQ(at(answered, 24, 1), 0xB1U);
    EXPECT_EQ(at(answered, 96, 1), 0xB2U);
    EXPECT_EQ(answered.back(), std::byte{0xB3});
}

TEST(CmServiceStatus, EachHasANameAndOthersHaveNone) {
    std::set<std::string_view> names;
    for (unsigned code = 0; code <= 5; ++code) names.insert(name_of(CmServiceStatus(code)));
    EXPECT_EQ(names.size(), 6U);
    EXPECT_FALSE(names.contains(""));
    EXPECT_EQ(name_of(CmServiceStatus(6)), "");
}

TEST(CmDatagram, PathMtusHaveCodes) {
    for (const std::size_t bytes : {256U, 512U, 1024U, 2048U, 4096U}) {
        EXPECT_EQ(path_mtu_of(path_mtu_code(bytes)), bytes);
    }
    EXPECT_EQ(path_mtu_code(256), 1);
    EXPECT_FALSE(path_mtu_of(0));
    EXPECT_FALSE(path_mtu_of(6));
}

// A datagram service has its own port space. Its request has the same header before the private
// data as a request for a connection.
TEST(CmIpAddresses, StandInFrontOfAServiceRequest) {
    EXPECT_EQ(service_of_port(7174, PortSpace::udp), 0x01111C06U);
    EXPECT_NE(service_of_port(7174, PortSpace::udp), service_of_port(7174));
    CmServiceRequest request{.service = service_of_port(7174, PortSpace::udp)};
    EXPECT_TRUE(is_ip_service(request.service));
    const CmIpAddresses addresses{
        .ipv6 = false, .source_port = 0x1234, .source = {1}, .destination = {2}};
    addresses.encode(std::span(request.private_bytes).first<CmIpAddresses::size>());
    const auto read = CmDatagram::decode(written({.transaction = 1, .message = request}));
    ASSERT_TRUE(read);
    const auto& told = std::get<CmServiceRequest>(read->message).private_bytes;
    EXPECT_EQ(
        CmIpAddresses::decode(std::span<const std::byte, 216>(told).first<CmIpAddresses::size>()),
        addresses);
}

TEST(CmIpAddresses, OtherVersionsAreRefused) {
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
}  // namespace wireproof::proto::ib
