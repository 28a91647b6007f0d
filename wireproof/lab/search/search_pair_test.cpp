// Two hand-made ends that number what they do, and the states that differ only in these numbers.
#include "wireproof/lab/search/search_pair.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

namespace wireproof::lab {
namespace {

using Frame = std::vector<std::byte>;

constexpr std::uint32_t numbers = 3;

std::uint16_t label_in(const Frame& frame, std::size_t at) {
    const auto byte = std::to_integer<std::uint16_t>(frame[at]);
    return byte == 0xFF ? Labels::none : byte;
}

/// Numbers its trainings. A frame has the number of its sender and the one that its sender heard.
struct Trainer {
    std::uint8_t side = 0;
    Labels labels_{.own = 0};
    bool owes = true;
    std::optional<std::uint16_t> special{};  // a number that is not like the others

    void offer_all() {}
    bool can_offer() const { return false; }
    void offer() {}
    std::optional<Frame> transmit() {
        if (!owes) return std::nullopt;
        owes = false;
        return Frame{std::byte{9}, static_cast<std::byte>(labels_.own),
                     static_cast<std::byte>(labels_.peers)};
    }
    RxVerdict receive(const Frame& frame, Arrives how) {
        if (how != Arrives::intact) return RxVerdict::corrupt;
        if (labels_.peers != label_in(frame, 1)) owes = true;
        labels_.peers = label_in(frame, 1);
        if (label_in(frame, 2) != labels_.own || labels_.own == special) owes = true;
        return RxVerdict::control;
    }
    Instant deadline() const { return Instant(Duration(1)); }
    Instant now() const { return Instant(); }
    void wait() {
        labels_.own = static_cast<std::uint16_t>((labels_.own + 1U) % numbers);
        owes = true;
    }
    bool done() const { return !owes; }
    std::uint64_t replays() const { return 0; }
    const char* violation() const { return nullptr; }
    static const char* contradiction(const Trainer&, const Trainer&) { return nullptr; }
    static bool agree(const Trainer&, const Trainer&) { return true; }
    Fingerprint::Value fingerprint() const {
        Fingerprint sink;
        sink.add(side);
        sink.add(owes);
        sink.add(labels_.own);
        sink.add(labels_.peers);
        return sink.value();
    }
    FrameInfo describe(ConstBytes) const { return {}; }
    static std::string news(const Trainer&, const Trainer&) { return {}; }

    Labels labels() const { return labels_; }
    Fingerprint::Value fingerprint_without_labels() const {
        Fingerprint sink;
        sink.add(side);
        sink.add(owes);
        sink.add(labels_.peers == Labels::none);
        return sink.value();
    }
    static Labels set_labels_aside(Frame& frame) {
        const Labels labels{label_in(frame, 1), label_in(frame, 2)};
        frame[1] = frame[2] = std::byte{};
        return labels;
    }
    std::uint32_t label_count() const { return numbers; }
};
static_assert(LabelledEnd<Trainer>);

using World = PairWorld<Trainer>;
using Written = std::vector<std::uint16_t>;

/// All of a world, with the numbers of each end shifted.
Written written(const World& world, const SearchEnds<Trainer>& ends,
                std::array<std::uint16_t, 2> by) {
    const auto shifted = [](std::uint16_t label, std::uint16_t shift) {
        return static_cast<std::uint16_t>(label == Labels::none ? label
                                                                : (label + shift) % numbers);
    };
    Written all;
    for (std::size_t i = 0; i < 2; ++i) {
        const Trainer& end = ends.state(world.at(i));
        all.insert(all.end(), {end.owes, shifted(end.labels_.own, by[i]),
                               shifted(end.labels_.peers, by[1 - i])});
        for (std::size_t k = 0; k < world.in_flight(i); ++k) {
            const Frame& frame = ends.frame(world.on_its_way(i, k));
            all.insert(all.end(), {shifted(label_in(frame, 1), by[i]),
                                   shifted(label_in(frame, 2), by[1 - i])});
        }
        all.push_back(0xAAAA);
    }
    return all;
}

/// The first in the alphabet of all shifts of a world.
Written least_shift(const World& world, const SearchEnds<Trainer>& ends) {
    Written least;
    for (std::uint16_t a = 0; a < numbers; ++a) {
        for (std::uint16_t b = 0; b < numbers; ++b) {
            Written one = written(world, ends, {a, b});
            if (least.empty() || one < least) least = std::move(one);
        }
    }
    return least;
}

std::array<Trainer, 2> trainers() {
    return {Trainer{.side = 0}, Trainer{.side = 1}};
}

struct Counted {
    std::size_t states = 0;
    std::size_t orbits = 0;
};

/// Expects equal keys of just those states that differ by a shift. Visits at most so many states.
Counted expect_keys_of_shifts(const SearchSetting& setting, std::size_t states) {
    SearchEnds<Trainer> ends(setting, trainers());
    std::deque<World> open{World(ends)};
    std::set<Written> met{written(open.front(), ends, {})};
    std::map<std::string, Written> by_key;
    std::set<Written> orbits;
    while (!open.empty()) {
        const World world = open.front();
        open.pop_front();
        World same(ends);
        same.unpack(world.packed().bytes());
        EXPECT_EQ(written(same, ends, {}), written(world, ends, {}));
        const PackedState key = world.key_of(world.packed().bytes());
        const auto* bytes = reinterpret_cast<const char*>(key.bytes().data());
        const Written least = least_shift(world, ends);
        const auto [known, is_new] =
            by_key.try_emplace(std::string(bytes, key.bytes().size()), least);
        EXPECT_EQ(known->second, least);
        EXPECT_EQ(orbits.insert(least).second, is_new);
        std::vector<SearchMove> moves;
        world.moves(moves);
        for (const SearchMove move : moves) {
            World next = world;
            next.take(move);
            if (met.size() == states) break;
            if (met.insert(written(next, ends, {})).second) open.push_back(next);
        }
    }
    return {met.size(), orbits.size()};
}

TEST(PairWorld, KeysAreEqualIfAndOnlyIfStatesDifferByAShift) {
    const SearchSetting setting{.in_flight = 1};
    const Counted counted = expect_keys_of_shifts(setting, 1'000'000);
    EXPECT_GT(counted.states, 5 * counted.orbits);
    PairSearch<Trainer> shifted(setting, trainers());
    EXPECT_EQ(shifted.run().states, counted.orbits);
    PairSearch<Trainer> plain({.in_flight = 1, .shift_labels = false}, trainers());
    EXPECT_EQ(plain.run().states, counted.states);
}

TEST(PairWorld, KeysDistinguishFramesInFlight) {
    const Counted counted = expect_keys_of_shifts({.in_flight = 2}, 5'000);
    EXPECT_EQ(counted.states, 5'000U);
    EXPECT_GT(counted.orbits, 500U);
}

SearchDoubts doubts_of(std::optional<std::uint16_t> special) {
    auto ends = trainers();
    for (Trainer& end : ends) end.special = special;
    PairSearch<Trainer> search({.in_flight = 1, .shift_labels = false, .doubt = true}, ends);
    search.run();
    return search.doubt();
}

TEST(PairSearch, ADoubtFindsANumberThatIsNotLikeTheOthers) {
    const SearchDoubts good = doubts_of({});
    EXPECT_GT(good.shifts_compared, 100U);
    EXPECT_EQ(good.shifts_differing, 0U);
    EXPECT_GT(doubts_of(1).shifts_differing, 0U);
}

}  // namespace
}  // namespace wireproof::lab
