// Frames that no sender writes. Each has a verdict but no other effect, and writes no byte.
#include <gtest/gtest.h>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

/// b expects the second packet of the first chunk of a store of two chunks. Every try must leave it
/// unchanged.
class Target {
public:
    explicit Target(const Config& config)
        : pair(config),
          source(pattern(in_chunks(config, config.chunk_bytes() + config.data_max() + 3))) {
        EXPECT_EQ(store(pair.a, source), PostStatus::accepted);
        requests(pair.a, 1);
        frames = pair.a.take(pair.now);
        EXPECT_EQ(pair.text(frames), "OPEN 0 | CHUNK 1.0..3 | CHUNK 5.0..1 | REQ 7");
        EXPECT_EQ(pair.give(pair.b, frames[0]), accepted);
        EXPECT_EQ(pair.give(pair.b, frames[1]), accepted);
    }

    const Frame& open() const { return frames[0]; }
    const Frame& second() const { return frames[2]; }
    const Frame& of_next_chunk() const { return frames[5]; }
    const Frame& request() const { return frames[7]; }

    RxVerdict attempt(const Frame& frame) {
        const std::vector<std::byte> before(pair.b.memory().begin(), pair.b.memory().end());
        const auto value = fingerprint();
        const RxVerdict verdict = pair.give(pair.b, frame);
        EXPECT_EQ(value, fingerprint());
        EXPECT_TRUE(same(pair.b.memory(), before));
        EXPECT_TRUE(pair.b.guards_intact());
        EXPECT_EQ(pair.b.log, Log{});
        EXPECT_EQ(pair.taken(pair.b), "");
        return verdict;
    }

    RxVerdict attempt(const Frame& frame, const std::function<void(Header&)>& change) {
        return attempt(pair.forged(frame, change));
    }

    /// After all this, the store still arrives.
    void finish() {
        pair.give(pair.b, frames);
        pair.settle();
        EXPECT_EQ(pair.b.log.size(), 2);
        EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
        EXPECT_TRUE(pair.b.guards_intact());
    }

    Fingerprint::Value fingerprint() const {
        Fingerprint sink;
        pair.b.engine.fingerprint(pair.now, sink);
        return sink.value();
    }

    Pair pair;
    std::vector<std::byte> source;
    Frames frames;
};

// AM-47
TEST(AmConnection, DropsAFrameThatIsTooShortOrTooLong) {
    for (const Config& config : all_small().without_questions()) {
        Target target(config);
        for (std::size_t size = 0; size < config.header_size(); ++size) {
            Frame cut = target.second();
            cut.bytes.resize(size);
            EXPECT_EQ(target.attempt(cut), malformed) << size;
        }
        Frame cut = target.second();
        cut.bytes.pop_back();
        EXPECT_EQ(target.attempt(cut), corrupt);
        EXPECT_EQ(target.attempt(target.pair.sealed(cut)), malformed);
        Frame longer = target.second();
        longer.bytes.push_back(std::byte{0});
        EXPECT_EQ(target.attempt(target.pair.sealed(longer)), malformed);
        Frame empty = target.second();
        empty.bytes.resize(config.header_size());
        EXPECT_EQ(target.attempt(target.pair.sealed(empty)), malformed);
        target.finish();
    }
}

// AM-47
TEST(AmConnection, DropsKindsThatDoNotExistOrDoNotFitTheirChannel) {
    for (const Config& config : all_small().without_questions()) {
        Target target(config);
        for (const unsigned kind : {0U, 10U, 11U, 12U, 13U, 14U, 15U}) {
            EXPECT_EQ(target.attempt(target.second(), [&](Header& h) { h.kind = Kind(kind); }),
                      malformed);
        }
        for (const Kind kind : {Kind::request, Kind::open, Kind::get_request, Kind::ack}) {
            EXPECT_EQ(target.attempt(target.request(),
                                     [&](Header& h) {
                                         h.kind = kind;
                                         h.channel = Channel::reply;
                                     }),
                      malformed);
        }
        EXPECT_EQ(target.attempt(target.request(), [](Header& h) { h.kind = Kind::reply; }),
                  malformed);
        EXPECT_EQ(target.attempt(target.second(), [](Header& h) { h.in_place = true; }), malformed);
        target.finish();
    }
}

// AM-47
TEST(AmConnection, DropsMalformedChunkGeometryWithoutAWrite) {
    for (const Config& config : all_small().without_questions()) {
        Target target(config);
        const Frame& chunk = target.second();
        const std::uint64_t data = config.data_max();
        const std::uint64_t total = target.source.size();
        const auto with_offset = [&](std::uint64_t offset) {
            return target.attempt(chunk, [&](Header& h) { h.offset = offset; });
        };
        EXPECT_EQ(with_offset(data + 1), malformed);
        EXPECT_EQ(with_offset(data - 4), malformed);
        EXPECT_EQ(with_offset(total), malformed);
        EXPECT_EQ(with_offset(5 * data), malformed);  // it has another length
        EXPECT_EQ(with_offset(6 * data), malformed);  // beyond the total
        EXPECT_EQ(with_offset(4 * data), malformed);  // of the next chunk, which has another count
        EXPECT_EQ(with_offset(0xFFFFFFFF / data * data), malformed);
        if (config.layout == Layout::ethernet) {
            EXPECT_EQ(with_offset(~std::uint64_t{0} / data * data), malformed);
            EXPECT_EQ(with_offset(std::uint64_t{1} << 63), malformed);
        }
        for (const std::uint16_t count : std::vector<std::uint16_t>{0, 1, 3, 5, 36, 65'535}) {
            EXPECT_EQ(target.attempt(chunk, [&](Header& h) { h.count = count; }), malformed);
        }
        // Of the next chunk, but with the number of this one.
        const auto number = chunk.header.number;
        EXPECT_EQ(target.attempt(target.of_next_chunk(), [&](Header& h) { h.number = number; }),
                  malformed);
        target.finish();
    }
}

// AM-47
TEST(AmConnection, DropsPacketsOfUnknownTransfers) {
    for (const Config& config : all_small().without_questions()) {
        Target target(config);
        for (const std::uint32_t id : {1U, 2U, 3U, 100U, 65'535U}) {
            EXPECT_EQ(target.attempt(target.second(), [&](Header& h) { h.id = id; }), malformed);
        }
        EXPECT_EQ(target.attempt(target.second(),
                                 [&](Header& h) {
                                     h.channel = Channel::reply;
                                     h.number = target.pair.number(Channel::reply, 0);
                                 }),
                  malformed);
        // Short messages with the number of the active chunk, whose first packet has arrived.
        const auto here = target.second().header.number;
        EXPECT_EQ(target.attempt(target.request(), [&](Header& h) { h.number = here; }), duplicate);
        EXPECT_EQ(target.attempt(target.open(), [&](Header& h) { h.number = here; }), duplicate);
        target.finish();
    }
}

// AM-47: short messages that no sender writes.
TEST(AmConnection, DropsShortMessagesWithWrongCountsIdsOrBodies) {
    for (const Config& config : all_small().without_questions()) {
        Target target(config);
        const Frame& request = target.request();
        for (const std::uint16_t count : std::vector<std::uint16_t>{0, 2, 65'535}) {
            EXPECT_EQ(target.attempt(request, [&](Header& h) { h.count = count; }), malformed);
        }
        EXPECT_EQ(target.attempt(request, [](Header& h) { h.id = 0; }), malformed);
        if (config.layout == Layout::ethernet) {
            EXPECT_EQ(target.attempt(request, [](Header& h) { h.id = 65'536; }), malformed);
            Frame padded = request;
            padded.bytes[46] = std::byte{1};
            const auto head = ConstBytes(padded.bytes);
            store_checksum(config.layout, Bytes(padded.bytes).first(48),
                           checksum(config.layout, head.first(48), head.subspan(48)));
            EXPECT_EQ(target.attempt(padded), malformed);
            EXPECT_EQ(target.attempt(request, [](Header& h) { h.filler = 1; }), malformed);
        }
        Frame many = request;
        many.header.count = static_cast<std::uint16_t>(config.message_max + 1);
        many.bytes.resize(config.header_size() + config.message_max + 1);
        if (many.bytes.size() <= config.packet_max) {
            EXPECT_EQ(target.attempt(target.pair.sealed(many)), malformed);
        }
        EXPECT_EQ(target.attempt(target.open(), [](Header& h) { h.id = 3; }), malformed);
        const std::uint64_t some = in_chunks(config, 10);
        const auto with_body = [&](const OpenBody& body) {
            Frame frame = target.open();
            frame.header.id = 1;
            frame.header.number = target.pair.number(Channel::request, 7);
            body.encode(Bytes(frame.bytes).subspan(config.header_size()).first<OpenBody::size>());
            return target.attempt(target.pair.sealed(frame));
        };
        EXPECT_EQ(with_body({Node::base, some, 0, 0}), malformed);
        EXPECT_EQ(with_body({Node::base, some, 65'536, 0}), malformed);
        EXPECT_EQ(with_body({Node::base, config.transfer_max() + 1, 9, 0}), malformed);
        Frame cut = target.open();
        cut.bytes.resize(cut.bytes.size() - 4);
        EXPECT_EQ(target.attempt(target.pair.sealed(cut)), malformed);
        target.finish();
    }
}

TEST(AmConnection, DropsFramesOfOrForOthers) {
    for (const Config& config : all_small().without_questions()) {
        Target target(config);
        EXPECT_EQ(target.attempt(target.second(), [](Header& h) { h.dst = 2; }), foreign);
        EXPECT_EQ(target.attempt(target.second(), [](Header& h) { h.src = 2; }), foreign);
        EXPECT_EQ(target.attempt(target.second(), [](Header& h) { std::swap(h.src, h.dst); }),
                  foreign);
        EXPECT_EQ(
            target.attempt(target.second(), [](Header& h) { h.cookie ^= std::uint64_t{1} << 63; }),
            foreign);  // AM-49
        EXPECT_EQ(target.attempt(target.second(), [](Header& h) { h.cookie = 0; }), malformed);
        target.finish();
    }
}

// AM-15
TEST(AmConnection, DropsAFrameWithAnyOneBitDamaged) {
    for (const Config& config : all_small().without_questions()) {
        Target target(config);
        Frame frame = target.request();
        for (std::size_t bit = 0; bit < frame.bytes.size() * 8; ++bit) {
            const auto mask = std::byte{1} << (bit % 8);
            frame.bytes[bit / 8] ^= mask;
            ASSERT_EQ(target.attempt(frame), corrupt) << bit;
            frame.bytes[bit / 8] ^= mask;
        }
        target.finish();
    }
}

// The same for a packet in order, which takes the fast path.
TEST(AmConnection, DropsTheExpectedRequestWithAnyOneBitDamaged) {
    for (const Config& config : all_small()) {
        const bool fast = config.layout == Layout::ethernet && config.congestion == Congestion::off;
        Pair pair(config);
        requests(pair.a, 1);
        Frame frame = pair.a.take(pair.now).at(0);
        for (std::size_t bit = 0; bit < frame.bytes.size() * 8; ++bit) {
            const auto mask = std::byte{1} << (bit % 8);
            frame.bytes[bit / 8] ^= mask;
            // The fast path is open.
            ASSERT_EQ(pair.b.engine.would_leave_single(), fast);
            ASSERT_EQ(pair.give(pair.b, frame), corrupt) << bit;
            frame.bytes[bit / 8] ^= mask;
        }
        EXPECT_EQ(pair.b.log, Log{});
        EXPECT_EQ(pair.give(pair.b, frame), accepted);
        EXPECT_EQ(pair.b.take_log(), Log{"REQ 1(0)"});
    }
}

// AM-47: a store to a forbidden address is dropped and answered. Nothing hangs, nothing is written,
// and no timer is needed.
TEST(AmConnection, AStoreIntoForbiddenMemoryEndsWithTheReason) {
    for (const Config& config : all_small()) {
        for (const std::size_t size :
             {std::size_t{1}, config.chunk_bytes(), 3 * config.chunk_bytes() + 1}) {
            Pair pair(config, size + 100);
            const auto source = pattern(size);
            for (const std::uint64_t offset :
                 {std::uint64_t{101}, ~Node::base, 0 - Node::base, ~std::uint64_t{0}}) {
                ASSERT_EQ(store(pair.a, source, 4, offset), PostStatus::accepted);
                pair.settle();
                EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 4 forbidden"});
                EXPECT_EQ(pair.a.engine.stats().keepalive_timeouts, 0u);
                EXPECT_EQ(pair.b.take_log(), Log{});
                EXPECT_TRUE(pair.b.guards_intact());
                EXPECT_TRUE(same(pair.b.memory(), std::vector<std::byte>(size + 100)));
            }
            ASSERT_EQ(store(pair.a, source, 5, 100),
                      PostStatus::accepted);  // the last place where it fits
            pair.settle();
            EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 5"});
        }
    }
}

// AM-47
TEST(AmConnection, AGetFromForbiddenMemoryEndsWithTheReason) {
    for (const Config& config : all_small()) {
        Pair pair(config, 100);
        std::vector<std::byte> here(101, std::byte{0x33});
        const auto before = here;
        ASSERT_EQ(get(pair.a, here, 6), PostStatus::accepted);
        EXPECT_EQ(pair.carry(pair.a), "GET_REQ 0");
        EXPECT_EQ(pair.carry(pair.b), "REP 0");
        EXPECT_EQ(pair.a.take_log(), Log{"GET_ENDED 6 forbidden"});
        EXPECT_EQ(here, before);
    }
}

// AM-47: no handler has this number.
TEST(AmConnection, ARequestForNoHandlerIsAnsweredSo) {
    for (const Config& config : all()) {
        Pair pair(config);
        pair.b.handler = [&](const Delivery&) {
            EXPECT_EQ(pair.b.engine.refuse(HandlerId(33)), PostStatus::accepted);
        };
        ASSERT_EQ(request(pair.a, 33, {}), PostStatus::accepted);
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), Log{"REFUSED 33 no_handler"});
        const auto source = pattern(5);
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), (Log{"STORE_ENDED 1", "REFUSED 33 no_handler"}));
    }
}

TEST(AmConnection, RefusesToPostWhatNoPacketHolds) {
    for (const Config& config : all()) {
        Pair pair(config);
        std::vector<std::byte> most(config.message_max);
        EXPECT_EQ(pair.a.engine.request(HandlerId(1), most), PostStatus::accepted);
        most.push_back(std::byte{7});
        EXPECT_EQ(pair.a.engine.request(HandlerId(1), most), PostStatus::too_long);
        EXPECT_EQ(request(pair.a, 0, {}), PostStatus::not_allowed);
        EXPECT_EQ(pair.a.engine.store({.address = 0, .source = {}, .handler = {}}),
                  PostStatus::not_allowed);
        EXPECT_EQ(pair.taken(pair.a), "REQ 0");
    }
}

}  // namespace
}  // namespace wireproof::am::test
