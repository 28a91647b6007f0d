// Tests the figures of the bare hardware, with which protocols are compared.
#include "wireproof/sim/sp2/raw.hpp"

#include <gtest/gtest.h>

#include "wireproof/sim/sp2/config.hpp"

namespace wireproof::sp2 {
namespace {

// AM-35: the raw half of the ratio.
TEST(Sp2Raw, AOneWordRoundTripTakes47Microseconds) {
    EXPECT_NEAR(raw_round_trip().seconds() * 1e6, 47.0, 0.05);
}

TEST(Sp2Raw, ARoundTripIsTheSumOfItsPartsTwice) {
    const Costs costs;
    const Duration one_way = costs.compose(36) + costs.bus_access + costs.send_latency +
                             costs.on_link(36) + costs.switch_latency + costs.receive_latency +
                             costs.read(36);
    // The host also looks for free entries, with one access per half FIFO (64 packets).
    const Duration round_trip = raw_round_trip();
    EXPECT_GE(round_trip, one_way * 2);
    EXPECT_LE(round_trip, one_way * 2 + Duration::nanoseconds(40));
}

// AM-35
TEST(Sp2Raw, AStreamGetsThePayloadShareOfTheLink) {
    EXPECT_NEAR(raw_bandwidth() / 1e6, 35.0, 0.01);
}

TEST(Sp2Raw, TheLinkIsTheBottleneck) {
    Costs faster;
    faster.link_bytes_per_second = 48'000'000;
    EXPECT_NEAR(raw_bandwidth(faster) / 1e6, 42.0, 0.01);
    Costs slower_parts;
    slower_parts.bus_access = Duration::microseconds(2);
    slower_parts.send_latency = slower_parts.receive_latency = Duration::microseconds(20);
    EXPECT_NEAR(raw_bandwidth(slower_parts) / 1e6, 35.0, 0.01);
}

// According to the paper, a host takes about 175 us to send a chunk of 36 packets, including the
// time of the library.
TEST(Sp2Raw, SendingAChunkLeavesTimeForALibrary) {
    const Costs costs;
    const Duration chunk = costs.compose(entry_size) * 36 + costs.bus_access * 9;
    EXPECT_LT(chunk, Duration::microseconds(150));
    EXPECT_GT(chunk, Duration::microseconds(120));
}

}  // namespace
}  // namespace wireproof::sp2
