#include "wireproof/front/link/message_stream.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "wireproof/base/random.hpp"

namespace wireproof::link {
namespace {

std::vector<std::byte> text(std::size_t size, std::uint32_t seed) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed * 31 + i);
    return bytes;
}

/// Two streams and the link between them. The link delivers in order, or goes down and loses what
/// it holds.
class Pair {
public:
    Pair() : ends{MessageStream({.life = 1}), MessageStream({.life = 2})} {
        for (MessageStream& end : ends) end.on_up();
    }

    bool send(std::size_t from) {
        const std::size_t size = ends[from].next_segment(room_);
        if (size == 0) return false;
        flying[from].emplace_back(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(size));
        return true;
    }
    bool arrive(std::size_t from) {
        if (flying[from].empty()) return false;
        MessageStream& to = ends[1 - from];
        const Arrival arrival = to.on_segment(flying[from].front());
        flying[from].pop_front();
        EXPECT_NE(arrival, Arrival::broken);
        EXPECT_NE(arrival, Arrival::peer_restarted);
        if (arrival == Arrival::message) got[1 - from].push_back(to.take_message());
        return true;
    }
    void reset() {
        for (auto& way : flying) way.clear();
        for (MessageStream& end : ends) end.on_down();
        for (MessageStream& end : ends) end.on_up();
    }
    void settle() {
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t end = 0; end < 2; ++end) {
                while (send(end) || arrive(end)) moved = true;
            }
        }
    }

    std::array<MessageStream, 2> ends;
    std::array<std::deque<std::vector<std::byte>>, 2> flying;
    std::array<std::vector<std::vector<std::byte>>, 2> got;

private:
    std::array<std::byte, 64> room_{};
};

TEST(MessageStream, CarriesMessagesOfAnyLengthInOrder) {
    Pair pair;
    const std::array<std::size_t, 7> sizes = {0, 1, 48, 49, 0, 100'000, 3};
    for (const std::size_t size : sizes) {
        pair.ends[0].submit(text(size, static_cast<std::uint32_t>(size)));
    }
    EXPECT_FALSE(pair.ends[0].delivered());
    pair.settle();
    ASSERT_EQ(pair.got[1].size(), sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_EQ(pair.got[1][i], text(sizes[i], static_cast<std::uint32_t>(sizes[i])));
    }
    EXPECT_TRUE(pair.ends[0].delivered());
    EXPECT_EQ(pair.ends[0].messages_delivered(), sizes.size());
}

TEST(MessageStream, SendsNothingBeforeItKnowsWhereThePeerStands) {
    MessageStream stream({.life = 1});
    std::array<std::byte, 64> room;
    stream.submit(text(5, 1));
    EXPECT_EQ(stream.next_segment(room), 0U);  // the link is down
    stream.on_up();
    EXPECT_EQ(stream.next_segment(room), Segment::size + life_size);  // its own STAND
    EXPECT_EQ(stream.next_segment(room), 0U);
}

// At random moments the link goes down and loses segments in both directions.
TEST(MessageStream, LosesAndRepeatsNothingAcrossResets) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Random random(seed);
        Pair pair;
        std::array<std::vector<std::vector<std::byte>>, 2> wanted;
        for (int i = 0; i < 400; ++i) {
            const std::size_t end = random.below(2);
            if (random.chance(0.15)) {
                wanted[end].push_back(
                    text(random.below(300), static_cast<std::uint32_t>(random.below(1000))));
                pair.ends[end].submit(wanted[end].back());
            }
            if (random.chance(0.6)) pair.send(end);
            if (random.chance(0.6)) pair.arrive(end);
            if (random.chance(0.02)) pair.reset();
        }
        pair.settle();
        EXPECT_EQ(pair.got[1], wanted[0]) << seed;
        EXPECT_EQ(pair.got[0], wanted[1]) << seed;
        EXPECT_TRUE(pair.ends[0].delivered() && pair.ends[1].delivered());
    }
}

TEST(MessageStream, ResendsAfterAResetOnlyWhatThePeerLacks) {
    Pair pair;
    pair.settle();
    pair.ends[0].submit(text(480, 1));  // ten segments
    for (int i = 0; i < 8; ++i) {
        pair.send(0);
        pair.arrive(0);
    }
    pair.reset();
    int data = 0;
    for (bool moved = true; moved;) {
        moved = pair.send(1) || pair.arrive(1) || pair.arrive(0);
        if (pair.send(0)) {
            moved = true;
            data += pair.flying[0].back()[0] == std::byte{1} ? 1 : 0;
        }
    }
    EXPECT_EQ(data, 2);
    EXPECT_EQ(pair.got[1].size(), 1U);
}

TEST(MessageStream, KeepsNoMoreThanItsQueueAndWhatThePeerHasNotSaidItHas) {
    MessageStream stream({.queue_bytes = 100});
    EXPECT_TRUE(stream.has_room());
    stream.submit(text(99, 1));
    EXPECT_TRUE(stream.has_room());
    stream.submit(text(99, 1));
    EXPECT_FALSE(stream.has_room());
}

std::vector<std::byte> segment(Segment head, ConstBytes rest = {}) {
    std::vector<std::byte> bytes(Segment::size);
    head.encode(Bytes(bytes).first<Segment::size>());
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
}

std::vector<std::byte> stand_at(std::uint32_t number, std::uint64_t offset, std::uint64_t life) {
    std::array<std::byte, life_size> bytes;
    store_le<std::uint64_t>(bytes, life);
    return segment({Segment::Kind::stand, false, number, offset}, bytes);
}

TEST(MessageStream, NoticesAPeerThatBeganAnew) {
    MessageStream stream({.life = 1});
    stream.on_up();
    EXPECT_EQ(stream.on_segment(stand_at(0, 0, 7)), Arrival::nothing);
    stream.on_down();
    stream.on_up();
    EXPECT_EQ(stream.on_segment(stand_at(0, 0, 8)), Arrival::peer_restarted);
}

// A peer that claims messages before they were sent is hostile. The same number is valid after
// their segments have left.
TEST(MessageStream, CallsBrokenAPeerThatHasMessagesThatWereNotSent) {
    for (const bool sent : {false, true}) {
        MessageStream stream({.life = 1});
        stream.on_up();
        for (int i = 0; i < 3; ++i) stream.submit(text(10, 1));
        EXPECT_EQ(stream.on_segment(stand_at(0, 0, 7)), Arrival::nothing);
        std::array<std::byte, 64> room{};
        EXPECT_EQ(stream.next_segment(room), Segment::size + life_size);
        EXPECT_EQ(stream.next_segment(room), Segment::size + 10);
        EXPECT_EQ(stream.on_segment(stand_at(1, 0, 7)), Arrival::nothing);
        if (sent) {
            EXPECT_EQ(stream.next_segment(room), Segment::size + 10);
        }
        EXPECT_EQ(stream.on_segment(stand_at(2, 0, 7)), sent ? Arrival::nothing : Arrival::broken);
        if (!sent) continue;
        // The next segment is the third message from its beginning.
        EXPECT_EQ(stream.messages_delivered(), 2U);
        EXPECT_EQ(stream.next_segment(room), Segment::size + 10);
        EXPECT_EQ(Segment::decode(room)->number, 2U);
        EXPECT_EQ(stream.next_segment(room), 0U);
    }
}

TEST(MessageStream, CallsBrokenWhatNoPeerSends) {
    const auto verdict = [](const std::vector<std::byte>& bytes) {
        MessageStream stream({.message_max = 100, .life = 1});
        stream.on_up();
        stream.submit(text(10, 1));
        return stream.on_segment(bytes);
    };
    using enum Segment::Kind;
    EXPECT_EQ(verdict({}), Arrival::broken);
    EXPECT_EQ(verdict(std::vector<std::byte>(15)), Arrival::broken);
    EXPECT_EQ(verdict(std::vector<std::byte>(16)), Arrival::broken);   // kind 0
    EXPECT_EQ(verdict(segment({data, true, 1, 0})), Arrival::broken);  // a message is missing
    EXPECT_EQ(verdict(segment({data, true, 0, 5})), Arrival::broken);  // bytes are missing
    EXPECT_EQ(verdict(segment({data, true, 0, 0}, text(101, 1))), Arrival::broken);  // too long
    EXPECT_EQ(verdict(segment({stand, false, 0, 0})), Arrival::broken);              // no life
    EXPECT_EQ(verdict(stand_at(2, 0, 1)), Arrival::broken);                          // never sent
    EXPECT_EQ(verdict(stand_at(0, 11, 1)), Arrival::broken);
    EXPECT_EQ(verdict(stand_at(0xFFFFFFFF, 0, 1)), Arrival::broken);
    EXPECT_EQ(verdict(segment({ask, false, 0, 0})), Arrival::nothing);
    EXPECT_EQ(verdict(segment({data, true, 0, 0}, text(100, 1))), Arrival::message);
}

TEST(MessageStream, CallsBrokenMoreOfAMessageThatWasComplete) {
    MessageStream stream({.life = 1});
    stream.on_up();
    EXPECT_EQ(stream.on_segment(segment({Segment::Kind::data, true, 0, 0}, text(10, 1))),
              Arrival::message);
    EXPECT_EQ(stream.on_segment(segment({Segment::Kind::data, true, 0, 10}, text(10, 1))),
              Arrival::broken);
}

TEST(MessageStream, SaysWhereItStandsInTheMiddleOfALongMessage) {
    MessageStream stream({.stand_every = 100, .life = 1});
    stream.on_up();
    std::array<std::byte, 64> room{};
    EXPECT_EQ(stream.next_segment(room), Segment::size + life_size);
    for (std::uint64_t offset = 0; offset < 400; offset += 50) {
        EXPECT_EQ(stream.on_segment(segment({Segment::Kind::data, false, 0, offset}, text(50, 1))),
                  Arrival::nothing);
        const bool due = offset % 100 == 50;
        EXPECT_EQ(stream.next_segment(room), due ? Segment::size + life_size : 0U) << offset;
        if (due) {
            EXPECT_EQ(Segment::decode(room)->offset, offset + 50);
        }
    }
}

}  // namespace
}  // namespace wireproof::link
