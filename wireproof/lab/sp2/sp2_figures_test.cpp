// The figures of the paper, from runs of the engine on the model.
#include "wireproof/lab/sp2/sp2_figures.hpp"

#include <gtest/gtest.h>

namespace wireproof::lab {
namespace {

// AM-35
TEST(Sp2Figures, RoundTripAndBandwidthKeepTheirRatiosToTheRawMachine) {
    const Sp2Figures figures = measure_sp2(Sp2AmConfig::of_nodes(2));
    EXPECT_TRUE(figures.verified) << figures.exchanged.wrong;
    EXPECT_LE(figures.round_trip_us.mean, 1.086 * figures.raw_round_trip_us);
    EXPECT_NEAR(figures.raw_round_trip_us, 47.0, 0.05);
    EXPECT_NEAR(figures.round_trip_us.mean, 51.0, 0.05) << "what the costs were fitted to";
    EXPECT_EQ(figures.payload_share_mb_s, 35.0);
    EXPECT_GE(figures.bandwidth_mb_s.mean, 0.979 * figures.payload_share_mb_s);
    EXPECT_LE(figures.bandwidth_mb_s.mean, figures.raw_bandwidth_mb_s * 1.0001);
    EXPECT_TRUE(figures.holds());
    EXPECT_GT(figures.half_power.first, 150u);
    EXPECT_GE(figures.half_power.for_good, figures.half_power.first);
    EXPECT_LT(figures.half_power.for_good, 350u);
    EXPECT_EQ(figures.exchanged.resent, 0u);
}

// AM-35: the switch is not a bottleneck, so pairs do not slow each other down.
TEST(Sp2Figures, FourPairsAtOnceAreAsFastAsOne) {
    const Sp2AmConfig two = Sp2AmConfig::of_nodes(2);
    const Sp2AmConfig eight = Sp2AmConfig::of_nodes(8);
    const Sp2PerPair alone = measure_round_trip(two, {.counted = 300});
    const Sp2PerPair beside = measure_round_trip(eight, {.counted = 300});
    EXPECT_TRUE(alone.verified && beside.verified);
    EXPECT_NEAR(beside.worst, alone.mean, 0.01);
    const Sp2Stream stream{.store_bytes = 200'000, .counted = 4};
    const Sp2PerPair streams = measure_bandwidth(eight, stream);
    EXPECT_TRUE(streams.verified);
    EXPECT_NEAR(streams.worst, measure_bandwidth(two, stream).mean, 1e4);
}

// The limits must detect a slower library and a slower host.
TEST(Sp2Figures, SlowerPartsAreSeen) {
    Sp2AmConfig slow = Sp2AmConfig::of_nodes(2);
    slow.costs.message = slow.costs.message + Duration::nanoseconds(100);
    EXPECT_NEAR(measure_round_trip(slow, {}).mean, 51.2, 0.05) << "twice in a round trip";
    slow.costs.chunk_packet = Duration::microseconds(3);
    const Sp2Stream stream{.store_bytes = 200'000, .counted = 4};
    EXPECT_LT(measure_bandwidth(slow, stream).mean, 0.979 * 35e6) << "the host is the bottleneck";
}

// A chunk is acknowledged while the next one leaves. Without this, the link would be idle at times.
TEST(Sp2Figures, OneChunkInFlightDoesNotFillTheLink) {
    Sp2AmConfig config = Sp2AmConfig::of_nodes(2);
    config.protocol.chunks_in_flight = 1;
    const Sp2PerPair lone =
        measure_bandwidth(config, {.store_bytes = 200'000, .outstanding = 1, .counted = 4});
    EXPECT_TRUE(lone.verified);
    EXPECT_LT(lone.mean, 0.979 * 35e6);
}

TEST(Sp2Figures, ALostPacketCostsTimeButIsNotMissed) {
    Sp2AmConfig config = Sp2AmConfig::of_nodes(2);
    config.machine.faults.loss = 0.01;
    const Sp2PerPair lossy = measure_bandwidth(config, {.store_bytes = 100'000});
    EXPECT_TRUE(lossy.verified);
    EXPECT_LT(lossy.mean, 34e6);
    EXPECT_TRUE(measure_round_trip(config, {.counted = 200}).verified);
}

TEST(Sp2Figures, HalfPowerIsFoundOnEachSideOfAStep) {
    // A second packet, needed from 225 bytes on, makes a store take half as long again.
    const auto bandwidth = [](std::size_t size) {
        return static_cast<double>(size) / (size <= 224 ? 2.0 : 3.0);
    };
    const Sp2HalfPower found = find_half_power(bandwidth, 100);
    EXPECT_EQ(found.first, 200u);
    EXPECT_EQ(found.for_good, 300u);
    const Sp2HalfPower once = find_half_power(bandwidth, 50);
    EXPECT_EQ(once.first, 100u);
    EXPECT_EQ(once.for_good, 100u);
    EXPECT_EQ(find_half_power(bandwidth, 0.4).first, 1u);
}

}  // namespace
}  // namespace wireproof::lab
