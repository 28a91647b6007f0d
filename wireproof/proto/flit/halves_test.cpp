// Links of flits with two halves: the even half of an invalid flit is used once (CXL-13), and only
// if the whole flit would be taken; the retry stays that of whole flits.
#include "wireproof/proto/flit/halves.hpp"

#include <gtest/gtest.h>

#include "wireproof/proto/flit/halves_test_kit.hpp"
#include "wireproof/proto/flit/pair_test_kit.hpp"

namespace wireproof::flit {
namespace {

using enum RxVerdict;

constexpr std::size_t short_message = 8;
constexpr std::size_t long_message = 200;

Config halves() {
    Config config = demand(Config::cxl3_halves());
    config.trailing_nops = 1;
    return config;
}

OnLine with_spoilt_tail(OnLine flit) {
    flit.intact_front = half_size;
    return flit;
}

/// The same flit as a replay would send it, with its number.
OnLine with_number(OnLine flit, std::uint32_t number) {
    Header header = *Header::decode(Format::cxl_halves, flit.bytes.data());
    header.command = Command::explicit_number;
    header.number = number;
    header.encode(Format::cxl_halves, flit.bytes.data());
    return flit;
}

/// Messages from A, and the flits that carry them.
class Halves : public testing::Test {
protected:
    std::vector<OnLine> send(std::uint32_t count, std::size_t size = short_message) {
        pair.b.message_size = size;
        for (std::uint32_t i = 0; i < count; ++i) {
            EXPECT_EQ(pair.a.link.submit(message(size, pair.a.submitted++)),
                      SubmitStatus::accepted);
        }
        return pair.flits(pair.a);
    }
    const Stats& stats() const { return pair.b.link.stats(); }
    void give(const std::vector<OnLine>& flits, std::size_t from) {
        for (std::size_t i = from; i < flits.size(); ++i) pair.b.give(pair.now, flits[i]);
    }
    /// Carries flits until all are acknowledged, also past the Nak-ignore window.
    void finish() {
        pair.settle();
        for (int waits = 0; waits < 5 && pair.a.link.transmitter().outstanding() > 0; ++waits) {
            pair.wait();
            pair.settle();
        }
    }
    void expect_all_once(std::uint64_t timeouts = 0) {
        finish();
        EXPECT_EQ(pair.b.delivered, pair.a.submitted);
        EXPECT_FALSE(pair.b.wrong);
        EXPECT_EQ(pair.a.link.stats().timeouts, timeouts);
    }

    Pair pair{halves()};
};

// CXL-13: numbers pass the wrap. The message is delivered at once, and not again by the replay.
TEST_F(Halves, AShortMessageIsDeliveredFromTheEvenHalfAndNotAgain) {
    const auto flits = send(3);
    EXPECT_EQ(pair.b.give(pair.now, with_spoilt_tail(flits[0])), corrupt);
    EXPECT_EQ(pair.b.delivered, 1U);
    EXPECT_EQ(pair.b.give(pair.now, flits[1]), out_of_sequence);
    EXPECT_EQ(pair.b.give(pair.now, flits[2]), out_of_sequence);
    EXPECT_EQ(pair.b.delivered, 1U);
    expect_all_once();
    EXPECT_EQ(stats().halves_used, 1U);
    EXPECT_EQ(stats().halves_dropped, 1U);
    EXPECT_EQ(pair.a.link.stats().resent, 3U);
    EXPECT_EQ(stats().naks, 1U);
}

// A message that goes on in the odd half waits for it.
TEST_F(Halves, ALongMessageIsDeliveredWithItsOddHalf) {
    const auto flits = send(2, long_message);
    EXPECT_EQ(pair.b.give(pair.now, with_spoilt_tail(flits[0])), corrupt);
    EXPECT_EQ(pair.b.delivered, 0U);
    EXPECT_EQ(pair.b.give(pair.now, flits[1]), out_of_sequence);
    expect_all_once();
    EXPECT_EQ(stats().halves_used, 1U);
    EXPECT_EQ(stats().halves_dropped, 1U);
}

// CXL-13: the even half that was used counts, not that of the replay: it may have been handed on.
TEST_F(Halves, OnlyTheOddHalfOfAReplayIsUsed) {
    auto flits = send(1, 119 + 4);
    OnLine replayed = with_number(flits[0], pair.config_.first_number);
    pair.b.give(pair.now, with_spoilt_tail(flits[0]));
    replayed.bytes[2 + 7] ^= std::byte{0xFF};  // would make the message wrong
    EXPECT_EQ(pair.b.give(pair.now, replayed), accepted);
    EXPECT_EQ(pair.b.delivered, 1U);
    EXPECT_FALSE(pair.b.wrong);
}

// CXL-13: the two halves are those of one message only if both have its length.
TEST_F(Halves, AReplayOfAnotherLengthIsNoMessage) {
    const auto flits = send(1, long_message);
    for (const std::size_t size : {std::size_t{0}, short_message, long_message - 1}) {
        Pair fresh(halves());
        Pair other(halves());
        ASSERT_EQ(other.a.link.submit(message(size, 0)), SubmitStatus::accepted);
        fresh.b.give(fresh.now, with_spoilt_tail(flits[0]));
        const OnLine replayed = with_number(other.flits(other.a)[0], pair.config_.first_number);
        EXPECT_EQ(fresh.b.give(fresh.now, replayed), malformed) << size;
        EXPECT_EQ(fresh.b.delivered, 0U) << size;
    }
}

// A border: 119 bytes end in the even half, 120 do not.
TEST_F(Halves, TheEvenHalfHolds119BytesOfAMessage) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, even_message_max}) {
        Pair fresh(halves());
        fresh.b.message_size = size;
        ASSERT_EQ(fresh.a.link.submit(message(size, 0)), SubmitStatus::accepted);
        fresh.b.give(fresh.now, with_spoilt_tail(fresh.flits(fresh.a)[0]));
        EXPECT_EQ(fresh.b.delivered, 1U) << size;
        EXPECT_FALSE(fresh.b.wrong);
    }
    const auto flits = send(1, even_message_max + 1);
    pair.b.give(pair.now, with_spoilt_tail(flits[0]));
    EXPECT_EQ(pair.b.delivered, 0U);
    give(flits, 1);
    expect_all_once();
}

TEST_F(Halves, AFlitMayBeSpoiltInEachReplay) {
    const auto flits = send(1);
    pair.b.give(pair.now, with_spoilt_tail(flits[0]));
    pair.b.give(pair.now, flits[1]);  // a NOP: the payload before it is missing
    for (int replay = 0; replay < 3; ++replay) {
        pair.carry(pair.b, pair.a);
        auto again = pair.flits(pair.a);
        for (int waits = 0; waits < 5 && again.empty(); ++waits) {  // the Nak-ignore window
            pair.wait();
            pair.carry(pair.b, pair.a);
            again = pair.flits(pair.a);
        }
        ASSERT_TRUE(!again.empty() && again[0].payload);
        pair.b.give(pair.now, with_spoilt_tail(again[0]));
        EXPECT_EQ(pair.b.delivered, 1U);
    }
    finish();
    EXPECT_EQ(pair.b.delivered, 1U);
    EXPECT_EQ(stats().halves_used, 1U);
    EXPECT_EQ(stats().halves_dropped, 4U);
}

// CXL-13: all that is before a half must have been used.
TEST_F(Halves, AHalfThatIsAheadIsNotUsed) {
    const auto flits = send(3);
    pair.b.give(pair.now, Pair::lost());
    pair.b.give(pair.now, with_spoilt_tail(flits[1]));
    const Numbers numbers(pair.config_.modulus);
    const FlitNumber second = numbers.next(*numbers.from_wire(pair.config_.first_number));
    pair.b.give(pair.now, with_spoilt_tail(with_number(flits[1], Numbers::wire(second))));
    EXPECT_EQ(pair.b.give(pair.now, flits[2]), out_of_sequence);
    pair.b.give(pair.now, with_spoilt_tail(flits[2]));
    EXPECT_EQ(pair.b.delivered, 0U);
    EXPECT_EQ(stats().halves_used, 0U);
    expect_all_once();
}

// While a Nak is scheduled, only the explicit flit with the expected number is taken, so only its
// half is used.
TEST_F(Halves, DuringAReplayTheHalfOfTheExplicitFlitIsUsed) {
    const auto flits = send(2);
    pair.b.give(pair.now, Pair::lost());
    pair.b.give(pair.now, flits[1]);
    pair.carry(pair.b, pair.a);
    const auto again = pair.flits(pair.a);
    ASSERT_EQ(name_of(pair.config_, again[0].bytes),
              "payload " + std::to_string(pair.config_.first_number));
    pair.b.give(pair.now, with_spoilt_tail(again[0]));
    EXPECT_EQ(pair.b.delivered, 1U);
    give(again, 1);
    expect_all_once(1);  // the peer ignores another Nak for the same flit for a time
    EXPECT_EQ(stats().halves_used, 1U);
}

TEST_F(Halves, HalvesOfNopsAndOfDuplicatesAreNotUsed) {
    const auto flits = send(1);
    pair.b.give(pair.now, flits[0]);
    EXPECT_EQ(pair.b.delivered, 1U);
    ASSERT_FALSE(flits[1].payload);
    pair.b.give(pair.now, with_spoilt_tail(flits[1]));
    pair.b.give(pair.now, with_spoilt_tail(with_number(flits[0], pair.config_.first_number)));
    EXPECT_EQ(pair.b.delivered, 1U);
    EXPECT_EQ(stats().halves_used, 0U);
}

// Nothing in an invalid flit is used but the message of its even half: not its Ack.
TEST_F(Halves, AnAckInAnInvalidFlitDoesNotCount) {
    const auto flits = send(1);
    pair.b.give(pair.now, flits[0]);
    ASSERT_EQ(pair.b.link.submit(message(short_message, 0)), SubmitStatus::accepted);
    const auto back = pair.flits(pair.b);
    ASSERT_TRUE(back[0].payload);
    pair.a.message_size = short_message;
    pair.a.give(pair.now, with_spoilt_tail(back[0]));
    EXPECT_EQ(pair.a.delivered, 1U);
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 1U);
    expect_all_once(1);
}

TEST_F(Halves, ANewLifeForgetsTheUsedHalf) {
    const auto flits = send(1);
    pair.b.give(pair.now, with_spoilt_tail(flits[0]));
    pair.b.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.b.draw();
    pair.b.delivered = 0;
    EXPECT_EQ(pair.b.give(pair.now, flits[0]), accepted);
    EXPECT_EQ(pair.b.delivered, 1U);
}

TEST(HalvesOnLine, AFrontThatIsNotThereOrNotAHalfIsNotUsed) {
    for (const std::size_t size : {std::size_t{0}, half_size - 1, flit_max}) {
        Pair fresh(halves());
        ASSERT_EQ(fresh.a.link.submit(message(short_message, 0)), SubmitStatus::accepted);
        OnLine flit = fresh.flits(fresh.a)[0];
        flit.bytes.resize(size);
        const std::size_t front = size < half_size ? half_size : half_size - 1;
        fresh.b.link.on_frame(
            fresh.now,
            {.bytes = flit.bytes, .integrity = Integrity::damaged, .intact_front = front});
        fresh.b.draw();
        EXPECT_EQ(fresh.b.delivered, 0U) << size;
        EXPECT_EQ(fresh.b.link.stats().halves_used, 0U) << size;
    }
}

// A peer may send payload before this end is up, but its halves wait for the whole flit.
TEST(HalvesAtStart, NoHalfIsUsedBeforeTheLinkIsUp) {
    Config config = halves();
    config.starts_up = true;
    config.start_explicit = config.start_acks = 1;
    Pair pair(config);
    OnLine flit;
    {
        Pair other(halves());
        ASSERT_EQ(other.a.link.submit(message(short_message, 0)), SubmitStatus::accepted);
        flit = with_number(other.flits(other.a)[0], config.first_number);
    }
    EXPECT_EQ(pair.b.give(pair.now, with_spoilt_tail(flit)), corrupt);
    EXPECT_EQ(pair.b.delivered, 0U);
    EXPECT_EQ(pair.b.link.stats().halves_used, 0U);
}

// CXL-14: the correction "repairs" a byte of the message that was right. The message is used as it
// came.
TEST(HalvesOnBytes, AHalfThatTheCorrectionSpoiltIsUsedAsItCame) {
    Pair pair(halves());
    pair.a.check = pair.b.check = true;
    pair.submit(1);
    OnLine spoilt = pair.flits(pair.a)[0];
    forge_an_error_at(Bytes(spoilt.bytes).first<flit_max>(), 4);
    // And one error that the ECC does repair.
    spoilt.bytes[half_size + 1] ^= std::byte{1};
    EXPECT_EQ(pair.b.give(pair.now, spoilt), corrupt);
    EXPECT_EQ(pair.b.link.stats().flits_suspect, 1U);
    EXPECT_EQ(pair.b.delivered, 1U);
    EXPECT_FALSE(pair.b.wrong);
}

// A frame from the wire says nothing of its front; the engine checks the bytes.
TEST(HalvesOnBytes, TheEngineFindsTheGoodHalfByItself) {
    Pair pair(halves());
    pair.a.check = pair.b.check = true;
    pair.submit(2);
    auto flits = pair.flits(pair.a);
    auto spoilt = flits[0];
    for (const std::size_t at : {130U, 133U, 136U}) spoilt.bytes[at] ^= std::byte{0x81};
    EXPECT_EQ(pair.b.give(pair.now, spoilt), corrupt);
    EXPECT_EQ(pair.b.delivered, 1U);
    EXPECT_EQ(pair.b.link.stats().halves_used, 1U);
    auto repairable = flits[1];
    repairable.bytes[5] ^= std::byte{1};
    EXPECT_EQ(pair.b.give(pair.now, repairable), out_of_sequence);
    EXPECT_EQ(pair.b.link.stats().flits_rx_corrected, 1U);
    pair.settle();
    EXPECT_EQ(pair.b.delivered, 2U);
    EXPECT_FALSE(pair.b.wrong);
}

// CXL-14: a whole link on a line with wrong bytes. Errors that the ECC may take for others are
// frequent, so it spoils halves; each message still arrives once.
TEST(HalvesOnBytes, NothingIsLostOrDoubledWhateverTheCorrectionDoes) {
    for (const std::size_t size : {short_message, long_message}) {
        Config config = Config::cxl3_halves();
        config.first_number = 1020;
        Random random(size);
        Line line(config, 20);
        for (LineEnd& end : line.ends) end.check = true;
        line.message_size = size;
        line.to_send = {3000, 3000};
        const Spoils errors = [&random](std::size_t, OnLine& flit) {
            if (!random.chance(0.1)) return false;
            for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
                flit.bytes[random.below(flit_max)] ^= static_cast<std::byte>(1 + random.below(255));
            }
            return false;
        };
        EXPECT_TRUE(line.run(60'000, errors)) << size;
        for (std::size_t i = 0; i < 2; ++i) {
            const LineEnd& end = line.ends[i];
            const Stats& stats = end.link.stats();
            const Stats& peers = line.ends[1 - i].link.stats();
            EXPECT_FALSE(end.wrong);
            EXPECT_GT(stats.halves_used, 5U);
            EXPECT_GT(stats.flits_rx_corrected, 100U);
            EXPECT_GT(stats.flits_suspect, 0U);
            EXPECT_EQ(stats.timeouts, 0U);
            // A loop has 41 flits, but most invalid flits are within a replay that is under way.
            EXPECT_LT(stats.resent, 16 * peers.flits_rx_invalid);
            EXPECT_LT(stats.resent, 12'000U);
        }
    }
}

// CXL-13, FLIT-19: messages that end in the even half and others, standard and selective, with half
// and with all of the spoilt flits spoilt behind their even half.
TEST(HalvesOnLine, EachMessageArrivesOnceWhateverIsSpoilt) {
    for (const bool selective : {false, true}) {
        for (const std::size_t size :
             {short_message, even_message_max, even_message_max + 1, long_message}) {
            for (const double spared : {0.5, 1.0}) {
                Config config = Config::cxl3_halves();
                config.first_number = 1020;
                config.selective = selective;
                if (selective) config.explicit_after_jump = 3;
                Line line(config, 10);
                Random random(size);
                line.to_send = {500, 500};
                line.message_size = size;
                line.even_spared = spared;
                EXPECT_TRUE(line.run(100'000, spoil_at_random(random, 0.1))) << size;
                for (std::size_t i = 0; i < 2; ++i) {
                    const LineEnd& end = line.ends[i];
                    const Stats& stats = end.link.stats();
                    const Stats& peers = line.ends[1 - i].link.stats();
                    EXPECT_FALSE(end.wrong) << selective << size;
                    EXPECT_GT(stats.halves_used, 5U) << selective << size;
                    // As above, with a loop of 21 flits.
                    EXPECT_LT(stats.resent, 10 * peers.flits_rx_invalid) << selective << size;
                }
            }
        }
    }
}

// The halves that are used are those of flits that would be taken: one receiver decides by the
// header, its copy takes the whole flit.
TEST(HalvesInReceiver, AHalfIsUsedIfTheWholeFlitWouldBeTaken) {
    for (const bool selective : {false, true}) {
        Config config = Config::cxl3_halves();
        config.modulus = 7;
        config.outstanding = 3;
        config.first_number = 6;
        config.selective = selective;
        config.store_flits = 3;
        if (selective) config.explicit_after_jump = 3;
        Random random(selective ? 2 : 1);
        Receiver receiver(config);
        Stats stats;
        const std::array<std::byte, 1> content{};
        std::size_t used = 0;
        std::size_t refused = 0;
        for (int step = 0; step < 20'000; ++step) {
            const Header header{random.chance(0.7), random.chance(0.5),
                                random.chance(0.4) ? Command::explicit_number : Command::ack,
                                static_cast<std::uint32_t>(random.below(8))};
            Receiver whole = receiver;
            Stats of_whole;
            const bool taken =
                whole.on_flit(Instant(), header, ConstBytes(content), of_whole) == accepted;
            Receiver half = receiver;
            Stats of_half;
            half.use_even(header, {content, 1}, of_half);
            ASSERT_EQ(of_half.halves_used == 1, taken) << step;
            ++(taken ? used : refused);
            if (random.chance(0.2)) {
                receiver.on_invalid(Instant(), stats);
            } else {
                receiver.on_flit(Instant(), header, ConstBytes(content), stats);
            }
            while (receiver.next_message()) {
            }
        }
        EXPECT_GT(used, 1000U);
        EXPECT_GT(refused, 1000U);
    }
}

// A kept half decides what is delivered later, so it is part of the state.
TEST(HalvesInReceiver, TheFingerprintHasTheUsedHalf) {
    const auto value_after = [](std::size_t length, std::byte first) {
        Receiver receiver(Config::cxl3_halves());
        Stats stats;
        std::vector<std::byte> bytes(std::min(length, even_message_max), first);
        if (length > 0) {
            receiver.use_even({true, true, Command::ack, 0}, {bytes, length}, stats);
            EXPECT_EQ(stats.halves_used, 1U);
        }
        while (receiver.next_message()) {
        }
        Fingerprint sink;
        receiver.fingerprint(Instant(), sink);
        return sink.value();
    };
    const auto none = value_after(0, {});
    const auto delivered = value_after(3, std::byte{1});
    const auto kept = value_after(200, std::byte{1});
    EXPECT_NE(none, delivered);
    EXPECT_NE(delivered, kept);
    EXPECT_EQ(delivered, value_after(3, std::byte{2}));
    EXPECT_NE(kept, value_after(200, std::byte{2}));
    EXPECT_NE(kept, value_after(201, std::byte{1}));
}

}  // namespace
}  // namespace wireproof::flit
