// Round trips of random fields, and bytes that are not a packet.
#include "wireproof/proto/ib/packet/packet.hpp"

#include <gtest/gtest.h>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/packet/packet_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

std::uint32_t draw(Random& random, unsigned bits) {
    return static_cast<std::uint32_t>(random.next() >> (64 - bits));
}

Bth random_bth(Random& random) {
    Bth bth;
    bth.opcode = static_cast<std::uint8_t>(draw(random, 8));
    bth.solicited = random.chance(0.5);
    bth.migrated = random.chance(0.5);
    bth.pad = static_cast<std::uint8_t>(draw(random, 2));
    bth.version = static_cast<std::uint8_t>(draw(random, 4));
    bth.partition = static_cast<std::uint16_t>(draw(random, 16));
    bth.fecn = random.chance(0.5);
    bth.becn = random.chance(0.5);
    bth.dest_qp = draw(random, 24);
    bth.ack_request = random.chance(0.5);
    bth.psn = Psn(draw(random, 24));
    return bth;
}

// UC-1
TEST(Bth, GivesRandomFieldsBack) {
    Random random(1);
    for (int i = 0; i < 20'000; ++i) {
        const Bth bth = random_bth(random);
        std::array<std::byte, Bth::size> bytes;
        bytes.fill(std::byte{0xFF});
        bth.encode(bytes);
        EXPECT_EQ(Bth::decode(bytes), bth);
    }
}

// UC-1: every bit except the reserved ones, which are sent as zero.
TEST(Bth, GivesRandomBytesBack) {
    Random random(2);
    for (int i = 0; i < 20'000; ++i) {
        std::array<std::byte, Bth::size> bytes;
        for (auto& byte : bytes) byte = static_cast<std::byte>(draw(random, 8));
        std::array<std::byte, Bth::size> again;
        Bth::decode(bytes).encode(again);
        bytes[4] &= std::byte{0xC0};
        bytes[8] &= std::byte{0x80};
        EXPECT_EQ(again, bytes);
    }
}

/// Random fields in the headers of the opcode.
Headers random_headers(Random& random, const Opcode& opcode) {
    Headers headers;
    headers.bth = random_bth(random);
    headers.bth.opcode = opcode.byte;
    headers.bth.version = 0;
    if (opcode.has(Extended::deth)) headers.deth = {draw(random, 32), draw(random, 24)};
    if (opcode.has(Extended::reth)) {
        headers.reth = {random.next(), draw(random, 32), draw(random, 32)};
    }
    if (opcode.has(Extended::atomic)) {
        headers.atomic = {random.next(), draw(random, 32), random.next(), random.next()};
    }
    if (opcode.has(Extended::aeth)) {
        headers.aeth = {Syndrome{static_cast<std::uint8_t>(draw(random, 8))},
                        Msn(draw(random, 24))};
    }
    if (opcode.has(Extended::atomic_ack)) headers.atomic_ack = {random.next()};
    if (opcode.has(Extended::immediate)) headers.immediate = {draw(random, 32)};
    if (opcode.has(Extended::invalidate)) headers.invalidate = {draw(random, 32)};
    return headers;
}

PacketBytes random_bytes(Random& random, std::size_t size) {
    PacketBytes bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::byte>(draw(random, 8));
    return bytes;
}

TEST(IbPacket, EveryOpcodeGivesItsHeadersAndPayloadBack) {
    Random random(3);
    for (const Opcode& opcode : opcodes::all) {
        for (std::size_t size = 0; size < 70; ++size) {
            Headers headers = random_headers(random, opcode);
            const PacketBytes payload = random_bytes(random, size);
            const PacketBytes bytes = encoded(headers, payload);
            EXPECT_EQ(bytes.size() % 4, 0U);
            EXPECT_EQ(bytes.size(), packet_size(opcode, size));
            const auto packet = Packet::decode({.bytes = bytes});
            ASSERT_TRUE(packet) << opcode.name;
            headers.bth.pad = static_cast<std::uint8_t>((4 - size % 4) % 4);
            EXPECT_EQ(packet->headers, headers) << opcode.name;
            EXPECT_EQ(packet->opcode, &opcode);
            EXPECT_EQ(to_hex(packet->payload), to_hex(payload)) << opcode.name;
            EXPECT_TRUE(packet->padded_right());
            for (std::size_t i = 0; i < headers.bth.pad; ++i) {
                EXPECT_EQ(bytes[bytes.size() - 1 - i], std::byte{0});
            }
        }
    }
}

TEST(IbPacket, PayloadInPiecesIsThePayloadInOne) {
    Random random(4);
    const Headers headers = random_headers(random, *find_opcode(0x0B));
    const PacketBytes payload = random_bytes(random, 37);
    const ConstBytes all(payload);
    const std::vector<std::vector<ConstBytes>> cuts = {
        {all.first(1), all.subspan(1)},
        {all.first(9), all.subspan(9, 0), all.subspan(9, 20), all.subspan(29)},
    };
    for (const auto& pieces : cuts) {
        EXPECT_EQ(to_hex(encoded(headers, pieces)), to_hex(encoded(headers, payload)));
    }
    EXPECT_EQ(to_hex(encoded(headers, std::span<const ConstBytes>())), to_hex(encoded(headers)));
}

TEST(IbPacket, OnePieceOfPayloadIsPointedAtAndNotCopied) {
    const PacketBytes payload(1024);
    std::array<std::byte, 64> room;
    TxFrame frame;
    frame.open(room, {.frame_max = 4096});
    const ConstBytes piece(payload);
    encode({.bth = {.opcode = 0x04}}, std::span(&piece, 1), frame);
    ASSERT_EQ(frame.pieces().size(), 2U);
    EXPECT_EQ(frame.pieces()[1].data(), payload.data());
}

TEST(IbPacket, TakesPayloadThatACableCarriedByReference) {
    Random random(5);
    Headers headers = random_headers(random, *find_opcode(0x0A));
    const PacketBytes payload = random_bytes(random, 13);
    PacketBytes bytes = encoded(headers, payload);
    const auto from = bytes.begin() + 28;
    bytes.erase(from, from + 13);  // leaves headers and pad
    const auto packet = Packet::decode({.bytes = bytes, .lent = payload, .lent_at = 28});
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->payload.data(), payload.data());
    EXPECT_EQ(packet->payload.size(), 13U);
    EXPECT_TRUE(packet->padded_right());
    EXPECT_EQ(packet->headers.reth, headers.reth);
    const auto elsewhere = Packet::decode({.bytes = bytes, .lent = payload, .lent_at = 12});
    ASSERT_FALSE(elsewhere);
    EXPECT_EQ(elsewhere.error(), Malformed::headers_cut);
}

std::optional<Malformed> reason(std::string_view hex) {
    const auto packet = Packet::decode({.bytes = from_hex(hex)});
    if (packet) return std::nullopt;
    return packet.error();
}

TEST(IbPacket, WhatIsNoneHasAReason) {
    EXPECT_EQ(reason(""), Malformed::too_short);
    EXPECT_EQ(reason("0400ffff 00000001 000000"), Malformed::too_short);
    EXPECT_EQ(reason("0400ffff 00000001 00000000"), std::nullopt);
    EXPECT_EQ(reason("0401ffff 00000001 00000000"), Malformed::version);
    EXPECT_EQ(reason("1500ffff 00000001 00000000"), Malformed::unknown_opcode);
    EXPECT_EQ(reason("2c00ffff 00000001 00000000"), Malformed::unknown_opcode);
    EXPECT_EQ(reason("4400ffff 00000001 00000000"), Malformed::unknown_opcode);
    EXPECT_EQ(reason("1100ffff 00000001 00000000 1f0000"), Malformed::headers_cut);
    EXPECT_EQ(reason("1100ffff 00000001 00000000 1f000000"), std::nullopt);
    EXPECT_EQ(reason("0410ffff 00000001 00000000"), Malformed::pad_too_long);
    EXPECT_EQ(reason("0430ffff 00000001 00000000 0000"), Malformed::pad_too_long);
    EXPECT_EQ(reason("0430ffff 00000001 00000000 000000"), std::nullopt);
}

TEST(IbPacket, ThePathMtuLeavesRoomForEveryHeader) {
    EXPECT_EQ(path_mtu_within(1500 - 28 - 4), 1024U);  // Ethernet, IPv4
    EXPECT_EQ(path_mtu_within(1500 - 48 - 4), 1024U);
    EXPECT_EQ(path_mtu_within(packet_max(4096)), 4096U);
    EXPECT_EQ(path_mtu_within(packet_max(4096) - 1), 2048U);
    EXPECT_EQ(path_mtu_within(65'536), 4096U);
    EXPECT_EQ(path_mtu_within(256), 0U);
    for (const Opcode& opcode : opcodes::all) {
        const std::size_t payload = opcode.payload == PayloadRule::none ? 0 : 256;
        EXPECT_LE(packet_size(opcode, payload), packet_max(256)) << opcode.name;
    }
}

TEST(IbPacket, SeesAPadThatDoesNotMakeWholeWords) {
    const auto padded_right = [](std::string_view hex) {
        const PacketBytes bytes = from_hex(hex);
        return Packet::decode({.bytes = bytes})->padded_right();
    };
    EXPECT_TRUE(padded_right("0410ffff 00000001 00000000 01020300"));
    EXPECT_FALSE(padded_right("0400ffff 00000001 00000000 010203"));
    EXPECT_FALSE(padded_right("0420ffff 00000001 00000000 010200"));
}

// Random bytes give a payload inside the frame, or a reason.
TEST(IbPacket, RandomBytesNeverReachOutsideTheFrame) {
    Random random(6);
    std::size_t decoded = 0;
    for (int i = 0; i < 200'000; ++i) {
        PacketBytes bytes = random_bytes(random, random.below(80));
        if (bytes.size() > 1) bytes[1] &= std::byte{0xF0};
        const auto packet = Packet::decode({.bytes = bytes});
        if (!packet) continue;
        ++decoded;
        const std::size_t head = Bth::size + packet->opcode->extended_size();
        ASSERT_LE(head + packet->payload.size() + packet->bth().pad, bytes.size());
        ASSERT_EQ(packet->payload.data(), bytes.data() + head);
    }
    EXPECT_GT(decoded, 5'000U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
