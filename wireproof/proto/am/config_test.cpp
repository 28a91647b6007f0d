#include "wireproof/proto/am/config.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace wireproof::am {
namespace {

bool refused(const Config& base, const std::function<void(Config&)>& change) {
    Config config = base;
    change(config);
    const auto checked = config.check();
    EXPECT_TRUE(checked || !checked.error().message.empty());
    return !checked;
}

// AM-1, AM-2, AM-6: the paper's figures.
TEST(AmConfig, Sp2HasThePapersFigures) {
    const Config config = Config::sp2();
    EXPECT_TRUE(config.check());
    EXPECT_EQ(config.packet_max, 256);
    EXPECT_EQ(config.data_max(), 224);
    EXPECT_EQ(config.chunk_packets, 36);
    EXPECT_EQ(config.chunk_bytes(), 8064);
    EXPECT_EQ(config.window_of(Channel::request), 75);
    EXPECT_EQ(config.window_of(Channel::reply), 76);
    EXPECT_EQ(config.chunks_in_flight, 2);
    EXPECT_EQ(config.message_max, 16);
    EXPECT_EQ(config.fifo_entries, 64);
    EXPECT_EQ(config.modulus, 65'536);
    EXPECT_EQ(config.transfer_max(), 0xFFFFFFFF);
    EXPECT_EQ(config.first_number[0], 65'500);
}

// AM-50, without a timeout beside the keep-alives.
TEST(AmConfig, Sp2GivesAPeerUpAfterSixteenKeepalivesAlone) {
    const Config config = Config::sp2();
    EXPECT_EQ(config.keepalive_limit, 16);
    EXPECT_EQ(config.peer_timeout, Duration());
}

TEST(AmConfig, EthernetFillsThePacketThatTheMtuAllows) {
    for (const std::size_t mtu : {576U, 1500U, 4096U, 9000U}) {
        const Config config = Config::ethernet(mtu);
        EXPECT_TRUE(config.check()) << mtu;
        EXPECT_LE(config.packet_max + 28, mtu);
        EXPECT_GT(config.packet_max + 28 + 8, mtu);
        EXPECT_EQ(config.data_max() % 8, 0);
        EXPECT_EQ(config.message_max, config.data_max());
    }
    EXPECT_TRUE(Config::ethernet(108).check());
    EXPECT_FALSE(Config::ethernet(107).check());
    EXPECT_FALSE(Config::ethernet(60).check());
    EXPECT_FALSE(Config::ethernet(0).check());
}

TEST(AmConfig, EthernetLeavesRoomForTheLongerHeaderOfIpv6) {
    for (const std::size_t mtu : {576U, 1280U, 1500U, 9000U, 65'535U}) {
        const Config config = Config::ethernet(mtu, {}, IpVersion::v6);
        EXPECT_TRUE(config.check()) << mtu;
        EXPECT_LE(config.packet_max + 48, mtu);
        EXPECT_GT(config.packet_max + 48 + 8, mtu);
    }
    EXPECT_TRUE(Config::ethernet(128, {}, IpVersion::v6).check());
    EXPECT_FALSE(Config::ethernet(127, {}, IpVersion::v6).check());
}

TEST(AmConfig, EthernetKeepsALongPathFull) {
    const PathFigures path{.bytes_per_second = 12.5e9, .round_trip = Duration::microseconds(500)};
    const Config config = Config::ethernet(9000, path);
    ASSERT_TRUE(config.check());
    EXPECT_GE(config.chunk_bytes() * (config.chunks_in_flight - 1), 6'250'000);
    for (const Channel channel : {Channel::request, Channel::reply}) {
        EXPECT_GE(config.window_of(channel), config.chunks_in_flight * config.chunk_packets + 3);
    }
    const PathFigures endless{.bytes_per_second = 1e15, .round_trip = Duration::milliseconds(999)};
    EXPECT_TRUE(Config::ethernet(1500, endless).check());
}

// AM-51
TEST(AmConfig, CongestionControlNeedsSelectiveRecoveryAndIsNobodysByDefault) {
    for (Config config : {Config::sp2(), Config::shared_memory(), Config::ethernet(), Config()}) {
        EXPECT_EQ(config.congestion, Congestion::off);
        config.congestion = Congestion::by_loss;
        EXPECT_EQ(config.check().has_value(), config.recovery == Recovery::selective);
    }
}

TEST(AmConfig, APeerWithoutCongestionControlHasTheSameTerms) {
    Config config = Config::ethernet();
    const std::uint64_t terms = config.terms();
    config.congestion = Congestion::by_loss;
    EXPECT_EQ(config.terms(), terms);
}

// AM-51
TEST(AmConfig, RefusesAWindowThatHeldBackAcksCouldCloseToAChunk) {
    for (const std::size_t channel : {0U, 1U}) {
        const auto with_window = [&](std::uint32_t window, std::uint32_t chunk) {
            return refused(Config::sp2(), [&](Config& c) {
                c.window[channel] = window;
                c.window[1 - channel] = 4000;
                c.chunk_packets = chunk;
            });
        };
        // W >= chunk + floor(W/4) - 1
        EXPECT_TRUE(with_window(45, 36));
        EXPECT_FALSE(with_window(46, 36));
        EXPECT_TRUE(with_window(3, 4));
        EXPECT_FALSE(with_window(4, 4));
        EXPECT_TRUE(with_window(0, 1));
        EXPECT_FALSE(with_window(1, 1));
    }
}

TEST(AmConfig, RefusesAHeldBackAckThatWaitsLongerThanItsSender) {
    const auto with_ack_after = [](Duration time) {
        return refused(Config::sp2(), [&](Config& c) { c.ack_after = time; });
    };
    EXPECT_TRUE(with_ack_after(Duration(-1)));
    EXPECT_FALSE(with_ack_after(Config::sp2().keepalive_after));
    EXPECT_TRUE(with_ack_after(Config::sp2().keepalive_after + Duration(1)));
}

// A sender that waits until packets in flight are acknowledged must get an acknowledgement.
TEST(AmConfig, RefusesAnAckForMoreChunksThanMayBeInFlight) {
    const auto with_ack_chunks = [](std::uint32_t chunks) {
        return refused(Config::sp2(), [&](Config& c) { c.ack_chunks = chunks; });
    };
    EXPECT_TRUE(with_ack_chunks(0));
    EXPECT_FALSE(with_ack_chunks(2));
    EXPECT_TRUE(with_ack_chunks(3));
}

// AM-51
TEST(AmConfig, RefusesAWindowOfAQuarterOfTheModulus) {
    const auto with_modulus = [](std::uint64_t modulus) {
        return refused(Config::sp2(), [&](Config& c) { c.modulus = modulus; });
    };
    EXPECT_TRUE(with_modulus(4 * 76));
    EXPECT_FALSE(with_modulus(4 * 76 + 4));
    EXPECT_TRUE(with_modulus(65'537));  // too large for the field
}

// AM-51
TEST(AmConfig, RefusesChunksThatTheirCountCannotName) {
    const auto with_chunk = [](std::uint32_t packets) {
        return refused(Config::ethernet(), [&](Config& c) {
            c.chunk_packets = packets;
            c.window = {200'000, 200'000};
        });
    };
    EXPECT_FALSE(with_chunk(65'535));
    EXPECT_TRUE(with_chunk(65'536));
    EXPECT_TRUE(with_chunk(0));
}

// AM-51
TEST(AmConfig, RefusesALazyPopThatWouldNeverReturnAnEntry) {
    const auto with_pop = [](std::uint32_t pop) {
        return refused(Config::sp2(), [&](Config& c) { c.lazy_pop = pop; });
    };
    EXPECT_FALSE(with_pop(63));
    EXPECT_TRUE(with_pop(64));
    EXPECT_TRUE(with_pop(100));
    EXPECT_FALSE(refused(Config::ethernet(), [](Config& c) { c.lazy_pop = 100; }));  // no FIFO
}

TEST(AmConfig, RefusesWhatCannotCarryOrQueueAMessage) {
    for (const Config& base : {Config::sp2(), Config::ethernet()}) {
        EXPECT_TRUE(refused(base, [](Config& c) { c.packet_max = c.header_size() + 31; }));
        EXPECT_TRUE(refused(base, [](Config& c) { c.message_max = c.data_max() + 1; }));
        EXPECT_TRUE(refused(base, [](Config& c) { c.chunks_in_flight = 0; }));
        EXPECT_TRUE(refused(base, [](Config& c) { c.reply_places = 0; }));
        EXPECT_TRUE(refused(base, [](Config& c) { c.stores_max = 0; }));
        EXPECT_TRUE(refused(base, [](Config& c) { c.gets_max = 0; }));
        EXPECT_TRUE(refused(base, [](Config& c) { c.get_slots = 0; }));
        EXPECT_TRUE(refused(base, [](Config& c) { c.save_bytes = 8; }));
        EXPECT_TRUE(refused(base, [](Config& c) { c.keepalive_limit = 0; }));
        EXPECT_TRUE(refused(base, [](Config& c) { c.keepalive_after = Duration{}; }));
        EXPECT_TRUE(refused(base, [](Config& c) { c.keepalive_max = Duration(1); }));
    }
}

// HELLO compares only what both ends must have in common.
TEST(AmConfig, TermsDifferWithEveryFigureThatBothEndsMustShare) {
    const auto differs = [](const std::function<void(Config&)>& change) {
        Config config = Config::ethernet();
        change(config);
        return config.terms() != Config::ethernet().terms();
    };
    EXPECT_TRUE(differs([](Config& c) { c.layout = Layout::sp2; }));
    EXPECT_TRUE(differs([](Config& c) { c.recovery = Recovery::go_back_n; }));
    EXPECT_TRUE(differs([](Config& c) { --c.packet_max; }));
    EXPECT_TRUE(differs([](Config& c) { --c.modulus; }));
    EXPECT_TRUE(differs([](Config& c) { --c.chunk_packets; }));
    EXPECT_TRUE(differs([](Config& c) { c.trusts_payload = true; }));
    EXPECT_TRUE(differs([](Config& c) { --c.chunks_in_flight; }));
    EXPECT_TRUE(differs([](Config& c) { ++c.ack_chunks; }));
    EXPECT_TRUE(differs([](Config& c) { --c.stores_max; }));
    EXPECT_TRUE(differs([](Config& c) { --c.gets_max; }));
    EXPECT_TRUE(differs([](Config& c) { --c.window[0]; }));
    EXPECT_TRUE(differs([](Config& c) { --c.window[1]; }));
    EXPECT_TRUE(differs([](Config& c) { --c.first_number[1]; }));
    EXPECT_FALSE(differs([](Config& c) { std::swap(c.node, c.peer); }));
    EXPECT_FALSE(differs([](Config& c) { c.seed = 9; }));
    EXPECT_FALSE(differs([](Config& c) { c.reply_places = 9; }));
    EXPECT_FALSE(differs([](Config& c) { c.keepalive_after = Duration(9); }));
}

// If three of ten frames are lost each way, 0.51 of the keep-alives fail.
TEST(AmConfig, APeerIsAskedAScoreOfTimesBeforeItIsGivenUp) {
    for (const int milliseconds : {200, 1'000, 10'000, 1'000'000}) {
        Config config = Config::ethernet();
        config.give_up_after(Duration::milliseconds(milliseconds));
        EXPECT_EQ(config.peer_timeout, Duration::milliseconds(milliseconds));
        EXPECT_LE(config.keepalive_max * 20, config.peer_timeout);
        EXPECT_LE(config.keepalive_max, Config().keepalive_max);
        EXPECT_TRUE(config.check());
    }
    Config config;
    config.give_up_after(Duration::milliseconds(20));  // fewer, as the first interval is long
    EXPECT_EQ(config.keepalive_max, config.keepalive_after);
    EXPECT_TRUE(config.check());
}

}  // namespace
}  // namespace wireproof::am
