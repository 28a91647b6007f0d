#include "wireproof/wire/udp/rocev2_segments.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "wireproof/base/random.hpp"

namespace wireproof {
namespace {

using Frame = std::vector<std::byte>;

/// An IP datagram of packets of these sizes. Each packet has the ICRC that is right after the cut.
struct SuperPacket {
    SuperPacket(bool ipv6, std::uint16_t identification, const std::vector<std::size_t>& sizes) {
        const Address from = *Address::parse(ipv6 ? "[fd91::1]:50001" : "10.91.0.1:50001");
        const Address to = *Address::parse(ipv6 ? "[fd91::2]:4791" : "10.91.0.2:4791");
        const std::size_t ip = ipv6 ? 40 : 20;
        bytes.resize(ip + 8);
        for (const std::size_t size : sizes) {
            Frame packet(size);
            for (std::byte& byte : packet) byte = static_cast<std::byte>(random.next());
            const auto place = static_cast<std::uint16_t>(packets.size());
            const IcrcCover cover(
                {.from = from,
                 .to = to,
                 .packet = size,
                 .identification = static_cast<std::uint16_t>(identification + place)});
            Frame icrc(4);
            store_le<std::uint32_t>(Bytes(icrc).first<4>(), cover.icrc(packet));
            bytes.insert(bytes.end(), packet.begin(), packet.end());
            bytes.insert(bytes.end(), icrc.begin(), icrc.end());
            packets.push_back(packet);
        }
        const auto put = [this](std::size_t at, std::size_t value) {
            bytes[at] = static_cast<std::byte>(value >> 8);
            bytes[at + 1] = static_cast<std::byte>(value);
        };
        const auto put_host = [this](std::size_t at, const Address& address, std::size_t size) {
            for (std::size_t i = 0; i < size; ++i) bytes[at + i] = std::byte{address.host[i]};
        };
        bytes[0] = std::byte{static_cast<unsigned char>(ipv6 ? 0x60 : 0x45)};
        bytes[ipv6 ? 6 : 9] = std::byte{17};
        if (ipv6) {
            put(4, bytes.size() - ip);
        } else {
            put(2, bytes.size());
            put(4, identification);
            bytes[6] = std::byte{0x40};
        }
        put_host(ipv6 ? 8 : 12, from, ipv6 ? 16 : 4);
        put_host(ipv6 ? 24 : 16, to, ipv6 ? 16 : 4);
        put(ip, from.port);
        put(ip + 2, to.port);
        put(ip + 4, bytes.size() - ip);
    }

    Rocev2Datagram datagram() const { return *Rocev2Datagram::find_in_ip(bytes, 4791); }

    Random random{3};
    Frame bytes;
    std::vector<Frame> packets;
};

void expect_packets(const SuperPacket& super, std::size_t damaged) {
    auto segments = Rocev2Segments::of(super.datagram());
    ASSERT_TRUE(segments);
    ASSERT_EQ(segments->count(), super.packets.size());
    for (std::size_t i = 0; i < super.packets.size(); ++i) {
        const Rocev2Datagram one = segments->at(i);
        EXPECT_EQ(one.icrc_right(), i != damaged) << i;
        EXPECT_EQ(std::ranges::equal(one.packet, super.packets[i]), i != damaged) << i;
        EXPECT_EQ(one.from, super.datagram().from);
        EXPECT_EQ(one.to, super.datagram().to);
    }
}

constexpr std::size_t none = 99;

TEST(Rocev2Segments, AreFoundByTheirIcrcs) {
    for (const bool ipv6 : {false, true}) {
        expect_packets({ipv6, 0, {1056, 1056, 1056, 1056}}, none);
        expect_packets({ipv6, 65'534, {28, 28, 28, 28, 28, 12}}, none);
        expect_packets({ipv6, 7, {4140, 4140, 4140, 60}}, none);
        expect_packets({ipv6, 7, {40, 12}}, none);
    }
}

TEST(Rocev2Segments, AreFoundWhereOneIsDamaged) {
    for (std::size_t damaged = 0; damaged < 3; ++damaged) {
        SuperPacket super(false, 0, {200, 200, 200});
        super.bytes[28 + 204 * damaged + 50] ^= std::byte{1};
        expect_packets(super, damaged);
    }
}

TEST(Rocev2Segments, APacketByItselfHasNone) {
    SuperPacket one(false, 5, {1056});
    EXPECT_FALSE(Rocev2Segments::of(one.datagram()));
    one.bytes[100] ^= std::byte{1};
    EXPECT_FALSE(Rocev2Segments::of(one.datagram()));
    SuperPacket cut(false, 5, {200, 200});
    cut.bytes.pop_back();
    EXPECT_FALSE(Rocev2Segments::of(*Rocev2Datagram::find_in_cut_ip(cut.bytes, 4791)));
}

// A capture may contain any bytes.
TEST(Rocev2Segments, AnEndOfAFewBytesIsASegmentWithoutIcrc) {
    SuperPacket super(false, 0, {200, 200});
    super.bytes.insert(super.bytes.end(), 2, std::byte{0});
    const std::size_t ip = super.bytes.size();
    super.bytes[2] = static_cast<std::byte>(ip >> 8);
    super.bytes[3] = static_cast<std::byte>(ip);
    super.bytes[24] = static_cast<std::byte>((ip - 20) >> 8);
    super.bytes[25] = static_cast<std::byte>(ip - 20);
    auto segments = Rocev2Segments::of(super.datagram());
    ASSERT_TRUE(segments);
    ASSERT_EQ(segments->count(), 3U);
    EXPECT_TRUE(segments->at(2).packet.empty());
    EXPECT_FALSE(segments->at(2).icrc_right());
}

}  // namespace
}  // namespace wireproof
