#include "wireproof/front/am/peer_set.hpp"

#include <gtest/gtest.h>

namespace wireproof::am {
namespace {

std::vector<std::size_t> all_of(const PeerSet& set) {
    std::vector<std::size_t> peers;
    for (std::size_t i = 0; i < set.size(); ++i) peers.push_back(set[i]);
    return peers;
}

using Peers = std::vector<std::size_t>;

TEST(PeerSet, HasEachPeerOnceInTheOrderAdded) {
    PeerSet set(5);
    EXPECT_TRUE(set.empty());
    for (const std::size_t peer : {3U, 0U, 3U, 4U, 0U}) set.add(peer);
    EXPECT_EQ(all_of(set), (Peers{3, 0, 4}));
    EXPECT_TRUE(set.has(4));
    EXPECT_FALSE(set.has(1));
}

TEST(PeerSet, APeerThatIsNotKeptMayComeAgain) {
    PeerSet set(5);
    for (std::size_t peer = 0; peer < 5; ++peer) set.add(peer);
    set.keep_if([](std::size_t peer) { return peer % 2 == 1; });
    EXPECT_EQ(all_of(set), (Peers{1, 3}));
    set.add(0);
    set.add(1);
    EXPECT_EQ(all_of(set), (Peers{1, 3, 0}));
    set.keep_if([](std::size_t) { return false; });
    EXPECT_TRUE(set.empty());
}

}  // namespace
}  // namespace wireproof::am
