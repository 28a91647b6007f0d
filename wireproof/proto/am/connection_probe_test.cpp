// How soon the sender asks for a lost last packet, if it measures the round trip.
#include <gtest/gtest.h>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

constexpr Duration probe_start = Duration::milliseconds(5);
constexpr Duration least = Duration::microseconds(100);

/// The time until node a asks its peer. A timer does nothing if another packet has carried its
/// acknowledgement.
Duration until_asked(Pair& pair) {
    const Instant begin = pair.now;
    for (int i = 0; i < 3 && pair.a.engine.quiet(); ++i) pair.wait_for_timer_of(pair.a);
    EXPECT_FALSE(pair.a.engine.quiet());
    return pair.now - begin;
}

struct Timed {
    explicit Timed(const Config& config) : pair(config) { reply_to_all(pair.b); }

    /// A request and its reply, with this time between them.
    void round_trip(Duration loop) {
        requests(pair.a, 1);
        pair.carry(pair.a);
        pair.now = pair.now + loop;
        pair.carry(pair.b);
    }
    /// The time until the sender asks about a request that is lost now.
    Duration rto() {
        requests(pair.a, 1);
        pair.a.take(pair.now);
        return until_asked(pair);
    }
    /// Also, the acknowledgement owed for the last packet has left.
    void settle() {
        pair.settle();
        pair.wait(pair.config.ack_after);
        pair.settle();
    }

    Pair pair;
};

// AM-16: T_ka above two round trips.
TEST(AmProbe, WaitsAsConfiguredUntilALoopWasMeasured) {
    for (const Config& config : over_a_network()) {
        EXPECT_EQ(config.keepalive_after, probe_start);
        EXPECT_EQ(config.probe_after, least);
        Timed timed(config);
        EXPECT_EQ(timed.rto(), probe_start);
    }
}

TEST(AmProbe, WaitsThreeLoopsOnceOneWasMeasured) {
    for (const Config& config : over_a_network()) {
        Timed timed(config);
        timed.round_trip(Duration::microseconds(200));
        EXPECT_EQ(timed.rto(), Duration::microseconds(600));
    }
}

TEST(AmProbe, NeverWaitsLessThanTheFloorOrMoreThanConfigured) {
    for (const Config& config : over_a_network()) {
        Timed quick(config);
        quick.round_trip(Duration::microseconds(1));
        EXPECT_EQ(quick.rto(), least);
        Timed slow(config);
        slow.round_trip(Duration::milliseconds(4));
        EXPECT_EQ(slow.rto(), probe_start);
    }
}

// An end that waits for its peer anyway asks as soon as any other.
TEST(AmProbe, WaitsNoLongerWhereThePeerIsAwaited) {
    for (const Config& config : over_a_network()) {
        Timed timed(config);
        timed.pair.a.engine.set_awaiting(true);
        for (int i = 0; i < 3; ++i) timed.round_trip(Duration::microseconds(200));
        EXPECT_EQ(timed.rto(), Duration::microseconds(600));
        timed.settle();
        EXPECT_TRUE(timed.pair.a.engine.idle());
        // Nor after the peer was asked whether it lives, and answered.
        for (int i = 0; i < 3; ++i) {
            timed.pair.wait(probe_start * 5);
            timed.settle();
        }
        EXPECT_EQ(timed.pair.a.engine.stats().keepalive_timeouts, 4U) << "one for what was lost";
        EXPECT_EQ(timed.rto(), Duration::microseconds(600));
    }
}

TEST(AmProbe, FindsALostRequestAndSendsItAgain) {
    for (const Config& config : over_a_network()) {
        Timed timed(config);
        timed.round_trip(Duration::microseconds(50));
        timed.pair.a.take_log();
        timed.pair.b.take_log();
        requests(timed.pair.a, 1, 7);
        timed.pair.a.take(timed.pair.now);  // lost
        timed.pair.wait(Duration::microseconds(149));
        EXPECT_EQ(timed.pair.taken(timed.pair.a), "");
        timed.pair.wait(Duration::microseconds(1));
        EXPECT_EQ(timed.pair.carry(timed.pair.a), "KEEPALIVE 0");
        timed.pair.settle();
        EXPECT_EQ(timed.pair.b.take_log(), Log{"REQ 1(7)"});
        EXPECT_EQ(timed.pair.a.engine.stats().resent, 1U);
        EXPECT_EQ(timed.pair.a.engine.stats().keepalive_timeouts, 1U);
    }
}

// An acknowledgement after a keep-alive or a resend may be for either departure.
TEST(AmProbe, MeasuresNothingThatWasAskedFor) {
    for (const Config& config : over_a_network()) {
        Timed timed(config);
        timed.round_trip(Duration::microseconds(50));
        requests(timed.pair.a, 1);
        timed.pair.a.take(timed.pair.now);  // lost
        timed.pair.wait(Duration::microseconds(150));
        timed.pair.carry(timed.pair.a);                               // KEEPALIVE
        timed.pair.now = timed.pair.now + Duration::milliseconds(1);  // a host that slept
        timed.pair.carry(timed.pair.b);
        timed.pair.carry(timed.pair.a);  // the request again
        timed.pair.now = timed.pair.now + Duration::milliseconds(1);
        timed.pair.carry(timed.pair.b);
        EXPECT_EQ(timed.pair.a.engine.sending(Channel::request).under_way(), 0U);
        EXPECT_EQ(timed.rto(), Duration::microseconds(150));
    }
}

// One way, and acknowledged only because the sender asked.
TEST(AmProbe, AnAcknowledgementThatAKeepaliveDrewMeasuresNothing) {
    for (const Config& config : over_a_network()) {
        Pair pair(config);
        requests(pair.a, 1);
        pair.carry(pair.a);
        pair.wait(probe_start);
        EXPECT_EQ(pair.carry(pair.a), "KEEPALIVE 0");
        pair.now = pair.now + Duration::microseconds(1);
        pair.carry(pair.b);
        EXPECT_TRUE(pair.a.engine.idle());
        // The next round trip is the first that counts.
        for (int i = 0; i < 2; ++i) {
            requests(pair.a, 1);
            pair.carry(pair.a);
            pair.now = pair.now + Duration::microseconds(300);
            requests(pair.b, 1);  // carries the acknowledgement
            pair.carry(pair.b);
        }
        requests(pair.a, 1);
        pair.a.take(pair.now);
        EXPECT_EQ(until_asked(pair), Duration::microseconds(900));
    }
}

/// The time from now until the peer is given up.
Duration until_given_up(Pair& pair) {
    const Instant begin = pair.now;
    for (int i = 0; i < 10'000 && pair.a.log.empty(); ++i) {
        pair.now = std::max(pair.now, pair.a.engine.next_deadline());
        pair.a.engine.on_deadline(pair.now);
        pair.a.draw();
        pair.a.take(pair.now);
    }
    EXPECT_TRUE(!pair.a.log.empty() && pair.a.log.back() == "ENDED silent");
    return pair.now - begin;
}

// AM-50: time in which this end did not poll is no silence of the peer. Here both ends compute, and
// then poll again.
TEST(AmProbe, AHostThatWasAwayDoesNotGiveItsPeerUpSoonAfter) {
    for (const Config& config : over_a_network()) {
        for (const bool asks : {true, false}) {
            Timed timed(config);
            Pair& pair = timed.pair;
            pair.a.engine.set_awaiting(true);
            timed.round_trip(Duration::microseconds(50));
            EXPECT_EQ(pair.taken(pair.a), "");
            pair.a.take_log();
            pair.now = pair.now + pair.config.peer_timeout * 2;
            if (asks) requests(pair.a, 1);
            pair.a.take(pair.now);
            EXPECT_GE(until_given_up(pair) + probe_start, pair.config.peer_timeout);
        }
    }
}

// AM-50
TEST(AmProbe, NorOneThatWasStoppedWhileItAsked) {
    for (const Config& config : over_a_network()) {
        Timed timed(config);
        Pair& pair = timed.pair;
        timed.round_trip(Duration::microseconds(50));
        pair.a.take_log();
        requests(pair.a, 1);
        pair.a.take(pair.now);
        (void)until_asked(pair);
        EXPECT_EQ(pair.taken(pair.a), "KEEPALIVE 0");
        pair.now = pair.now + pair.config.peer_timeout;
        EXPECT_GE(until_given_up(pair), Duration(pair.config.peer_timeout.picoseconds() * 9 / 10));
    }
}

// AM-50: an end that polls all the time gives its peer up after exactly the peer timeout.
TEST(AmProbe, APeerThatIsSilentIsGivenUpInTime) {
    for (const Config& config : over_a_network()) {
        for (const bool awaited : {true, false}) {
            Timed timed(config);
            Pair& pair = timed.pair;
            timed.round_trip(Duration::microseconds(50));
            pair.a.take_log();
            if (awaited) pair.a.engine.set_awaiting(true);
            requests(pair.a, 1);
            pair.a.take(pair.now);
            EXPECT_EQ(until_given_up(pair), pair.config.peer_timeout);
        }
    }
}

TEST(AmProbe, OfAPeerThatDoesNotAnswerBecomesRarer) {
    for (const Config& config : over_a_network()) {
        Timed timed(config);
        timed.round_trip(Duration::microseconds(100));
        requests(timed.pair.a, 1);
        std::vector<Duration> waits;
        for (int i = 0; i < 4; ++i) {
            timed.pair.a.take(timed.pair.now);
            waits.push_back(until_asked(timed.pair));
        }
        const auto microseconds = [](int n) { return Duration::microseconds(n); };
        EXPECT_EQ(waits, (std::vector{microseconds(300), microseconds(600), microseconds(1200),
                                      microseconds(2400)}));
    }
}

// A new session may take another path.
TEST(AmProbe, ANewSessionMeasuresAnew) {
    for (const Config& config : over_a_network()) {
        Pair pair(meeting(config));
        reply_to_all(pair.b);
        requests(pair.a, 1);
        pair.settle();
        requests(pair.a, 1);
        pair.carry(pair.a);
        pair.now = pair.now + Duration::microseconds(10);
        pair.carry(pair.b);
        requests(pair.a, 1);
        pair.a.take(pair.now);
        EXPECT_EQ(until_asked(pair), least);
        pair.a.engine.on_wire_event(pair.now, WireEvent::peer_gone);
        pair.b.engine.on_wire_event(pair.now, WireEvent::peer_gone);
        pair.a.draw();
        pair.b.draw();
        requests(pair.a, 1);
        pair.settle();
        requests(pair.a, 1);
        pair.a.take(pair.now);
        EXPECT_EQ(until_asked(pair), probe_start);
    }
}

TEST(AmProbe, IsCheckedWithTheRest) {
    Config config = udp();
    EXPECT_TRUE(config.check());
    config.probe_after = probe_start + Duration(1);
    EXPECT_FALSE(config.check());
    config.probe_after = Duration(-1);
    EXPECT_FALSE(config.check());
}

}  // namespace
}  // namespace wireproof::am::test
