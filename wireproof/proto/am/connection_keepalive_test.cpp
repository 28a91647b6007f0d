// Silence: what a keep-alive repairs, what it costs, and when a peer is given up.
#include <gtest/gtest.h>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

using enum RxVerdict;

// AM-16
TEST(AmConnection, KeepaliveAloneRepairsALostLastPacket) {
    for (const Config& config : all()) {
        Pair pair(config);
        pair.give(pair.b, one_a_turn(pair.a, pair.now, 2)[0]);
        EXPECT_EQ(pair.taken(pair.b), "");
        EXPECT_EQ(pair.a.engine.next_deadline(), pair.now + config.keepalive_after);
        pair.wait(config.keepalive_after - Duration(1));
        EXPECT_EQ(pair.taken(pair.a), "");
        pair.wait(Duration(1));
        EXPECT_EQ(pair.carry(pair.a), "KEEPALIVE 0");
        EXPECT_EQ(pair.carry(pair.b), nack(config, 1, "<1"));
        EXPECT_EQ(pair.carry(pair.a), "REQ 1*");
        EXPECT_EQ(pair.b.take_log(), (Log{"REQ 1(0)", "REQ 1(1)"}));
    }
}

// AM-16, AM-17
TEST(AmConnection, KeepaliveAloneRepairsALostLastAckWithoutAResend) {
    for (const Config& config : all().without_questions()) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, config.chunk_bytes()));
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        pair.carry(pair.a);
        EXPECT_EQ(pair.b.take(pair.now).size(), 1);  // the ack is lost
        pair.wait_for_timer_of(pair.a);
        EXPECT_EQ(pair.carry(pair.a), "KEEPALIVE 0");
        pair.carry(pair.b);
        EXPECT_EQ(pair.taken(pair.a), "");
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1"});
        EXPECT_EQ(pair.b.take_log().size(), 1);
        EXPECT_EQ(pair.a.engine.stats().resent, 0);
        EXPECT_EQ(pair.a.engine.next_deadline(), never);
    }
}

// AM-16: a lost tail of a chunk, and of a get.
TEST(AmConnection, KeepaliveRepairsATailOfAChunkOnEitherChannel) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, config.chunk_bytes()));
        std::vector<std::byte> here(source.size());
        ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
        Frames frames = pair.a.take(pair.now);
        frames.pop_back();
        pair.give(pair.b, frames);
        pair.wait_for_timer_of(pair.a);
        EXPECT_EQ(pair.carry(pair.a), "KEEPALIVE 0");
        pair.settle();
        EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED 1"});

        ASSERT_EQ(get(pair.a, here), PostStatus::accepted);
        pair.carry(pair.a);
        frames = pair.b.take(pair.now);
        frames.pop_back();
        pair.give(pair.a, frames);
        for (int i = 0; i < 6 && pair.a.log.empty(); ++i) {
            pair.wait_for_timer();
            pair.settle();
        }
        EXPECT_EQ(pair.a.take_log(), Log{"GET_ENDED 1"});
        EXPECT_TRUE(same(here, source));
        EXPECT_EQ(pair.b.engine.stats().sent_of(Kind::keepalive), 1);
    }
}

// AM-16
TEST(AmConnection, AQuestionLeavesBeforeNewMessagesOnceThePeerWasSilentForTwoTimers) {
    for (const Config& config : all()) {
        Pair pair(config);
        requests(pair.a, 1);
        pair.a.take(pair.now);  // lost
        pair.wait_for_timer();
        EXPECT_EQ(pair.taken(pair.a), "KEEPALIVE 0");  // lost, too
        pair.wait_for_timer();
        requests(pair.a, 1, 1);
        EXPECT_EQ(pair.taken(pair.a), "KEEPALIVE 0 | REQ 1");
    }
}

// AM-17, AM-18
TEST(AmConnection, AKeepaliveIsAnsweredByANackEvenWhenNothingIsMissing) {
    for (const Config& config : all()) {
        Pair pair(config);
        requests(pair.a, 3);
        pair.carry(pair.a);
        EXPECT_EQ(pair.taken(pair.b), "");
        pair.wait_for_timer_of(pair.a);
        const Frames keepalive = pair.a.take(pair.now);
        EXPECT_EQ(pair.text(keepalive), "KEEPALIVE 0");
        EXPECT_EQ(pair.give(pair.b, keepalive), Verdicts{control});
        const Frames answer = pair.b.take(pair.now);
        EXPECT_EQ(pair.text(answer), nack(config, 3, "<0"));
        EXPECT_EQ(answer[0].header.round, 0);
        EXPECT_EQ(pair.give(pair.a, answer), Verdicts{control});
        EXPECT_EQ(pair.taken(pair.a), "");
        EXPECT_TRUE(pair.a.engine.idle());
        EXPECT_EQ(pair.b.take_log().size(), 3);
        // A second answer finds una == next, and changes nothing.
        pair.give(pair.a, answer);
        EXPECT_EQ(pair.taken(pair.a), "");
        EXPECT_EQ(pair.a.engine.stats().resent, 0);
    }
}

// AM-18: the NACK has the round of the KEEPALIVE that caused it.
TEST(AmConnection, TheAnswerCarriesTheRoundOfTheKeepalive) {
    Pair pair(sp2());
    requests(pair.a, 2);
    Frames frames = pair.a.take(pair.now);
    pair.give(pair.b, frames[1]);
    pair.carry(pair.b);
    EXPECT_EQ(pair.taken(pair.a), "REQ 0..1*");  // and lost
    pair.wait_for_timer();
    EXPECT_EQ(pair.carry(pair.a), "KEEPALIVE 1");
    const Frames nack = pair.b.take(pair.now);
    ASSERT_EQ(nack.size(), 1);
    EXPECT_EQ(nack[0].header.round, 1);
    pair.give(pair.a, nack);
    EXPECT_EQ(pair.taken(pair.a), "REQ 0..1*");
}

// Intervals double up to a limit, and are short again after progress.
TEST(AmConnection, KeepalivesComeAtDoublingIntervalsUntilThereIsProgress) {
    for (const Config& config : all()) {
        Pair pair(config);
        requests(pair.a, 1);
        const Frames lost = pair.a.take(pair.now);
        Duration interval = config.keepalive_after;
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(pair.a.engine.next_deadline() - pair.now, interval) << i;
            pair.wait_for_timer();
            EXPECT_EQ(pair.taken(pair.a), "KEEPALIVE 0");
            interval = std::min(interval * 2, config.keepalive_max);
        }
        pair.give(pair.b, lost);
        requests(pair.b, 1);
        pair.carry(pair.b);
        requests(pair.a, 1);
        pair.taken(pair.a);
        if (config.ack_after > Duration()) {  // the request carries what it would have sent
            EXPECT_EQ(pair.a.engine.next_deadline() - pair.now, config.ack_after);
            pair.wait_for_timer_of(pair.a);
            EXPECT_EQ(pair.taken(pair.a), "");
        }
        EXPECT_EQ(pair.a.engine.next_deadline() - pair.now,
                  config.keepalive_after - config.ack_after);
    }
}

// For configurations that do not measure the round trip; AmProbe tests those of users over UDP.
TEST(AmConnection, KeepaliveWaitsFromTheLastDepartureOrProgress) {
    Pair pair(sp2());
    requests(pair.a, 2);
    pair.carry(pair.a);
    pair.wait(Duration::microseconds(400));
    requests(pair.a, 1);
    pair.carry(pair.a);
    EXPECT_EQ(pair.a.engine.next_deadline(), pair.now + pair.config.keepalive_after);
    const Frame ack = [&] {
        requests(pair.b, 1);
        return pair.b.take(pair.now)[0];
    }();
    pair.wait(Duration::microseconds(300));
    pair.give(pair.a,
              pair.forged(ack, [&](Header& h) { h.ack[0] = pair.number(Channel::request, 1); }));
    EXPECT_EQ(pair.a.engine.next_deadline(), pair.now + pair.config.keepalive_after);
}

// AM-50
TEST(AmConnection, ASilentPeerIsReportedOnceWithEveryUnfinishedMessageInOrder) {
    for (const Config& config : all_small().without_questions()) {
        Pair pair(config);
        const auto source = pattern(in_chunks(config, 10));
        std::vector<std::byte> here(10);
        ASSERT_EQ(request(pair.a, 3, {1}), PostStatus::accepted);
        ASSERT_EQ(store(pair.a, source, 21), PostStatus::accepted);
        ASSERT_EQ(get(pair.a, here, 22), PostStatus::accepted);
        ASSERT_EQ(request(pair.a, 4, {2, 3}), PostStatus::accepted);
        EXPECT_EQ(pair.a.take(pair.now).size(), 5);
        std::uint64_t keepalives = 0;
        const Instant begin = pair.now;
        while (pair.a.log.empty()) {
            ASSERT_NE(pair.a.engine.next_deadline(), never);
            pair.wait_for_timer();
            keepalives += pair.a.take(pair.now).size();
        }
        EXPECT_EQ(pair.a.take_log(), (Log{"FATE REQ 3(1)", "FATE STORE 21", "FATE GET 22",
                                          "FATE REQ 4(2,3)", "ENDED silent"}));
        EXPECT_GE(keepalives, config.keepalive_limit);
        EXPECT_GE(pair.now - begin, config.peer_timeout);
        EXPECT_EQ(pair.a.engine.next_deadline(), never);
        EXPECT_EQ(pair.taken(pair.a), "");
        EXPECT_TRUE(pair.a.engine.idle());
        EXPECT_EQ(request(pair.a, 1, {}), PostStatus::peer_gone);
        EXPECT_EQ(store(pair.a, source), PostStatus::peer_gone);
        EXPECT_EQ(get(pair.a, here), PostStatus::peer_gone);
    }
}

// AM-50: exactly K_ka keep-alives if there is no timeout. Only the paper's configuration has none;
// the test above has the others.
TEST(AmConnection, GivesUpAfterTheConfiguredNumberOfKeepalives) {
    Pair pair(sp2());
    requests(pair.a, 1);
    pair.taken(pair.a);
    std::uint32_t keepalives = 0;
    while (pair.a.log.empty()) {
        pair.wait_for_timer();
        keepalives += static_cast<std::uint32_t>(pair.a.take(pair.now).size());
    }
    EXPECT_EQ(keepalives, pair.config.keepalive_limit);
}

// AM-50: nothing of the session is sent or delivered afterwards.
TEST(AmConnection, NothingOfAnEndedSessionIsDeliveredAfterwards) {
    for (const Config& config : all()) {
        Pair pair(config);
        requests(pair.b, 1);
        const Frames late = pair.b.take(pair.now);
        requests(pair.a, 1);
        pair.taken(pair.a);
        while (pair.a.log.empty()) {
            pair.a.engine.on_deadline(pair.now = pair.a.engine.next_deadline());
            pair.a.draw();
        }
        pair.a.take_log();
        EXPECT_EQ(pair.give(pair.a, late), Verdicts{foreign});
        EXPECT_EQ(pair.a.log, Log{});
        EXPECT_EQ(pair.taken(pair.a), "");
    }
}

// AM-50: slow is not dead.
TEST(AmConnection, APeerThatAnswersButCannotAcceptIsNeverReported) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        std::vector<std::byte> one(pair.config.chunk_bytes());
        std::vector<std::byte> two(10);
        ASSERT_EQ(get(pair.a, one, 1), PostStatus::accepted);
        ASSERT_EQ(get(pair.a, two, 2), PostStatus::accepted);
        pair.carry(pair.a);
        pair.b.take(pair.now);  // the bytes of the first get are lost, so the second finds no slot
        Frames answers;
        for (std::uint32_t i = 0; i < 5 * pair.config.keepalive_limit; ++i) {
            pair.now = pair.a.engine.next_deadline();
            pair.a.engine.on_deadline(pair.now);
            pair.a.draw();
            pair.carry(pair.a);
            answers = pair.b.take(pair.now);
            std::erase_if(answers, [](const Frame& f) { return f.header.kind == Kind::chunk; });
            pair.give(pair.a, answers);
            pair.carry(pair.a);
            pair.b.take(pair.now);
            ASSERT_EQ(pair.a.log, Log{});
        }
        EXPECT_GT(pair.a.engine.stats().keepalive_timeouts, pair.config.keepalive_limit);
    }
}

// AM-50: an end that waits for bytes finds a dead peer, too.
TEST(AmConnection, ASideThatOnlyWaitsAsksWhetherThePeerLives) {
    for (const Config& config : all_small()) {
        Pair pair(config);
        std::vector<std::byte> here(10);
        ASSERT_EQ(get(pair.a, here, 5), PostStatus::accepted);
        pair.carry(pair.a);
        requests(pair.b, 1);
        Frames frames = pair.b.take(pair.now);
        std::erase_if(frames, [](const Frame& f) { return f.header.kind == Kind::chunk; });
        pair.give(pair.a, frames);  // the GET_REQ is acknowledged, then b falls silent
        pair.a.take_log();
        pair.taken(pair.a);
        while (pair.a.log.empty()) {
            ASSERT_NE(pair.a.engine.next_deadline(), never);
            pair.now = pair.a.engine.next_deadline();
            pair.a.engine.on_deadline(pair.now);
            pair.a.draw();
            pair.a.take(pair.now);
        }
        EXPECT_EQ(pair.a.take_log(), (Log{"FATE GET 5", "ENDED silent"}));
    }
}

// AM-50: an idle connection has no timer and asks nothing, unless its caller wants it.
TEST(AmConnection, AnIdleConnectionSendsNothingUntilItAwaitsThePeer) {
    for (const Config& config : all()) {
        Pair pair(config);
        EXPECT_EQ(pair.taken(pair.a), "");
        EXPECT_EQ(pair.a.engine.next_deadline(), never);
        pair.a.engine.set_awaiting(true);
        EXPECT_EQ(pair.taken(pair.a), "");
        pair.wait_for_timer();
        EXPECT_EQ(pair.carry(pair.a), "KEEPALIVE 0");
        EXPECT_EQ(pair.carry(pair.b), nack(config, 0, "<0"));
        pair.a.engine.set_awaiting(false);
        pair.wait_for_timer();
        EXPECT_EQ(pair.taken(pair.a), "");
        EXPECT_EQ(pair.a.engine.next_deadline(), never);
        EXPECT_EQ(pair.a.log, Log{});
    }
}

// AM-50: an end that waits for a peer asks it after T_ka of silence, even if the peer owes nothing.
// Then it asks more and more rarely, until a frame of the peer arrives.
TEST(AmConnection, AnAwaitedPeerThatOwesNothingIsAskedMoreAndMoreRarely) {
    for (const Config& config : all()) {
        Pair pair(config);
        reply_to_all(pair.b);
        pair.a.engine.set_awaiting(true);
        const Duration first = config.keepalive_after;
        const Duration held = config.ack_after;
        std::vector<Duration> waits;
        const auto release = [&] {  // what is owed for the last packet
            pair.wait(held);
            pair.settle();
        };
        const auto ask = [&] {
            requests(pair.a, 1);
            pair.settle();
            release();
            waits.push_back(pair.a.engine.next_deadline() - pair.now + held);
            EXPECT_EQ(pair.taken(pair.a), "") << "the answer is no occasion to ask";
        };
        ask();
        for (int i = 0; i < 3; ++i) {
            pair.wait_for_timer();
            pair.settle();
            waits.push_back(pair.a.engine.next_deadline() - pair.now);
        }
        EXPECT_EQ(pair.a.engine.stats().sent_of(Kind::keepalive), 3U);
        ask();
        EXPECT_EQ(waits, (std::vector{first, first * 2, first * 4, first * 8, first}));
        pair.now = pair.now + Duration(first.picoseconds() / 2);
        requests(pair.b, 1);  // a frame arrives in the meantime
        pair.settle();
        release();
        pair.wait_for_timer();
        EXPECT_EQ(pair.taken(pair.a), "");
        EXPECT_EQ(pair.a.engine.next_deadline() - pair.now,
                  Duration(first.picoseconds() / 2) + held);
        EXPECT_EQ(pair.a.engine.stats().sent_of(Kind::keepalive), 3U);
    }
}

// AM-52
TEST(AmConnection, KeepsItsRouteUntilThePeerIsFoundSilent) {
    for (const Config& config : all()) {
        Pair pair(config);
        Frames frames = one_a_turn(pair.a, pair.now, 4);
        const std::uint8_t route = frames[0].header.route;
        for (const Frame& frame : frames) EXPECT_EQ(frame.header.route, route);
        pair.wait_for_timer();
        frames = pair.a.take(pair.now);  // the first keep-alive asks along the same route
        EXPECT_EQ(frames[0].header.route, route);
        EXPECT_EQ(std::to_integer<unsigned>(frames[0].bytes[4]) >> 6, route);
        pair.wait_for_timer();
        frames = pair.a.take(pair.now);
        EXPECT_EQ(frames[0].header.route, (route + 1) % 4);
        pair.give(pair.b, frames);
        pair.carry(pair.b);
        frames = pair.a.take(pair.now);
        ASSERT_EQ(frames.size(), config.bundle_max > 0 ? 1 : 4);
        for (const Frame& frame : frames) EXPECT_EQ(frame.header.route, (route + 1) % 4);
        pair.give(pair.b, frames);
        pair.settle();
        pair.wait_for_timer();
        for (const Frame& frame : pair.a.take(pair.now)) {
            EXPECT_EQ(frame.header.route, (route + 1) % 4);
        }
    }
}

}  // namespace
}  // namespace wireproof::am::test
