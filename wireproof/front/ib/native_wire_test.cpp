#include "wireproof/front/ib/native_wire.hpp"

#include <gtest/gtest.h>

#include "wireproof/proto/ib/packet/packet_test_kit.hpp"
#include "wireproof/wire/memory/memory_wire.hpp"

namespace wireproof::proto::ib::test {
namespace {

static_assert(Wire<NativeWire<MemoryWire>>);

constexpr Instant native_now{};

PacketBytes native_packet_of(std::size_t payload) {
    const PacketBytes bytes(payload, std::byte{0x5A});
    return encoded({.bth = {.opcode = 0x04, .dest_qp = 5, .psn = Psn(9)}}, bytes);
}

using Native = NativeWire<MemoryWire>;

/// Sends a packet in two pieces, as engines write it: the header in the lane's room, the payload
/// elsewhere.
void send(Native& wire, PeerId to, const PacketBytes& packet) {
    TxFrame* frame = wire.lane(to).claim();
    ASSERT_NE(frame, nullptr);
    std::copy_n(packet.begin(), Bth::size, frame->add_header<Bth::size>().begin());
    frame->add_payload(ConstBytes(packet).subspan(Bth::size));
    wire.lane(to).commit();
    wire.flush(native_now);
}

PacketBytes next(Native& wire, PeerId from) {
    const auto frame = wire.receive(native_now);
    if (!frame) return {};
    EXPECT_EQ(frame->from, from);
    EXPECT_EQ(frame->integrity, Integrity::intact);
    return {frame->bytes.begin(), frame->bytes.end()};
}

TEST(NativeWire, CarriesPacketsBothWays) {
    for (const auto& global : {std::optional<Grh>(), std::optional(Grh{.hop_limit = 3})}) {
        MemoryLink link({.numbered = true});
        Native a(std::move(link.end(0)), {.local = PeerId{0}, .global = global});
        Native b(std::move(link.end(1)), {.local = PeerId{1}, .global = global});
        Native moved = std::move(a);
        const std::size_t most = moved.lane(PeerId{1}).capabilities().frame_max;
        EXPECT_EQ(most, (global ? 2048U - 48 - 6 : 2048U - 8 - 6) / 4 * 4);
        for (std::size_t payload = 0; payload + Bth::size <= most; payload += 124) {
            const PacketBytes packet = native_packet_of(payload);
            send(moved, PeerId{1}, packet);
            EXPECT_EQ(next(b, PeerId{0}), packet) << payload;
            send(b, PeerId{0}, packet);
            EXPECT_EQ(next(moved, PeerId{1}), packet) << payload;
        }
    }
}

/// The test reads and writes frames at the other end of the cable.
struct TappedNative {
    TappedNative()
        : link({.numbered = true}),
          wire(std::move(link.end(0)), {.local = PeerId{0}}),
          tap(std::move(link.end(1))) {}

    void write(ConstBytes frame) {
        std::ranges::copy(frame, tap.claim()->add_room(frame.size()).begin());
        tap.commit();
        tap.flush(native_now);
    }

    MemoryLink link;
    Native wire;
    MemoryWire tap;
};

TEST(NativeWire, WhatIsOnTheCableIsANativeFrame) {
    TappedNative ends;
    send(ends.wire, PeerId{1}, native_packet_of(100));
    const auto frame = ends.tap.receive(native_now);
    ASSERT_TRUE(frame);
    const auto native = NativeFrame::decode(frame->bytes);
    ASSERT_TRUE(native);
    EXPECT_EQ(native->local.dest, 2);
    EXPECT_EQ(native->local.source, 1);
    EXPECT_EQ(to_hex(native->packet), to_hex(native_packet_of(100)));
}

TEST(NativeWire, WhatIsDroppedIsCountedByItsReason) {
    TappedNative ends;
    const auto made = [](std::uint16_t dest, std::uint16_t source) {
        PacketBytes room(200);
        TxFrame frame;
        frame.open(room, {.frame_max = room.size()});
        const PacketBytes packet = native_packet_of(40);
        const ConstBytes piece(packet);
        encode({.local = {.dest = dest, .source = source}}, std::span(&piece, 1), {}, frame);
        PacketBytes bytes(frame.size());
        frame.gather(bytes);
        return bytes;
    };
    const PacketBytes good = made(1, 2);
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        PacketBytes damaged = good;
        damaged[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        ends.write(damaged);
        EXPECT_TRUE(next(ends.wire, PeerId{1}).empty()) << bit;
    }
    EXPECT_EQ(ends.wire.counters().of(NativeFault::variant_crc), 8 * good.size());
    ends.write(ConstBytes(good).first(20));
    EXPECT_TRUE(next(ends.wire, PeerId{1}).empty());
    EXPECT_EQ(ends.wire.counters().of(NativeFault::too_short), 1U);
    ends.write(made(2, 2));
    ends.write(made(1, 3));
    ends.write(good);
    EXPECT_EQ(next(ends.wire, PeerId{1}), native_packet_of(40));
    EXPECT_EQ(ends.wire.counters().other_destination, 1U);
    EXPECT_EQ(ends.wire.counters().other_source, 1U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
