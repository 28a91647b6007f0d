// Random worlds of each link engine, and the checks of such a world. tests/sim has more worlds.
#include "wireproof/lab/worlds/link_world.hpp"

#include <gtest/gtest.h>

#include "wireproof/lab/engines/link_engines.hpp"
#include "wireproof/lab/worlds/link_world_costs.hpp"
#include "wireproof/lab/worlds/link_world_run.hpp"
#include "wireproof/lab/worlds/link_world_users.hpp"
#include "wireproof/proto/cxl/link.hpp"

namespace wireproof::lab {
namespace {

std::string run_worlds(std::size_t engine, std::uint64_t count) {
    LinkWorldsSummary summary;
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
        const LinkWorldResult result = run_link_world(engine, {.seed = seed});
        if (!result.ok()) return result.violation + ", seed " + std::to_string(seed);
        summary.add(result);
    }
    EXPECT_GT(summary.sum.faults, count);
    EXPECT_GT(summary.sum.replays, 0U);
    return {};
}

// A test for each engine in LinkEngines.
TEST(LinkWorld, OfPcieKeepsEveryPromise) {
    EXPECT_EQ(run_worlds(0, 60), "");
}
TEST(LinkWorld, OfHippiKeepsEveryPromise) {
    EXPECT_EQ(run_worlds(1, 60), "");
}
TEST(LinkWorld, OfFlitKeepsEveryPromise) {
    EXPECT_EQ(run_worlds(2, 40), "");
}
TEST(LinkWorld, OfUeKeepsEveryPromise) {
    EXPECT_EQ(run_worlds(3, 60), "");
}
TEST(LinkWorld, OfCxlKeepsEveryPromise) {
    EXPECT_EQ(run_worlds(4, 40), "");
    EXPECT_EQ(LinkEngines::size, 5U) << "each engine has a test here";
}

/// CXL without the word that a retry is under way.
struct CxlThatMustStayUp : CxlAdapter {
    static bool retries(const Engine&) { return false; }
};

// CXL-10: in this world MAX_NUM_RETRY is 4 and no training is allowed. All messages have arrived
// when both ends have sent their fourth request, and the line has spoilt it or its answer. Both go
// down, although nothing is spoilt any more, and come up in a new life. With a loss of p = 0.039, a
// request or its answer, of six flits each, is in vain with 1 - (1 - p)^12 = 0.38, and four are
// with 0.02.
TEST(LinkWorld, MayGoDownByARetryThatBeganBeforeTheFaultsEnded) {
    constexpr LinkWorldConfig world{.seed = 310'017'158};
    const LinkWorldResult result = run_link_world(4, world);
    EXPECT_EQ(result.violation, "");
    EXPECT_EQ(result.verdicts, 1U);
    EXPECT_EQ(LinkWorld<CxlThatMustStayUp>(world).run().violation,
              "the ends rest, but do not stay up");
}

TEST(LinkWorld, IsAFunctionOfItsSeed) {
    for (std::size_t engine = 0; engine < LinkEngines::size; ++engine) {
        EXPECT_EQ(run_link_world(engine, {.seed = 5}), run_link_world(engine, {.seed = 5}));
        EXPECT_NE(run_link_world(engine, {.seed = 5}).digest,
                  run_link_world(engine, {.seed = 6}).digest);
    }
}

/// Users with some messages, of which end 0 has submitted all.
struct Users {
    explicit Users(bool ways_apart = false) : plan(7), users((fill(), plan), ways_apart) {
        EXPECT_EQ(take(0, LinkDelivery::What::up), "");
        EXPECT_EQ(take(1, LinkDelivery::What::up), "");
        while (users.wish(0, Instant())) users.submitted(0);
    }
    void fill() {
        for (std::uint8_t i = 0; i < 5; ++i) {
            plan.messages[0].push_back(std::vector(8, static_cast<std::byte>(i)));
        }
    }
    std::string take(std::size_t node, LinkDelivery::What what, ConstBytes bytes = {}) {
        return users.take(node, {what, bytes});
    }
    /// Message `i` arrives at end 1.
    std::string message(std::size_t i) {
        return take(1, LinkDelivery::What::message, plan.messages[0][i]);
    }

    LinkWorldPlan plan;
    LinkWorldUsers users;
};

TEST(LinkWorldUsers, FindAMessageThatIsLostRepeatedOrChanged) {
    Users good;
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(good.message(i), "") << i;
    EXPECT_TRUE(good.users.fulfilled());
    EXPECT_NE(good.message(4), "") << "once more";

    Users bad;
    EXPECT_EQ(bad.message(0), "");
    EXPECT_NE(bad.message(2), "") << "one is missing";
    EXPECT_NE(bad.message(0), "") << "repeated";
    std::vector<std::byte> longer = bad.plan.messages[0][1];
    longer.push_back(std::byte{1});
    EXPECT_NE(bad.take(1, LinkDelivery::What::message, longer), "");
    EXPECT_NE(bad.take(1, LinkDelivery::What::message, ConstBytes(longer).first(7)), "");
    EXPECT_NE(bad.take(0, LinkDelivery::What::message, longer), "") << "nothing was sent that way";
    EXPECT_FALSE(bad.users.fulfilled());
}

TEST(LinkWorldUsers, MayMissOnlyWhatWasSubmittedBeforeTheLinkWentDown) {
    Users pair;
    EXPECT_EQ(pair.message(0), "");
    EXPECT_EQ(pair.take(1, LinkDelivery::What::down), "");
    EXPECT_TRUE(pair.users.fulfilled());
    EXPECT_NE(pair.message(3), "") << "while the link is down";
    EXPECT_NE(pair.take(1, LinkDelivery::What::down), "") << "twice";
    EXPECT_EQ(pair.take(1, LinkDelivery::What::up), "");
    EXPECT_EQ(pair.message(3), "");
    EXPECT_NE(pair.message(2), "") << "late";
    EXPECT_EQ(pair.users.downs(), 1U);

    Users apart(true);
    EXPECT_EQ(apart.take(1, LinkDelivery::What::down), "");
    EXPECT_EQ(apart.message(0), "");
}

std::string bound_of(LinkWorldResult world, const LinkCostTerms& terms = {.window = 4}) {
    world.numbered = 1000;
    return broken_bound(world, terms);
}

TEST(LinkWorldCosts, WithoutFaultsNothingIsRepaired) {
    EXPECT_EQ(bound_of({}), "");
    EXPECT_NE(bound_of({.resent = 1}), "");
    EXPECT_NE(bound_of({.naks = 1}), "");
    EXPECT_NE(bound_of({.timeouts = 1}), "");
    EXPECT_NE(bound_of({.resets = 1}), "");
    EXPECT_EQ(bound_of({.naks = 1}, {.window = 4, .events = 1}), "");
}

TEST(LinkWorldCosts, EachRepairHasAReason) {
    const LinkWorldResult usual{
        .faults = 100, .resent = 300, .acks = 900, .naks = 90, .replays = 100, .timeouts = 60};
    EXPECT_EQ(bound_of(usual), "");
    const auto with = [&](std::uint64_t LinkWorldResult::*count, std::uint64_t value) {
        LinkWorldResult world = usual;
        world.*count = value;
        return bound_of(world);
    };
    EXPECT_NE(with(&LinkWorldResult::naks, 305), "");
    EXPECT_NE(with(&LinkWorldResult::timeouts, 130), "");
    EXPECT_NE(with(&LinkWorldResult::replays, 301), "");
    EXPECT_NE(with(&LinkWorldResult::resent, 501), "");
    EXPECT_NE(with(&LinkWorldResult::resets, 201), "");
    EXPECT_NE(with(&LinkWorldResult::acks, 5821), "");
    LinkWorldResult more = usual;
    more.timeouts = 130;
    EXPECT_EQ(bound_of(more, {.window = 4, .echoes = true}), "");
    more = usual;
    more.acks = 1'000'000;
    EXPECT_EQ(bound_of(more, {.window = 4, .rests = false}), "");
}

}  // namespace
}  // namespace wireproof::lab
