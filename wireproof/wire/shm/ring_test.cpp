// One ring in this process. Both ends run on one thread to test the order, and on two threads to
// test races. The producer begins a few lines before its counters pass 2^32 or 2^64.
#include "wireproof/wire/shm/ring.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/wire/shm/segment.hpp"

namespace wireproof {
namespace {

constexpr std::size_t lines = 64;
constexpr std::size_t longest = longest_frame(lines);
constexpr std::uint64_t near_wrap = (std::uint64_t{1} << 32) - 7;

std::byte pattern_at(std::uint64_t seed, std::size_t i) {
    return static_cast<std::byte>(seed * 31 + i * 7 + (i >> 8));
}

/// Both ends of a fresh ring.
class Pair {
public:
    explicit Pair(std::uint64_t start = near_wrap, std::size_t frame_max = longest,
                  std::size_t ring_lines = lines)
        : segment(std::move(*Segment::create(ring_lines))) {
        const RingMemory memory = segment.ring_filled_by(0);
        shared_word<std::uint64_t>(memory.head_at).store(start);
        producer = RingProducer(memory, frame_max, start);
        consumer = RingConsumer(memory, frame_max, start);
    }

    bool commit(std::uint64_t seed, std::size_t size, bool alone = false) {
        const Bytes room = producer.claim();
        if (room.empty()) return false;
        for (std::size_t i = 0; i < size; ++i) room[i] = pattern_at(seed, i);
        alone ? producer.publish_single(size) : producer.commit(size);
        return true;
    }
    bool send(std::uint64_t seed, std::size_t size) {
        if (!commit(seed, size)) return false;
        producer.publish();
        return true;
    }

    Segment segment;
    RingProducer producer;
    RingConsumer consumer;
};

bool holds(ConstBytes bytes, std::uint64_t seed, std::size_t size) {
    if (bytes.size() != size) return false;
    for (std::size_t i = 0; i < size; ++i) {
        if (bytes[i] != pattern_at(seed, i)) return false;
    }
    return true;
}

TEST(ShmRing, CarriesFramesOfEveryLengthAtEveryPlace) {
    for (const std::uint64_t start : {std::uint64_t{0}, near_wrap, ~std::uint64_t{0} - 5}) {
        Pair ring(start);
        for (std::size_t size = 0; size <= longest; ++size) {
            ASSERT_TRUE(ring.send(size, size)) << size << " from " << start;
            const auto frame = ring.consumer.next();
            ASSERT_TRUE(frame.has_value());
            ASSERT_TRUE(holds(frame->bytes, size, size)) << size << " from " << start;
            ASSERT_FALSE(frame->control);
            ASSERT_FALSE(ring.consumer.next().has_value());
        }
    }
}

TEST(ShmRing, PutsLengthAndAMessageOf56BytesInOneLine) {
    EXPECT_EQ(RingWord::lines_of(0), 1U);
    EXPECT_EQ(RingWord::lines_of(56), 1U);
    EXPECT_EQ(RingWord::lines_of(57), 2U);
    Pair ring;
    const std::uint64_t before = ring.producer.room();
    ASSERT_TRUE(ring.send(1, 56));
    EXPECT_EQ(ring.producer.room(), before - 1);
}

TEST(ShmRing, ShowsCommittedFramesOnlyWhenPublishedAndThenAll) {
    Pair ring;
    for (std::uint64_t i = 0; i < 5; ++i) {
        ASSERT_TRUE(ring.commit(i, 10 + 30 * i));
        EXPECT_FALSE(ring.consumer.has_frame());
    }
    ring.producer.publish();
    ring.producer.publish();  // publishes nothing more
    for (std::uint64_t i = 0; i < 5; ++i) {
        EXPECT_TRUE(ring.consumer.has_frame());
        const auto frame = ring.consumer.next();
        ASSERT_TRUE(frame.has_value());
        EXPECT_TRUE(holds(frame->bytes, i, 10 + 30 * i));
    }
    EXPECT_FALSE(ring.consumer.has_frame());
}

TEST(ShmRing, AFullRingLendsNoRoomAndLosesNothing) {
    Pair ring(near_wrap, 56);
    std::uint64_t sent = 0;
    while (ring.send(sent, 56)) ++sent;
    // All lines but four, whose words are kept zero after a long copy.
    EXPECT_EQ(sent, lines - 4);
    for (std::uint64_t i = 0; i < sent; ++i) {
        const auto frame = ring.consumer.next();
        ASSERT_TRUE(frame.has_value());
        ASSERT_TRUE(holds(frame->bytes, i, 56));
    }
    EXPECT_FALSE(ring.consumer.next().has_value());
    EXPECT_FALSE(ring.consumer.broken());
}

TEST(ShmRing, GivesRoomBackAnEighthOfTheRingAtATime) {
    Pair ring(near_wrap, 56);
    const auto head = [&] {
        return shared_word<std::uint64_t>(ring.segment.ring_filled_by(0).head_at).load();
    };
    std::uint64_t moves = 0;
    std::uint64_t before = head();
    for (std::uint64_t i = 0; i < 160; ++i) {  // in turns: one there, one back
        ASSERT_TRUE(ring.send(i, 56));
        ASSERT_TRUE(ring.consumer.next().has_value());
        ASSERT_FALSE(ring.consumer.next().has_value());
        moves += head() != before ? 1U : 0U;
        before = head();
    }
    EXPECT_EQ(moves, 160U / 8);
}

TEST(ShmRing, TheProducerHasRoomForTheLongestFrameOnceAllIsRead) {
    Random random(5);
    Pair ring;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
        while (random.below(4) != 0 && ring.send(i, random.below(longest + 1))) {
            if (random.below(4) == 0) ring.producer.copied_much();
        }
        while (ring.consumer.next()) {
        }
        ASSERT_FALSE(ring.producer.claim().empty()) << i;
    }
}

TEST(ShmRing, NeverOverwritesAFrameThatIsStillLent) {
    Pair ring(near_wrap, 56);
    ASSERT_TRUE(ring.send(77, 56));
    const auto lent = ring.consumer.next();
    ASSERT_TRUE(lent.has_value());
    std::uint64_t sent = 0;
    do {
        ring.producer.copied_much();
    } while (ring.send(sent, 56) && ++sent != 0);
    EXPECT_TRUE(holds(lent->bytes, 77, 56));
    // The length words of this frame and of those after it are not overwritten either.
    for (std::uint64_t i = 0; i < sent; ++i) {
        const auto frame = ring.consumer.next();
        ASSERT_TRUE(frame.has_value()) << i << " of " << sent;
        EXPECT_TRUE(holds(frame->bytes, i, 56));
    }
}

TEST(ShmRing, RoomWrittenBehindACommittedFrameIsNoFrame) {
    Pair ring;
    for (std::uint64_t i = 0; i < 200; ++i) {
        ASSERT_TRUE(ring.commit(i, 200));
        const Bytes room = ring.producer.claim();
        ASSERT_FALSE(room.empty());
        std::memset(room.data(), 0xFF, 300);
        ring.producer.distrust_room();
        ring.producer.publish();
        ASSERT_TRUE(ring.consumer.next().has_value());
        ASSERT_FALSE(ring.consumer.next().has_value()) << i;
        ASSERT_FALSE(ring.consumer.broken());
    }
}

TEST(ShmRing, RoomLentAgainMayHaveBeenWrittenBefore) {
    Pair ring;
    for (std::uint64_t i = 0; i < 200; ++i) {
        if (i % 3 == 0) ring.producer.copied_much();
        const Bytes room = ring.producer.claim();
        ASSERT_FALSE(room.empty());
        std::memset(room.data(), 0xFF, 300);  // the room is not committed
        ring.producer.distrust_room();
        ASSERT_TRUE(ring.send(i, 20));
        ASSERT_TRUE(ring.consumer.next().has_value());
        ASSERT_FALSE(ring.consumer.next().has_value()) << i;
        ASSERT_FALSE(ring.consumer.broken());
    }
}

/// A ring whose words from the third on have values that nobody sent.
struct Stale {
    explicit Stale(std::size_t frame_max) : ring(near_wrap, frame_max) {
        for (std::uint64_t i = 2; i < 20; ++i) word(i).store(7);
    }
    std::atomic_ref<std::uint32_t> word(std::uint64_t line) const {
        return shared_word<std::uint32_t>(ring.segment.ring_filled_by(0).lines_at +
                                          ((near_wrap + line) % lines) * line_bytes);
    }
    /// How many words are zero from that line on.
    std::uint64_t zero_from(std::uint64_t line) const {
        std::uint64_t count = 0;
        while (word(line + count).load() == 0) ++count;
        return count;
    }

    Pair ring;
};

TEST(ShmRing, BehindFramesOfAnyLengthTwoWordsAreZero) {
    for (const std::uint64_t taken : {1U, 2U, 3U, 4U}) {
        Stale stale(longest);
        const std::size_t size = taken * line_bytes - RingWord::bytes;
        ASSERT_TRUE(stale.ring.commit(1, size));
        EXPECT_NE(stale.zero_from(taken), 2U) << taken;
        stale.ring.producer.publish();
        EXPECT_EQ(stale.zero_from(taken), 2U) << taken;
    }
}

// A single frame leaves the same bytes in the ring as a frame that is committed and published, and
// the consumer reads the same frames.
TEST(ShmRing, AFrameByItselfIsAsAnyOther) {
    Stale usual(longest);
    Stale alone(longest);
    Random random(7);
    for (std::uint64_t i = 0; i < 2000; ++i) {
        const std::size_t size = i % 3 == 0 ? random.next() % (longest + 1) : random.next() % 60;
        for (Stale* const stale : {&usual, &alone}) {
            if (i % 5 == 0) stale->ring.producer.copied_much();
            ASSERT_TRUE(stale->ring.commit(i, size, stale == &alone));
            stale->ring.producer.publish();  // does nothing for `alone`
        }
        for (std::uint64_t at = 0; at < lines; ++at) {
            ASSERT_EQ(alone.word(at).load(), usual.word(at).load()) << i << " at " << at;
        }
        ASSERT_EQ(alone.ring.producer.room(), usual.ring.producer.room());
        const auto frame = usual.ring.consumer.next();
        ASSERT_TRUE(frame && holds(frame->bytes, i, size));
        const auto by_itself = alone.ring.consumer.next();
        ASSERT_TRUE(by_itself && holds(by_itself->bytes, i, size));
        ASSERT_FALSE(alone.ring.consumer.next());
        ASSERT_FALSE(usual.ring.consumer.next());
        ASSERT_EQ(alone.ring.consumer.gave_back(), usual.ring.consumer.gave_back());
    }
    EXPECT_FALSE(alone.ring.consumer.broken() || alone.ring.producer.broken());
}

TEST(ShmRing, BehindALongCopyAWordFartherAheadIsCleared) {
    Stale stale(56);
    Pair& ring = stale.ring;
    std::uint64_t sent = 0;
    ASSERT_TRUE(ring.send(sent, 56));
    ++sent;
    EXPECT_EQ(stale.zero_from(sent), 2U);
    for (const std::uint64_t zero : {3U, 4U, 4U, 4U}) {  // two each time, until there are four
        ring.producer.copied_much();
        ASSERT_TRUE(ring.send(sent, 56));
        ++sent;
        EXPECT_EQ(stale.zero_from(sent), zero);
    }
    // Then each frame uses one cleared word, until two are kept.
    for (const std::uint64_t zero : {3U, 2U, 2U}) {
        ASSERT_TRUE(ring.send(sent, 56));
        ++sent;
        EXPECT_EQ(stale.zero_from(sent), zero);
    }
    for (std::uint64_t i = 0; i < sent; ++i) {
        const auto frame = ring.consumer.next();
        ASSERT_TRUE(frame.has_value());
        EXPECT_TRUE(holds(frame->bytes, i, 56));
    }
    EXPECT_FALSE(ring.consumer.next().has_value());
    EXPECT_FALSE(ring.consumer.broken());
}

TEST(ShmRing, AWordThatIsNoLengthEndsTheRingAndLeadsNowhere) {
    for (const std::uint32_t word :
         {1U, 56U, RingWord::control, RingWord::published | static_cast<std::uint32_t>(longest + 1),
          RingWord::published | RingWord::size_mask, ~0U, RingWord::control | 8U}) {
        Pair ring;
        shared_word<std::uint32_t>(ring.segment.ring_filled_by(0).lines_at +
                                   (near_wrap % lines) * line_bytes)
            .store(word);
        EXPECT_FALSE(ring.consumer.next().has_value()) << word;
        EXPECT_TRUE(ring.consumer.broken()) << word;
        EXPECT_FALSE(ring.consumer.next().has_value()) << word;
    }
}

TEST(ShmRing, AHeadThatCannotBeEndsTheRing) {
    for (const std::uint64_t head : {near_wrap - 1, near_wrap + lines, ~std::uint64_t{0}}) {
        Pair ring(near_wrap, 56);
        while (ring.send(1, 56)) {
        }
        EXPECT_FALSE(ring.producer.broken());
        shared_word<std::uint64_t>(ring.segment.ring_filled_by(0).head_at).store(head);
        EXPECT_TRUE(ring.producer.claim().empty());
        EXPECT_TRUE(ring.producer.broken()) << head;
    }
}

TEST(ShmRing, AnEndWithoutARingHasNoRoomAndNoFrame) {
    RingProducer producer;
    EXPECT_TRUE(producer.claim().empty());
    producer.fetch_room();
    EXPECT_FALSE(RingConsumer().has_frame());
    EXPECT_FALSE(RingConsumer().next().has_value());
}

// Both threads draw the same numbers from one seed: lengths, and how many frames are published at
// once.
std::size_t drawn_size(Random& random) {
    return random.below(4) == 0 ? random.below(longest + 1) : random.below(120);
}

TEST(ShmRing, TwoThreadsSeeEveryFrameOnceInOrderAndWhole) {
    constexpr std::uint64_t frames = 60'000;
    Pair ring;
    std::thread sender([&] {
        Random sizes(9);
        Random bursts(10);
        std::uint64_t burst = 1;
        for (std::uint64_t i = 0; i < frames; ++i) {
            const std::size_t size = drawn_size(sizes);
            while (!ring.commit(i, size)) {
                ring.producer.publish();
                std::this_thread::yield();
            }
            if (--burst > 0) continue;
            if (bursts.below(3) == 0) ring.producer.copied_much();
            ring.producer.publish();
            burst = 1 + bursts.below(6);
        }
        ring.producer.publish();
    });
    Random sizes(9);
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < frames;) {
        const auto frame = ring.consumer.next();
        if (!frame) {
            if (ring.consumer.broken()) break;
            std::this_thread::yield();
            continue;
        }
        wrong += holds(frame->bytes, i, drawn_size(sizes)) ? 0U : 1U;
        ++i;
    }
    sender.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_FALSE(ring.consumer.broken());
    EXPECT_FALSE(ring.producer.broken());
}

TEST(ShmSegment, IsTakenFromAPeerOnlyIfItIsSealedAndLongEnough) {
    EXPECT_TRUE(Segment::fits(lines));
    EXPECT_FALSE(Segment::fits(0));
    EXPECT_FALSE(Segment::fits(96));
    EXPECT_FALSE(Segment::fits(32));  // less than a page
    const auto refused = Segment::adopt(std::move(*make_sealed_memory("short", 4096)), lines);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().message, "shared memory of a peer is too short");
    const auto unsealed = Segment::adopt(Descriptor(::dup(0)), lines);
    ASSERT_FALSE(unsealed.has_value());
    EXPECT_EQ(unsealed.error().message, "shared memory of a peer is not sealed");
    Segment mine = std::move(*Segment::create(lines));
    Segment theirs = std::move(*Segment::adopt(Descriptor(::dup(mine.memory().handle())), lines));
    mine.asleep(1).store(7);
    EXPECT_EQ(theirs.asleep(1).load(), 7U);
    // The mirror shows the same bytes.
    const RingMemory ring = mine.ring_filled_by(1);
    ring.lines_at[lines * line_bytes + 3] = std::byte{9};
    EXPECT_EQ(theirs.ring_filled_by(1).lines_at[3], std::byte{9});
}

}  // namespace
}  // namespace wireproof
