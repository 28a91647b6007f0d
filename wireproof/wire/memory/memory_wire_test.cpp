// Tests the order of frames, the flush, the full ring and the lifetime of lent bytes of a
// MemoryWire.
#include "wireproof/wire/memory/memory_wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace wireproof {
namespace {

constexpr Instant now{};
constexpr PeerId peer{0};

ConstBytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(ConstBytes bytes) {
    std::string text;
    for (const std::byte byte : bytes) text.push_back(static_cast<char>(byte));
    return text;
}

/// Writes the first letter in place and points to the rest.
bool send(MemoryWire& wire, std::string_view text) {
    TxFrame* frame = wire.lane(peer).claim();
    if (frame == nullptr) return false;
    frame->add_header<1>()[0] = static_cast<std::byte>(text.front());
    frame->add_payload(bytes_of(text.substr(1)));
    wire.lane(peer).commit();
    return true;
}

std::string next_text(MemoryWire& wire) {
    const auto frame = wire.receive(now);
    return frame ? text_of(frame->bytes) : "nothing";
}

TEST(MemoryWire, CarriesFramesInOrderBothWays) {
    MemoryLink link({.frame_max = 16, .capacity = 4});
    ASSERT_TRUE(send(link.end(0), "one"));
    ASSERT_TRUE(send(link.end(0), "two"));
    ASSERT_TRUE(send(link.end(1), "back"));
    link.end(0).flush(now);
    link.end(1).flush(now);
    EXPECT_EQ(next_text(link.end(1)), "one");
    EXPECT_EQ(next_text(link.end(1)), "two");
    EXPECT_EQ(next_text(link.end(1)), "nothing");
    EXPECT_EQ(next_text(link.end(0)), "back");
    EXPECT_EQ(next_text(link.end(0)), "nothing");
}

TEST(MemoryWire, ShowsNothingBeforeTheFlush) {
    MemoryLink link({.frame_max = 16, .capacity = 4});
    ASSERT_TRUE(send(link.end(0), "one"));
    EXPECT_TRUE(link.end(1).prepare_to_sleep());
    EXPECT_EQ(next_text(link.end(1)), "nothing");
    link.end(0).flush(now);
    EXPECT_FALSE(link.end(1).prepare_to_sleep());
    EXPECT_EQ(next_text(link.end(1)), "one");
}

TEST(MemoryWire, AFullRingLendsNoRoomUntilTheOldestFrameHasBeenRead) {
    MemoryLink link({.frame_max = 16, .capacity = 2});
    ASSERT_TRUE(send(link.end(0), "one"));
    ASSERT_TRUE(send(link.end(0), "two"));
    EXPECT_EQ(link.end(0).claim(), nullptr);
    link.end(0).flush(now);
    EXPECT_EQ(link.end(0).claim(), nullptr);

    const auto lent = link.end(1).receive(now);
    ASSERT_TRUE(lent);
    EXPECT_EQ(link.end(0).claim(), nullptr);  // still being read
    EXPECT_EQ(text_of(lent->bytes), "one");

    EXPECT_EQ(next_text(link.end(1)), "two");
    EXPECT_TRUE(send(link.end(0), "six"));
    EXPECT_EQ(link.end(0).claim(), nullptr);
}

TEST(MemoryWire, LendsUncommittedRoomAgainAndEmpty) {
    MemoryLink link({.frame_max = 16, .capacity = 1});
    TxFrame* abandoned = link.end(0).claim();
    ASSERT_NE(abandoned, nullptr);
    abandoned->add_header<8>();
    abandoned->mark_resent();
    TxFrame* again = link.end(0).claim();
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(again->size(), 0U);
    EXPECT_FALSE(again->resent());
    ASSERT_TRUE(send(link.end(0), "one"));
    link.end(0).flush(now);
    EXPECT_EQ(next_text(link.end(1)), "one");
}

TEST(MemoryWire, CopiesPayloadByTheFlush) {
    MemoryLink link({.frame_max = 16, .capacity = 4});
    std::string lent = "early";
    ASSERT_TRUE(send(link.end(0), lent));
    link.end(0).flush(now);
    lent = "later";
    EXPECT_EQ(next_text(link.end(1)), "early");
}

TEST(MemoryWire, KeepsOrderAndBytesManyTimesRoundTheRing) {
    MemoryLink link({.frame_max = 16, .capacity = 3});
    int sent = 0;
    int received = 0;
    for (int turn = 0; turn < 100; ++turn) {
        while (send(link.end(0), "frame " + std::to_string(sent))) ++sent;
        link.end(0).flush(now);
        for (int i = 0; i < 1 + turn % 3; ++i) {
            if (const auto frame = link.end(1).receive(now)) {
                EXPECT_EQ(text_of(frame->bytes), "frame " + std::to_string(received++));
            }
        }
    }
    EXPECT_GT(received, 150);
    EXPECT_LE(sent - received, 3);
}

TEST(MemoryWire, PromisesWhatItsConfigSays) {
    MemoryLink plain({.frame_max = 16, .capacity = 1});
    EXPECT_FALSE(plain.end(0).capabilities().carries_intact);
    EXPECT_FALSE(plain.end(0).capabilities().carries_all);
    MemoryLink sure({.frame_max = 16, .capacity = 1, .carries_intact = true, .carries_all = true});
    EXPECT_EQ(sure.end(0).capabilities().frame_max, 16U);
    EXPECT_TRUE(sure.end(0).capabilities().carries_all);
    const TxFrame* frame = sure.end(0).claim();
    ASSERT_NE(frame, nullptr);
    EXPECT_FALSE(frame->wants_check());
    EXPECT_FALSE(frame->wants_copy());

    ASSERT_TRUE(send(plain.end(0), "one"));
    plain.end(0).flush(now);
    EXPECT_EQ(plain.end(1).receive(now)->integrity, Integrity::check);
    ASSERT_TRUE(send(sure.end(0), "one"));
    sure.end(0).flush(now);
    EXPECT_EQ(sure.end(1).receive(now)->integrity, Integrity::intact);
}

TEST(MemoryWire, AnEndMovedAwayOutlivesItsLink) {
    auto link = std::make_unique<MemoryLink>(MemoryLink::Config{.frame_max = 16, .capacity = 2});
    MemoryWire here = std::move(link->end(0));
    MemoryWire there = std::move(link->end(1));
    link.reset();
    ASSERT_TRUE(send(here, "one"));
    here.flush(now);
    EXPECT_EQ(next_text(there), "one");
}

}  // namespace
}  // namespace wireproof
