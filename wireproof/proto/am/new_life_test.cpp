// AM-49: a session keeps nothing of the one before. Two ends, one of which was busy in its first
// session and the other one idle, are in the same state in the second.
#include "wireproof/core/new_life_test_kit.hpp"
#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

/// One end of a pair whose other end lives twice.
struct TwoLives {
    explicit TwoLives(const Config& config) : pair(config), next(of_next_life(config)) {
        requests(pair.a, 1);
        pair.settle();
    }

    static Config of_next_life(Config config) {
        config.seed += 77;
        return config;
    }

    /// Messages and transfers both ways, on a path that loses packets.
    void be_busy(std::uint64_t seed) {
        Random random(seed);
        reply_to_all(pair.b);
        for (std::uint64_t steps = 5 + random.below(60); steps > 0; --steps) {
            Node& node = random.chance(0.6) ? pair.a : pair.b;
            switch (random.below(6)) {
                case 0: requests(node, static_cast<std::uint32_t>(1 + random.below(4))); break;
                case 1: (void)store(node, source); break;
                case 2: (void)get(node, &node == &pair.a ? here : there); break;
                case 3: pair.wait(Duration::microseconds(50)); break;
                default: carry(node, random); break;
            }
        }
    }
    /// The other end begins again, and sends a message. Both reach `then` without a timer.
    Fingerprint::Value in_next_life(Instant then) {
        pair.now = then;
        EXPECT_EQ(request(next.b, 1, {5}), PostStatus::accepted);
        for (std::size_t turn = 0, carried = 1; turn < 100 && carried > 0; ++turn) {
            const Frames out = next.b.take(pair.now);
            pair.give(pair.a, out);
            const Frames in = pair.a.take(pair.now);
            if (!in.empty()) route = in.back().header.route;
            pair.give(next.b, in);
            carried = out.size() + in.size();
        }
        EXPECT_EQ(pair.a.engine.stats().sessions, 2);
        return pair.a.fingerprint(pair.now);
    }

    Pair pair;
    Pair next;               // only its b is used
    std::uint8_t route = 0;  // of packets in the next life
    std::vector<std::byte> source = pattern(3 * pair.config.chunk_bytes() / 2);
    std::vector<std::byte> here = source;
    std::vector<std::byte> there = source;

private:
    void carry(Node& from, Random& random) {
        for (const Frame& frame : from.take(pair.now, 1 + random.below(40))) {
            if (random.chance(0.2)) continue;
            if (random.chance(0.05)) {
                pair.give_marked(pair.other(from), frame);
            } else if (random.chance(0.02)) {
                pair.give_after_overrun(pair.other(from), frame);
            } else {
                pair.give(pair.other(from), frame);
            }
        }
    }
};

// AM-49. AM-52: a route that left a question without an answer is not taken again.
TEST(AmNewLife, ASessionKeepsNothingOfTheOneBefore) {
    constexpr std::uint64_t seeds = 40;
    const Instant then{Duration::milliseconds(5'000)};
    for (const Config& base : all_small()) {
        const Config config = meeting(base);
        TwoLives idle(config);
        const Fingerprint::Value expected = idle.in_next_life(then);
        std::uint64_t compared = 0;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            TwoLives busy(config);
            busy.be_busy(seed);
            const Fingerprint::Value value = busy.in_next_life(then);
            if (busy.route != idle.route) continue;
            ASSERT_EQ(value, expected) << seed;
            ++compared;
        }
        EXPECT_GT(compared, seeds / 2);
    }
}

}  // namespace
}  // namespace wireproof::am::test
