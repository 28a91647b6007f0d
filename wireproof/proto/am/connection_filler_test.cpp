// Packets of long transfers that are filled to the length of the others, and packets that are
// written several at once, for lanes that prefer this.
#include "wireproof/core/pump.hpp"
#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

/// Packets of 64 bytes of data, chunks of 8 packets, numbers that soon wrap. An OPEN carries no
/// bytes of its store: otherwise it would be as long as the other packets.
Config narrow(Recovery recovery = Recovery::selective) {
    Config config = bare();
    config.packet_max = 48 + 64;
    config.message_max = 64;
    config.chunk_packets = 8;
    config.chunks_in_flight = 6;
    config.window = {64, 64};
    config.first_flight = 64;  // a first flight is written packet by packet
    config.recovery = recovery;
    config.held_packets = recovery == Recovery::selective ? 64 : 0;
    EXPECT_TRUE(config.check());
    return config;
}

constexpr std::size_t longer = 17 * 64 + 10;
constexpr std::size_t shorter = 31;  // less than half a packet

/// Two stores, one after the other, on a lane that prefers frames of one size.
struct Stores {
    explicit Stores(const Config& config, std::size_t size = longer)
        : pair(config), first(pattern(size, 1)), second(pattern(size, 2)) {
        pair.a.prefers_equal_sizes = pair.b.prefers_equal_sizes = true;
        EXPECT_EQ(store(pair.a, first, 1), PostStatus::accepted);
        EXPECT_EQ(store(pair.a, second, 2, 4096), PostStatus::accepted);
    }

    void finish() {
        for (int i = 0; i < 100 && !pair.a.engine.idle(); ++i) {
            if (pair.settle() == 0) pair.wait_for_timer();
        }
        EXPECT_EQ(pair.a.log, (Log{"STORE_ENDED 1", "STORE_ENDED 2"}));
        EXPECT_TRUE(same(pair.b.memory().first(first.size()), first));
        EXPECT_TRUE(same(pair.b.memory().subspan(4096, second.size()), second));
        const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
        const Bytes between = pair.b.memory().subspan(first.size(), 4096 - first.size());
        EXPECT_TRUE(std::all_of(between.begin(), between.end(), zero)) << "filler was written";
        EXPECT_TRUE(pair.b.guards_intact());
    }

    Pair pair;
    std::vector<std::byte> first;
    std::vector<std::byte> second;
};

TEST(AmFiller, ALongTransfersOpenAndLastPacketAreAsLongAsTheRest) {
    Stores stores(narrow());
    const Frames frames = stores.pair.a.take(stores.pair.now);
    EXPECT_EQ(stores.pair.text(frames),
              "OPEN 0 | CHUNK 1.0..7 | CHUNK 9.0..7 | CHUNK 17.0..1 | OPEN 19 | CHUNK 20.0..7 | "
              "CHUNK 28.0..7 | CHUNK 36.0..1");
    ASSERT_EQ(frames.size(), 38U);
    for (std::size_t i = 0; i < 38; ++i) {
        const bool last = i == 37;  // no packet waits after it
        EXPECT_EQ(frames[i].bytes.size(), last ? 48U + 10 : 48U + 64) << i;
        const std::size_t filler = i % 19 == 0 ? 40 : i == 18 ? 54 : 0;
        EXPECT_EQ(frames[i].header.filler, filler) << i;
        EXPECT_TRUE(checksum_holds(Layout::ethernet, frames[i].bytes)) << i;
        const ConstBytes end = ConstBytes(frames[i].bytes).last(filler);
        EXPECT_TRUE(same(end, std::vector<std::byte>(filler))) << i;
    }
    EXPECT_EQ(stores.pair.a.engine.stats().filled, 3U);
    EXPECT_EQ(stores.pair.give(stores.pair.b, frames), Verdicts(38, RxVerdict::accepted));
    stores.finish();
    EXPECT_EQ(stores.pair.a.engine.stats().resent, 0U);
}

TEST(AmFiller, ShortTransfersAndLanesThatDoNotCareAreNotFilled) {
    Stores few(narrow(), shorter);
    few.finish();
    EXPECT_EQ(few.pair.a.engine.stats().filled, 0U);

    Stores plain(narrow());
    plain.pair.a.prefers_equal_sizes = false;
    plain.finish();
    EXPECT_EQ(plain.pair.a.engine.stats().filled, 0U);

    Config seed = sp2();
    Pair paper(seed);
    paper.a.prefers_equal_sizes = true;
    const auto source = pattern(2 * seed.chunk_bytes() + 10);
    ASSERT_EQ(store(paper.a, source), PostStatus::accepted);
    paper.settle();
    EXPECT_EQ(paper.a.engine.stats().filled, 0U);
    EXPECT_TRUE(same(paper.b.memory().first(source.size()), source));
}

TEST(AmFiller, AGetIsFilledLikeAStore) {
    Pair pair(narrow());
    pair.a.prefers_equal_sizes = pair.b.prefers_equal_sizes = true;
    const auto there = pattern(longer);
    std::copy(there.begin(), there.end(), pair.b.memory().begin());
    std::vector<std::byte> one(longer);
    std::vector<std::byte> two(longer);
    ASSERT_EQ(pair.a.engine.get({.address = Node::base, .destination = one, .tag = 1}),
              PostStatus::accepted);
    ASSERT_EQ(pair.a.engine.get({.address = Node::base, .destination = two, .tag = 2}),
              PostStatus::accepted);
    pair.settle();
    EXPECT_EQ(pair.a.take_log(), (Log{"GET_ENDED 1", "GET_ENDED 2"}));
    EXPECT_TRUE(same(one, there));
    EXPECT_TRUE(same(two, there));
    EXPECT_EQ(pair.b.engine.stats().filled, 1U);
}

TEST(AmFiller, AnyOfThemMayBeLostOrRepeated) {
    // The last is as over UDP with segmentation: the OPENs of stores carry bytes.
    for (const Config& config : {narrow(), narrow(Recovery::go_back_n), opening(narrow())}) {
        const std::size_t packets = config.open_bytes > 0 ? 36 : 38;
        for (std::size_t which = 0; which < packets; ++which) {
            for (const bool repeated : {false, true}) {
                Stores stores(config);
                const Frames frames = stores.pair.a.take(stores.pair.now);
                ASSERT_EQ(frames.size(), packets);
                for (std::size_t i = 0; i < frames.size(); ++i) {
                    if (i != which || repeated) stores.pair.give(stores.pair.b, frames[i]);
                    if (i == which && repeated) stores.pair.give(stores.pair.b, frames[i]);
                }
                stores.finish();
                const std::uint64_t resent = stores.pair.a.engine.stats().resent;
                if (repeated) {
                    EXPECT_EQ(resent, 0U) << which;
                } else if (config.recovery == Recovery::selective) {
                    EXPECT_EQ(resent, 1U) << which;
                } else {
                    EXPECT_LE(resent, 38U) << which;
                }
            }
        }
    }
}

TEST(AmFiller, WhereItMayNotStandOrIsTooMuchThePacketIsMalformed) {
    Stores stores(narrow());
    const Frames frames = stores.pair.a.take(stores.pair.now);
    const auto with = [&](const Frame& frame, std::uint16_t filler) {
        return stores.pair.forged(frame, [&](Header& header) { header.filler = filler; });
    };
    const auto verdict = [&](const Frame& frame) { return stores.pair.give(stores.pair.b, frame); };
    EXPECT_EQ(verdict(with(frames[0], 41)), RxVerdict::malformed) << "an OPEN cut short";
    EXPECT_EQ(verdict(with(frames[0], 39)), RxVerdict::malformed) << "an OPEN too long";
    EXPECT_EQ(verdict(with(frames[0], 65)), RxVerdict::corrupt) << "more than there is";
    EXPECT_EQ(stores.pair.b.give(stores.pair.now, with(frames[0], 65).bytes, Integrity::intact),
              RxVerdict::malformed)
        << "more than there is, where nobody checks";
    EXPECT_EQ(verdict(frames[0]), RxVerdict::accepted);
    EXPECT_EQ(verdict(with(frames[1], 1)), RxVerdict::malformed) << "not the packet's length";
    EXPECT_EQ(verdict(with(frames[1], 64)), RxVerdict::malformed) << "no data";
    stores.pair.give(stores.pair.b, Frames(frames.begin() + 1, frames.begin() + 18));
    EXPECT_EQ(verdict(with(frames[18], 53)), RxVerdict::malformed) << "beyond the store's end";
    EXPECT_EQ(stores.pair.b.log, Log{});
    EXPECT_EQ(verdict(frames[18]), RxVerdict::accepted);
    EXPECT_EQ(stores.pair.b.log.size(), 1U);

    Pair pair(narrow());
    requests(pair.a, 1);
    Frame request = pair.a.take(pair.now).at(0);
    request.bytes.resize(request.bytes.size() + 4);
    request.header.filler = 4;
    EXPECT_EQ(pair.give(pair.b, pair.sealed(request)), RxVerdict::malformed);
    EXPECT_EQ(pair.b.log, Log{});
}

/// Lends room for one frame or, if allowed, for up to `most_at_once`.
class Lane {
public:
    Lane(const Config& config, bool runs, std::size_t most_at_once)
        : room_(config.packet_max * most_at_once),
          frame_max_(config.packet_max),
          most_(runs ? most_at_once : 0) {}

    LaneCapabilities capabilities() const {
        return {.frame_max = frame_max_, .copied_max = 4096, .prefers_equal_sizes = true};
    }
    TxFrame* claim() {
        frame_.open(room_, capabilities());
        return &frame_;
    }
    void commit() {
        std::vector<std::byte> bytes(frame_.size());
        frame_.gather(bytes);
        frames.push_back(std::move(bytes));
    }
    FrameRun claim_run(std::size_t size, std::size_t most) {
        const std::size_t count = std::min(most, most_);
        if (count < 2) return {};
        return {Bytes(room_).first(count * size), count, size, true};
    }
    void commit_run(const FrameRun& run) {
        for (std::size_t i = 0; i < run.frames; ++i) {
            const auto at = run.room.begin() + static_cast<std::ptrdiff_t>(i * run.size);
            frames.emplace_back(at, at + static_cast<std::ptrdiff_t>(run.size));
        }
        at_once += run.frames;
    }

    std::vector<std::vector<std::byte>> frames;
    std::size_t at_once = 0;

private:
    std::vector<std::byte> room_;
    std::size_t frame_max_;
    std::size_t most_;
    TxFrame frame_;
};
static_assert(RunLane<Lane>);

// The two ways may differ only in the work, however much room the lane has.
TEST(AmFiller, PacketsWrittenAtOnceAreThoseWrittenOneByOne) {
    for (const bool trusts : {false, true}) {
        Config config = narrow();
        config.trusts_payload = trusts;
        Stores by_one(config);
        Lane one(config, false, 100);
        EXPECT_EQ(transmit(by_one.pair.a.engine, one, by_one.pair.now).frames, 38U);
        EXPECT_EQ(one.at_once, 0U);
        for (const std::size_t most : {2U, 3U, 7U, 100U}) {
            Stores by_many(config);
            Lane many(config, true, most);
            EXPECT_EQ(transmit(by_many.pair.a.engine, many, by_many.pair.now).frames, 38U);
            EXPECT_EQ(many.frames, one.frames) << most;
            // Except for each OPEN, each last packet, and a single packet that remains of a chunk.
            EXPECT_GE(many.at_once, most == 7 ? 28U : most == 3 ? 32U : 32U) << most;
            const auto& stats = by_many.pair.a.engine.stats();
            EXPECT_EQ(stats.sent, by_one.pair.a.engine.stats().sent);
            for (const auto& bytes : many.frames) {
                by_many.pair.b.give(by_many.pair.now, bytes);
            }
            by_many.finish();
            EXPECT_EQ(stats.resent, 0U);
        }
    }
}

// With congestion control each packet is checked, and no byte is wasted.
TEST(AmFiller, WhereTheHostsShareAPathPacketsAreWrittenOneByOneAndNotFilled) {
    Config config = narrow();
    config.congestion = Congestion::by_loss;
    Stores stores(config);
    Lane lane(config, true, 100);
    transmit(stores.pair.a.engine, lane, stores.pair.now);
    EXPECT_GT(lane.frames.size(), 0U);
    EXPECT_EQ(lane.at_once, 0U);
    stores.finish();
    EXPECT_EQ(stores.pair.a.engine.stats().filled, 0U);
}

}  // namespace
}  // namespace wireproof::am::test
