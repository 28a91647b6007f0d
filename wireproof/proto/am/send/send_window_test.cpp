// Numbers, the save queue and the order of departure, without a connection.
#include "wireproof/proto/am/send/send_window.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using Positions = std::vector<std::uint64_t>;

/// Each message has its own packet; send_window_row_test.cpp compares with messages that share
/// packets.
Configs alone_small() {
    return all_small().with([](Config config) {
        config.bundle_max = 0;
        return config;
    });
}

/// A window whose departures are recorded as positions.
struct Sender {
    explicit Sender(const Config& of) : config(of), window(of, Channel::request) {}

    bool push(std::uint32_t value = 0) { return window.push(Kind::request, 1, words({value})); }

    std::vector<std::uint64_t> leave(std::size_t most = 1000) {
        std::vector<std::uint64_t> left;
        while (left.size() < most) {
            const auto departure = window.next_departure();
            if (!departure) break;
            const std::uint64_t place =
                departure->data.size() > 0 && departure->message->span > 1
                    ? (departure->offset - departure->message->offset) / config.data_max()
                    : 0;
            left.push_back(departure->message->position + place);
            if (departure->resent) ++resent;
            window.departed();
        }
        return left;
    }

    std::uint32_t number(std::uint64_t position) const {
        return static_cast<std::uint32_t>((config.first_number[0] + position) % config.modulus);
    }

    bool ack(std::uint64_t position) {
        Positions before;
        for (std::size_t i = 0; i < window.saved().size(); ++i) {
            before.push_back(window.saved()[i].position);
        }
        const bool believed = window.on_ack(number(position), [](const SendWindow::Saved&) {});
        const std::size_t freed = before.size() - window.saved().size();
        done.insert(done.end(), before.begin(),
                    before.begin() + static_cast<std::ptrdiff_t>(freed));
        return believed;
    }

    /// As if the packet at distance `end`, of that round, had caused a NACK.
    bool nack(std::uint64_t expected, std::uint8_t round, std::uint32_t end = 0,
              std::vector<unsigned> there = {}) {
        if (!ack(expected)) return false;
        std::vector<std::byte> map;
        for (const unsigned at : there) {
            map.resize(std::max<std::size_t>(map.size(), at / 8 + 1));
            map[at / 8] |= std::byte{1} << (at % 8);
        }
        return window.on_nack({round, end, config.window[0], map});
    }

    Config config;
    SendWindow window;
    std::size_t resent = 0;
    std::vector<std::uint64_t> done;
};

// AM-6
TEST(AmSendWindow, TakesAWindowAndNoMore) {
    for (const Config& config : alone_small()) {
        Sender sender(config);
        for (std::uint32_t i = 0; i < 12; ++i) EXPECT_TRUE(sender.push());
        EXPECT_FALSE(sender.push());
        EXPECT_EQ(sender.window.room(), 0);
        EXPECT_EQ(sender.leave().size(), 12);
        EXPECT_TRUE(sender.ack(1));
        EXPECT_TRUE(sender.push());
        EXPECT_FALSE(sender.push());
    }
}

// AM-37
TEST(AmSendWindow, BelievesOnlyAcksOfWhatHasLeft) {
    for (const Config& config : alone_small()) {
        Sender sender(config);
        for (int i = 0; i < 6; ++i) ASSERT_TRUE(sender.push());
        sender.leave(4);
        EXPECT_FALSE(sender.ack(5));
        EXPECT_FALSE(sender.ack(6));
        EXPECT_FALSE(sender.ack(config.modulus - 1));
        EXPECT_FALSE(sender.ack(config.modulus / 2));
        EXPECT_TRUE(sender.ack(0));
        EXPECT_EQ(sender.done, Positions{});
        EXPECT_TRUE(sender.ack(4));
        EXPECT_EQ(sender.done, (Positions{0, 1, 2, 3}));
        EXPECT_FALSE(sender.ack(3));
        EXPECT_EQ(sender.leave(), (Positions{4, 5}));
    }
}

TEST(AmSendWindow, KnowsANumberThatEndsAllAndThatNobodyAwaitsIt) {
    for (const Config& config : alone_small()) {
        Sender sender(config);
        SendWindow& window = sender.window;
        for (int i = 0; i < 2; ++i) ASSERT_TRUE(sender.push());
        sender.leave(1);
        EXPECT_FALSE(window.ends_all(sender.number(1))) << "one has not left";
        EXPECT_FALSE(window.ends_all(sender.number(2)));
        sender.leave();
        EXPECT_FALSE(window.ends_all(sender.number(1)));
        EXPECT_TRUE(window.ends_all(sender.number(2)));
        ASSERT_TRUE(sender.nack(0, 0, 2));
        EXPECT_FALSE(window.ends_all(sender.number(2))) << "both leave again";
        EXPECT_EQ(sender.leave(), (Positions{0, 1}));
        EXPECT_TRUE(window.ends_all(sender.number(2)));
        window.drop_all();
        EXPECT_TRUE(window.empty());
        EXPECT_TRUE(window.saved().empty());
        EXPECT_EQ(window.room(), config.window[0]);
        EXPECT_EQ(window.first_unacknowledged(), sender.number(2));
        ASSERT_TRUE(window.push(Kind::get_request, 0, {}));
        sender.leave();
        EXPECT_FALSE(window.ends_all(sender.number(3))) << "its end is awaited";
    }
}

TEST(AmSendWindow, IgnoresANumberThatIsNotOnTheCircle) {
    Config config = small(sp2());
    config.modulus = 100;
    config.first_number = {97, 97};
    Sender sender(config);
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(sender.push());
    EXPECT_EQ(sender.leave().size(), 6);
    const auto no_one = [](const SendWindow::Saved&) { FAIL(); };
    EXPECT_FALSE(sender.window.on_ack(100, no_one));
    EXPECT_FALSE(sender.window.on_ack(101, no_one));
    EXPECT_TRUE(sender.ack(6));
    EXPECT_TRUE(sender.window.empty());
}

// AM-3, AM-33, AM-37
TEST(AmSendWindow, AChunkIsAcknowledgedAsAWhole) {
    for (const Config& config : alone_small()) {
        Sender sender(config);
        const auto bytes = pattern(4 * config.data_max() - 1);
        ASSERT_TRUE(sender.push());
        sender.window.push_chunk(0, 0, bytes, 0, 4);
        ASSERT_TRUE(sender.push());
        EXPECT_EQ(sender.leave(), (Positions{0, 1, 2, 3, 4, 5}));
        for (const std::uint64_t inside : {2U, 3U, 4U}) EXPECT_FALSE(sender.ack(inside));
        EXPECT_TRUE(sender.ack(1));
        EXPECT_TRUE(sender.ack(5));
        EXPECT_EQ(sender.done, (Positions{0, 1}));
    }
}

// AM-11, AM-38
TEST(AmSendWindow, GoesBackOncePerRound) {
    Sender sender(small(sp2()));
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(sender.push());
    EXPECT_EQ(sender.leave(6).size(), 6);
    EXPECT_TRUE(sender.nack(2, 0));
    EXPECT_FALSE(sender.nack(3, 0));
    EXPECT_EQ(sender.leave(2), (Positions{3, 4}));
    EXPECT_TRUE(sender.nack(3, 1));  // lost again: the resend begins anew
    EXPECT_EQ(sender.leave(), (Positions{3, 4, 5, 6, 7}));
    EXPECT_EQ(sender.window.round(), 2);
    EXPECT_EQ(sender.resent, 5);
    EXPECT_FALSE(sender.nack(3, 0));
    EXPECT_FALSE(sender.nack(8, 2));  // nothing is unacknowledged
}

// AM-38: rounds wrap, too.
TEST(AmSendWindow, RoundsWrap) {
    for (const Config& config : alone_small()) {
        Sender sender(config);
        ASSERT_TRUE(sender.push());
        ASSERT_TRUE(sender.push());
        sender.leave();
        for (unsigned round = 0; round < 600; ++round) {
            EXPECT_TRUE(sender.nack(0, static_cast<std::uint8_t>(round), 1, {1}));
            sender.leave();
        }
        EXPECT_EQ(sender.window.round(), 600 % 256);
    }
}

// AM-36
TEST(AmSendWindow, JumpsOverWhatIsAcknowledgedInTheMiddleOfAResend) {
    for (const Config& config : alone_small()) {
        Sender sender(config);
        for (int i = 0; i < 8; ++i) ASSERT_TRUE(sender.push());
        sender.leave(6);
        EXPECT_TRUE(sender.nack(0, 0, 6, {}));
        EXPECT_EQ(sender.leave(1), Positions{0});
        EXPECT_TRUE(sender.ack(4));
        EXPECT_EQ(sender.leave(), (Positions{4, 5, 6, 7}));
        EXPECT_EQ(sender.resent, 3);
    }
}

// A resend of all packets but the last, which is not lost, and the order after it.
TEST(AmSendWindow, SelectiveResendsOnlyTheHoles) {
    Sender sender(small(bare()));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(sender.push());
    sender.leave(8);
    EXPECT_TRUE(sender.nack(1, 0, 5, {1, 2, 4, 5}));
    EXPECT_EQ(sender.leave(), (Positions{1, 4, 8, 9}));
    EXPECT_EQ(sender.resent, 2);
}

// Selective: later NACKs of the same round name more missing packets; each is resent once.
TEST(AmSendWindow, SelectiveAcceptsANackOfAnOlderRoundForWhatWasNotResent) {
    Sender sender(small(bare()));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(sender.push());
    sender.leave();
    EXPECT_TRUE(sender.nack(0, 0, 2, {1, 2}));
    EXPECT_EQ(sender.leave(), Positions{0});
    EXPECT_FALSE(sender.nack(0, 0, 3, {1, 2, 3}));
    EXPECT_TRUE(sender.nack(0, 0, 6, {1, 2, 3, 4, 6}));
    EXPECT_EQ(sender.leave(), Positions{5});
    EXPECT_FALSE(sender.nack(0, 0, 6, {1, 2, 3, 4, 6}));
    EXPECT_EQ(sender.leave(), Positions{});
    EXPECT_EQ(sender.resent, 2);
}

// Selective: a packet that a NACK reported as arrived stays so, even if a later NACK does not say
// it.
TEST(AmSendWindow, SelectiveNeverResendsWhatWasSeenThere) {
    Sender sender(small(bare()));
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(sender.push());
    sender.leave();
    EXPECT_TRUE(sender.nack(0, 0, 5, {1, 2, 3, 4, 5}));
    EXPECT_EQ(sender.leave(), Positions{0});
    EXPECT_TRUE(sender.nack(0, 1, 6, {}));
    EXPECT_EQ(sender.leave(), Positions{0});
}

// Selective: a map that was cut short says nothing about later packets.
TEST(AmSendWindow, SelectiveBelievesAMapOnlyAsFarAsItReaches) {
    Sender sender(small(bare()));
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(sender.push());
    sender.leave();
    ASSERT_TRUE(sender.ack(0));
    const std::array map{std::byte{0b10}};
    EXPECT_TRUE(sender.window.on_nack({.round = 0, .end = 8, .reach = 3, .map = map}));
    EXPECT_EQ(sender.leave(), (Positions{0, 2}));
}

TEST(AmSendWindow, ForgetsEverythingWithASession) {
    for (const Config& config : alone_small()) {
        Sender sender(config);
        for (int i = 0; i < 8; ++i) ASSERT_TRUE(sender.push());
        sender.leave(5);
        sender.nack(1, 0, 4, {2});
        sender.window.reset();
        Fingerprint reset;
        sender.window.fingerprint(Instant(), reset);
        Fingerprint fresh;
        SendWindow(config, Channel::request).fingerprint(Instant(), fresh);
        EXPECT_EQ(reset.value(), fresh.value());
        ASSERT_TRUE(sender.push());
        EXPECT_EQ(sender.leave(), Positions{0});
    }
}

// Chunks and what is awaited are; a request when there is time.
TEST(AmSendWindow, KnowsWhetherWhatLeftIsAnsweredAsSoonAsItArrives) {
    Sender sender(small(bare()));
    SendWindow& window = sender.window;
    const OpenBody body;
    EXPECT_FALSE(window.waits_for_answer());
    ASSERT_TRUE(sender.push());
    EXPECT_FALSE(window.waits_for_answer());  // nothing has left
    ASSERT_TRUE(sender.push());
    sender.leave(1);
    EXPECT_FALSE(window.waits_for_answer());
    ASSERT_TRUE(window.push_note(body, {}, 1, false));
    ASSERT_TRUE(window.push_note(body, {}, 2, true));
    ASSERT_TRUE(sender.push());
    sender.leave(2);
    EXPECT_FALSE(window.waits_for_answer());  // an unawaited note
    sender.leave(1);
    EXPECT_TRUE(window.waits_for_answer());
    EXPECT_TRUE(window.waits_for_answer());
    sender.leave(1);
    EXPECT_FALSE(window.waits_for_answer());  // nothing waits
    ASSERT_TRUE(sender.push());
    EXPECT_FALSE(window.waits_for_answer());  // after a request
    sender.leave();
    const auto bytes = pattern(3 * sender.config.data_max());
    window.push_chunk(0, 0, bytes, 0, 3);
    EXPECT_FALSE(window.waits_for_answer());
    sender.leave(1);
    EXPECT_FALSE(window.waits_for_answer());  // the rest of a chunk waits
    sender.leave();
    ASSERT_TRUE(sender.push());
    EXPECT_TRUE(window.waits_for_answer());
    ASSERT_TRUE(sender.ack(9));
    EXPECT_FALSE(window.waits_for_answer());
}

}  // namespace
}  // namespace wireproof::am::test
