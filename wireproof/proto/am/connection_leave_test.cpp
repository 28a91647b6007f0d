// An end that leaves: the peer gets its last acknowledgements although frames are lost (AM-55).
#include <gtest/gtest.h>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

/// a has sent a request that b has delivered. a does not know it yet.
void deliver_one(Pair& pair) {
    requests(pair.a, 1);
    pair.carry(pair.a);
    ASSERT_EQ(pair.b.take_log(), Log{"REQ 1(0)"});
    ASSERT_FALSE(pair.a.engine.idle());
}

/// The same, and the question of b, which leaves, has arrived at a. Returns the answer of a.
Frame asked(Pair& pair) {
    deliver_one(pair);
    pair.b.engine.leave();
    pair.carry(pair.b);
    const Frames answer = pair.a.take(pair.now);
    EXPECT_EQ(answer.size(), 1U);
    return answer.at(0);
}

// AM-55
TEST(AmLeave, TheQuestionCarriesTheAcknowledgementsAndThePeerAnswers) {
    for (const Config& config : all()) {
        Pair pair(config);
        deliver_one(pair);
        pair.b.engine.leave();
        EXPECT_FALSE(pair.b.engine.has_left());
        const Frames question = pair.b.take(pair.now);
        ASSERT_EQ(pair.text(question), "KEEPALIVE 0");
        EXPECT_EQ(question[0].header.count, keepalive_leaves);
        pair.give(pair.a, question);
        EXPECT_TRUE(pair.a.engine.idle());
        const Frames answer = pair.a.take(pair.now);
        ASSERT_EQ(pair.text(answer), nack(config, 0, "<0"));
        EXPECT_EQ(answer[0].header.id, nack_to_leaver);
        EXPECT_FALSE(pair.b.engine.has_left());
        pair.give(pair.b, answer);
        EXPECT_TRUE(pair.b.engine.has_left());
        pair.wait_for_timer();
        EXPECT_EQ(pair.settle(), 0U);
        EXPECT_EQ(pair.a.engine.stats().resent, 0U);
    }
}

// AM-55: any of the frames may be lost. The peer misses the acknowledgements only if all questions
// are lost.
TEST(AmLeave, ThePeerHasTheAcknowledgementsWhateverIsLost) {
    constexpr unsigned frames = 9;
    for (const Config& config : all_small()) {
        for (unsigned lost = 0; lost < 1U << frames; ++lost) {
            SCOPED_TRACE(lost);
            Pair pair(config);
            deliver_one(pair);
            pair.b.engine.leave();
            unsigned count = 0;
            unsigned questions = 0;
            unsigned arrived = 0;
            while (!pair.b.engine.has_left()) {
                bool moved = false;
                for (Node* from : {&pair.b, &pair.a}) {
                    for (const Frame& frame : from->take(pair.now)) {
                        moved = true;
                        const bool is_lost = count < frames && (lost >> count & 1U) != 0;
                        const bool leaves = frame.header.kind == Kind::keepalive &&
                                            frame.header.count == keepalive_leaves;
                        ++count;
                        questions += leaves ? 1 : 0;
                        if (is_lost) continue;
                        arrived += leaves ? 1 : 0;
                        pair.give(pair.other(*from), frame);
                    }
                }
                if (!moved) pair.wait_for_timer();
            }
            EXPECT_LE(questions, Leave::questions_max);
            EXPECT_TRUE(questions == Leave::questions_max || arrived > 0);
            EXPECT_TRUE(arrived == 0 || pair.a.engine.idle());
            EXPECT_EQ(pair.b.log, Log{});  // nothing is delivered twice
        }
    }
}

// AM-55
TEST(AmLeave, AnEndWhosePeerIsGoneAsksSixTimesAndEverMoreSeldom) {
    for (const Config& config : all()) {
        Pair pair(config);
        deliver_one(pair);
        pair.b.engine.leave();
        std::vector<Instant> asked;
        const Instant begin = pair.now;
        while (!pair.b.engine.has_left()) {
            if (pair.taken(pair.b) == "KEEPALIVE 0") asked.push_back(pair.now);
            pair.wait_for_timer_of(pair.b);
        }
        ASSERT_EQ(asked.size(), 6U);
        EXPECT_EQ(asked[0], begin);
        EXPECT_LE(pair.now - begin, config.keepalive_after * 6);
        for (std::size_t i = 2; i < asked.size(); ++i) {
            EXPECT_GE(asked[i] - asked[i - 1], asked[i - 1] - asked[i - 2]);
        }
        EXPECT_EQ(pair.taken(pair.b), "");
        EXPECT_EQ(pair.b.log, Log{});
    }
}

// AM-55: a measured round trip makes the wait shorter.
TEST(AmLeave, TheWaitsBeginWithThatOfAKeepAliveAndDouble) {
    Pair pair(Config::ethernet());
    reply_to_all(pair.b);
    requests(pair.a, 1);
    pair.settle();
    requests(pair.a, 1);
    pair.carry(pair.a);
    pair.wait(Duration::microseconds(100));
    pair.settle();
    ASSERT_EQ(pair.a.take_log().back(), "REP 2(0)");
    pair.a.engine.leave();
    ASSERT_EQ(pair.taken(pair.a), "KEEPALIVE 0");
    pair.wait(Duration::microseconds(300) - Duration(1));
    EXPECT_EQ(pair.taken(pair.a), "");
    pair.wait(Duration(1));
    EXPECT_EQ(pair.taken(pair.a), "KEEPALIVE 0");
    pair.wait(Duration::microseconds(600) - Duration(1));
    EXPECT_EQ(pair.taken(pair.a), "") << "the second wait is twice as long";
    pair.wait(Duration(1));
    EXPECT_EQ(pair.taken(pair.a), "KEEPALIVE 0");
}

// AM-55
TEST(AmLeave, AnEndWhosePeerLeavesNeedNotAsk) {
    for (const Config& config : all()) {
        Pair pair(config);
        asked(pair);
        pair.a.engine.leave();
        EXPECT_TRUE(pair.a.engine.has_left());
        EXPECT_EQ(pair.taken(pair.a), "");
    }
}

// AM-55
TEST(AmLeave, TwoEndsThatLeaveAtOnceNeedNoAnswer) {
    for (const Config& config : all()) {
        Pair pair(config);
        deliver_one(pair);
        pair.carry(pair.b);
        pair.a.engine.leave();
        pair.b.engine.leave();
        const Frames of_a = pair.a.take(pair.now);
        const Frames of_b = pair.b.take(pair.now);
        pair.give(pair.b, of_a);
        pair.give(pair.a, of_b);
        EXPECT_TRUE(pair.a.engine.has_left());
        EXPECT_TRUE(pair.b.engine.has_left());
        EXPECT_EQ(pair.taken(pair.a), nack(config, 0, "<0"));
        pair.b.take(pair.now);  // its answer
        pair.wait(config.keepalive_after);
        EXPECT_EQ(pair.taken(pair.a), "") << "it asks no more";
        EXPECT_EQ(pair.taken(pair.b), "");
    }
}

// AM-55: a peer that has said that it leaves may send a message after all.
TEST(AmLeave, APeerThatSendsAgainIsAskedAgain) {
    for (const Config& config : all()) {
        Pair pair(config);
        deliver_one(pair);
        pair.b.engine.leave();
        pair.settle();
        ASSERT_TRUE(pair.a.engine.has_left());
        requests(pair.b, 1, 5);
        pair.carry(pair.b);
        EXPECT_EQ(pair.a.take_log().back(), "REQ 1(5)");
        EXPECT_FALSE(pair.a.engine.has_left());
        pair.a.engine.leave();
        EXPECT_EQ(pair.taken(pair.a), "KEEPALIVE 0");
    }
}

// AM-55: a NACK that left before the question arrived, or that of an older peer.
TEST(AmLeave, AnotherNackIsNoAnswer) {
    for (const Config& config : all()) {
        Pair pair(config);
        const Frame answer = asked(pair);
        pair.give(pair.b, pair.forged(answer, [](Header& header) { header.id = 0; }));
        EXPECT_FALSE(pair.b.engine.has_left());
        pair.wait(config.keepalive_after);
        EXPECT_EQ(pair.taken(pair.b), "KEEPALIVE 0");
        pair.give(pair.b, answer);  // late, and good enough
        EXPECT_TRUE(pair.b.engine.has_left());
    }
}

// AM-55: an answer without a question has no effect.
TEST(AmLeave, AnAnswerBeforeTheQuestionIsIgnored) {
    for (const Config& config : all()) {
        Pair pair(config);
        const Frame answer = asked(pair);
        Pair other(config);
        deliver_one(other);
        other.give(other.b, answer);
        EXPECT_FALSE(other.b.engine.has_left());
        other.b.engine.leave();
        other.give(other.b, answer);
        EXPECT_FALSE(other.b.engine.has_left()) << "the question has not left";
    }
}

// AM-55
TEST(AmLeave, ANewSessionKnowsNothingOfIt) {
    for (const Config& config : all()) {
        Pair pair(meeting(config));
        requests(pair.a, 1);
        pair.settle();
        pair.b.engine.leave();
        pair.settle();
        ASSERT_TRUE(pair.a.engine.has_left());
        ASSERT_TRUE(pair.b.engine.has_left());
        for (Node* node : {&pair.a, &pair.b}) {
            node->engine.on_wire_event(pair.now, WireEvent::peer_gone);
            node->draw();
        }
        requests(pair.a, 1);
        pair.settle();
        ASSERT_TRUE(pair.a.engine.established());
        EXPECT_FALSE(pair.a.engine.has_left());
        EXPECT_FALSE(pair.b.engine.has_left());
    }
}

// AM-55
TEST(AmLeave, WithoutASessionThereIsNobodyToAsk) {
    for (const Config& config : all()) {
        Config meets = meeting(config);
        Pair pair(meets);
        pair.a.engine.leave();
        EXPECT_TRUE(pair.a.engine.has_left());
        EXPECT_EQ(pair.taken(pair.a), "");
    }
    Pair pair(sp2());
    deliver_one(pair);
    pair.b.engine.leave();
    ASSERT_FALSE(pair.b.engine.has_left());
    pair.b.engine.on_wire_event(pair.now, WireEvent::peer_gone);
    EXPECT_TRUE(pair.b.engine.has_left());
    pair.b.draw();
    EXPECT_TRUE(pair.b.engine.has_left());
    EXPECT_EQ(pair.taken(pair.b), "");
}

}  // namespace
}  // namespace wireproof::am::test
