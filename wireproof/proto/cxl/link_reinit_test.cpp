// PHY_REINIT and ABORT.
#include "wireproof/base/random.hpp"
#include "wireproof/proto/cxl/pair_test_kit.hpp"

namespace wireproof::cxl {
namespace {

Config one_retry() {
    Config config = test_config();
    config.max_num_retry = 1;
    return config;
}

bool is_training(const Frame& frame) {
    return frame.name() == "training";
}

// B asks in vain until it trains.
void ask_in_vain(Pair& pair) {
    pair.b.damage(pair.now);
    while (pair.b.link.state() != Link::State::training) {
        pair.leaving(pair.b);
        pair.pass_to(pair.b.link.next_deadline());
    }
}

// CXL-12, CXL-20, CXL-23
TEST(CxlReinit, AfterTheLastRequestInVainBothEndsTrainAndNothingIsLost) {
    Pair pair(one_retry());
    pair.submit(5);
    const std::vector<Frame> sent = pair.frames(pair.a);
    pair.b.give(pair.now, sent[0]);
    ask_in_vain(pair);
    EXPECT_EQ(pair.b.link.stats().phy_reinits, 1U);
    EXPECT_EQ(pair.b.link.lrsm().state(), LocalRetry::State::phy_reinit);
    EXPECT_EQ(pair.carry(pair.b, pair.a), Names{"training"});
    EXPECT_EQ(pair.a.link.state(), Link::State::training);
    pair.finish();
    pair.expect_all();
    EXPECT_EQ(pair.a.link.stats().resets, 1U);
    EXPECT_EQ(pair.b.link.stats().resets, 1U);
    EXPECT_EQ(pair.a.link.stats().phy_reinits, 0U);
    EXPECT_EQ(pair.a.downs + pair.b.downs, 0);
    EXPECT_EQ(pair.a.ups + pair.b.ups, 2);
    EXPECT_EQ(pair.a.link.stats().resent, 4U);
    EXPECT_EQ(pair.b.link.lrsm().num_retry(), 0U);
    EXPECT_EQ(pair.b.link.lrsm().num_phy_reinit(), 0U);
}

// CXL-26: the requests after PHY_REINIT name it, and count from one again.
TEST(CxlReinit, RequestsAfterPhyReinitCountFromOneAndNameIt) {
    Pair pair(one_retry());
    ask_in_vain(pair);
    pair.carry(pair.b, pair.a);
    pair.carry(pair.a, pair.b);
    const std::vector<Frame> after = pair.frames(pair.b);
    ASSERT_EQ(after.size(), 7U);
    EXPECT_TRUE(is_training(after[0]));
    const auto request = RetryRequest::decode(*read_flit({.bytes = after[6].bytes}));
    EXPECT_EQ(request, (RetryRequest{.eseq = 23, .num_retry = 1, .num_phy_reinit = 1}));
}

// CXL-20: what was in flight before the training does not arrive after it. Here it is the answer to
// a request with the same NUM_RETRY.
TEST(CxlReinit, AnAnswerFromBeforeTheTrainingIsLostInIt) {
    Pair pair(one_retry());
    pair.submit(3);
    pair.frames(pair.a);
    pair.b.damage(pair.now);
    pair.carry(pair.b, pair.a);
    const std::vector<Frame> late = pair.frames(pair.a);
    ASSERT_EQ(late.size(), 9U);
    while (pair.b.link.state() != Link::State::training) {
        pair.pass_to(pair.b.link.next_deadline());
    }
    pair.carry(pair.b, pair.a);
    for (const Frame& frame : late) EXPECT_EQ(pair.b.give(pair.now, frame), RxVerdict::refused);
    pair.finish();
    pair.expect_all();
}

// CXL-12: A was in the middle of a replay. It must not go on with new flits.
TEST(CxlReinit, ATrainingEndsTheReplayOfThePeer) {
    Pair pair;
    pair.submit(6);
    pair.frames(pair.a);
    pair.b.damage(pair.now);
    pair.carry(pair.b, pair.a);
    for (int i = 0; i < 8; ++i) pair.b.give(pair.now, *pair.a.poll(pair.now));
    EXPECT_EQ(pair.b.got.size(), 2U);
    pair.b.link.retrain(pair.now);
    pair.submit(2);
    ASSERT_TRUE(pair.a.link.sender().replaying());
    pair.carry(pair.b, pair.a);
    EXPECT_FALSE(pair.a.link.sender().replaying());
    pair.finish();
    pair.expect_all();
    EXPECT_EQ(pair.b.link.stats().phy_reinits, 0U) << "not by LRSM";
}

// CXL-12: the answer to the peer's request is forgotten, and asked for again.
TEST(CxlReinit, ATrainingClearsTheAnswerThatIsQueued) {
    Pair pair;
    pair.submit(2);
    pair.frames(pair.a);
    pair.b.damage(pair.now);
    pair.carry(pair.b, pair.a);
    ASSERT_TRUE(pair.a.link.rrsm().must_answer());
    pair.a.link.retrain(pair.now);
    EXPECT_FALSE(pair.a.link.rrsm().must_answer());
    EXPECT_EQ(pair.leaving(pair.a), Names{"training"});
    pair.finish();
    pair.expect_all();
    EXPECT_EQ(pair.b.link.stats().timeouts, 0U);
}

TEST(CxlReinit, NothingLeavesForTheTimeOfTheTraining) {
    Config config = test_config();
    config.retrain_time = Duration::nanoseconds(700);
    Pair pair(config);
    pair.submit(1);
    pair.a.link.retrain(pair.now);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    EXPECT_TRUE(pair.a.link.quiet());
    EXPECT_EQ(pair.a.link.next_deadline(), pair.now + config.retrain_time);
    pair.wait();
    EXPECT_EQ(pair.carry(pair.a, pair.b), Names{"training"});
    EXPECT_EQ(pair.leaving(pair.b), Names{}) << "B is silent, too";
    pair.finish();
    pair.expect_all();
}

// CXL-20: each of the frames of a training is spoilt, in its turn.
TEST(CxlReinit, ATrainingSurvivesAnySpoiltFrame) {
    for (int spoilt = 0; spoilt < 40; ++spoilt) {
        Pair pair(one_retry());
        pair.submit(3);
        pair.frames(pair.a);
        ask_in_vain(pair);
        int count = 0;
        const auto carry = [&](End& from, End& to) {
            while (const auto frame = from.poll(pair.now)) {
                if (count++ == spoilt) {
                    to.damage(pair.now);
                } else {
                    to.give(pair.now, *frame);
                }
            }
        };
        for (int i = 0; i < 60; ++i) {
            carry(pair.b, pair.a);
            carry(pair.a, pair.b);
            if (pair.a.link.quiet() && pair.b.link.quiet() && pair.next() != never) pair.wait();
        }
        pair.finish();
        pair.expect_all();
        EXPECT_EQ(pair.a.downs + pair.b.downs, 0) << spoilt;
    }
}

bool is_down(const Frame& frame) {
    const auto set = TrainingSet::decode(frame.bytes);
    return set && set->down;
}

std::uint64_t requests_until_abort(const Config& config) {
    Pair pair(config);
    pair.submit(1);
    pair.frames(pair.a);
    pair.b.damage(pair.now);
    std::uint64_t requests = 0;
    // A answers only to training sets: all that B asks is lost on its way.
    for (int i = 0; i < 100'000 && pair.b.downs == 0; ++i) {
        for (const Frame& frame : pair.frames(pair.b)) {
            if (is_training(frame)) pair.a.give(pair.now, frame);
            if (frame.name() == "RETRY.Req 23") ++requests;
        }
        for (const Frame& frame : pair.frames(pair.a)) {
            if (is_training(frame)) pair.b.give(pair.now, frame);
        }
        if (pair.b.link.quiet() && pair.a.link.quiet()) pair.wait();
    }
    EXPECT_EQ(pair.b.downs, 1);
    EXPECT_EQ(pair.b.link.state(), Link::State::down);
    EXPECT_EQ(pair.b.link.stats().naks, requests);
    EXPECT_EQ(pair.b.link.stats().phy_reinits, config.max_num_phy_reinit);
    EXPECT_EQ(pair.b.link.stats().aborts, 1U);
    EXPECT_FALSE(pair.b.link.has_room());
    const auto last = pair.frames(pair.b);
    EXPECT_EQ(last.size(), 1U);
    EXPECT_TRUE(!last.empty() && is_down(last[0])) << "it tells its peer once";
    EXPECT_TRUE(pair.b.link.quiet());
    EXPECT_EQ(pair.b.link.next_deadline(), never);
    return requests;
}

// CXL-10
TEST(CxlReinit, TheLinkGoesDownAfter110RequestsInVain) {
    Config config = test_config();
    EXPECT_EQ(requests_until_abort(config), 110U);
    config.max_num_retry = 3;
    config.max_num_phy_reinit = 2;
    EXPECT_EQ(requests_until_abort(config), 9U);
    config.max_num_phy_reinit = 0;
    EXPECT_EQ(requests_until_abort(config), 3U);
}

// CXL-10: on a continuous line TIMEOUT expires when a flit leaves.
TEST(CxlReinit, AContinuousLineGoesDownAfterTheSameCount) {
    Config config = test_config();
    config.continuous = true;
    config.timeout = 20;
    config.max_num_retry = 4;
    config.max_num_phy_reinit = 3;
    End a(config);
    End b(config);
    const Instant now;
    bool loses = false;
    for (int i = 0; i < 10'000 && b.downs == 0; ++i) {
        const auto from_b = b.poll(now);
        const auto from_a = a.poll(now);
        if (from_b && (!loses || is_training(*from_b))) a.give(now, *from_b);
        if (from_a) b.give(now, *from_a);
        if (i == 500) {
            EXPECT_EQ(b.link.state(), Link::State::up);
            b.damage(now);
            loses = true;
        }
    }
    EXPECT_EQ(b.downs, 1);
    EXPECT_EQ(b.link.stats().naks, 16U);
    EXPECT_EQ(b.link.stats().phy_reinits, 3U);
    EXPECT_TRUE(is_down(*b.poll(now)));
    EXPECT_FALSE(b.poll(now));
}

// CXL-10
TEST(CxlReinit, ALinkAfterAbortBeginsAgainWithANewLifeOfThePeer) {
    Config config = one_retry();
    config.max_num_phy_reinit = 0;
    Pair pair(config);
    pair.b.damage(pair.now);
    pair.leaving(pair.b);
    pair.wait();
    EXPECT_EQ(pair.b.downs, 1);
    pair.b.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.b.draw();
    EXPECT_EQ(pair.b.downs, 1) << "it was down already";
    pair.start();
    EXPECT_EQ(pair.b.ups, 2);
    EXPECT_EQ(pair.a.downs, 1);
}

/// A pair whose end `b` has given the link up.
struct Aborted : Pair {
    Aborted() : Pair(config()) {
        b.damage(now);
        leaving(b);
        wait();
        EXPECT_EQ(b.downs, 1);
        EXPECT_EQ(b.link.stats().aborts, 1U);
    }
    static Config config() {
        Config config = one_retry();
        config.max_num_phy_reinit = 0;
        return config;
    }
};

// CXL-10
TEST(CxlReinit, AnAbortTakesThePeerDown) {
    Aborted pair;
    pair.settle();
    EXPECT_EQ(pair.a.downs, 1);
    EXPECT_EQ(pair.a.link.state(), Link::State::down);
    EXPECT_EQ(pair.a.link.stats().aborts_heard, 1U);
    EXPECT_EQ(pair.a.link.stats().aborts, 0U);
    EXPECT_EQ(pair.next(), never) << "both fall silent";
    pair.a.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.b.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.start();
    EXPECT_EQ(pair.a.ups + pair.b.ups, 4);
}

// CXL-10: the word may be lost, so each frame of the peer draws it again.
TEST(CxlReinit, AnEndAfterAbortAnswersEachFrameOfAPeerThatGoesOn) {
    Aborted pair;
    EXPECT_EQ(pair.leaving(pair.b).size(), 1U) << "lost";
    EXPECT_TRUE(pair.b.link.quiet());
    pair.submit(1);
    pair.carry(pair.a, pair.b);
    EXPECT_FALSE(pair.b.link.quiet());
    pair.settle();
    EXPECT_EQ(pair.a.link.state(), Link::State::down);
}

// CXL-10: two ends that both gave up, and noise, draw nothing.
TEST(CxlReinit, AnEndAfterAbortDoesNotAnswerAnotherOneOrNoise) {
    Aborted pair;
    const auto word = pair.frames(pair.b);
    ASSERT_EQ(word.size(), 1U);
    pair.b.give(pair.now, word[0]);
    EXPECT_TRUE(pair.b.link.quiet());
    pair.b.damage(pair.now);
    EXPECT_TRUE(pair.b.link.quiet());
    EXPECT_EQ(pair.b.link.stats().aborts_heard, 0U);
}

// CXL-10: a peer that has just begun does not take the word of an earlier life for its own end.
TEST(CxlReinit, AnEndThatBeginsDoesNotGiveUpForAnAbortBeforeIt) {
    Aborted pair;
    pair.a.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.a.draw();
    pair.carry(pair.b, pair.a);
    EXPECT_EQ(pair.a.link.state(), Link::State::training);
    EXPECT_EQ(pair.a.link.stats().aborts_heard, 0U);
}

}  // namespace
}  // namespace wireproof::cxl
