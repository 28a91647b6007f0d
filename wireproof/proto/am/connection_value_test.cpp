// A connection is a regular value: copies share no state, and fingerprints distinguish histories.
#include <gtest/gtest.h>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

Fingerprint::Value value_of(const Connection& engine, Instant now) {
    Fingerprint sink;
    engine.fingerprint(now, sink);
    return sink.value();
}

/// Everything that a connection does from here on, with these frames.
Log future(Connection engine, Instant now, const Frames& frames) {
    Log log;
    std::vector<std::byte> room(engine.config().packet_max);
    std::vector<std::byte> bytes(room.size());
    const auto step = [&] {
        while (const auto delivery = engine.next_delivery()) {
            log.push_back(text(*delivery));
            if (const auto* request = std::get_if<Request>(&*delivery)) {
                (void)engine.reply(HandlerId(2), request->arguments);
            }
        }
        for (TxFrame out;;) {
            out.open(room, {.frame_max = room.size()});
            if (!engine.poll_transmit(now, out)) break;
            const Bytes frame = out.gather(bytes);
            log.emplace_back();
            for (const std::byte byte : frame) log.back() += static_cast<char>(byte);
        }
    };
    for (const Frame& frame : frames) {
        log.emplace_back(name_of(engine.on_frame(now, {frame.bytes, {}, Integrity::check})));
        step();
    }
    for (int i = 0; i < 5 && engine.next_deadline() != never; ++i) {
        now = engine.next_deadline();
        log.push_back(std::to_string(now.since_start().picoseconds()));
        engine.on_deadline(now);
        step();
    }
    return log;
}

/// A pair with everything in progress: requests, replies, a store and a get, with a loss.
struct Busy {
    explicit Busy(const Config& config, Duration start = {}) : pair(config) {
        pair.now = pair.now + start;
        reply_to_all(pair.b);
        here.resize(2 * config.chunk_bytes());
        source = pattern(2 * config.chunk_bytes());
        requests(pair.a, 2);
        EXPECT_EQ(store(pair.a, source), PostStatus::accepted);
        EXPECT_EQ(get(pair.a, here), PostStatus::accepted);
        Frames frames = pair.a.take(pair.now);
        frames.erase(frames.begin() + 4);
        pair.give(pair.b, frames);
        pair.wait(Duration::microseconds(100));
        replies = pair.b.take(pair.now);
    }

    Pair pair;
    std::vector<std::byte> source;
    std::vector<std::byte> here;
    Frames replies;
};

TEST(AmConnection, ACopyBehavesLikeTheOriginalAndSharesNothingWithIt) {
    for (const Config& config : all_small()) {
        Busy busy(config);
        Pair& pair = busy.pair;
        const Connection copy = pair.a.engine;
        const Instant then = pair.now;
        const auto value = value_of(copy, then);
        EXPECT_EQ(value, value_of(pair.a.engine, pair.now));
        const Log expected = future(copy, pair.now, busy.replies);
        EXPECT_GT(expected.size(), 5);
        // The original takes another course meanwhile.
        pair.a.take(pair.now);
        pair.settle();
        pair.wait_for_timer();
        EXPECT_NE(value_of(pair.a.engine, pair.now), value);
        EXPECT_EQ(value_of(copy, then), value);
        EXPECT_EQ(future(copy, then, busy.replies), expected);
    }
}

TEST(AmConnection, AnAssignedCopyForgetsWhatItWas) {
    for (const Config& config : all_small()) {
        Busy busy(config);
        Busy other(config);
        other.pair.settle();
        other.pair.a.engine = busy.pair.a.engine;
        EXPECT_EQ(value_of(other.pair.a.engine, busy.pair.now),
                  value_of(busy.pair.a.engine, busy.pair.now));
    }
}

TEST(AmConnection, EqualHistoriesHaveEqualFingerprintsWheneverTheyHappened) {
    for (const Config& config : all_small()) {
        const Busy one(config);
        const Busy two(config);
        const Busy later(config, Duration::milliseconds(123'456));
        for (const auto node : {&Pair::a, &Pair::b}) {
            const auto value = value_of((one.pair.*node).engine, one.pair.now);
            EXPECT_EQ(value, value_of((two.pair.*node).engine, two.pair.now));
            EXPECT_EQ(value, value_of((later.pair.*node).engine, later.pair.now));
        }
    }
}

TEST(AmConnection, AnIdleConnectionDoesNotAge) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        const auto value = value_of(pair.a.engine, pair.now);
        EXPECT_EQ(value, value_of(pair.a.engine, pair.now + Duration::milliseconds(50)));
    }
}

TEST(AmConnection, DifferentHistoriesHaveDifferentFingerprints) {
    for (const Config& config : all_small()) {
        std::vector<Fingerprint::Value> values;
        const auto note = [&](const std::function<void(Busy&)>& change) {
            Busy busy(config);
            change(busy);
            Fingerprint sink;
            for (Node* node : {&busy.pair.a, &busy.pair.b}) {
                node->engine.fingerprint(busy.pair.now, sink);
            }
            values.push_back(sink.value());
        };
        const std::vector<std::function<void(Busy&)>> changes = {
            [](Busy&) {},
            [](Busy& b) {
                (void)request(b.pair.a, 1, {1});
                (void)request(b.pair.b, 1, {1});
            },
            [](Busy& b) {
                (void)request(b.pair.a, 1, {2});
                (void)request(b.pair.b, 1, {2});
            },
            [](Busy& b) {
                (void)request(b.pair.a, 2, {1});
                (void)request(b.pair.b, 2, {1});
            },
            [](Busy& b) { b.pair.now = b.pair.now + Duration(1); },
            [](Busy& b) {
                b.pair.a.engine.set_awaiting(true);
                b.pair.b.engine.set_awaiting(true);
            },
            [](Busy& b) {
                b.pair.give(b.pair.a, b.replies);
                b.pair.give(b.pair.b, b.pair.a.take(b.pair.now));
            },
        };
        for (const auto& change : changes) note(change);
        std::sort(values.begin(), values.end());
        EXPECT_EQ(std::adjacent_find(values.begin(), values.end()), values.end());
    }
}

TEST(AmConnection, CountersAreNoPartOfTheFingerprint) {
    for (const Config& config : all()) {
        Pair pair(config);
        requests(pair.a, 1);
        const Frames frames = pair.a.take(pair.now);
        pair.give(pair.b, frames);
        pair.give(pair.b, frames);
        pair.b.take(pair.now);
        const auto value = value_of(pair.b.engine, pair.now);
        pair.give(pair.b, frames);
        EXPECT_NE(value, value_of(pair.b.engine, pair.now));  // an ACK is due
        pair.b.take(pair.now);
        EXPECT_EQ(value, value_of(pair.b.engine, pair.now));
        EXPECT_EQ(pair.b.engine.stats().received_as(RxVerdict::duplicate), 2);
    }
}

TEST(AmConnection, ACopyMayBeBoundToMemoryOfItsOwn) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, 100));
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        const Frames frames = pair.a.take(pair.now);
        Connection copy = pair.b.engine;
        std::vector<std::byte> own(source.size() + 100);
        MemoryTable table;
        ASSERT_TRUE(table.add(Node::base, own, {.read = true, .write = true}));
        copy.bind(table);
        for (const Frame& frame : frames)
            (void)copy.on_frame(pair.now, {frame.bytes, {}, Integrity::check});
        EXPECT_TRUE(same(Bytes(own).first(source.size()), source));
        EXPECT_EQ(pair.b.memory()[0], std::byte{0});
        EXPECT_TRUE(copy.touches(own) || copy.next_delivery());
    }
}

// The connection uses memory that was lent to a transfer until the transfer ends.
TEST(AmConnection, KnowsWhichMemoryATransferTouches) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        std::vector<std::byte> bytes(3 * config.chunk_bytes());
        // The bytes of its OPEN are copied.
        const Bytes stored = Bytes(bytes).subspan(100, 2 * config.chunk_bytes());
        const Bytes lent = stored.subspan(config.open_bytes);
        ASSERT_EQ(store(pair.a, stored), PostStatus::accepted);
        EXPECT_TRUE(pair.a.engine.touches(bytes));
        EXPECT_TRUE(pair.a.engine.touches(lent.first(1)));
        EXPECT_FALSE(pair.a.engine.touches(Bytes(bytes).first(100 + config.open_bytes)));
        EXPECT_FALSE(pair.a.engine.touches(Bytes(bytes).subspan(100 + stored.size())));
        EXPECT_FALSE(pair.a.engine.touches(lent.first(0)));
        pair.give(pair.b, pair.a.take(pair.now, 2));
        EXPECT_TRUE(pair.b.engine.touches(pair.b.memory().first(1)));
        EXPECT_FALSE(pair.b.engine.touches(pair.b.memory().subspan(stored.size())));
        for (int i = 0; i < 3 && !pair.a.engine.idle(); ++i) {
            pair.settle();
            if (!pair.a.engine.idle()) pair.wait_for_timer();
        }
        EXPECT_FALSE(pair.a.engine.touches(bytes));
        EXPECT_FALSE(pair.b.engine.touches(pair.b.memory()));
    }
}

}  // namespace
}  // namespace wireproof::am::test
