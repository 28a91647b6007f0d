// The fast path for packets of chunks: it must do the same as the general path.
#include <gtest/gtest.h>

#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

struct Bulk {
    explicit Bulk(const Config& config)
        : pair(config), source(pattern(in_chunks(config, 2 * config.chunk_bytes() - 100))) {
        EXPECT_EQ(store(pair.a, source, 5), PostStatus::accepted);
        frames = pair.a.take(pair.now);
        EXPECT_EQ(pair.text(frames), "OPEN 0 | CHUNK 1.0..3 | CHUNK 5.0..3");
    }

    ConstBytes arrived() { return pair.b.memory().first(source.size()); }

    /// Carries what is missing; the store ends once, and its bytes are right.
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

// Headers as wire_format.hpp writes them, with right checksums, and the right bytes.
TEST(AmChunk, EachPacketIsWhatTheFormatSays) {
    for (const Config& config : selective().without_questions().with(small)) {
        Bulk bulk(config);
        const ConstBytes in_chunks = ConstBytes(bulk.source).subspan(config.open_bytes);
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
            EXPECT_TRUE(same(data, in_chunks.subspan(begin, data.size())));
            begin += data.size();
        }
        EXPECT_EQ(begin, in_chunks.size());
    }
}

TEST(AmChunk, PacketsInOrderAreAcceptedAndDeliverNothingBeforeTheLast) {
    for (const Config& config : selective().without_questions().with(small)) {
        Bulk bulk(config);
        for (std::size_t i = 0; i < bulk.frames.size(); ++i) {
            EXPECT_EQ(bulk.pair.b.log, Log{}) << i;
            EXPECT_EQ(bulk.pair.give(bulk.pair.b, bulk.frames[i]), accepted) << i;
        }
        EXPECT_EQ(bulk.pair.b.log.size(), 1U);
        bulk.finish();
        EXPECT_EQ(bulk.pair.a.engine.stats().resent, 0U);
    }
}

// In each, one packet is left out, repeated or moved: the receiver asks for what is missing, and
// only that.
TEST(AmChunk, AnyPacketMayBeLostRepeatedOrLate) {
    for (const Config& config : selective().without_questions().with(small)) {
        for (std::size_t which = 1; which <= 8; ++which) {
            Bulk lost(config);
            for (std::size_t i = 0; i < lost.frames.size(); ++i) {
                if (i != which) lost.pair.give(lost.pair.b, lost.frames[i]);
            }
            EXPECT_EQ(lost.pair.b.log, Log{}) << which;
            lost.finish();
            EXPECT_EQ(lost.pair.a.engine.stats().resent, 1U) << which;

            Bulk both(config);  // and the packet after it arrives twice
            for (std::size_t i = 0; i < both.frames.size(); ++i) {
                if (i == which) continue;
                both.pair.give(both.pair.b, both.frames[i]);
                if (i <= which) continue;
                EXPECT_EQ(both.pair.give(both.pair.b, both.frames[i]), duplicate)
                    << which << " " << i;
            }
            both.finish();
            EXPECT_EQ(both.pair.a.engine.stats().resent, 1U) << which;

            Bulk repeated(config);
            for (std::size_t i = 0; i < repeated.frames.size(); ++i) {
                repeated.pair.give(repeated.pair.b, repeated.frames[i]);
                if (i == which) {
                    EXPECT_EQ(repeated.pair.give(repeated.pair.b, repeated.frames[i]), duplicate);
                }
            }
            repeated.finish();
            EXPECT_EQ(repeated.pair.a.engine.stats().resent, 0U) << which;

            Bulk late(config);
            std::swap(late.frames[which], late.frames[which == 8 ? 7 : which + 1]);
            late.pair.give(late.pair.b, late.frames);
            EXPECT_EQ(late.pair.b.log.size(), 1U) << which;
            late.finish();
        }
    }
}

TEST(AmChunk, ADamagedOrForgedPacketChangesNothing) {
    for (const Config& config : selective().without_questions().with(small)) {
        Bulk bulk(config);
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
}

// If the carrier alone checks payload, everything except the bytes of chunks is checked as usual.
TEST(AmChunk, TrustedPayloadIsTakenAsItComesAndNothingElse) {
    for (Config config : selective().without_questions().with(small)) {
        config.trusts_payload = true;
        Pair pair(config);
        const auto source = pattern(in_chunks(config, 2 * config.chunk_bytes() - 100));
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
}

// Two stores are active, no chunk of either has arrived, and a packet names the other one.
TEST(AmChunk, APacketOfAnotherTransferChangesNothing) {
    for (const Config& config : selective().without_questions().with(small)) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, 3 * config.chunk_bytes()));
        EXPECT_EQ(store(pair.a, source, 1), PostStatus::accepted);
        EXPECT_EQ(store(pair.a, source, 2), PostStatus::accepted);
        const Frames sent = pair.a.take(pair.now);
        ASSERT_EQ(pair.text(sent), "OPEN 0 | CHUNK 1.0..3 | CHUNK 5.0..3 | OPEN 9");
        const auto numbered = [&](const Frame& frame, std::uint32_t position) {
            return pair.forged(frame,
                               [&](Header& h) { h.number = sent[0].header.number + position; });
        };
        EXPECT_EQ(pair.give(pair.b, sent[0]), accepted);
        EXPECT_EQ(pair.give(pair.b, numbered(sent[9], 1)), accepted);
        EXPECT_EQ(pair.give(pair.b, numbered(sent[1], 2)), accepted);
        const Frame next = numbered(sent[2], 2);
        const std::uint32_t id = next.header.id;
        const auto before = pair.b.fingerprint(pair.now);
        EXPECT_EQ(pair.give(pair.b, pair.forged(next, [&](Header& h) { h.id = 1 - id; })),
                  malformed);
        EXPECT_EQ(pair.b.fingerprint(pair.now), before);
        EXPECT_EQ(pair.give(pair.b, next), accepted);
    }
}

// The receiver accepts the rest of a refused store and drops it.
TEST(AmChunk, OfARefusedStoreNoByteIsWritten) {
    for (const Config& config : selective().with(small)) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, 2 * config.chunk_bytes() - 100));
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
}

/// A store in chunks of 12 packets. Its OPEN and its first two packets have arrived at two ends:
/// one is to accept the following packets at once, the other one by one.
struct ArrivingTransfer {
    explicit ArrivingTransfer(bool trusts_payload = false)
        : config(longer(trusts_payload)), pair(config), twin(config) {
        source = pattern(in_chunks(config, 2 * config.chunk_bytes() - 100));
        for (Pair* each : {&pair, &twin}) {
            EXPECT_EQ(store(each->a, source, 5), PostStatus::accepted);
            frames = each->a.take(each->now);
            EXPECT_EQ(each->text(frames), "OPEN 0 | CHUNK 1.0..11 | CHUNK 13.0..11");
            for (std::size_t i = 0; i < next; ++i) {
                EXPECT_EQ(each->give(each->b, frames[i]), accepted);
            }
            each->now = each->now + Duration::microseconds(3);
        }
    }

    static Config longer(bool trusts_payload) {
        Config config = small(udp());
        config.chunk_packets = 12;
        config.window = {40, 41};
        config.held_packets = 40;
        config.trusts_payload = trusts_payload;
        return config;
    }

    /// Gives the frames from `begin` on to one end at once, and as many as it accepted to the
    /// other, one by one. Then both must be equal.
    std::size_t take(std::size_t begin, std::size_t count) {
        std::vector<std::byte> bytes;
        for (std::size_t i = begin; i < begin + count; ++i) {
            bytes.insert(bytes.end(), frames[i].bytes.begin(), frames[i].bytes.end());
        }
        const RxRun run{bytes.data(), static_cast<std::uint32_t>(count),
                        static_cast<std::uint32_t>(config.packet_max)};
        const std::size_t taken = pair.b.engine.on_run(pair.now, run);
        for (std::size_t i = begin; i < begin + taken; ++i) {
            EXPECT_EQ(twin.give(twin.b, frames[i]), accepted) << i;
        }
        expect_same();
        EXPECT_TRUE(taken < count || same(pair.b.memory(), twin.b.memory()));
        EXPECT_TRUE(pair.b.guards_intact());
        return taken;
    }

    void expect_same() {
        EXPECT_EQ(pair.b.fingerprint(pair.now), twin.b.fingerprint(twin.now));
        EXPECT_EQ(pair.b.engine.next_deadline(), twin.b.engine.next_deadline());
        EXPECT_EQ(pair.b.engine.stats().received, twin.b.engine.stats().received);
        EXPECT_EQ(pair.b.log, twin.b.log);
    }

    /// So many of the next packets, before a changed one.
    std::size_t taken_before(std::size_t place, const std::function<void(Frame&)>& change) {
        const Frame kept = frames[place];
        change(frames[place]);
        const std::size_t taken = take(next, chunk_end - next);
        frames[place] = kept;
        return taken;
    }

    static constexpr std::size_t next = 3;        // of the frames
    static constexpr std::size_t chunk_end = 13;  // the first frame of the second chunk
    Config config;
    Pair pair;
    Pair twin;
    std::vector<std::byte> source;
    Frames frames;
};

TEST(AmChunkRun, PacketsTakenAtOnceAreThoseTakenOneByOne) {
    for (const bool trusts : {false, true}) {
        ArrivingTransfer run(trusts);
        EXPECT_TRUE(run.pair.b.engine.takes_run());
        EXPECT_EQ(run.take(ArrivingTransfer::next, 4), 4U);
        EXPECT_FALSE(run.pair.b.engine.next_delivery());
        EXPECT_TRUE(run.pair.b.engine.takes_run());
        EXPECT_EQ(run.take(ArrivingTransfer::next + 4, 9), 5U)
            << "the last of a chunk goes the general way";
        for (std::size_t i = 12; i < run.frames.size(); ++i) {
            run.pair.give(run.pair.b, run.frames[i]);
            run.twin.give(run.twin.b, run.frames[i]);
            if (i != 13) continue;
            EXPECT_EQ(run.take(14, 10), 10U);
            i = 23;
        }
        run.expect_same();
        EXPECT_EQ(run.pair.b.log.size(), 1U);
        EXPECT_TRUE(same(run.pair.b.memory().first(run.source.size()), run.source));
        EXPECT_EQ(run.pair.taken(run.pair.b), run.twin.taken(run.twin.b));
    }
}

// A wrong packet ends the run before it and is then handled in the usual way.
TEST(AmChunkRun, EndsBeforeAPacketThatIsNotAsForeseen) {
    constexpr std::size_t header = 48;
    for (std::size_t place = ArrivingTransfer::next; place < ArrivingTransfer::next + 4; ++place) {
        for (std::size_t at = 0; at < header; ++at) {
            for (const bool trusts : {false, true}) {
                ArrivingTransfer run(trusts);
                const auto damage = [&](Frame& frame) { frame.bytes[at] ^= std::byte{16}; };
                EXPECT_EQ(run.taken_before(place, damage), place - ArrivingTransfer::next)
                    << place << " " << at;
            }
        }
        for (const std::size_t behind : {0U, 700U, 1423U}) {
            const auto damage = [&](Frame& frame) { frame.bytes[header + behind] ^= std::byte{1}; };
            ArrivingTransfer checked;
            EXPECT_EQ(checked.taken_before(place, damage), place - ArrivingTransfer::next);
            ArrivingTransfer trusting(true);
            EXPECT_EQ(trusting.taken_before(place, damage), 9U) << "its bytes are not looked at";
        }
    }
}

// With a right checksum.
TEST(AmChunkRun, EndsBeforeAPacketOfSomethingElse) {
    const std::vector<std::function<void(Header&)>> forgeries = {
        [](Header& h) { h.cookie ^= 1; },
        [](Header& h) { h.id = 1; },
        [](Header& h) { h.count = 11; },
        [](Header& h) { h.number += 1; },
        [](Header& h) { h.round += 1; },
        [](Header& h) { h.offset += 8; },
        [](Header& h) { h.filler = 4; },
        [](Header& h) { h.ack[0] += 1; },
        [](Header& h) { h.ack[1] += 1; },
        [](Header& h) { h.src += 1; },
        [](Header& h) { h.channel = Channel::reply; },
    };
    for (std::size_t i = 0; i < forgeries.size(); ++i) {
        ArrivingTransfer run;
        const auto forge = [&](Frame& frame) { frame = run.pair.forged(frame, forgeries[i]); };
        EXPECT_EQ(run.taken_before(ArrivingTransfer::next + 2, forge), 2U) << i;
    }
}

TEST(AmChunkRun, ADamagedPacketIsCountedResentAndHarmsNothingElse) {
    ArrivingTransfer run;
    run.frames[5].bytes.back() ^= std::byte{1};
    EXPECT_EQ(run.take(ArrivingTransfer::next, 10), 2U);
    for (Pair* each : {&run.pair, &run.twin}) {
        EXPECT_EQ(each->give(each->b, run.frames[5]), corrupt);
    }
    EXPECT_EQ(run.take(6, 4), 0U) << "what is behind it is ahead";
    for (std::size_t i = 6; i < run.frames.size(); ++i) run.pair.give(run.pair.b, run.frames[i]);
    EXPECT_EQ(run.pair.b.log, Log{});
    for (int i = 0; i < 10 && !run.pair.a.engine.idle(); ++i) {
        run.pair.settle();
        if (!run.pair.a.engine.idle()) run.pair.wait_for_timer();
    }
    EXPECT_EQ(run.pair.b.log.size(), 1U);
    EXPECT_EQ(run.pair.a.engine.stats().resent, 1U);
    EXPECT_TRUE(same(run.pair.b.memory().first(run.source.size()), run.source));
}

TEST(AmChunkRun, IsNoneBeforeAChunkHasBegunOrWhereOthersAreToBeTakenFirst) {
    ArrivingTransfer begins;
    EXPECT_EQ(begins.take(13, 4), 0U) << "of the chunk after this";
    EXPECT_EQ(begins.take(4, 4), 0U) << "one is missing";
    EXPECT_EQ(begins.take(2, 4), 0U) << "one came before";

    ArrivingTransfer acks;  // they may end something that is then to be drawn
    acks.pair.b.engine.set_awaiting(true);
    requests(acks.pair.b, 1);
    const Frames request = acks.pair.b.take(acks.pair.now);
    ASSERT_EQ(request.size(), 1U);
    RxRun run{acks.frames[3].bytes.data(), 1, static_cast<std::uint32_t>(acks.config.packet_max)};
    EXPECT_EQ(acks.pair.b.engine.on_run(acks.pair.now, run), 1U) << "they are those before";
    acks.frames[4] = acks.pair.forged(acks.frames[4], [](Header& h) { h.ack[0] += 1; });
    run.data = acks.frames[4].bytes.data();
    EXPECT_EQ(acks.pair.b.engine.on_run(acks.pair.now, run), 0U);
    EXPECT_EQ(acks.pair.give(acks.pair.b, acks.frames[4]), accepted);
    run.size -= 8;
    EXPECT_EQ(acks.pair.b.engine.on_run(acks.pair.now, run), 0U);

    Pair on_fast_path(udp());
    requests(on_fast_path.a, 1);
    on_fast_path.carry(on_fast_path.a);
    on_fast_path.settle();
    EXPECT_TRUE(on_fast_path.b.engine.would_leave_single());
    EXPECT_FALSE(on_fast_path.b.engine.takes_run());
    requests(on_fast_path.a, 1);
    const Frames undrawn = on_fast_path.a.take(on_fast_path.now);
    EXPECT_EQ(on_fast_path.b.engine.on_frame(on_fast_path.now,
                                             RxFrame{.bytes = undrawn.at(0).bytes, .lent = {}}),
              accepted);
    EXPECT_FALSE(on_fast_path.b.engine.takes_run());
}

// OPENs without bytes, so that any total is possible. The first packet of a chunk arrives ahead,
// while a long store has its id. When it is the next one, a short store has the id, and its memory
// ends before.
void go_on_in_a_shorter_store(std::uint64_t back) {
    Pair pair(small(bare()));
    const auto source = pattern(3 * pair.config.chunk_bytes());
    EXPECT_EQ(store(pair.a, source, 1), PostStatus::accepted);
    const Frames first = pair.a.take(pair.now);
    EXPECT_EQ(pair.text(first), "OPEN 0 | CHUNK 1.0..3 | CHUNK 5.0..3");
    pair.give(pair.b, first);
    pair.carry(pair.b);
    const Frames rest = pair.a.take(pair.now);
    ASSERT_EQ(pair.text(rest), "CHUNK 9.0..3");
    const auto later = [&](Frame frame) {
        frame.bytes.back() ^= std::byte{1};
        return pair.forged(frame, [&](Header& h) {
            h.number += 5;
            h.offset -= back;
        });
    };
    EXPECT_EQ(pair.give(pair.b, later(rest[0])), held);
    pair.give(pair.b, rest);
    EXPECT_EQ(pair.b.log.size(), 1U);
    Frame open = first[0];
    store_le<std::uint64_t>(Bytes(open.bytes).subspan(48 + 8).first<8>(), 8);  // bytes in all
    open.header.number += 13;
    EXPECT_EQ(pair.give(pair.b, pair.sealed(open)), accepted);

    const std::vector<std::byte> memory(pair.b.memory().begin(), pair.b.memory().end());
    const Frame next = later(rest[1]);
    const RxRun run{next.bytes.data(), 1, static_cast<std::uint32_t>(next.bytes.size())};
    EXPECT_EQ(pair.b.engine.on_run(pair.now, run), 0U);
    EXPECT_EQ(pair.give(pair.b, next), malformed);
    EXPECT_TRUE(same(pair.b.memory(), memory));
}

TEST(AmChunk, OneBegunInALongTransferIsNotGoneOnWithInAShortOne) {
    const std::size_t chunk = small(bare()).chunk_bytes();
    for (const std::size_t back : {std::size_t{0}, chunk, 2 * chunk}) {
        go_on_in_a_shorter_store(back);
    }
}

}  // namespace
}  // namespace wireproof::am::test
