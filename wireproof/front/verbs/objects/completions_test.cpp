#include <gtest/gtest.h>

#include "wireproof/front/verbs/device/addressing.hpp"
#include "wireproof/front/verbs/objects/completion_queue.hpp"

namespace wireproof::verbs {
namespace {

/// Null if the device cannot be opened. Each test uses addresses of its own: another test may run
/// at the same time, and two devices cannot bind one address.
std::shared_ptr<Device> device_at(const char* address, Link link) {
    const auto device = Device::open({.address = Address::parse(address).value(), .link = link});
    return device ? *device : nullptr;
}

TEST(Device, OnInfinibandItsAddressGivesALid) {
    EXPECT_EQ(device_at("127.77.0.0:4791", Link::infiniband), nullptr);
    EXPECT_EQ(device_at("127.77.192.0:4791", Link::infiniband), nullptr);
    EXPECT_EQ(device_at("[::1]:4791", Link::infiniband), nullptr);
    const auto device = device_at("127.77.1.1:4791", Link::infiniband);
    ASSERT_NE(device, nullptr);
    ASSERT_NE(device->subnet(), nullptr);
    EXPECT_EQ(lid_of(*device->subnet()), 0x0101);
    const auto ethernet = device_at("127.77.1.2:4791", Link::ethernet);
    ASSERT_NE(ethernet, nullptr);
    EXPECT_EQ(ethernet->subnet(), nullptr);
}

TEST(Completions, ADatagramStatesTheKindOfItsNetworkHeader) {
    const proto::ib::Completion datagram{.kind = proto::ib::CompletionKind::receive,
                                         .from_queue_pair = 5};
    const auto ethernet = device_at("127.77.1.3:4791", Link::ethernet);
    const auto infiniband = device_at("127.77.1.4:4791", Link::infiniband);
    ASSERT_TRUE(ethernet && infiniband);
    const std::uint8_t level = level_of_datagrams(*ethernet);
    EXPECT_EQ(level, 0xA);  // UDP, over IPv4
    EXPECT_EQ(level_of_datagrams(*infiniband), 0);
    EXPECT_EQ(shown(datagram, level).wc_flags, IBV_WC_GRH);
    EXPECT_EQ(shown(datagram, level).sl, level);
    const proto::ib::Completion other{.kind = proto::ib::CompletionKind::receive};
    EXPECT_EQ(shown(other, level).sl, 0);
    EXPECT_EQ(shown(other, level).wc_flags, 0u);
}

}  // namespace
}  // namespace wireproof::verbs
