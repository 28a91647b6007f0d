// RC with congestion control (rc/flow.hpp): what leaves, what counts as lost, and that it never
// stalls.
#include <gtest/gtest.h>

#include <deque>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

constexpr std::uint8_t long_timeout = 14;  // 67 ms

QueuePairChange with(Congestion congestion) {
    return {.timeout = long_timeout, .congestion = congestion};
}

class RcCongestion : public testing::Test {
protected:
    explicit RcCongestion(const QueuePairChange& connection = with(Congestion::by_path))
        : pair(connection) {}

    /// One message arrives and is acknowledged after `rtt`.
    void measure(Duration rtt) {
        pair.receives(1);
        pair.send(10);
        pair.give(pair.a_leaving());
        pair.pass(rtt);
        for (const auto& packet : pair.b.leaving(pair.now)) pair.a.give(pair.now, packet);
        ASSERT_EQ(pair.a.sent().size(), 1U);
    }
    std::uint32_t window() const { return 10; }

    RcPair pair;
};

// RC-33
TEST_F(RcCongestion, AtMostTheWindowIsInFlight) {
    pair.post(Request::write, 256 * 40);
    EXPECT_EQ(pair.a_leaving().size(), window());
    pair.pass(Duration::microseconds(100));
    pair.a.give(pair.now, ack(1));  // four packets
    EXPECT_EQ(pair.a_leaving().size(), 4U + 4U);
}

// RC-33
TEST_F(RcCongestion, AReadIsAskedForInPartsOfTheWindow) {
    pair.b.fill(0x4000, pattern(256 * 40, 8));
    pair.read(256 * 40);
    const auto first = pair.a_leaving();
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(decoded(first[0]).headers.reth.length, 256 * window());
    pair.give(first);
    pair.settle();
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::success});
    EXPECT_EQ(pair.a.bytes(0x2000, 256 * 40), pattern(256 * 40, 8));
}

// Each packet that was in flight after the lost one is sent again, but was not lost.
TEST_F(RcCongestion, ANakIsOneLossHoweverManyPacketsGoAgain) {
    measure(Duration::microseconds(100));
    pair.post(Request::write, 256 * 40);
    const auto packets = pair.a_leaving();
    pair.pass(Duration::microseconds(100));
    EXPECT_EQ(pair.a.give(pair.now, nak(0xFFFFFF)), RxVerdict::control);
    EXPECT_EQ(pair.a_leaving(), packets);
    EXPECT_EQ(pair.a.counters().resent, packets.size());
    EXPECT_EQ(pair.a.counters().went_back, 1U);
}

class RcSilence : public RcCongestion {
protected:
    RcSilence()
        : RcCongestion({.timeout = long_timeout,
                        .retry_count = std::uint8_t{0},
                        .congestion = Congestion::by_path}) {}
};

// RC-34
TEST_F(RcSilence, TheOldestPacketLeavesAgainAloneAndUsesNoRetry) {
    measure(Duration::microseconds(100));
    pair.post(Request::write, 256 * 4);
    const auto packets = pair.a_leaving();
    ASSERT_EQ(packets.size(), 4U);
    pair.pass(RcFlow::silence_least);
    const auto again = pair.a_leaving();
    EXPECT_EQ(names(again), Names{name(packets[0])});
    EXPECT_TRUE(decoded(again[0]).bth().ack_request);
    EXPECT_EQ(pair.a.counters().silences, 1U);
    EXPECT_EQ(pair.a.counters().timeouts, 0U);
    // All had arrived, and the acknowledgement was lost.
    pair.a.give(pair.now, ack(2));
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::success});
    EXPECT_TRUE(pair.a_leaving().empty());
    EXPECT_EQ(pair.a.port.next_deadline(), never);
}

// It was lost again after a NAK, or the NAK was lost.
// RC-34
TEST_F(RcSilence, TheAckOfExactlyThatPacketSendsThePacketsAfterItAgain) {
    measure(Duration::microseconds(100));
    pair.post(Request::write, 256 * 4);
    const auto packets = pair.a_leaving();
    pair.pass(RcFlow::silence_least);
    pair.give(pair.a_leaving());
    for (const auto& packet : pair.b.leaving(pair.now)) pair.a.give(pair.now, packet);
    EXPECT_EQ(pair.a_leaving(), std::vector(packets.begin() + 1, packets.end()));
    EXPECT_EQ(pair.a.counters().went_back, 1U);
}

// RC-34
TEST_F(RcSilence, TheAckOfMoreThanThatPacketSendsNothingAgain) {
    measure(Duration::microseconds(100));
    pair.post(Request::write, 256 * 4);
    const auto packets = pair.a_leaving();
    pair.pass(RcFlow::silence_least);
    EXPECT_EQ(pair.a_leaving().size(), 1U);
    pair.a.give(pair.now, ack(0));
    EXPECT_TRUE(pair.a_leaving().empty());
    EXPECT_EQ(pair.a.counters().went_back, 0U);
}

// RC-34
TEST_F(RcSilence, TheAnswerTimeoutStillCountsFromTheLastAnswer) {
    measure(Duration::microseconds(100));
    pair.post(Request::write, 256 * 4);
    pair.a_leaving();
    for (Duration passed; passed < ack_timeout(long_timeout);
         passed = passed + Duration::milliseconds(1)) {
        EXPECT_TRUE(pair.a.sent().empty());
        pair.pass(Duration::milliseconds(1));
        pair.a_leaving();
    }
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::retry_exceeded});
    EXPECT_LE(pair.a.counters().silences, 7U);  // 1, 2, 4 … ms
}

// RC-34
TEST_F(RcSilence, ASilentReadIsAskedForAgain) {
    measure(Duration::microseconds(100));
    pair.b.fill(0x4000, pattern(1200, 8));
    pair.read(1200);
    pair.a_leaving();
    pair.pass(RcFlow::silence_least);
    pair.settle();
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::success});
    EXPECT_EQ(pair.a.bytes(0x2000, 1200), pattern(1200, 8));
}

PairSettings watching() {
    PairSettings settings = rc_settings({.timeout = std::uint8_t{24}});
    settings.queue_pair.asks_after_silence = true;
    return settings;
}

// RC-34: a message of a program that waits for an answer is not missing for a long answer timeout.
TEST(RcSilenceAlone, WithoutCongestionControlTheOldestPacketStillLeavesAgain) {
    RcPair pair(watching());
    pair.receives(3);
    pair.send(10);
    ASSERT_EQ(pair.a_leaving().size(), 1U);  // lost
    pair.pass(RcFlow::silence_unmeasured - Duration::nanoseconds(1));
    EXPECT_TRUE(pair.a_leaving().empty());
    pair.pass(Duration::nanoseconds(1));
    pair.settle();
    EXPECT_EQ(pair.b.received().size(), 1U);
    EXPECT_EQ(pair.a.sent().size(), 1U);

    pair.send(10);
    const auto packets = pair.a_leaving();
    pair.pass(Duration::microseconds(10));  // a round trip
    pair.give(packets);
    pair.settle();
    pair.send(10);
    EXPECT_EQ(pair.a_leaving().size(), 1U);  // lost
    pair.pass(RcFlow::silence_uncontrolled - Duration::nanoseconds(1));
    EXPECT_TRUE(pair.a_leaving().empty());
    pair.pass(Duration::nanoseconds(1));
    pair.settle();
    EXPECT_EQ(pair.b.received().size(), 2U);
    EXPECT_EQ(pair.a.counters().silences, 2U);
    EXPECT_EQ(pair.a.counters().timeouts, 0U);
    EXPECT_EQ(pair.a.port.next_deadline(), never);
}

TEST(RcSilenceAlone, WithoutBothOnlyTheAnswerTimeoutSendsAgain) {
    RcPair pair(rc_settings({.timeout = std::uint8_t{24}}));
    pair.send(10);
    ASSERT_EQ(pair.a_leaving().size(), 1U);  // lost
    pair.pass(RcFlow::silence_unmeasured * 10);
    EXPECT_TRUE(pair.a_leaving().empty());
    pair.pass(pair.a.port.next_deadline() - pair.now);
    EXPECT_EQ(pair.a_leaving().size(), 1U);
    EXPECT_EQ(pair.a.counters().timeouts, 1U);
}

// RC-34: nothing is sent again to a near peer, which loses nothing.
TEST(RcSilenceAlone, ANearPeerIsNotAskedAgain) {
    RcPair pair(watching());
    pair.a.port.set_near(other_end, true);
    pair.receives(1);
    pair.send(10);
    ASSERT_EQ(pair.a_leaving().size(), 1U);
    pair.pass(RcFlow::silence_unmeasured * 10);
    EXPECT_TRUE(pair.a_leaving().empty());
}

/// Two ends that post work to each other over a path that loses packets in both directions, in a
/// random order of steps.
class Wild {
public:
    Wild(std::uint64_t seed, Congestion congestion, double loss, std::uint8_t timeout)
        : pair_({.timeout = timeout, .congestion = congestion}), dice_(seed), loss_(loss) {}

    /// Returns false if work is left and nothing can happen any more.
    bool run(std::size_t messages) {
        pair_.receives(8, 0x400);
        while (done_ < messages) {
            if (posted_ < messages && posted_ < done_ + 8 && dice_.chance(0.5)) post();
            if (!step()) return false;
            done_ += pair_.a.sent().size();
            for (const Completion& one : pair_.b.received()) {
                EXPECT_EQ(pair_.b.receive(one.id, pair_.b.piece(0x8000, 0x400)),
                          PostStatus::accepted);
            }
        }
        return true;
    }
    const QueuePairCounters& counters() const { return pair_.a.counters(); }

private:
    void post() {
        ++posted_;
        const std::size_t length = dice_.below(0x400);
        switch (dice_.below(4)) {
            case 0: pair_.post(Request::send, length); break;
            case 1: pair_.read(256 * (1 + dice_.below(20))); break;
            case 2: pair_.atomic(Request::fetch_add, 1); break;
            default: pair_.post(Request::write, 256 * dice_.below(40)); break;
        }
    }
    bool step() {
        const bool forth = dice_.chance(0.5);
        End& from = forth ? pair_.a : pair_.b;
        End& to = forth ? pair_.b : pair_.a;
        std::deque<PacketBytes>& path = forth ? there_ : back_;
        if (dice_.chance(0.5)) {
            if (auto packet = from.poll(pair_.now)) {
                if (!dice_.chance(loss_)) path.push_back(std::move(*packet));
                return true;
            }
        }
        if (!path.empty() && dice_.chance(0.7)) {
            pair_.now = pair_.now + Duration::microseconds(5);
            to.give(pair_.now, path.front());
            path.pop_front();
            return true;
        }
        return pass();
    }
    bool pass() {
        if (!there_.empty() || !back_.empty()) return true;
        for (End* end : {&pair_.a, &pair_.b}) {
            if (auto packet = end->poll(pair_.now)) {
                if (!dice_.chance(loss_)) {
                    (end == &pair_.a ? there_ : back_).push_back(std::move(*packet));
                }
                return true;
            }
        }
        if (posted_ == done_ + pair_.a.port.completion_queue(pair_.a.sends).size()) return true;
        const Instant next = earliest(pair_.a.port.next_deadline(), pair_.b.port.next_deadline());
        if (next == never) return false;
        pair_.pass(std::max(next - pair_.now, Duration()));
        return true;
    }

    RcPair pair_;
    Random dice_;
    double loss_;
    std::deque<PacketBytes> there_;
    std::deque<PacketBytes> back_;
    std::size_t posted_ = 0;
    std::size_t done_ = 0;
};

// Without an answer timeout: on a path that loses nothing, answers alone keep the flow going.
// RC-33
TEST(RcNeverStalls, WhateverTheOrderOfPacketsAndAnswers) {
    for (const Congestion congestion : {Congestion::by_path, Congestion::by_loss}) {
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            Wild wild(seed, congestion, 0, 0);
            ASSERT_TRUE(wild.run(60)) << "seed " << seed;
            EXPECT_EQ(wild.counters().resent, wild.counters().silences);
        }
    }
}

// RC-33
TEST(RcNeverStalls, WhateverIsLost) {
    for (const Congestion congestion : {Congestion::by_path, Congestion::by_loss}) {
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            Wild wild(seed, congestion, 0.02 * static_cast<double>(seed % 5), long_timeout);
            ASSERT_TRUE(wild.run(60)) << "seed " << seed;
        }
    }
}

}  // namespace
}  // namespace wireproof::proto::ib::test
