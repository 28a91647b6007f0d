#include "wireproof/proto/ib/packet/native_frame.hpp"

#include <gtest/gtest.h>

#include "wireproof/base/crc.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/packet/packet_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

// The local sample packet of the InfiniBand specification (volume 1, table 29 of release 1.2): an
// RC WRITE Only of 14 bytes, and the ICRC that the specification prints for it.
constexpr std::string_view sample_route = "7012375c000e17d2";
constexpr std::string_view sample_packet =
    "0a202487 0087b1b3 000dec2a 01710a1c015d4002 38f27a05 0000000e bb884d85fd5cfba4728bc0690ed4 "
    "0000";
constexpr std::string_view sample_icrc = "9625b75a";

PacketBytes frame_of(const NativeRoute& route, ConstBytes packet) {
    PacketBytes room(packet.size() + native_overhead_max);
    TxFrame frame;
    frame.open(room, {.frame_max = room.size()});
    encode(route, std::span(&packet, 1), {}, frame);
    PacketBytes bytes(frame.size());
    frame.gather(bytes);
    return bytes;
}

NativeRoute local_route() {
    return {.local = {.lane = 7, .service = 1, .dest = 0x375C, .source = 0x17D2}};
}

NativeRoute global_route() {
    NativeRoute route = local_route();
    route.global = Grh{.traffic_class = 0x5A, .flow_label = 0x12345, .hop_limit = 9};
    route.global->source.fill(0x25);
    route.global->dest.fill(0x96);
    return route;
}

// UC-4
TEST(NativeFrame, TheVariantCrcHasTheKnownCheckValue) {
    const std::string_view digits = "123456789";
    EXPECT_EQ(Crc16Iba::of(std::as_bytes(std::span(digits))), 0x0A3D);
}

// UC-2, on a native link.
TEST(NativeFrame, TheInvariantCrcIsThatOfTheSampleInTheSpecification) {
    const PacketBytes frame = frame_of(local_route(), from_hex(sample_packet));
    EXPECT_EQ(to_hex(ConstBytes(frame).first(8)), sample_route);
    EXPECT_EQ(to_hex(ConstBytes(frame).last(6).first(4)), sample_icrc);
}

TEST(NativeFrame, GivesRouteAndPacketBack) {
    const PacketBytes packet = from_hex(sample_packet);
    for (const NativeRoute& route : {local_route(), global_route()}) {
        const PacketBytes frame = frame_of(route, packet);
        const auto read = NativeFrame::decode(frame);
        ASSERT_TRUE(read) << name_of(read.error());
        EXPECT_EQ(to_hex(read->packet), to_hex(packet));
        EXPECT_EQ(read->local.dest, 0x375C);
        EXPECT_EQ(read->local.source, 0x17D2);
        EXPECT_EQ(read->local.words * 4U, frame.size() - 2);
        ASSERT_EQ(read->global.has_value(), route.global.has_value());
        if (!route.global) continue;
        Grh expected = *route.global;
        expected.length = static_cast<std::uint16_t>(packet.size() + 4);
        EXPECT_EQ(*read->global, expected);
    }
}

TEST(NativeFrame, PayloadIsPointedAtAndScratchIsCopied) {
    const PacketBytes payload(2048, std::byte{7});
    const PacketBytes head = encoded({.bth = {.opcode = 0x00}});
    std::array<std::byte, 256> room;
    TxFrame out;
    out.open(room, {.frame_max = 4096});
    const std::array<ConstBytes, 2> pieces = {ConstBytes(head), ConstBytes(payload)};
    encode(global_route(), pieces, head, out);
    ASSERT_EQ(out.pieces().size(), 3U);
    EXPECT_EQ(out.pieces()[1].data(), payload.data());
    PacketBytes frame(out.size());
    out.gather(frame);
    EXPECT_TRUE(NativeFrame::decode(frame));
}

/// The bits of a frame, without its CRCs, that do not change the ICRC.
std::vector<std::size_t> free_bits(const NativeRoute& route) {
    const PacketBytes whole = frame_of(route, from_hex(sample_packet));
    const std::size_t headers = Lrh::size + (route.global ? Grh::size : 0);
    PacketBytes frame(whole.begin(), whole.end() - native_tail);
    const auto icrc = [&] {
        const ConstBytes packet = ConstBytes(frame).subspan(headers);
        return invariant_crc(ConstBytes(frame).first(headers), std::span(&packet, 1));
    };
    const std::uint32_t original = icrc();
    std::vector<std::size_t> bits;
    for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
        const std::byte mask{static_cast<std::uint8_t>(0x80U >> bit % 8)};
        frame[bit / 8] ^= mask;
        if (icrc() == original) bits.push_back(bit);
        frame[bit / 8] ^= mask;
    }
    return bits;
}

// UC-3: the virtual lane and the congestion byte.
TEST(NativeFrame, TheInvariantCrcLeavesOutWhatSwitchesChangeAndNothingElse) {
    std::vector<std::size_t> expected = {0, 1, 2, 3};
    for (std::size_t bit = 0; bit < 8; ++bit) expected.push_back(8 * (8 + 4) + bit);
    EXPECT_EQ(free_bits(local_route()), expected);
}

// UC-3: also traffic class, flow label and hop limit of the global header.
TEST(NativeFrame, TheInvariantCrcLeavesOutWhatRoutersChangeAndNothingElse) {
    std::vector<std::size_t> expected = {0, 1, 2, 3};
    for (std::size_t bit = 8 * 8 + 4; bit < 8 * 12; ++bit) expected.push_back(bit);
    for (std::size_t bit = 8 * 15; bit < 8 * 16; ++bit) expected.push_back(bit);
    for (std::size_t bit = 8 * 52; bit < 8 * 53; ++bit) expected.push_back(bit);
    EXPECT_EQ(free_bits(global_route()), expected);
}

NativeFault fault_of(ConstBytes frame) {
    const auto read = NativeFrame::decode(frame);
    EXPECT_FALSE(read);
    return read ? NativeFault{} : read.error();
}

TEST(NativeFrame, EverySingleBitErrorIsCaughtByTheVariantCrc) {
    PacketBytes frame = frame_of(global_route(), from_hex(sample_packet));
    ASSERT_TRUE(NativeFrame::decode(frame));
    for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
        const std::byte mask{static_cast<std::uint8_t>(1U << bit % 8)};
        frame[bit / 8] ^= mask;
        EXPECT_EQ(fault_of(frame), NativeFault::variant_crc) << bit;
        frame[bit / 8] ^= mask;
    }
}

/// Changes a byte and computes a new VCRC, as a switch that damages a byte does.
PacketBytes changed(PacketBytes frame, std::size_t at, std::uint8_t value) {
    frame[at] = std::byte{value};
    const auto covered = ConstBytes(frame).first(frame.size() - 2);
    store_le<std::uint16_t>(Bytes(frame).last<2>(), Crc16Iba::of(covered));
    return frame;
}

TEST(NativeFrame, WhatIsNoneHasAReason) {
    const PacketBytes local = frame_of(local_route(), from_hex(sample_packet));
    const PacketBytes global = frame_of(global_route(), from_hex(sample_packet));
    EXPECT_EQ(fault_of({}), NativeFault::too_short);
    EXPECT_EQ(fault_of(ConstBytes(local).first(25)), NativeFault::too_short);
    EXPECT_EQ(fault_of(changed(local, 0, 0x71)), NativeFault::link_version);
    EXPECT_EQ(fault_of(changed(local, 1, 0x11)), NativeFault::not_transport);
    EXPECT_EQ(fault_of(changed(local, 1, 0x10)), NativeFault::not_transport);
    EXPECT_EQ(fault_of(changed(local, 1, 0x13)), NativeFault::too_short);
    EXPECT_EQ(fault_of(changed(local, 5, 0x0F)), NativeFault::length);
    EXPECT_EQ(fault_of(changed(local, 3, 0x5D)), NativeFault::invariant_crc);
    EXPECT_EQ(fault_of(changed(local, 40, 0)), NativeFault::invariant_crc);
    EXPECT_EQ(fault_of(changed(global, 8, 0x40)), NativeFault::not_transport);
    EXPECT_EQ(fault_of(changed(global, 14, 17)), NativeFault::not_transport);
    EXPECT_EQ(fault_of(changed(global, 13, 8)), NativeFault::length);
    // Switches may change these fields.
    EXPECT_TRUE(NativeFrame::decode(changed(local, 0, 0x30)));
    EXPECT_TRUE(NativeFrame::decode(changed(global, 15, 8)));
}

TEST(NativeFrame, RandomBytesBehindARightVariantCrcNeverReachOutside) {
    Random random(11);
    std::size_t past_headers = 0;
    for (int i = 0; i < 100'000; ++i) {
        PacketBytes frame(26 + random.below(80));
        for (auto& byte : frame) byte = static_cast<std::byte>(random.next());
        frame[0] &= std::byte{0xF0};
        frame[1] |= std::byte{0x02};
        frame[5] = static_cast<std::byte>((frame.size() - 2) / 4);
        frame[4] = std::byte{0};
        const NativeFault fault = fault_of(changed(frame, 2, 0));
        past_headers += fault == NativeFault::invariant_crc ? 1 : 0;
    }
    EXPECT_GT(past_headers, 1'000U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
