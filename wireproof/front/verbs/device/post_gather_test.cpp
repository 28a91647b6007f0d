// Posted work that leaves at once, and work that waits for more of it.
#include "wireproof/front/verbs/device/post_gather.hpp"

#include <gtest/gtest.h>

#include "wireproof/front/verbs/objects/datagram_test_kit.hpp"
#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs {
namespace {

TEST(PostGathers, NoWorkWaitsWhileFewPacketsAreUnanswered) {
    PostGather gather;
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(gather.waits(1, 7));
        gather.left();
    }
    EXPECT_TRUE(gather.waits(1, 8));
}

TEST(PostGathers, SixteenPacketsLeaveTogether) {
    PostGather gather;
    for (int i = 0; i < 15; ++i) EXPECT_TRUE(gather.waits(1, 8)) << i;
    EXPECT_FALSE(gather.waits(1, 8));
    EXPECT_TRUE(gather.any());
    gather.left();
    EXPECT_FALSE(gather.any());
    EXPECT_TRUE(gather.waits(15, 100));
    gather.left();
    EXPECT_FALSE(gather.waits(16, 100));
}

// The peer does not answer, and no packet is sent a second time. The keeper sends the work that
// waits.
TEST(PostGathers, WorkThatWaitsLeavesWithoutAPoll) {
    constexpr int posted = 12;  // too many to leave at once, too few to fill a super-packet
    const test::DatagramReceiver peer(peers_test::address_of(9));
    test::End sender;
    test::Contact contact{.queue_pair = 0x123456, .psn = 0, .gid = {}, .address = 0, .key = 0};
    contact.gid = test::gid_of(peers_test::address_of(9));
    sender.connect(contact, test::never_again);
    std::uint32_t next = sender.psn;
    const auto expect_next = [&] {
        const std::string packet = peer.wait();
        ASSERT_EQ(packet.size(), 12U + 16U + 8U + 4U);
        const auto low = static_cast<std::uint8_t>(packet[11]);  // low byte of the PSN
        EXPECT_EQ(low, static_cast<std::uint8_t>(next++));
    };
    for (int i = 0; i < posted; ++i) {
        ASSERT_EQ(sender.post(IBV_WR_RDMA_WRITE, 1, sender.piece(0, 8), contact), 0);
    }
    for (int i = 0; i < posted; ++i) ASSERT_NO_FATAL_FAILURE(expect_next());
    // The keeper has started in the meantime, so it does not send these by chance.
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(sender.post(IBV_WR_RDMA_WRITE, 1, sender.piece(0, 8), contact), 0);
        ASSERT_NO_FATAL_FAILURE(expect_next());
    }
}

}  // namespace
}  // namespace wireproof::verbs
