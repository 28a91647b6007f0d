// The short way of packets of chunks: nothing may tell it from the general one.
#include <gtest/gtest.h>

#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

struct Bulk {
    Bulk() : pair(small(ethernet())), source(pattern(2 * pair.config.chunk_bytes() - 100)) {
        EXPECT_EQ(store(pair.a, source, 5), PostStatus::accepted);
        frames = pair.a.take(pair.now);
        EXPECT_EQ(pair.text(frames), "OPEN 0 | CHUNK 1.0..3 | CHUNK 5.0..3");
    }

    ConstBytes arrived() { return pair.b.memory().first(source.size()); }

    /// All that is still missing; the store ends once and its bytes are right.
    void finish() {
        for (int i = 0; i < 10 && !pair.a.engine.idle(); ++i) {
            pair.settle();
            if (!pair.a.engine.idle()) pair.wait_for_timer();
        }
        EXPECT_EQ(pair.b.log.size(), 1U);
        EXPECT_EQ(pair.a.log, Log{"STORE_ENDED 5"});
        EXPECT_TRUE(same(arrived(), source));
        EXPECT_TRUE(pair.b.guards_intact());
    }

    Pair pair;
    std::vector<std::byte> source;
    Frames frames;
};

// Headers as the definition writes them, with checksums that hold, and the bytes that belong there.
TEST(AmChunk, EachPacketIsWhatTheFormatSays) {
    Bulk bulk;
    const std::size_t header = bulk.pair.config.header_size();
    std::size_t begin = 0;
    for (std::size_t i = 1; i < bulk.frames.size(); ++i) {
        const Frame& frame = bulk.frames[i];
        EXPECT_TRUE(checksum_holds(Layout::ethernet, frame.bytes));
        std::vector<std::byte> written(header);
        encode(frame.header, Layout::ethernet, written);
        std::vector<std::byte> left(frame.bytes.begin(),
                                    frame.bytes.begin() + static_cast<std::ptrdiff_t>(header));
        std::fill(left.begin() + 40, left.begin() + 44, std::byte{0});
        EXPECT_EQ(left, written);
        const ConstBytes data = ConstBytes(frame.bytes).subspan(header);
        EXPECT_EQ(frame.header.offset, begin);
        EXPECT_TRUE(same(data, ConstBytes(bulk.source).subspan(begin, data.size())));
        begin += data.size();
    }
    EXPECT_EQ(begin, bulk.source.size());
}

TEST(AmChunk, PacketsInOrderAreAcceptedAndDeliverNothingBeforeTheLast) {
    Bulk bulk;
    for (std::size_t i = 0; i < bulk.frames.size(); ++i) {
        EXPECT_EQ(bulk.pair.b.log, Log{}) << i;
        EXPECT_EQ(bulk.pair.give(bulk.pair.b, bulk.frames[i]), accepted) << i;
    }
    EXPECT_EQ(bulk.pair.b.log.size(), 1U);
    bulk.finish();
    EXPECT_EQ(bulk.pair.a.engine.stats().resent, 0U);
}

// Each with one packet left out, repeated or moved: what is missing is asked for, and no more.
TEST(AmChunk, AnyPacketMayBeLostRepeatedOrLate) {
    for (std::size_t which = 1; which <= 8; ++which) {
        Bulk lost;
        for (std::size_t i = 0; i < lost.frames.size(); ++i) {
            if (i != which) lost.pair.give(lost.pair.b, lost.frames[i]);
        }
        EXPECT_EQ(lost.pair.b.log, Log{}) << which;
        lost.finish();
        EXPECT_EQ(lost.pair.a.engine.stats().resent, 1U) << which;

        Bulk repeated;
        for (std::size_t i = 0; i < repeated.frames.size(); ++i) {
            repeated.pair.give(repeated.pair.b, repeated.frames[i]);
            if (i == which) {
                EXPECT_EQ(repeated.pair.give(repeated.pair.b, repeated.frames[i]), duplicate);
            }
        }
        repeated.finish();
        EXPECT_EQ(repeated.pair.a.engine.stats().resent, 0U) << which;

        Bulk late;
        std::swap(late.frames[which], late.frames[which == 8 ? 7 : which + 1]);
        late.pair.give(late.pair.b, late.frames);
        EXPECT_EQ(late.pair.b.log.size(), 1U) << which;
        late.finish();
    }
}

TEST(AmChunk, ADamagedOrForgedPacketChangesNothing) {
    Bulk bulk;
    bulk.pair.give(bulk.pair.b, bulk.frames[0]);
    bulk.pair.give(bulk.pair.b, bulk.frames[1]);
    const auto before = bulk.pair.b.fingerprint(bulk.pair.now);
    const std::vector<std::byte> memory(bulk.arrived().begin(), bulk.arrived().end());
    const auto expect = [&](RxVerdict verdict, const Frame& frame) {
        EXPECT_EQ(bulk.pair.give(bulk.pair.b, frame), verdict);
        EXPECT_TRUE(same(bulk.arrived(), memory));
        EXPECT_EQ(bulk.pair.b.fingerprint(bulk.pair.now), before);
    };
    const Frame& next = bulk.frames[2];
    Frame damaged = next;
    damaged.bytes.back() ^= std::byte{4};
    expect(corrupt, damaged);
    const auto forged = [&](auto&& change) { return bulk.pair.forged(next, change); };
    expect(foreign, forged([](Header& h) { h.cookie ^= 1; }));
    expect(malformed, forged([](Header& h) { h.id = 2; }));
    expect(malformed, forged([](Header& h) { h.id = 1000; }));
    expect(malformed, forged([](Header& h) { h.count = 3; }));
    expect(malformed, forged([](Header& h) { h.offset += 1; }));
    expect(malformed, forged([](Header& h) { h.offset = std::uint64_t{1} << 40; }));
    expect(malformed, forged([&](Header& h) { h.offset += bulk.pair.config.chunk_bytes(); }));
    bulk.pair.give(bulk.pair.b, bulk.frames);
    bulk.finish();
}

// Where payload is trusted to the carrier, all but the bytes of chunks is checked as ever.
TEST(AmChunk, TrustedPayloadIsTakenAsItComesAndNothingElse) {
    Config config = small(ethernet());
    config.trusts_payload = true;
    Pair pair(config);
    const auto source = pattern(2 * config.chunk_bytes() - 100);
    EXPECT_EQ(store(pair.a, source, 5), PostStatus::accepted);
    const Frames frames = pair.a.take(pair.now);
    const std::size_t header = config.header_size();
    for (const Frame& frame : frames) {
        Frame damaged = frame;
        damaged.bytes[header - 12] ^= std::byte{1};
        EXPECT_EQ(pair.give(pair.b, damaged), corrupt);
        damaged = frame;
        damaged.bytes.back() ^= std::byte{4};
        const bool trusted = frame.header.kind == Kind::chunk;
        EXPECT_EQ(pair.give(pair.b, damaged), trusted ? accepted : corrupt);
        if (!trusted) {
            EXPECT_EQ(pair.give(pair.b, frame), accepted);
        }
    }
    const ConstBytes arrived = pair.b.memory().first(source.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < source.size(); ++i) wrong += source[i] != arrived[i] ? 1U : 0U;
    EXPECT_EQ(wrong, frames.size() - 1);
    requests(pair.a, 1);
    Frames request = pair.a.take(pair.now);
    request.at(0).bytes.back() ^= std::byte{4};
    EXPECT_EQ(pair.give(pair.b, request[0]), corrupt);
}

// Two stores are open, and a packet names the other.
TEST(AmChunk, APacketOfAnotherTransferChangesNothing) {
    Pair pair(small(ethernet()));
    const auto source = pattern(3 * pair.config.chunk_bytes());
    EXPECT_EQ(store(pair.a, source, 1), PostStatus::accepted);
    EXPECT_EQ(store(pair.a, source, 2), PostStatus::accepted);
    EXPECT_EQ(pair.carry(pair.a), "OPEN 0 | CHUNK 1.0..3 | CHUNK 5.0..3 | OPEN 9");
    pair.carry(pair.b);
    const Frames frames = pair.a.take(pair.now);
    ASSERT_GE(frames.size(), 2U);
    const std::uint32_t id = frames[1].header.id;
    ASSERT_EQ(frames[0].header.id, id);
    EXPECT_EQ(pair.give(pair.b, frames[0]), accepted);
    const auto before = pair.b.fingerprint(pair.now);
    EXPECT_EQ(pair.give(pair.b, pair.forged(frames[1], [&](Header& h) { h.id = 1 - id; })),
              malformed);
    EXPECT_EQ(pair.b.fingerprint(pair.now), before);
    EXPECT_EQ(pair.give(pair.b, frames[1]), accepted);
}

// A refused store is taken in all the same, and thrown away.
TEST(AmChunk, OfARefusedStoreNoByteIsWritten) {
    Pair pair(small(ethernet()));
    const auto source = pattern(2 * pair.config.chunk_bytes() - 100);
    EXPECT_EQ(pair.a.engine.store({Node::base + 1'000'000, source, HandlerId(9), 0, 5}),
              PostStatus::accepted);
    for (int i = 0; i < 10 && !pair.a.engine.idle(); ++i) {
        pair.settle();
        if (!pair.a.engine.idle()) pair.wait_for_timer();
    }
    EXPECT_EQ(pair.a.log, Log{"STORE_ENDED 5 forbidden"});
    EXPECT_EQ(pair.b.log, Log{});
    EXPECT_TRUE(pair.b.guards_intact());
}

}  // namespace
}  // namespace wireproof::am::test
