// Links whose numbers have a check of their own, because nothing below them finds damage (LLR-38).
#include <gtest/gtest.h>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ue/pair_test_kit.hpp"

namespace wireproof::ue {
namespace {

Config checking() {
    Config config = test_config();
    config.checks_numbers = true;
    config.delivers_poisoned = true;
    return config;
}

void flip(Frame& frame, std::size_t bit) {
    frame.bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
}

/// Whether the end takes the frame for anything but damage. The end is a copy.
bool acts_on(End end, Instant now, const Frame& frame) {
    const auto before = end.got.size();
    const RxVerdict verdict = end.give(now, frame);
    return end.got.size() != before || verdict == RxVerdict::accepted ||
           verdict == RxVerdict::control;
}

// LLR-38
TEST(UeChecks, NoFrameWithAWrongBitIsDelivered) {
    Pair pair(checking());
    pair.submit(2);
    const auto sent = pair.frames(pair.a);
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_TRUE(acts_on(pair.b, pair.now, sent[0]));
    for (std::size_t bit = 0; bit < 8 * sent[0].bytes.size(); ++bit) {
        Frame bad = sent[0];
        flip(bad, bit);
        EXPECT_FALSE(acts_on(pair.b, pair.now, bad)) << bit;
    }
    Random random(1);
    for (std::size_t i = 0; i < 2'000; ++i) {
        Frame bad = sent[i % 2];
        for (std::size_t bits = 0; bits < 2 + i % 4; ++bits)
            flip(bad, random.below(8 * bad.bytes.size()));
        if (bad.bytes == sent[i % 2].bytes) continue;
        EXPECT_FALSE(acts_on(pair.b, pair.now, bad)) << i;
    }
}

// LLR-38: the second frame with the number of the first one is no first one.
TEST(UeChecks, AWrongNumberIsDamageAndDrawsOneNack) {
    Pair pair(checking());
    pair.submit(2);
    auto sent = pair.frames(pair.a);
    Preamble{sent[0].number()}.encode(Bytes(sent[1].bytes).first<preamble_size>(),
                                      PreambleOrder::number_first);
    EXPECT_EQ(pair.b.give(pair.now, sent[1]), RxVerdict::corrupt);
    EXPECT_TRUE(pair.b.got.empty());
    pair.settle();
    pair.expect_all();
    EXPECT_EQ(pair.b.stats().naks, 1U);
}

// LLR-38
TEST(UeChecks, NoCtlOsWithAWrongBitIsObeyed) {
    Pair pair(checking());
    pair.submit(3);
    pair.carry(pair.frames(pair.a), pair.b);
    const auto acks = pair.frames(pair.b);
    ASSERT_EQ(acks.size(), 1U);
    EXPECT_EQ(acks[0].bytes.size(), CtlOs::checked_size);
    EXPECT_EQ(acks[0].kind(), "ACK");
    for (std::size_t first = 0; first < 8 * acks[0].bytes.size(); ++first) {
        for (std::size_t second = first; second < 8 * acks[0].bytes.size(); ++second) {
            Frame bad = acks[0];
            flip(bad, first);
            if (second != first) flip(bad, second);
            EXPECT_FALSE(acts_on(pair.a, pair.now, bad)) << first << " " << second;
        }
    }
    Frame unchecked = acks[0];
    unchecked.bytes.resize(CtlOs::size);
    EXPECT_EQ(pair.a.give(pair.now, unchecked), RxVerdict::corrupt);
    EXPECT_EQ(pair.a.give(pair.now, acks[0]), RxVerdict::control);
    EXPECT_EQ(pair.a.link.transmitter().outstanding(), 0U);
}

// LLR-38: the same on a carrier that vouches for the bytes, and with a poisoned frame (LLR-10).
TEST(UeChecks, ACarrierThatVouchesForTheBytesNeedsNoCheck) {
    for (const bool wants_check : {true, false}) {
        Pair pair(checking());
        pair.a.link.poison_next();
        pair.submit(2);
        std::vector<Frame> sent;
        while (auto frame = pair.a.poll(pair.now, wants_check)) sent.push_back(*frame);
        ASSERT_EQ(sent.size(), 2U);
        const Integrity integrity = wants_check ? Integrity::check : Integrity::intact;
        for (const Frame& frame : sent) pair.b.give(pair.now, frame, integrity);
        EXPECT_EQ(pair.b.got.size(), 2U);
        EXPECT_EQ(pair.b.poisoned, 1);
        const auto ack = pair.b.poll(pair.now, wants_check);
        ASSERT_TRUE(ack);
        EXPECT_EQ(pair.a.give(pair.now, *ack, integrity), RxVerdict::control);
        EXPECT_EQ(pair.a.link.transmitter().outstanding(), 0U);
    }
}

// LLR-30, LLR-38
TEST(UeChecks, DatagramsHaveThem) {
    EXPECT_TRUE(Config::of_datagrams(1400).checks_numbers);
    EXPECT_FALSE(Config::of_line({Duration(10), Duration::nanoseconds(1000)}).checks_numbers);
}

}  // namespace
}  // namespace wireproof::ue
