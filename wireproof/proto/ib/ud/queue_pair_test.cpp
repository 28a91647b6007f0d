#include <gtest/gtest.h>

#include "wireproof/proto/ib/port/port_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

using enum RxVerdict;
constexpr std::uint32_t qkey = 0x11111111;

class Datagrams : public testing::Test {
protected:
    void SetUp() override {
        for (End* end : {&a, &b}) {
            end->modify({.state = QueuePairState::init,
                         .partition_index = std::uint16_t{0},
                         .port = std::uint8_t{1},
                         .qkey = qkey});
            end->modify({.state = QueuePairState::rtr});
            end->modify({.state = QueuePairState::rts, .send_psn = Psn(0xFFFFFF)});
        }
    }
    PostStatus send(std::size_t length, std::uint32_t key) {
        a.fill(0, pattern(length, 1));
        const WorkTerms terms{.id = 1,
                              .request = Request::send_immediate,
                              .immediate = 77,
                              .to = PeerId{9},
                              .to_queue_pair = b.number,
                              .qkey = key};
        return a.post(terms, a.piece(0, length));
    }

    Instant now;
    PairSettings settings{.transport = Transport::ud};
    End a{settings, 0};
    End b{settings, 1};
};

TEST_F(Datagrams, ArriveFromAnyoneWithTheQkeyBehindRoomForTheirHeader) {
    ASSERT_EQ(b.receive(4, b.piece(0, 200)), PostStatus::accepted);
    ASSERT_EQ(send(100, qkey), PostStatus::accepted);
    const auto packet = a.poll(now).value();
    EXPECT_EQ(a.sent().size(), 1U);
    EXPECT_EQ(b.give(now, packet, PeerId{21}), accepted);
    EXPECT_EQ(b.received(), (std::vector{Completion{.id = 4,
                                                    .kind = CompletionKind::receive,
                                                    .queue_pair = 0x101,
                                                    .length = 140,
                                                    .immediate = 77,
                                                    .from = PeerId{21},
                                                    .from_queue_pair = 0x100}}));
    EXPECT_EQ(b.bytes(40, 100), pattern(100, 1));
    EXPECT_EQ(b.bytes(0, 40), std::vector<std::byte>(40));
}

TEST_F(Datagrams, ShowTheNetworkHeaderWhereBothAddressesAreKnown) {
    const auto own = Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 2};
    const auto peer = Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 9};
    b.port.neighbours().set_own_gid(own);
    b.port.neighbours().set_gid(PeerId{21}, peer);
    b.fill(0, pattern(200, 3));
    // The header may be in several pieces.
    const std::array<Piece, 2> pieces = {b.piece(0, 30), b.piece(30, 170)};
    ASSERT_EQ(b.port.post_receive(b.number, {.id = 4, .pieces = pieces}), PostStatus::accepted);
    ASSERT_EQ(send(99, qkey), PostStatus::accepted);
    EXPECT_EQ(b.give(now, a.poll(now).value(), PeerId{21}), accepted);
    std::vector<std::byte> front(20);
    // 20 of IPv4, 8 of UDP, 12 + 8 + 4 of headers, 99 and a pad of 1, 4 of the ICRC.
    for (const unsigned byte : {0x45U, 0U,    0U,   156U, 0U, 0U, 0x40U, 0U, 64U, 17U,
                                0x3CU, 0x46U, 127U, 0U,   0U, 9U, 127U,  0U, 0U,  2U}) {
        front.push_back(static_cast<std::byte>(byte));
    }
    EXPECT_EQ(b.bytes(0, 40), front);
    EXPECT_EQ(b.bytes(40, 99), pattern(99, 1));
}

TEST_F(Datagrams, ShowAnIpv6HeaderBetweenIpv6Hosts) {
    Gid own{0xFE, 0x80};
    Gid peer{0xFE, 0x80};
    own[15] = 2;
    peer[15] = 9;
    const auto header = network_header(peer, own, 124);
    EXPECT_EQ(header[0], std::byte{0x60});
    EXPECT_EQ(header[5], std::byte{8 + 124 + 4});
    EXPECT_EQ(header[6], std::byte{17});
    EXPECT_EQ(header[8], std::byte{0xFE});
    EXPECT_EQ(header[23], std::byte{9});
    EXPECT_EQ(header[39], std::byte{2});
}

TEST_F(Datagrams, AreDroppedForANamedReason) {
    ASSERT_EQ(b.receive(4, b.piece(0, 139)), PostStatus::accepted);
    ASSERT_EQ(send(100, qkey + 1), PostStatus::accepted);
    EXPECT_EQ(b.give(now, a.poll(now).value()), refused);
    EXPECT_EQ(b.counters().bad_qkey, 1U);
    ASSERT_EQ(send(100, qkey), PostStatus::accepted);
    EXPECT_EQ(b.give(now, a.poll(now).value()), refused);
    EXPECT_EQ(b.counters().bad_length, 1U);
    EXPECT_TRUE(b.received().empty());
    ASSERT_EQ(send(99, qkey), PostStatus::accepted);
    const auto fits = a.poll(now).value();
    EXPECT_EQ(b.give(now, fits), accepted);
    EXPECT_EQ(b.give(now, fits), refused);
    EXPECT_EQ(b.counters().not_ready, 1U);
    PacketBytes reserved = fits;
    reserved[0] = std::byte{0x66};
    EXPECT_EQ(b.give(now, reserved), RxVerdict::malformed);
    EXPECT_EQ(b.counters().not_allowed, 1U);
    PacketBytes padded = fits;  // 99 bytes with a pad of one byte that is missing
    padded.pop_back();
    padded[1] &= std::byte{0xCF};
    EXPECT_EQ(b.give(now, padded), refused);
    EXPECT_EQ(b.counters().bad_length, 2U);
    EXPECT_EQ(b.counters().received(), 6U);
}

TEST_F(Datagrams, AReceiveRequestOfForeignMemoryEndsInError) {
    Piece unknown = b.piece(0, 200);
    unknown.key += 256;
    ASSERT_EQ(b.receive(4, unknown), PostStatus::accepted);
    ASSERT_EQ(b.receive(5, b.piece(0, 200)), PostStatus::accepted);
    ASSERT_EQ(send(100, qkey), PostStatus::accepted);
    EXPECT_EQ(b.give(now, a.poll(now).value()), refused);
    EXPECT_EQ(statuses(b.received()),
              (Statuses{CompletionStatus::local_protection_error, CompletionStatus::flushed}));
    EXPECT_EQ(b.state(), QueuePairState::error);
    EXPECT_EQ(b.events(), (std::vector{PortEvent{PortEvent::What::receive_faulty, 0x101}}));
}

TEST_F(Datagrams, AQkeyWithItsHighestBitMeansTheSendersOwn) {
    ASSERT_EQ(b.receive(4, b.piece(0, 200)), PostStatus::accepted);
    ASSERT_EQ(send(10, 0x80000000), PostStatus::accepted);
    EXPECT_EQ(b.give(now, a.poll(now).value()), accepted);
}

TEST_F(Datagrams, AreOnePacketAndSendOnly) {
    EXPECT_EQ(send(4097, qkey), PostStatus::too_long);
    EXPECT_EQ(a.post({.request = Request::write}, a.piece(0, 1)), PostStatus::not_supported);
    ASSERT_EQ(send(4096, qkey), PostStatus::accepted);
    PacketBytes room(packet_max(4096));
    TxFrame out;
    out.open(room, {.frame_max = room.size()});
    EXPECT_FALSE(a.port.poll_transmit_to(now, PeerId{8}, out));
    EXPECT_TRUE(a.port.poll_transmit_to(now, PeerId{9}, out, Port::PacketsOf::datagrams));
}

TEST_F(Datagrams, UseTheirDestinationUntilTheyLeaveAndTheirSenderUntilTheyArePolled) {
    const auto uses = [](const End& end, PeerId peer) {
        PeerSet used;
        end.port.add_used_peers(used);
        return used.contains(peer);
    };
    ASSERT_EQ(b.receive(4, b.piece(0, 200)), PostStatus::accepted);
    EXPECT_FALSE(uses(a, PeerId{9}));
    ASSERT_EQ(send(100, qkey), PostStatus::accepted);
    EXPECT_TRUE(uses(a, PeerId{9}));
    const auto packet = a.poll(now).value();
    EXPECT_FALSE(uses(a, PeerId{9}));
    EXPECT_EQ(b.give(now, packet, PeerId{21}), accepted);
    EXPECT_TRUE(uses(b, PeerId{21}));
    EXPECT_EQ(b.received().size(), 1U);
    EXPECT_FALSE(uses(b, PeerId{21}));
}

}  // namespace
}  // namespace wireproof::proto::ib::test
