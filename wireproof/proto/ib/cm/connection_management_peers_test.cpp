// As long as a connection or a datagram uses a peer, the device keeps what it knows of that peer.
#include <gtest/gtest.h>

#include "wireproof/proto/ib/cm/connection_management_test_kit.hpp"

namespace wireproof::proto::ib {
namespace {

using namespace test;

TEST_F(Sides, UseTheirPeerUntilTheConnectionIsOver) {
    const auto used = [this] {
        PeerSet peers;
        b.cm.add_used_peers(peers);
        return peers.contains(left);
    };
    const auto ended = [this] {
        PeerSet peers;
        b.cm.add_ended_peers(peers);
        return peers.contains(left);
    };
    EXPECT_FALSE(used());
    connect();
    EXPECT_TRUE(used());
    ASSERT_TRUE(b.cm.disconnect(now, there));
    carry();
    EXPECT_TRUE(used());  // its event waits
    b.event(What::disconnected);
    EXPECT_FALSE(used());
    EXPECT_TRUE(ended());
    EXPECT_EQ(b.cm.size(), 1U);
    PeerSet other;
    other.add(PeerId{77});
    b.cm.forget_peers(other);
    EXPECT_TRUE(ended());
    PeerSet gone;
    gone.add(left);
    b.cm.forget_peers(gone);
    EXPECT_FALSE(ended());
    EXPECT_EQ(b.cm.size(), 0U);
    EXPECT_EQ(b.cm.next_deadline(), never);
}

// Each also uses its peer while the datagram waits to leave.
TEST_F(Sides, UseThePeersOfRequestsThatWaitForAListenerAndOfRefusals) {
    b = Side({.ca_guid = 2, .first_id = 0x2000, .grace = Duration::milliseconds(1000)});
    here = ask();
    const auto request = a.cm.poll_transmit();
    ASSERT_TRUE(request);
    std::array<std::byte, cm_datagram_size> bytes{};
    request->datagram.encode(bytes);
    b.cm.on_datagram(now, left, bytes);
    PeerSet waiting;
    b.cm.add_used_peers(waiting);
    EXPECT_TRUE(waiting.contains(left));
    now = now + Duration::milliseconds(1000);
    b.cm.on_deadline(now);
    PeerSet refused;
    b.cm.add_used_peers(refused);
    EXPECT_TRUE(refused.contains(left));
    EXPECT_EQ(carry_one(b.cm, a.cm, right), "REJ ");
    PeerSet nobody;
    b.cm.add_used_peers(nobody);
    EXPECT_FALSE(nobody.contains(left));
}

}  // namespace
}  // namespace wireproof::proto::ib
