// Random worlds (docs/rules/ue.md).
#include <gtest/gtest.h>

#include <set>

#include "wireproof/proto/ue/world_test_kit.hpp"

namespace wireproof::ue {
namespace {

constexpr Duration flight = Duration::nanoseconds(500);

/// 1 ns for each byte.
Config slow() {
    Config config =
        Config::of_line({Duration::nanoseconds(1), flight * 2 + Duration::nanoseconds(100)}, 64);
    config.first_number = Config::numbers - 100;
    config.replay_ct_max = Config::replay_ct_none;
    config.data_age_timer_max = config.pcs_lost_status_timer_max = {};
    config.init_every = Duration::microseconds(1);
    return config;
}

World::Decide dice(Random& random, double loss, double damage, double ctl_loss) {
    return [&random, loss, damage, ctl_loss](const Frame& frame, bool) {
        if (frame.is_ctl()) return random.chance(ctl_loss) ? Fate::lost : Fate::arrives;
        if (random.chance(loss)) return Fate::lost;
        return random.chance(damage) ? Fate::damaged : Fate::arrives;
    };
}

std::uint32_t seed_of(const std::vector<std::byte>& message) {
    return load_le<std::uint32_t>(ConstBytes(message).first<4>());
}

// LLR-36: there are no more answers and replays than the faults explain. LLR-1, LLR-3: also with
// the largest window on a small circle.
TEST(UeWorld, EachMessageArrivesOnceAndInOrderWhateverIsLost) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Random random(seed);
        Config config = slow();
        if (seed % 3 != 0) {
            config.modulus = seed % 3 == 1 ? 8 : 64;
            config.first_number = config.modulus - 1;
            config.outstanding_seq_max = config.modulus / 2;
        }
        if (seed % 4 == 0) config.ack_idle = Duration::microseconds(3);
        World world(config, flight);
        world.both_ways = seed % 2 == 0;
        world.start();
        world.decide =
            dice(random, 0.2 * random.uniform(), 0.2 * random.uniform(), 0.2 * random.uniform());
        world.offer(1000);
        world.run_until_delivered();
        world.expect_in_order();
        const std::uint64_t faults = world.spoilt + world.spoilt_ctl;
        for (const End* end : {&world.a, &world.b}) {
            const Stats& stats = end->stats();
            EXPECT_EQ(stats.rx_ack_nack_seq_error, 0U);
            EXPECT_EQ(stats.tx_discard + stats.flushes, 0U);
            EXPECT_LE(stats.naks, world.spoilt);
            EXPECT_LE(stats.timeouts, faults);
            EXPECT_LE(stats.replays, faults);
            EXPECT_EQ(stats.numbered, stats.tx_ok);
            EXPECT_EQ(stats.tx_ok, stats.resent + (end == &world.a || world.both_ways ? 1000 : 0));
            EXPECT_LE(stats.resent, config.outstanding_seq_max * stats.replays);
            expect_identity(stats);
        }
    }
}

// LLR-17: a flush may lose messages, and each of these is counted; none arrives twice or late. When
// the faults stop, the link comes up and carries again.
TEST(UeWorld, FlushesLoseMessagesButNeverRepeatThem) {
    std::uint64_t flushes = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Random random(seed);
        Config config = slow();
        config.replay_ct_max = static_cast<std::uint32_t>(seed % 3);
        if (seed % 5 == 0) config.data_age_timer_max = config.replay_timer_max * 2;
        config.restarts_both_ways = seed % 4 != 0;
        config.outstanding_seq_max = 10;
        World world(config, flight);
        world.both_ways = true;
        world.decide = dice(random, 0.3, 0.2, 0.4);
        world.offer(500);
        world.run_until([&] { return world.offered == 500 && world.offered_by_b == 500; });
        world.decide = [](const Frame&, bool) { return Fate::arrives; };
        world.run_until([&] {
            return World::idle(world.a) && World::idle(world.b) && World::is_ready(world.a) &&
                   World::is_ready(world.b);
        });
        world.offer(20);
        const auto has_last = [](const End& end) {
            return !end.got.empty() && seed_of(end.got.back()) == 519;
        };
        world.run_until([&] { return has_last(world.a) && has_last(world.b); });
        for (const auto& [from, to] : {std::pair{&world.a, &world.b}, {&world.b, &world.a}}) {
            for (std::size_t i = 1; i < to->got.size(); ++i) {
                ASSERT_LT(seed_of(to->got[i - 1]), seed_of(to->got[i])) << seed;
            }
            const Stats& stats = from->stats();
            EXPECT_GE(to->got.size() + stats.tx_discard + stats.waiting_discarded, 520U);
            EXPECT_LE(to->got.size(), 520U);
            EXPECT_EQ(from->ups, from->downs + 1);
            expect_identity(stats);
            flushes += stats.flushes;
        }
    }
    EXPECT_GT(flushes, 100U);
}

// LLR-8: a timer below the loop replays frames that are not lost. The duplicates draw ACKs and
// nothing else.
TEST(UeWorld, ATooShortTimerCausesDuplicatesAndLosesNothing) {
    Config config = slow();
    config.replay_timer_max = Duration::nanoseconds(800);
    World world(config, flight);
    world.offer(300);
    world.run_until_delivered();
    world.expect_in_order();
    EXPECT_GT(world.b.stats().rx_duplicate_seq, 10U);
    EXPECT_EQ(world.b.stats().naks, 0U);
    EXPECT_EQ(world.a.stats().rx_ack_nack_seq_error, 0U);
}

/// Messages that arrive in a quiet world in which the first copies of some frames are lost.
struct Lossy {
    explicit Lossy(const Config& config) : world(config, flight) { world.start(); }
    World world;
};

// LLR-8, LLR-24: only the timer recovers a last frame, a lost NACK and a damaged head of a replay.
TEST(UeWorld, TheTimerRecoversWhatNoNackCan) {
    const auto run = [](std::uint32_t count, const World::Decide& decide) {
        Lossy lossy(slow());
        lossy.world.decide = decide;
        lossy.world.offer(count);
        lossy.world.run_until_delivered();
        lossy.world.expect_in_order();
        return std::pair{lossy.world.a.stats().timeouts, lossy.world.a.stats().tx_replay};
    };
    using Counts = std::pair<std::uint64_t, std::uint64_t>;
    const auto nth = [](const char* kind, int n, Fate fate) -> World::Decide {
        return [=, seen = 0](const Frame& frame, bool) mutable {
            return frame.kind() == kind && ++seen == n ? fate : Fate::arrives;
        };
    };
    EXPECT_EQ(run(10, nth("FRAME", 10, Fate::lost)), Counts(1, 1));     // the last
    EXPECT_EQ(run(10, nth("FRAME", 10, Fate::damaged)), Counts(0, 1));  // a NACK at once
    EXPECT_EQ(run(10, nth("FRAME", 5, Fate::lost)), Counts(0, 1));
    EXPECT_EQ(run(10, nth("ACK", 1, Fate::lost)), Counts(0, 0));  // the next covers it
    EXPECT_EQ(run(1, nth("ACK", 1, Fate::lost)), Counts(1, 1));   // there is no next
    const World::Decide head = [seen = 0](const Frame& frame, bool) mutable {
        return frame.name() == "FRAME 1048480" && ++seen <= 2 ? Fate::damaged : Fate::arrives;
    };
    EXPECT_EQ(run(10, head), Counts(1, 2));
    const World::Decide lost_nack = [frames = 0, nacks = 0](const Frame& frame, bool) mutable {
        if (frame.kind() == "NACK") return ++nacks == 1 ? Fate::lost : Fate::arrives;
        return frame.kind() == "FRAME" && ++frames == 3 ? Fate::lost : Fate::arrives;
    };
    EXPECT_EQ(run(10, lost_nack), Counts(1, 1));
}

// LLR-7, LLR-8: with the defect, the link stops or flushes what was delivered.
TEST(UeWorld, WithoutTheMendsTheLinkStops) {
    const auto last_ack_lost = [](Config config) {
        Pair pair(config);
        pair.submit(2);
        pair.carry(pair.a, pair.b);
        pair.leaving(pair.b);
        for (int i = 0; i < 10 && pair.a.link.next_deadline() != never; ++i) {
            pair.wait();
            pair.settle();
        }
        EXPECT_EQ(pair.b.got.size(), 2U);
        return std::pair{pair.a.link.transmitter().outstanding(), pair.a.stats().tx_discard};
    };
    Config config = test_config();
    EXPECT_EQ(last_ack_lost(config), (std::pair<std::size_t, std::uint64_t>(0, 0)));
    config.mends.duplicates_acknowledged = false;
    EXPECT_EQ(last_ack_lost(config), (std::pair<std::size_t, std::uint64_t>(0, 2)));
    config = test_config();
    config.mends.replay_timer = false;
    EXPECT_EQ(last_ack_lost(config), (std::pair<std::size_t, std::uint64_t>(2, 0)));
}

TEST(UeWorld, ACopyOfALinkHasTheSameFuture) {
    expect_same_future_of_a_copy(Pair());
}

// Two links that differ only in their age are equal.
TEST(UeWorld, AFingerprintDoesNotDependOnTheTime) {
    const auto print = [](Duration age) {
        Config config = slow();
        config.data_age_timer_max = Duration::microseconds(100);
        Pair pair(config, config);
        pair.now = Instant(age);
        for (pair.settle(); !pair.a.link.has_room() || !pair.b.link.has_room(); pair.settle()) {
            pair.wait();
        }
        pair.submit(3);
        pair.pass(Duration::microseconds(20));
        pair.leaving(pair.a);
        pair.pass(Duration::nanoseconds(100));
        Fingerprint sink;
        pair.a.link.fingerprint(pair.now, sink);
        return sink.value();
    };
    EXPECT_EQ(print(Duration::milliseconds(1)), print(Duration::milliseconds(777)));
}

// LLR-27: every counter of SAI has its name once.
TEST(UeStats, NamesEachCounterOnce) {
    std::set<std::string_view> names;
    for (const NamedCounter& counter : sai_counters) names.insert(counter.name);
    EXPECT_EQ(names.size(), 22U);
    Pair pair;
    pair.submit(3);
    pair.settle();
    const auto value = [](const Stats& stats, std::string_view name) {
        for (const NamedCounter& counter : sai_counters) {
            if (counter.name == name) return stats.*counter.value;
        }
        return std::uint64_t{999};
    };
    EXPECT_EQ(value(pair.a.stats(), "TX_OK"), 3U);
    EXPECT_EQ(value(pair.a.stats(), "TX_INIT_CTL_OS"), 1U);
    EXPECT_EQ(value(pair.b.stats(), "TX_INIT_ECHO_CTL_OS"), 1U);
    EXPECT_EQ(value(pair.b.stats(), "RX_EXPECTED_SEQ_GOOD"), 3U);
    EXPECT_EQ(value(pair.b.stats(), "TX_ACK_CTL_OS"), 1U);
    EXPECT_EQ(value(pair.a.stats(), "RX_ACK_CTL_OS"), 1U);
    // One counter for each field, in the order of the fields.
    for (std::size_t i = 1; i < sai_counters.size(); ++i) {
        const Stats stats;
        EXPECT_EQ(&(stats.*sai_counters[i].value), &(stats.*sai_counters[i - 1].value) + 1);
    }
}

}  // namespace
}  // namespace wireproof::ue
