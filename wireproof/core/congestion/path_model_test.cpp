#include "wireproof/core/congestion/path_model.hpp"

#include <gtest/gtest.h>

#include "wireproof/core/congestion/path_test_kit.hpp"

namespace wireproof::congestion {
namespace {

using Phase = PathModel::Phase;

PathModel steady_on(TestPath& path) {
    PathModel model({});
    for (int i = 0; i < 40 && model.phase() == Phase::starting; ++i) path.round(model);
    path.rounds(model, 32);
    return model;
}

PathModel competing_on(TestPath& path) {
    PathModel model = steady_on(path);
    path.others = path.shortest;
    path.rounds(model, 40);
    EXPECT_EQ(model.phase(), Phase::competing);
    return model;
}

// The largest window of twelve rounds, after `later` rounds: a probe is one of them.
std::uint32_t largest_of_twelve(PathModel& model, TestPath& path, int later) {
    path.rounds(model, later);
    std::uint32_t largest = 0;
    for (int i = 0; i < 12; ++i) {
        path.round(model);
        largest = std::max(largest, model.packets());
    }
    return largest;
}

TEST(PathModel, DoublesUntilThePathDeliversNoMore) {
    TestPath path;
    PathModel model({.start = 10});
    int rounds = 0;
    for (; rounds < 40 && model.phase() == Phase::starting; ++rounds) path.round(model);
    EXPECT_LE(rounds, 10);
    EXPECT_EQ(model.phase(), Phase::steady);
    EXPECT_GE(model.packets(), path.busy());
    EXPECT_LE(model.packets(), path.busy() * 3 / 2);
}

// The round trip does not grow, for example because a device drops what is beyond a rate.
TEST(PathModel, EndsTheStartWhenTheRateNoLongerGrows) {
    PathModel model({.start = 10});
    Instant now{Duration::milliseconds(1)};
    int rounds = 0;
    for (; rounds < 40 && model.phase() == Phase::starting; ++rounds) {
        now = now + Duration::milliseconds(10);
        model.on_rtt(now, Duration::milliseconds(10));
        model.on_arrived(now, std::min(model.packets(), 50U), model.packets());
    }
    EXPECT_LE(rounds, 12);
    EXPECT_LE(model.packets(), 100U);
}

TEST(PathModel, KeepsThePathBusyWithAShortQueue) {
    TestPath path;
    PathModel model = steady_on(path);
    std::uint64_t sum = 0;
    for (int i = 0; i < 160; ++i) {
        path.round(model);
        EXPECT_LE(model.packets(), path.busy() * 3 / 2);
        sum += std::min(model.packets(), path.busy());
    }
    EXPECT_EQ(model.phase(), Phase::steady);
    EXPECT_GE(sum, 160U * path.busy() * 9 / 10);
}

TEST(PathModel, LosesNoRateToRandomLoss) {
    for (const double loss : {0.01, 0.05, 0.15}) {
        TestPath path{.loss = loss};
        PathModel model = steady_on(path);
        std::uint64_t sum = 0;
        for (int i = 0; i < 160; ++i) {
            path.round(model);
            sum += std::min(model.packets(), path.busy());
        }
        EXPECT_EQ(model.phase(), Phase::steady) << loss;
        EXPECT_GE(static_cast<double>(sum), 160 * path.busy() * (0.9 - loss)) << loss;
    }
}

TEST(PathModel, FollowsAPathThatBecomesFasterOrSlower) {
    TestPath path;
    PathModel model = steady_on(path);
    path.rate *= 2;
    EXPECT_GE(largest_of_twelve(model, path, 80), path.busy());
    path.rate /= 4;
    EXPECT_LE(largest_of_twelve(model, path, 80), path.busy() * 2);
}

TEST(PathModel, ProbesInOneOfTwelveRoundsAndLeavesTheQueueInTheNext) {
    TestPath path;
    PathModel model = steady_on(path);
    int probes = 0;
    int emptied = 0;
    for (int i = 0; i < 48; ++i) {
        const std::uint32_t before = model.packets();
        path.round(model);
        probes += model.packets() >= before + path.busy() / 5 && before >= path.busy() ? 1 : 0;
        emptied += model.packets() <= path.busy() / 2 + 2 ? 1 : 0;
    }
    EXPECT_EQ(probes, 4);
    EXPECT_EQ(emptied, 4);
}

TEST(PathModel, CompetesWhileOthersKeepTheQueueFull) {
    TestPath path;
    PathModel model = competing_on(path);
    const std::uint32_t before = model.packets();
    path.rounds(model, 60);
    EXPECT_GT(model.packets(), before);
    const std::uint32_t grown = model.packets();
    model.on_lost(path.now, 1);
    EXPECT_NEAR(model.packets(), grown * 3 / 4, 1);
    model.on_lost(path.now, 5);
    EXPECT_NEAR(model.packets(), grown * 3 / 4, 1) << "once in a round trip";
}

TEST(PathModel, IsSteadyAgainWhenTheOthersHaveGone) {
    TestPath path;
    PathModel model = competing_on(path);
    path.others = {};
    path.rounds(model, 160);  // it looks at the queue once in 128 rounds
    EXPECT_EQ(model.phase(), Phase::steady);
    EXPECT_LE(model.packets(), path.busy() * 3 / 2);
}

// The queue of flows that shrink after a loss is short for a while.
TEST(PathModel, CompetesWhileTheQueueIsShortForLessThanALongTime) {
    TestPath path;
    PathModel model = competing_on(path);
    model.on_lost(path.now, 1);  // the window is small: this flow does not keep the queue full
    path.others = {};
    path.rounds(model, 30);
    EXPECT_EQ(model.phase(), Phase::competing);
}

TEST(PathModel, CompetesAgainSoonAfterACompetition) {
    TestPath path;
    PathModel model = steady_on(path);
    path.others = path.shortest;
    const auto rounds_until = [&](Phase phase) {
        int rounds = 0;
        for (; rounds < 1'000 && model.phase() != phase; ++rounds) path.round(model);
        return rounds;
    };
    EXPECT_GE(rounds_until(Phase::competing), 20);
    path.others = {};
    EXPECT_LE(rounds_until(Phase::steady), 160);
    path.rounds(model, 16);
    path.others = path.shortest;
    EXPECT_LE(rounds_until(Phase::competing), 10);
    path.others = {};
    EXPECT_LE(rounds_until(Phase::steady), 160);
    path.rounds(model, 600);
    path.others = path.shortest;
    EXPECT_GE(rounds_until(Phase::competing), 20) << "it is long ago";
}

// Flows that began before, or without congestion control by delay, doubled their windows until the
// queue was full.
TEST(PathModel, GrowsFastWhereOthersKeepADeepQueue) {
    const auto grown_in = [](int rounds, std::int64_t times) {
        TestPath path;
        PathModel model = steady_on(path);
        path.others = path.shortest * times;
        while (model.phase() != Phase::competing) path.round(model);
        const std::uint32_t before = model.packets();
        path.rounds(model, rounds);
        return static_cast<double>(model.packets()) / before;
    };
    EXPECT_GE(grown_in(8, 8), 2.0);
    EXPECT_LE(grown_in(8, 2), 1.5);
}

// Flows that compete must not grow out of a full queue for ever: a look costs two rounds.
TEST(PathModel, CompetesOnAfterALookAtAFullQueue) {
    TestPath path{.rate = 50'000, .shortest = Duration::milliseconds(2)};
    PathModel model = steady_on(path);
    path.others = path.shortest;
    for (int i = 0; i < 60 && model.phase() != Phase::competing; ++i) path.round(model);
    ASSERT_EQ(model.phase(), Phase::competing);
    int looks = 0;
    for (int i = 0; i < 140; ++i) {
        const std::uint32_t before = model.packets();
        path.round(model);
        looks += model.packets() < before * 3 / 4 ? 1 : 0;
    }
    EXPECT_EQ(looks, 1);
    EXPECT_EQ(model.phase(), Phase::competing);
}

TEST(PathModel, AMarkEndsTheStart) {
    TestPath path;
    PathModel model({});
    path.rounds(model, 3);
    ASSERT_EQ(model.phase(), Phase::starting);
    model.on_marked(path.now, 1);
    EXPECT_EQ(model.phase(), Phase::steady);
}

TEST(PathModel, KeepsNothingInTheQueueOfARouterThatMarks) {
    TestPath path;
    PathModel model = steady_on(path);
    for (int i = 0; i < 15; ++i) {
        path.round(model);
        model.on_marked(path.now, 1);
    }
    path.round(model);
    EXPECT_LE(model.packets(), path.busy());
    EXPECT_GE(model.packets(), path.busy() * 9 / 10);
}

TEST(PathModel, CompetesWhileARouterMarksAllTheTime) {
    TestPath path;
    PathModel model = steady_on(path);
    for (int i = 0; i < 32; ++i) {
        path.round(model);
        model.on_marked(path.now, 1);
    }
    ASSERT_EQ(model.phase(), Phase::competing);
    path.rounds(model, 2);
    const std::uint32_t grown = model.packets();
    model.on_marked(path.now, 1);
    EXPECT_NEAR(model.packets(), grown * 3 / 4, 1);
}

TEST(PathModel, HalvesWhenAQuarterIsLost) {
    TestPath path;
    PathModel model = steady_on(path);
    path.loss = 0.3;
    path.rounds(model, 2);
    EXPECT_LE(model.packets(), path.busy() * 2 / 3);
}

TEST(PathModel, HalvesWhenTheReceiverHasNoRoom) {
    TestPath path;
    PathModel model = steady_on(path);
    model.on_overrun(path.now, 10);
    EXPECT_LE(model.packets(), path.busy() * 2 / 3);
}

TEST(PathModel, BeginsAnewAfterASilence) {
    TestPath path;
    PathModel model = steady_on(path);
    model.on_silence(path.shortest);
    EXPECT_GT(model.packets(), 1U);
    model.on_silence(path.shortest * 4);
    EXPECT_EQ(model.packets(), 1U);
    EXPECT_EQ(model.phase(), Phase::starting);
    path.rounds(model, 20);
    EXPECT_GE(model.packets(), path.busy());
}

TEST(PathModel, DoesNotGrowForAFlowThatDoesNotFillIt) {
    TestPath path;
    PathModel model({.start = 10});
    for (int i = 0; i < 100; ++i) {
        path.now = path.now + path.shortest;
        model.on_rtt(path.now, path.shortest);
        model.on_arrived(path.now, 4, 4);
    }
    EXPECT_EQ(model.packets(), 10U);
}

TEST(PathModel, NeverGrowsBeyondItsMost) {
    TestPath path;
    PathModel model({.start = 10, .most = 30});
    for (int i = 0; i < 100; ++i) {
        path.round(model);
        ASSERT_LE(model.packets(), 30U);
    }
}

// A path that delivers one packet in ten seconds, and one with 10 million in a second.
TEST(PathModel, CountsOnVerySlowAndVeryFastPaths) {
    TestPath slow{.rate = 1, .shortest = Duration::milliseconds(10'000)};
    PathModel model({});
    slow.rounds(model, 100);
    EXPECT_GE(model.packets(), 2U);
    EXPECT_LE(model.packets(), 30U);
    TestPath fast{.rate = 10'000'000, .shortest = Duration::microseconds(30)};
    PathModel other({.most = 4096});
    fast.rounds(other, 100);
    EXPECT_GE(other.packets(), fast.busy() / 2);
    EXPECT_LE(other.packets(), 4096U);
}

}  // namespace
}  // namespace wireproof::congestion
