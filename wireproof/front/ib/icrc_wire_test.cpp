#include "wireproof/front/ib/icrc_wire.hpp"

#include <gtest/gtest.h>

#include "wireproof/proto/ib/packet/packet_test_kit.hpp"
#include "wireproof/wire/memory/memory_wire.hpp"

namespace wireproof::proto::ib::test {
namespace {

static_assert(Wire<IcrcWire<MemoryWire>>);

constexpr Instant now{};

Address host(std::uint8_t number) {
    Address address{.family = Address::Family::ipv4, .port = rocev2_port};
    address.host = {10, 0, 0, number};
    return address;
}

PacketBytes packet_of(std::size_t payload) {
    const PacketBytes bytes(payload, std::byte{0x5A});
    return encoded({.bth = {.opcode = 0x04, .dest_qp = 5, .psn = Psn(9)}}, bytes);
}

/// A host on one end of a wire. The test reads and writes bare datagrams at the other end.
struct Tapped {
    Tapped()
        : link({.numbered = true}),
          wire(std::move(link.end(0)), {.local = host(1), .peers = {host(1), host(2)}}),
          tap(std::move(link.end(1))) {}

    void write(ConstBytes datagram) {
        std::ranges::copy(datagram, tap.claim()->add_room(datagram.size()).begin());
        tap.commit();
        tap.flush(now);
    }
    static PacketBytes datagram_of(const PacketBytes& packet) {
        const IcrcCover cover({.from = host(2), .to = host(1), .packet = packet.size()});
        PacketBytes datagram = packet;
        datagram.resize(packet.size() + IcrcCover::icrc_size);
        store_le<std::uint32_t>(std::span(datagram).last<IcrcCover::icrc_size>(),
                                cover.icrc(packet));
        return datagram;
    }

    MemoryLink link;
    IcrcWire<MemoryWire> wire;
    MemoryWire tap;
};

TEST(IcrcWire, WhatLeavesIsThePacketAndItsIcrcFromThisHostToThat) {
    Tapped ends;
    const PacketBytes packet = packet_of(100);
    auto& lane = ends.wire.lane(PeerId{1});
    EXPECT_EQ(lane.capabilities().frame_max, 2048U - IcrcCover::icrc_size);
    TxFrame* frame = lane.claim();
    ASSERT_NE(frame, nullptr);
    std::copy_n(packet.begin(), Bth::size, frame->add_header<Bth::size>().begin());
    frame->add_payload(ConstBytes(packet).subspan(Bth::size));
    lane.commit();
    ends.wire.flush(now);
    const auto datagram = ends.tap.receive(now);
    ASSERT_TRUE(datagram);
    const IcrcCover cover({.from = host(1), .to = host(2), .packet = packet.size()});
    EXPECT_EQ(to_hex(datagram->bytes.first(packet.size())), to_hex(packet));
    EXPECT_EQ(load_le<std::uint32_t>(datagram->bytes.last<IcrcCover::icrc_size>()),
              cover.icrc(packet));
}

TEST(IcrcWire, OnlyWhatIsNotDamagedArrives) {
    Tapped ends;
    const PacketBytes good = Tapped::datagram_of(packet_of(40));
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        // Routers may change the congestion marks, so the ICRC does not cover them.
        if (bit / 8 == 4) continue;
        PacketBytes damaged = good;
        damaged[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        ends.write(damaged);
        EXPECT_FALSE(ends.wire.receive(now)) << bit;
    }
    EXPECT_EQ(ends.wire.icrc_wrong(), 8 * (good.size() - 1));
    ends.write(ConstBytes(good).first(15));
    EXPECT_FALSE(ends.wire.receive(now));
    EXPECT_EQ(ends.wire.icrc_wrong(), 8 * (good.size() - 1) + 1);
    ends.write(good);
    const auto arrived = ends.wire.receive(now);
    ASSERT_TRUE(arrived);
    EXPECT_EQ(arrived->integrity, Integrity::intact);
    EXPECT_EQ(to_hex(arrived->bytes), to_hex(packet_of(40)));
}

}  // namespace
}  // namespace wireproof::proto::ib::test
