// INIT, FLUSH and the lives of a link (docs/rules/ue.md).
#include <gtest/gtest.h>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ue/pair_test_kit.hpp"

namespace wireproof::ue {
namespace {

using enum RxVerdict;
using State = Transmitter::State;

Config one_way() {
    Config config = test_config();
    config.restarts_both_ways = false;
    return config;
}

/// All frames of `a` are sent and lost until it flushes.
void starve(Pair& pair) {
    const std::uint64_t before = pair.a.stats().flushes;
    pair.leaving(pair.a);
    for (int i = 0; i < 10 && pair.a.stats().flushes == before; ++i) {
        pair.wait();
        if (pair.a.stats().flushes == before) pair.leaving(pair.a);
    }
    ASSERT_EQ(pair.a.stats().flushes, before + 1);
}

// LLR-37
TEST(UeStart, RepeatsInitUntilItsEchoComes) {
    Pair pair(test_config(), test_config());
    EXPECT_EQ(pair.a.link.transmitter().state(), State::init);
    EXPECT_FALSE(pair.a.link.has_room());
    EXPECT_EQ(pair.a.link.submit(message(8)), SubmitStatus::no_room);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(pair.leaving(pair.a), Names{"INIT 1048570"});
        pair.pass(Duration::microseconds(10));
    }
    const auto init = pair.frames(pair.a);
    EXPECT_EQ(pair.b.give(pair.now, init.at(0)), control);
    EXPECT_TRUE(pair.b.link.up());
    EXPECT_EQ(pair.b.ups, 1);
    const auto answer = pair.frames(pair.b);
    ASSERT_EQ(answer.size(), 2U);
    EXPECT_EQ(answer[0].name(), "INIT_ECHO 1048570");
    EXPECT_EQ(answer[1].name(), "INIT 1048570");
    EXPECT_EQ(pair.a.give(pair.now, answer[0]), control);
    EXPECT_EQ(pair.a.link.transmitter().state(), State::advance);
    EXPECT_FALSE(pair.a.link.up());  // the peer's INIT has not come yet
    EXPECT_FALSE(pair.a.link.has_room());
    EXPECT_EQ(pair.a.give(pair.now, answer[1]), control);
    EXPECT_TRUE(pair.a.link.has_room());
    EXPECT_EQ(pair.carry(pair.a, pair.b), Names{"INIT_ECHO 1048570"});
    EXPECT_EQ(pair.a.stats().tx_init_ctl_os, 4U);
    EXPECT_EQ(pair.a.ups, 1);
    EXPECT_EQ(pair.leaving(pair.a), Names{});
}

// LLR-16, LLR-37
TEST(UeStart, AnEchoWithAnotherNumberOrOtherDataOpensNothing) {
    Pair pair(test_config(), test_config());
    const std::uint32_t seq = test_config().first_number;
    EXPECT_EQ(pair.a.give(pair.now, made({CtlType::init_echo, seq, 2})), stale);
    EXPECT_EQ(pair.a.give(pair.now, made({CtlType::init_echo, seq - 1, 1})), stale);
    EXPECT_EQ(pair.a.stats().init_echo_mismatch, 2U);
    EXPECT_EQ(pair.a.link.transmitter().state(), State::init);
    EXPECT_EQ(pair.a.give(pair.now, made({CtlType::init_echo, seq, 1})), control);
    EXPECT_EQ(pair.a.link.transmitter().state(), State::advance);
    EXPECT_EQ(pair.a.give(pair.now, made({CtlType::init_echo, seq, 1})), refused);
}

// LLR-37: ACK and NACK of an earlier life say nothing.
TEST(UeStart, AnInitialisingSenderIgnoresAckAndNack) {
    Pair pair(test_config(), test_config());
    EXPECT_EQ(pair.a.give(pair.now, ack(1'048'569)), refused);
    EXPECT_EQ(pair.a.give(pair.now, nack(1'048'569)), refused);
    EXPECT_EQ(pair.a.stats().rx_ack_nack_seq_error, 0U);
    EXPECT_EQ(pair.a.stats().rx_ack_ctl_os, 1U);
}

// LLR-37
TEST(UeStart, AReceiverThatIsOffDropsEligibleFrames) {
    Pair pair;
    pair.submit(1);
    const auto sent = pair.frames(pair.a);
    End other(test_config());
    EXPECT_EQ(other.give(pair.now, sent.at(0)), refused);
    EXPECT_EQ(other.stats().rx_ok, 0U);
    EXPECT_EQ(other.link.receiver().state(), Receiver::State::off);
}

// LLR-15
TEST(UeStart, ALateCopyOfInitNamesTheSameNumberAndIsAnswered) {
    Pair pair(test_config(), test_config());
    const Frame init = pair.frames(pair.a).at(0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(pair.b.give(pair.now, init), control);
    EXPECT_EQ(pair.b.link.receiver().next_rx_seq(), 1'048'570U);
    EXPECT_EQ(pair.leaving(pair.b), (Names{"INIT_ECHO 1048570", "INIT 1048570"}));
    pair.b.give(pair.now, init);
    EXPECT_EQ(pair.leaving(pair.b), Names{"INIT_ECHO 1048570"});
    EXPECT_EQ(pair.b.ups, 1);
    EXPECT_EQ(pair.b.downs, 0);
}

// LLR-19: four times the distance of two CtlOS.
TEST(UeStart, InitIsRepeatedAtAMultipleOfTheSpacing) {
    Config config = test_config();
    config.byte_time = Duration::nanoseconds(1);
    config.init_every = {};
    End end(config);
    Instant now;
    EXPECT_TRUE(end.poll(now));
    EXPECT_FALSE(end.poll(now));
    EXPECT_EQ(end.link.next_deadline(), now + Duration::nanoseconds(1600));
    EXPECT_FALSE(end.poll(now + Duration::nanoseconds(1599)));
    EXPECT_TRUE(end.poll(now + Duration::nanoseconds(1600)));
}

// LLR-17, LLR-18: all sent frames are counted, waiting ones too, and the numbers go on.
TEST(UeFlush, AFlushCountsWhatIsLostAndBothEndsGoDownAndUp) {
    Config config = test_config();
    config.outstanding_seq_max = 5;
    Pair pair(config);
    pair.submit(7);
    starve(pair);
    EXPECT_EQ(pair.a.stats().tx_discard, 5U);
    EXPECT_EQ(pair.a.stats().waiting_discarded, 2U);
    EXPECT_EQ(pair.a.stats().resets, 1U);
    EXPECT_EQ(pair.a.downs, 1);
    EXPECT_FALSE(pair.a.link.up());
    EXPECT_EQ(pair.a.link.transmitter().tx_seq(), Config::numbers - 1);
    EXPECT_EQ(pair.a.link.transmitter().init_data(), 2U);  // LLR-16
    pair.settle();
    for (const End* end : {&pair.a, &pair.b}) {
        EXPECT_EQ(end->ups, 2);
        EXPECT_EQ(end->downs, 1);
        EXPECT_EQ(end->link.transmitter().init_data(), 2U);
    }
    EXPECT_EQ(pair.b.link.receiver().next_rx_seq(), Config::numbers - 1);
    pair.submitted = 0;
    pair.submit(3);
    pair.settle();
    pair.expect_all();
    EXPECT_EQ(pair.a.link.transmitter().tx_seq(), 2U);
}

// LLR-17: in the other direction, too, what was submitted before is lost.
TEST(UeFlush, AFlushEmptiesTheOtherDirectionOnlyIfBothRestart) {
    for (const bool both : {true, false}) {
        Config config = test_config();
        config.restarts_both_ways = both;
        Pair pair(config);
        pair.submit(1);
        starve(pair);
        EXPECT_EQ(pair.b.link.submit(message(8, 5)), SubmitStatus::accepted);
        EXPECT_EQ(pair.leaving(pair.b), Names{"FRAME 1048570"});
        pair.settle();
        EXPECT_EQ(pair.b.stats().tx_discard, both ? 1U : 0U);
        EXPECT_EQ(pair.b.downs, both ? 1 : 0);
        EXPECT_EQ(pair.a.downs, 1);
        EXPECT_EQ(pair.a.ups, 2);
        EXPECT_EQ(pair.a.got.size(), 0U);
        if (!both) pair.wait();
        pair.settle();
        EXPECT_EQ(pair.a.got.size(), both ? 0U : 1U);  // by the timer
    }
}

// LLR-14: the receiver runs when the INIT of the new life comes.
TEST(UeFlush, WithoutTheMendTheGapNeverCloses) {
    Config config = one_way();
    config.mends.init_in_every_state = false;
    Pair pair(config);
    pair.submit(3);
    starve(pair);
    pair.settle();
    EXPECT_EQ(pair.a.link.transmitter().state(), State::advance);  // the echo came
    pair.submit(1);
    EXPECT_EQ(pair.carry(pair.a, pair.b), Names{"FRAME 1048573"});
    EXPECT_EQ(pair.carry(pair.b, pair.a), Names{"NACK 1048569"});
    EXPECT_EQ(pair.a.stats().rx_ack_nack_seq_error, 1U);
    starve(pair);
    EXPECT_EQ(pair.b.got.size(), 0U);
}

// LLR-14: also in SEND_NACK and NACK_SENT, and nothing of the old life stays due.
TEST(UeFlush, InitCountsInEveryReceiverState) {
    for (const bool sent : {false, true}) {
        Pair pair(one_way());
        pair.submit(3);
        const auto frames = pair.frames(pair.a);
        pair.b.give(pair.now, frames[2]);
        EXPECT_EQ(sent ? pair.leaving(pair.b) : Names{"NACK 1048569"}, Names{"NACK 1048569"});
        starve(pair);
        pair.carry(pair.a, pair.b);
        EXPECT_EQ(pair.b.link.receiver().state(), Receiver::State::send_acks);
        EXPECT_EQ(pair.leaving(pair.b), Names{"INIT_ECHO 1048573"});
    }
}

// LLR-34
TEST(UeFlush, TheBehaviourDecidesAboutMessagesInInit) {
    for (const Behavior behavior : {Behavior::discard, Behavior::block, Behavior::best_effort}) {
        Config config = test_config();
        config.init_behavior = behavior;
        Pair pair(config, config);
        const SubmitStatus status = pair.a.link.submit(message(8, 3));
        EXPECT_EQ(pair.a.link.has_room(), behavior != Behavior::block);
        EXPECT_EQ(status,
                  behavior == Behavior::block ? SubmitStatus::no_room : SubmitStatus::accepted);
        EXPECT_EQ(pair.a.stats().offers_discarded, behavior == Behavior::discard ? 1U : 0U);
        const Names plain = behavior == Behavior::best_effort ? Names{"INIT 1048570", "PLAIN"}
                                                              : Names{"INIT 1048570"};
        EXPECT_EQ(pair.carry(pair.a, pair.b), plain);
        EXPECT_EQ(pair.b.got.size(), behavior == Behavior::best_effort ? 1U : 0U);
    }
}

// LLR-34
TEST(UeFlush, TheBehaviourDecidesAboutMessagesInFlushUntilManagementActs) {
    for (const Behavior behavior : {Behavior::discard, Behavior::block, Behavior::best_effort}) {
        Config config = test_config();
        config.flush_behavior = behavior;
        config.re_init_on_flush = false;
        Pair pair(config);
        pair.submit(1);
        starve(pair);
        EXPECT_EQ(pair.a.link.transmitter().state(), State::flush);
        EXPECT_EQ(pair.a.link.next_deadline(), never);
        EXPECT_EQ(pair.a.link.submit(message(8, 3)),
                  behavior == Behavior::block ? SubmitStatus::no_room : SubmitStatus::accepted);
        EXPECT_EQ(pair.leaving(pair.a),
                  behavior == Behavior::best_effort ? Names{"PLAIN"} : Names{});
        EXPECT_EQ(pair.a.stats().offers_discarded, behavior == Behavior::discard ? 1U : 0U);
        pair.a.link.re_init();
        pair.start();
        pair.a.link.re_init();  // changes nothing
        pair.start();
        EXPECT_EQ(pair.a.ups, 2);
    }
}

// LLR-21
TEST(UeFlush, FramesThatAreTooOldFlushAndAreNotReplayed) {
    Config config = test_config();
    config.replay_ct_max = Config::replay_ct_none;
    config.data_age_timer_max = Duration::microseconds(35);
    Pair pair(config);
    pair.submit(1);
    pair.leaving(pair.a);
    pair.pass(Duration::microseconds(4));
    pair.submit(1);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.give(pair.now, ack(1'048'570)), control);  // now the second is the oldest
    for (int i = 0; i < 3; ++i) {
        pair.wait();
        pair.leaving(pair.a);
    }
    EXPECT_EQ(pair.a.stats().flushes, 0U);
    EXPECT_EQ(pair.a.link.next_deadline(), Instant(Duration::microseconds(39)));
    pair.wait();
    EXPECT_EQ(pair.a.stats().flushes, 1U);
    EXPECT_EQ(pair.a.stats().tx_replay, 3U);
    EXPECT_EQ(pair.a.stats().tx_discard, 1U);
}

// LLR-21: in REPLAY, too.
TEST(UeFlush, AReplayThatCannotLeaveEndsByAge) {
    Config config = test_config();
    config.data_age_timer_max = Duration::microseconds(25);
    Pair pair(config);
    pair.submit(2);
    pair.leaving(pair.a);
    pair.wait();
    EXPECT_EQ(pair.a.link.transmitter().state(), State::replay);
    pair.wait();
    EXPECT_EQ(pair.a.stats().flushes, 1U);
    EXPECT_EQ(pair.a.stats().tx_replay, 0U);
}

// LLR-22
TEST(UeFlush, APcsDropFlushesByAgeFirstUnlessNothingIsOutstanding) {
    for (const bool outstanding : {true, false}) {
        Config config = test_config();
        config.data_age_timer_max = Duration::microseconds(20);
        config.pcs_lost_status_timer_max = Duration::microseconds(50);
        Pair pair(config);
        const Instant start = pair.now;
        if (outstanding) {
            pair.submit(1);
            pair.leaving(pair.a);
        }
        pair.a.link.on_pcs(pair.now, false);
        EXPECT_EQ(pair.a.give(pair.now, ack(1)), refused);
        while (pair.a.stats().flushes == 0) {
            pair.wait();
            EXPECT_EQ(pair.leaving(pair.a), Names{});
        }
        EXPECT_EQ(pair.now - start, Duration::microseconds(outstanding ? 20 : 50));
        pair.a.link.on_pcs(pair.now, true);
        pair.start();
        EXPECT_EQ(pair.a.ups, 2);
    }
}

// LLR-22
TEST(UeFlush, AShortPcsDropFlushesNothing) {
    Config config = test_config();
    config.pcs_lost_status_timer_max = Duration::microseconds(50);
    Pair pair(config);
    pair.a.link.on_pcs(pair.now, false);
    pair.pass(Duration::microseconds(49));
    pair.a.link.on_pcs(pair.now, false);  // no news
    pair.a.link.on_pcs(pair.now, true);
    pair.pass(Duration::microseconds(49));
    EXPECT_EQ(pair.a.stats().flushes, 0U);
    pair.submit(2);
    pair.settle();
    pair.expect_all();
}

// LLR-28
TEST(UeLife, EndsWithDifferentFirstDataMeetInTheNewerLife) {
    for (const auto& [of_a, of_b, wanted] :
         {std::array{5, 9, 9}, {65'530, 3, 3}, {1, 32'769, 32'769}, {7, 7, 7}}) {
        Config config = test_config();
        config.first_init_data = static_cast<std::uint16_t>(of_a);
        Config other = test_config();
        other.first_init_data = static_cast<std::uint16_t>(of_b);
        Pair pair(config, other);
        for (pair.settle(); !pair.a.link.has_room() || !pair.b.link.has_room(); pair.settle()) {
            ASSERT_LT(pair.now, Instant(Duration::milliseconds(1)));
            pair.wait();
        }
        EXPECT_EQ(pair.a.link.transmitter().init_data(), wanted);
        EXPECT_EQ(pair.b.link.transmitter().init_data(), wanted);
        EXPECT_EQ(pair.a.ups + pair.b.ups, 2);
        EXPECT_EQ(pair.a.downs + pair.b.downs, 0);
        pair.submit(2);
        pair.settle();
        pair.expect_all();
    }
}

// LLR-28
TEST(UeLife, APeerThatRestartsWithOlderDataEndsTheLife) {
    Config config = test_config();
    config.first_init_data = 100;
    Pair pair(config);
    pair.submit(2);
    pair.leaving(pair.a);
    for (const int data : {3, 40'000}) {
        Config fresh = test_config();
        fresh.first_init_data = static_cast<std::uint16_t>(data);
        pair.b = End(fresh);
        pair.pass(Duration::microseconds(5));
        for (pair.settle(); !pair.b.link.has_room(); pair.settle()) {
            ASSERT_LT(pair.now, Instant(Duration::milliseconds(1)));
            pair.wait();
        }
        EXPECT_EQ(pair.a.link.transmitter().outstanding(), 0U);
        EXPECT_TRUE(pair.a.link.has_room());
    }
    EXPECT_EQ(pair.a.downs, 2);
    EXPECT_EQ(pair.a.ups, 3);
    EXPECT_EQ(pair.a.stats().tx_discard, 2U);
    EXPECT_EQ(pair.b.downs, 0);
    pair.submitted = 0;
    pair.submit(2);
    pair.settle();
    pair.expect_all();
}

// LLR-28: a late copy of an older life neither counts nor is answered.
TEST(UeLife, ALateInitOfAnOlderLifeChangesNothing) {
    Pair pair;
    pair.submit(1);
    starve(pair);
    EXPECT_EQ(pair.a.give(pair.now, made({CtlType::init, 1'048'570, 1})), refused);
    EXPECT_FALSE(pair.a.link.up());
    EXPECT_EQ(pair.a.link.receiver().state(), Receiver::State::off);
    EXPECT_EQ(pair.leaving(pair.a), Names{"INIT 1048571"});
}

// LLR-28: flushes at both ends at once, over a line that loses half of everything, always end.
TEST(UeLife, BothEndsMeetAgainAfterAnyFlushes) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Random random(seed);
        Config config = test_config();
        config.init_data_values = seed % 2 == 0 ? 65'536 : 4;
        config.replay_ct_max = 0;
        Pair pair(config);
        int turns = 0;
        const auto turn = [&](double loss) {
            for (End* from : {&pair.a, &pair.b}) {
                End& to = from == &pair.a ? pair.b : pair.a;
                if (loss > 0 && random.chance(0.3)) (void)from->link.submit(message(8));
                while (const auto frame = from->poll(pair.now)) {
                    ASSERT_LT(++turns, 20'000);
                    if (!random.chance(loss)) to.give(pair.now, *frame);
                }
            }
            pair.pass(Duration::microseconds(static_cast<int>(1 + random.below(10))));
        };
        for (int i = 0; i < 100; ++i) turn(0.5);
        for (int i = 0; i < 20; ++i) turn(0);
        EXPECT_GT(pair.a.stats().flushes + pair.b.stats().flushes, 0U);
        ASSERT_TRUE(pair.a.link.has_room()) << seed;
        ASSERT_TRUE(pair.b.link.has_room()) << seed;
        EXPECT_EQ(pair.a.link.transmitter().init_data(), pair.b.link.transmitter().init_data());
        EXPECT_EQ(pair.a.ups, pair.a.downs + 1);
        pair.settle();
        pair.submitted = 0;
        pair.b.got.clear();
        pair.submit(3);
        pair.settle();
        pair.expect_all();
    }
}

// LLR-28: the wire says that the peer is gone, or another one.
TEST(UeLife, TheWireEndsALife) {
    Pair pair;
    pair.submit(3);
    const auto sent = pair.frames(pair.a);
    for (End* end : {&pair.a, &pair.b}) {
        end->link.on_wire_event(pair.now, WireEvent::peer_gone);
        end->draw();
        EXPECT_EQ(end->downs, 1);
        EXPECT_EQ(end->link.transmitter().state(), State::llr_off);
        EXPECT_EQ(end->link.transmitter().outstanding() + end->link.transmitter().waiting(), 0U);
        EXPECT_EQ(end->link.next_deadline(), never);
        EXPECT_EQ(pair.leaving(*end), Names{});
        EXPECT_EQ(end->link.submit(message(8)), SubmitStatus::no_room);
        EXPECT_EQ(end->give(pair.now, sent[1]), refused);
        EXPECT_EQ(end->give(pair.now, ack(1'048'570)), refused);
    }
    pair.a.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.b.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.start();
    EXPECT_EQ(pair.a.ups, 2);
    pair.submitted = 0;
    pair.submit(2);
    pair.settle();
    pair.expect_all();
    pair.a.link.on_wire_event(pair.now, WireEvent::peer_gone);
    pair.a.link.re_init();
    pair.settle();
    EXPECT_TRUE(pair.a.link.has_room());
}

// LLR-28: deliveries and answers that are due do not survive the life.
TEST(UeLife, NothingOfALifeSurvivesIt) {
    Pair pair;
    pair.submit(1);
    const Frame frame = pair.frames(pair.a).at(0);
    EXPECT_EQ(pair.b.link.on_frame(pair.now, RxFrame{.bytes = frame.bytes}), accepted);
    pair.b.link.on_wire_event(pair.now, WireEvent::new_life);
    pair.b.draw();
    EXPECT_TRUE(pair.b.got.empty());
    EXPECT_EQ(pair.leaving(pair.b), Names{"INIT 1048570"});
}

}  // namespace
}  // namespace wireproof::ue
