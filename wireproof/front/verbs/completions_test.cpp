#include <gtest/gtest.h>

#include "wireproof/front/verbs/addressing.hpp"
#include "wireproof/front/verbs/completion_queue.hpp"

namespace wireproof::verbs {
namespace {

std::shared_ptr<Engine> engine_at(const char* address, Link link) {
    const auto engine = Engine::open({.address = Address::parse(address).value(), .link = link});
    return engine ? *engine : nullptr;
}

TEST(Engine, OnInfinibandItsAddressGivesALid) {
    EXPECT_EQ(engine_at("127.77.0.0:4791", Link::infiniband), nullptr);
    EXPECT_EQ(engine_at("127.77.192.0:4791", Link::infiniband), nullptr);
    EXPECT_EQ(engine_at("[::1]:4791", Link::infiniband), nullptr);
    const auto engine = engine_at("127.77.1.1:4791", Link::infiniband);
    ASSERT_NE(engine, nullptr);
    ASSERT_NE(engine->subnet(), nullptr);
    EXPECT_EQ(lid_of(*engine->subnet()), 0x0101);
    EXPECT_EQ(engine_at("127.77.1.2:4791", Link::ethernet)->subnet(), nullptr);
}

TEST(Completions, ADatagramTellsOfWhatKindItsNetworkHeaderIs) {
    const ib::Completion datagram{.kind = ib::CompletionKind::receive, .from_queue_pair = 5};
    const std::uint8_t level = level_of_datagrams(*engine_at("127.77.1.1:4791", Link::ethernet));
    EXPECT_EQ(level, 0xA);  // UDP, over IPv4
    EXPECT_EQ(level_of_datagrams(*engine_at("127.77.1.1:4791", Link::infiniband)), 0);
    EXPECT_EQ(shown(datagram, level).wc_flags, IBV_WC_GRH);
    EXPECT_EQ(shown(datagram, level).sl, level);
    const ib::Completion other{.kind = ib::CompletionKind::receive};
    EXPECT_EQ(shown(other, level).sl, 0);
    EXPECT_EQ(shown(other, level).wc_flags, 0u);
}

}  // namespace
}  // namespace wireproof::verbs
