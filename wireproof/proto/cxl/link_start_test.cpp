// Training, INIT.Param, going down and coming back.
#include "wireproof/base/random.hpp"
#include "wireproof/proto/cxl/pair_test_kit.hpp"

namespace wireproof::cxl {
namespace {

// CXL-19, CXL-20
TEST(CxlStart, TrainsSendsOneIdleAndThenInitParamOnce) {
    Pair pair(test_config(), false);
    EXPECT_EQ(pair.a.link.state(), Link::State::training);
    EXPECT_FALSE(pair.a.link.has_room());
    EXPECT_EQ(pair.a.link.submit(message(8)), SubmitStatus::no_room);
    EXPECT_EQ(pair.carry(pair.a, pair.b), Names{"training"});
    EXPECT_EQ(pair.carry(pair.b, pair.a), Names{"training"});
    EXPECT_EQ(pair.a.link.state(), Link::State::initialising);
    EXPECT_EQ(pair.carry(pair.a, pair.b), (Names{"training", "RETRY.Idle", "INIT.Param"}));
    EXPECT_EQ(pair.b.link.state(), Link::State::up);
    EXPECT_EQ(pair.b.ups, 1);
    EXPECT_TRUE(pair.b.link.has_room());
    EXPECT_EQ(pair.carry(pair.b, pair.a), (Names{"training", "RETRY.Idle", "INIT.Param"}));
    EXPECT_EQ(pair.a.link.state(), Link::State::up);
    EXPECT_EQ(pair.a.ups, 1);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
}

// CXL-21, CXL-22: nobody acknowledges an acknowledgement, so a link without messages is silent.
TEST(CxlStart, ALinkThatIsUpFallsSilent) {
    Pair pair;
    EXPECT_EQ(pair.next(), never);
    EXPECT_TRUE(pair.a.link.quiet());
    EXPECT_EQ(pair.a.link.stats().acks, 1U);
    EXPECT_EQ(pair.b.link.stats().acks, 1U);
    EXPECT_EQ(pair.a.link.sender().news_outstanding(), 0U);
    EXPECT_EQ(pair.a.link.stats().idles, 1U);
    EXPECT_EQ(pair.a.link.stats().timeouts, 0U);
}

// CXL-3, CXL-19
TEST(CxlStart, EachEndCountsInThePeersNumbers) {
    Config config = test_config();
    config.first_number = 20;
    Pair pair(config, false);
    config.modulus = 30;
    pair.b = End(config);
    pair.start();
    EXPECT_EQ(pair.a.link.receiver().modulus(), 30U);
    EXPECT_EQ(pair.b.link.receiver().modulus(), 24U);
    for (int i = 0; i < 10; ++i) {
        pair.submit(10);
        pair.finish();
        EXPECT_EQ(pair.b.link.receiver().eseq(), pair.a.link.sender().wr_ptr());
        EXPECT_EQ(pair.a.link.receiver().eseq(), pair.b.link.sender().wr_ptr());
    }
    pair.expect_all();
}

// CXL-20
TEST(CxlStart, ATrainingSetIsRepeatedUntilThePeerAnswers) {
    Pair pair(test_config(), false);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(pair.leaving(pair.a), Names{"training"});
        EXPECT_EQ(pair.leaving(pair.b), Names{"training"});
        pair.wait();
    }
    EXPECT_EQ(pair.a.link.unanswered().since, never) << "nobody was there yet";
    pair.start();
}

// CXL-20: the last training set of A is lost, and its INIT.Param arrives too early.
TEST(CxlStart, AnInitParamThatArrivesInTrainingIsAskedForAgain) {
    Pair pair(test_config(), false);
    pair.carry(pair.a, pair.b);
    pair.carry(pair.b, pair.a);
    std::vector<Frame> from_a = pair.frames(pair.a);
    ASSERT_EQ(from_a.front().name(), "training");
    pair.b.damage(pair.now);
    for (std::size_t i = 1; i < from_a.size(); ++i) {
        EXPECT_EQ(pair.b.give(pair.now, from_a[i]), RxVerdict::refused);
    }
    EXPECT_EQ(pair.b.link.state(), Link::State::training);
    pair.start();
    EXPECT_EQ(pair.b.link.stats().naks, 1U);
    EXPECT_EQ(pair.a.link.stats().resent, 1U);
    pair.submit(3);
    pair.finish();
    pair.expect_all();
}

// CXL-19
TEST(CxlStart, ADamagedInitParamIsReplayedLikeData) {
    Pair pair(test_config(), false);
    pair.carry(pair.a, pair.b);
    pair.carry(pair.b, pair.a);
    const std::vector<Frame> from_a = pair.frames(pair.a);
    ASSERT_EQ(Pair::names_of(from_a), (Names{"training", "RETRY.Idle", "INIT.Param"}));
    pair.b.give(pair.now, from_a[0]);
    pair.b.give(pair.now, from_a[1]);
    EXPECT_EQ(pair.b.damage(pair.now), RxVerdict::corrupt);
    pair.start();
    const Stats& stats = pair.a.link.stats();
    EXPECT_EQ(stats.resent, 1U);
    EXPECT_EQ(stats.upkeep, stats.trainings + stats.idles + 1) << "INIT.Param is made once";
    EXPECT_EQ(pair.a.link.sender().wr_ptr(), 23U) << "INIT.Param and one LLCRD";
}

// CXL-19: hostile wrap values, and a second INIT.Param.
TEST(CxlStart, AnInitParamThatCannotBeIsRefusedButCounted) {
    Pair pair;
    const std::uint32_t eseq = pair.b.link.receiver().eseq();
    EXPECT_EQ(pair.b.give(pair.now, init_flit(50)), RxVerdict::malformed);
    EXPECT_EQ(pair.b.link.receiver().modulus(), 24U);
    EXPECT_EQ(pair.b.link.receiver().eseq(), (eseq + 1) % 24);
    Pair young(test_config(), false);
    young.carry(young.a, young.b);
    young.carry(young.b, young.a);
    young.b.give(young.now, *young.a.poll(young.now));
    ASSERT_EQ(young.b.link.state(), Link::State::initialising);
    EXPECT_EQ(young.b.give(young.now, init_flit(2)), RxVerdict::malformed);
    EXPECT_EQ(young.b.give(young.now, message_flit({}, false)), RxVerdict::refused);
    EXPECT_EQ(young.b.ups, 0);
    EXPECT_TRUE(young.b.got.empty());
}

// CXL-20
TEST(CxlStart, ANewLifeOfThePeerIsADownAndAnUp) {
    Pair pair;
    pair.submit(2);
    pair.b = End(test_config());
    pair.a.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.a.draw();
    EXPECT_EQ(pair.a.downs, 1);
    EXPECT_EQ(pair.a.link.state(), Link::State::training);
    pair.start();
    EXPECT_EQ(pair.a.ups, 2);
    EXPECT_EQ(pair.a.link.sender().waiting(), 0U) << "messages of the old life are lost";
    pair.submitted = 0;
    pair.submit(3);
    pair.finish();
    pair.expect_all();
}

// CXL-20: the wire said nothing, but the peer's training set does.
TEST(CxlStart, APeerThatBeginsAgainTakesTheOtherEndAlong) {
    Pair pair;
    pair.b.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.b.draw();
    pair.start();
    EXPECT_EQ(pair.a.downs, 1);
    EXPECT_EQ(pair.a.ups, 2);
    EXPECT_EQ(pair.b.ups, 2);
    pair.submit(3);
    pair.finish();
    pair.expect_all();
}

TEST(CxlStart, APeerThatIsGoneTakesTheLinkDown) {
    Pair pair;
    pair.submit(1);
    pair.a.link.on_wire_event(pair.now, WireEvent::peer_gone);
    pair.a.draw();
    EXPECT_EQ(pair.a.downs, 1);
    EXPECT_EQ(pair.a.link.state(), Link::State::down);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    EXPECT_EQ(pair.a.link.next_deadline(), never);
    EXPECT_EQ(pair.a.give(pair.now, idle_flit()), RxVerdict::refused);
    EXPECT_EQ(pair.a.link.submit(message(8)), SubmitStatus::no_room);
}

// CXL-20
TEST(CxlStart, BothSidesComeUpThoughAFifthOfTheFramesIsSpoilt) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Random random(seed);
        Config config = test_config();
        config.max_num_phy_reinit = Config::unlimited;
        Pair pair(config, false);
        const auto carry = [&](End& from, End& to) {
            while (const auto frame = from.poll(pair.now)) {
                if (random.below(5) == 0) {
                    to.damage(pair.now);
                } else {
                    to.give(pair.now, *frame);
                }
            }
        };
        for (int i = 0; i < 20'000 && !(pair.a.ups == 1 && pair.b.ups == 1); ++i) {
            carry(pair.a, pair.b);
            carry(pair.b, pair.a);
            if (pair.next() != never && pair.a.link.quiet() && pair.b.link.quiet()) pair.wait();
        }
        ASSERT_EQ(pair.a.ups, 1) << seed;
        ASSERT_EQ(pair.b.ups, 1) << seed;
        pair.submit(3);
        pair.finish();
        pair.expect_all();
        EXPECT_EQ(pair.a.downs + pair.b.downs, 0);
        EXPECT_EQ(pair.a.link.stats().protocol_errors + pair.b.link.stats().protocol_errors, 0U);
    }
}

}  // namespace
}  // namespace wireproof::cxl
