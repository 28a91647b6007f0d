// A sequenced wire over wires that lose, repeat and reorder. The receiver gets a part of the frames
// that were sent, in order and without repeats (PCIE-39, HIPPI-37).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/parity/retried_roads.hpp"

#include "wireproof/host/any_wire.hpp"

namespace wireproof::parity {
namespace {

constexpr std::uint32_t frames = 5'000;

template <class W>
void send_some(W& wire, PeerId peer, std::uint32_t& next, std::uint64_t count) {
    for (; count > 0 && next < frames; --count) {
        TxFrame* const frame = wire.lane(peer).claim();
        if (frame == nullptr) return;
        store_le<std::uint32_t>(frame->template add_header<4>(), next++);
        wire.lane(peer).commit();
    }
}

struct Seen {
    std::int64_t latest = -1;
    std::uint64_t count = 0;
    std::uint64_t first = 0;  // the number of the first one
    std::uint64_t missing = 0;
};

/// `counts`: the wire tells missing frames, so the frames have the numbers that the receiver
/// counts.
template <class W>
void receive_all(W& wire, Instant now, Seen& seen, bool counts) {
    while (const auto frame = wire.receive(now)) {
        if (frame->bytes.empty() && frame->integrity == Integrity::damaged) {
            ++seen.missing;
            continue;
        }
        ASSERT_EQ(frame->bytes.size(), 4U);
        const auto number = load_le<std::uint32_t>(frame->bytes.template first<4>());
        EXPECT_GT(std::int64_t{number}, seen.latest);
        seen.latest = number;
        ++seen.count;
        if (seen.count == 1) seen.first = number;
        if (counts) {
            EXPECT_EQ(number, seen.first + seen.count - 1 + seen.missing);
        }
    }
    EXPECT_FALSE(wire.next_event().has_value());
}

template <class Road>
void run(std::uint64_t seed, bool counts = false) {
    RoadFaults faults;
    faults.rates = {.loss = 0.05, .duplicate = 0.1, .reorder = 0.1};
    faults.seed = seed;
    Road road(faults);
    std::array<host::AnyWire, 2> wires{host::AnyWire(std::ref(road.wire(0))),
                                       host::AnyWire(std::ref(road.wire(1)))};
    Random random(seed);
    std::array<std::uint32_t, 2> next{};
    std::array<Seen, 2> seen;
    for (int quiet = 0; quiet < 20; quiet += next[0] == frames && next[1] == frames ? 1 : 0) {
        for (std::size_t i = 0; i < 2; ++i) {
            receive_all(wires[i], road.now(), seen[i], counts);
            send_some(wires[i], road.peer(i), next[i], random.below(8));
            wires[i].flush(road.now());
            road.rest();
        }
    }
    for (std::size_t i = 0; i < 2; ++i) {
        const SequencedStats& stats = road.wire(i).stats();
        EXPECT_EQ(seen[i].count, stats.frames_received);
        EXPECT_GT(stats.late, 50U) << "nothing was repeated or overtaken";
        // One frame in 20 is lost, and one in 10 is delayed behind others.
        EXPECT_GT(seen[i].count, frames * 0.75);
        EXPECT_EQ(stats.former_life + stats.damaged + stats.new_lives + stats.gaps_too_long, 0U);
        EXPECT_EQ(seen[i].missing, stats.frames_missing);
        EXPECT_EQ(seen[i].missing > frames / 25, counts);
    }
}

TEST(SequencedParity, LetsAPartOfWhatWasSentPassInOrderAndOnce) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        run<Sequenced<Faulty<MemoryRoad>>>(seed);
        if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

TEST(SequencedParity, AReceiverThatLearnsOfMissingFramesCountsAsTheSender) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        run<Sequenced<Faulty<MemoryRoad>, 1'000>>(seed, true);
        if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

}  // namespace
}  // namespace wireproof::parity
