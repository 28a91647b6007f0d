// The placement of numbers, what is owed and what is held, without a connection.
#include "wireproof/proto/am/receive/receive_window.hpp"

#include <gtest/gtest.h>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using Place = ReceiveWindow::Place;

void accept(ReceiveWindow& window, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        window.message(0).kind = Kind::request;
        window.message(0).span = 1;
        window.pass();
    }
}

// AM-48: every number of a small circle.
TEST(AmReceiveWindow, PlacesEveryNumberOfTheCircle) {
    Config config = sp2();
    config.modulus = 64;
    config.window = {7, 7};
    config.chunk_packets = 2;
    config.first_number = {61, 61};
    ReceiveWindow window(config, Channel::request);
    for (std::uint32_t passed = 0; passed < 70; ++passed) {
        const std::uint32_t expected = window.expected();
        ASSERT_EQ(expected, (61 + passed) % 64);
        for (std::uint32_t ahead = 0; ahead < 64; ++ahead) {
            const auto at = window.placement_of((expected + ahead) % 64);
            const Place wanted = ahead == 0   ? Place::expected
                                 : ahead < 7  ? Place::ahead
                                 : ahead < 32 ? Place::stale
                                              : Place::behind;
            ASSERT_EQ(at.place, wanted) << ahead;
            if (ahead < 7) {
                ASSERT_EQ(at.distance, ahead);
            }
        }
        EXPECT_EQ(window.placement_of(64).place, Place::stale);
        EXPECT_EQ(window.placement_of(~0U).place, Place::stale);
        accept(window, 1);
    }
}

// AM-14
TEST(AmReceiveWindow, OwesAnAckFromTheMarkOn) {
    for (const Config& config : all()) {
        ReceiveWindow window(config, Channel::reply);
        accept(window, config.window[1] / 4 - 1);
        EXPECT_FALSE(window.ack_due());
        accept(window, 1);
        EXPECT_TRUE(window.ack_due());
        window.acknowledged();
        EXPECT_FALSE(window.ack_due());
        window.owe_ack();
        EXPECT_TRUE(window.ack_due());
    }
}

// AM-39
TEST(AmReceiveWindow, ManyCausesShareOneComplaint) {
    for (const Config& config : all()) {
        ReceiveWindow window(config, Channel::request);
        for (std::uint32_t ahead = 1; ahead < 75; ++ahead) window.owe_nack(3, ahead, false);
        ASSERT_TRUE(window.pending_nack());
        EXPECT_EQ(window.pending_nack()->round, 3);
        EXPECT_EQ(window.nack_end(), 74);
        window.nack_left();
        EXPECT_FALSE(window.pending_nack());
    }
}

// AM-38
TEST(AmReceiveWindow, OfTwoRoundsTheLaterIsComplainedOf) {
    for (const auto& rounds : {std::pair{3, 4}, std::pair{255, 0}, std::pair{200, 10}}) {
        const int earlier = rounds.first;
        const int later = rounds.second;
        for (const bool in_order : {true, false}) {
            ReceiveWindow window(bare(), Channel::request);
            const auto round = [&](bool first) {
                return static_cast<std::uint8_t>(first == in_order ? earlier : later);
            };
            window.owe_nack(round(true), in_order ? 9 : 5, false);
            window.owe_nack(round(false), in_order ? 5 : 9, false);
            ASSERT_TRUE(window.pending_nack());
            EXPECT_EQ(window.pending_nack()->round, later);
            EXPECT_EQ(window.nack_end(), 5);
        }
    }
}

// AM-18
TEST(AmReceiveWindow, WithdrawsAComplaintThatIsServedUnlessAKeepaliveDemandsIt) {
    for (const Config& config : all()) {
        for (const bool demanded : {false, true}) {
            ReceiveWindow window(config, Channel::request);
            window.owe_nack(0, 2, demanded);
            accept(window, 2);
            EXPECT_EQ(window.pending_nack().has_value(), demanded);
        }
    }
}

TEST(AmReceiveWindow, HoldsAsManyAsItHasSlotsFor) {
    Config config = small(bare());
    config.held_packets = 2;
    ReceiveWindow window(config, Channel::request);
    const auto large = pattern(config.data_max(), 1);
    const auto little = pattern(64, 2);
    EXPECT_TRUE(window.hold(window.message(1), {}, large));
    EXPECT_TRUE(window.hold(window.message(2), {}, little));
    EXPECT_TRUE(window.hold(window.message(3), {}, large));
    EXPECT_FALSE(window.hold(window.message(4), {}, large));
    for (std::uint32_t i = 4; i < config.window[0]; ++i) {
        EXPECT_TRUE(window.hold(window.message(i), {}, little)) << i;
    }
    EXPECT_TRUE(same(window.held(window.message(1)), large));
    EXPECT_TRUE(same(window.held(window.message(2)), little));
    window.free_slot(window.message(1).slot);
    EXPECT_TRUE(window.hold(window.message(1), {}, large));
}

TEST(AmReceiveWindow, MapsWhatIsThere) {
    ReceiveWindow window(bare(), Channel::request);
    for (const std::uint32_t there : {1U, 2U, 9U}) window.mark(there);
    ASSERT_EQ(window.map_bytes(), 2);
    std::array<std::byte, 2> map{};
    window.write_map(map);
    EXPECT_EQ(map[0], std::byte{0b110});
    EXPECT_EQ(map[1], std::byte{0b10});
    window.write_map(Bytes(map).first(1));
    EXPECT_EQ(map[0], std::byte{0b110});
    accept(window, 3);
    EXPECT_TRUE(window.has(6));
    EXPECT_EQ(window.map_bytes(), 1);
}

TEST(AmReceiveWindow, ForgetsEverythingWithASession) {
    for (const Config& config : all_small()) {
        ReceiveWindow window(config, Channel::request);
        accept(window, 3);
        window.mark(2);
        window.owe_nack(4, 2, false);
        window.owe_ack();
        if (config.recovery == Recovery::selective) {
            ASSERT_TRUE(window.hold(window.message(2), {}, pattern(5)));
        }
        window.reset();
        Fingerprint reset;
        window.fingerprint(reset);
        Fingerprint fresh;
        ReceiveWindow(config, Channel::request).fingerprint(fresh);
        EXPECT_EQ(reset.value(), fresh.value());
    }
}

// Also if the window is no power of two and the places are.
TEST(AmBitWindow, ForgetsEveryPlaceOfEverySize) {
    for (const std::uint32_t size : {1U, 7U, 12U, 64U, 75U, 76U, 1027U}) {
        BitWindow bits(size);
        for (std::uint64_t at = 0; at < 4096; ++at) bits.set(at);
        bits.clear_all();
        for (std::uint64_t at = 0; at < 4096; ++at) ASSERT_FALSE(bits.test(at)) << size;
    }
}

}  // namespace
}  // namespace wireproof::am::test
