#include <gtest/gtest.h>

#include "wireproof/front/verbs/completion_queue.hpp"

namespace wireproof::verbs {
namespace {

Address parsed(const char* text) {
    return *Address::parse(text);
}

TEST(Completions, ADatagramTellsOfWhatKindItsNetworkHeaderIs) {
    const ib::Completion datagram{.kind = ib::CompletionKind::receive, .from_queue_pair = 5};
    const ibv_wc v4 = shown(datagram, parsed("127.0.0.1:4791"));
    EXPECT_EQ(v4.wc_flags, IBV_WC_GRH);
    EXPECT_EQ(v4.sl, 0xA);  // UDP, over IPv4
    EXPECT_EQ(shown(datagram, parsed("[::1]:4791")).sl, 0x9);
    const ib::Completion other{.kind = ib::CompletionKind::receive};
    EXPECT_EQ(shown(other, parsed("127.0.0.1:4791")).sl, 0);
    EXPECT_EQ(shown(other, parsed("127.0.0.1:4791")).wc_flags, 0u);
}

}  // namespace
}  // namespace wireproof::verbs
