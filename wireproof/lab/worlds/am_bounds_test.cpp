// Tests of the bounds: normal costs keep each bound, and the defect that a bound is for breaks it.
// Worlds that keep all bounds would not show that a bound is missing.
#include "wireproof/lab/worlds/am_bounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace wireproof::lab {
namespace {

void say(am::Stats& stats, am::Kind kind, std::uint64_t times) {
    stats.sent[static_cast<std::size_t>(kind)] = times;
}

void hear(am::Stats& stats, RxVerdict verdict, std::uint64_t times) {
    stats.received[static_cast<std::size_t>(verdict)] = times;
}

class AmBounds : public testing::Test {
protected:
    AmBounds() {
        plan.network.jitter = Duration();
        plan.am.recovery = am::Recovery::go_back_n;
        plan.am.cookie = 7;
        plan.am.window = {8, 8};
        plan.am.keepalive_after = Duration::milliseconds(1);
        plan.am.probe_after = Duration();
        plan.am.chunk_packets = 32;
        plan.am.resend_limit = 64;
        for (FaultRates& faults : plan.faults) faults = {};
        say(spent.own, am::Kind::request, 100);
        hear(spent.own, RxVerdict::accepted, 40);
        spent.messages = 100;
        spent.duration = Duration::milliseconds(5);
    }

    std::string broken() const { return broken_bound(plan, plan.pair(0, 1), spent); }
    bool breaks(std::string_view words) const {
        const std::string what = broken();
        EXPECT_NE(what.find(words), std::string::npos) << "\"" << what << "\" is not " << words;
        return !what.empty();
    }

    AmWorldPlan plan{1};
    AmSpending spent;
};

TEST_F(AmBounds, HonestSpendingBreaksNone) {
    EXPECT_EQ(broken(), "");
    EXPECT_EQ(broken_bound(plan, spent.own), "");
}

// AM-38: each NACK causes one resend of at most a window.
TEST_F(AmBounds, AResendIsAWindowAtMost) {
    spent.there.lost = spent.own.nacks_acted_on = 1;
    spent.own.resent = 8;
    EXPECT_EQ(broken(), "");
    spent.own.resent = 9;
    EXPECT_TRUE(breaks("packets resent 9, and NACKs asked for at most 8"));
}

TEST_F(AmBounds, NoPeerReceivesMarksThatItCannotPlace) {
    for (const RxVerdict verdict : {RxVerdict::stale, RxVerdict::malformed, RxVerdict::foreign}) {
        hear(spent.own, verdict, 1);
        EXPECT_TRUE(breaks("1 frames were " + std::string(name_of(verdict))));
        hear(spent.own, verdict, 0);
    }
    // If HELLO makes the sessions, some HELLOs cross.
    plan.am.cookie.reset();
    hear(spent.own, RxVerdict::foreign, 1);
    EXPECT_EQ(broken(), "");
    hear(spent.own, RxVerdict::stale, 1);
    EXPECT_TRUE(breaks("1 frames were stale"));
}

// AM-38: each resend has its own cause.
TEST_F(AmBounds, AResendHasAReason) {
    spent.own.nacks_acted_on = 1;
    EXPECT_TRUE(breaks("resends begun 1, and reasons for one 0"));
    for (std::uint64_t* const reason :
         {&spent.there.lost, &spent.there.damaged, &spent.there.held,
          &spent.own.sent[static_cast<std::size_t>(am::Kind::keepalive)],
          &spent.peer.received[static_cast<std::size_t>(RxVerdict::refused)],
          &spent.peer.unpacked[static_cast<std::size_t>(RxVerdict::refused)]}) {
        *reason = 1;
        EXPECT_EQ(broken(), "");
        spent.own.nacks_acted_on = 2;
        EXPECT_TRUE(breaks("resends begun 2, and reasons for one 1"));
        spent.own.nacks_acted_on = 1;
        *reason = 0;
    }
    // A loss on the way back is not a gap in this direction.
    spent.back.lost = 5;
    EXPECT_TRUE(breaks("resends begun"));
    // If the receiver keeps early packets, an early packet that it could not keep is a gap.
    hear(spent.peer, RxVerdict::out_of_sequence, 1);
    EXPECT_TRUE(breaks("resends begun"));
    plan.am.recovery = am::Recovery::selective;
    EXPECT_EQ(broken(), "");
    // Nothing counts the packets that jitter reorders.
    plan.am.recovery = am::Recovery::go_back_n;
    plan.network.jitter = Duration::nanoseconds(1);
    EXPECT_EQ(broken(), "");
}

// AM-54: no mark appears that no router made.
TEST_F(AmBounds, MarksReportedAreMarksOfTheCable) {
    spent.there.marked = 5;
    spent.there.duplicated = 2;
    spent.peer.marked = spent.own.marked_at_peer = 7;
    EXPECT_EQ(broken(), "");
    spent.own.marked_at_peer = 8;
    EXPECT_TRUE(breaks("marks told 8, and the peer counted 7"));
    spent.peer.marked = 8;
    EXPECT_TRUE(breaks("marks counted 8, and the cable made at most 7"));
}

TEST_F(AmBounds, PacketsSentAreBoundedByPipelineAndFaults) {
    spent.there.lost = spent.own.nacks_acted_on = 1'000;
    const double needed = 100;
    const double most = 2 * (needed * plan.expected_cost(plan.pair(0, 1)) + 8);
    spent.own.resent = static_cast<std::uint64_t>(most - needed);
    say(spent.own, am::Kind::request, 100 + spent.own.resent);
    EXPECT_EQ(broken(), "");
    spent.own.resent += 2;
    say(spent.own, am::Kind::request, 100 + spent.own.resent);
    EXPECT_TRUE(breaks("numbered packets sent"));
    // A peer without room wastes a window each time.
    hear(spent.peer, RxVerdict::refused, 1);
    EXPECT_EQ(broken(), "");
}

// Each early packet that the receiver could not keep must leave again.
TEST_F(AmBounds, PacketsThatWereNotKeptMayLeaveAgain) {
    plan.am.recovery = am::Recovery::selective;
    const double most = 2 * (100 * plan.expected_cost(plan.pair(0, 1)) + 8);
    spent.there.lost = spent.own.nacks_acted_on = 1'000;
    hear(spent.peer, RxVerdict::out_of_sequence, 50);
    const auto allowed = static_cast<std::uint64_t>(most) + 2 * 50;
    say(spent.own, am::Kind::request, allowed);
    spent.own.resent = allowed - 100;
    EXPECT_EQ(broken(), "");
    say(spent.own, am::Kind::request, allowed + 1);
    spent.own.resent = allowed - 99;
    EXPECT_TRUE(breaks("numbered packets sent"));
    // Go-back-N drops each early packet, and the pipeline counts that.
    plan.am.recovery = am::Recovery::go_back_n;
    const auto of_pipeline =
        static_cast<std::uint64_t>(2 * (100 * plan.expected_cost(plan.pair(0, 1)) + 8));
    say(spent.own, am::Kind::request, of_pipeline + 1);
    spent.own.resent = of_pipeline - 99;
    EXPECT_TRUE(breaks("numbered packets sent"));
}

TEST_F(AmBounds, AnAnswerAnswersAFrame) {
    say(spent.own, am::Kind::ack, 30);
    say(spent.own, am::Kind::nack, 10);
    EXPECT_EQ(broken(), "");
    say(spent.own, am::Kind::nack, 11);
    EXPECT_TRUE(breaks("ACKs and NACKs sent 41, and frames received were 40"));
}

TEST_F(AmBounds, ATimeoutHasAReasonAndTime) {
    // For each channel: two timeouts in each of 5 periods of 1 ms, and the first two.
    spent.own.keepalive_timeouts = 12;
    EXPECT_EQ(broken(), "");
    spent.own.keepalive_timeouts = 13;
    EXPECT_TRUE(breaks("keep-alive timeouts 13, and reasons for one 12"));
    plan.am.probe_after = Duration::microseconds(100);
    EXPECT_EQ(broken(), "");
    spent.messages = 3;
    EXPECT_TRUE(breaks("keep-alive timeouts 13, and reasons for one 3"));
    spent.there.lost = spent.back.damaged = 5;
    EXPECT_EQ(broken(), "");
    spent.back.damaged = 0;
    EXPECT_TRUE(breaks("reasons for one 8"));
    spent.pauses = 2;
    spent.paused = Duration::microseconds(100);
    EXPECT_EQ(broken(), "");
}

// AM-53: eight sends for each needed packet, and two windows as an allowance for few packets.
TEST_F(AmBounds, AllConnectionsTogetherKeepToTheFigureOfTheRule) {
    plan.am.recovery = am::Recovery::selective;
    am::Stats totals;
    say(totals, am::Kind::request, 816);
    totals.resent = 716;
    EXPECT_EQ(broken_bound(plan, totals), "");
    say(totals, am::Kind::reply, 1);
    totals.resent = 717;
    EXPECT_EQ(broken_bound(plan, totals), "numbered packets sent 817, and AM-53 allows 816");
}

// AM-53: the sender resends the same packet some times at once, and then after waits that double.
TEST_F(AmBounds, TheSamePacketLeavesAgainEverMoreSeldom) {
    plan.am.keepalive_max = Duration::milliseconds(4);
    const auto broken_after = [&](std::uint64_t times, Duration lasted) {
        return broken_bound(plan.am, {.first_missing = times, .lasted = lasted});
    };
    EXPECT_EQ(broken_after(10, Duration()), "");
    EXPECT_NE(broken_after(11, Duration()), "");
    // After 1, 3, 7, 11 and 15 ms.
    for (const auto& [ms, times] : {std::pair{1, 11U}, {3, 12U}, {7, 13U}, {11, 14U}, {15, 15U}}) {
        EXPECT_EQ(broken_after(times, Duration::milliseconds(ms)), "") << ms;
        EXPECT_NE(broken_after(times + 1, Duration::milliseconds(ms)), "") << ms;
    }
    plan.am.resend_limit = 0;
    EXPECT_EQ(broken_after(1'000, Duration()), "");
}

// AM-53
TEST_F(AmBounds, SendsOnlySoMuchAgainWhileNothingArrives) {
    EXPECT_EQ(broken_bound(plan.am, {.since_arrival = 2 * (9 * 8 + 10 * 32)}), "");
    EXPECT_NE(broken_bound(plan.am, {.since_arrival = 2 * (9 * 8 + 10 * 32) + 1}), "");
    plan.am.recovery = am::Recovery::selective;
    EXPECT_EQ(broken_bound(plan.am, {.since_arrival = 2 * (8 + 40)}), "");
    EXPECT_NE(broken_bound(plan.am, {.since_arrival = 2 * (8 + 40) + 1}), "");
}

// AM-53: new packets and keep-alives have a limit, too.
TEST_F(AmBounds, SendsOnlySoMuchWhileNothingArrives) {
    plan.am.recovery = am::Recovery::selective;
    plan.am.keepalive_max = Duration::milliseconds(4);
    const std::uint64_t most = 2 * (8 + 40) + 2 * (8 + 3 * 10);
    EXPECT_EQ(broken_bound(plan.am, {.sent_since_arrival = most}), "");
    EXPECT_NE(broken_bound(plan.am, {.sent_since_arrival = most + 1}), "");
    // After two more timeouts.
    const Duration later = Duration::milliseconds(3);
    EXPECT_EQ(broken_bound(plan.am, {.sent_since_arrival = most + 12, .since = later}), "");
    EXPECT_NE(broken_bound(plan.am, {.sent_since_arrival = most + 13, .since = later}), "");
}

}  // namespace
}  // namespace wireproof::lab
