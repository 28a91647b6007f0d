// Which units leave: numbers, the window, and replays. Both directions start at 250, so positions 0
// to 4 have the numbers 250 to 254, and position 5 has number 0.
#include <gtest/gtest.h>

#include "wireproof/proto/hippi/pair_test_kit.hpp"

namespace wireproof::hippi::test {
namespace {

using enum RxVerdict;

// The rule re_arm: only repeats of the last unit are answered each time.
TEST(HippiLink, AnOlderRepeatRearmsNothing) {
    Config config = near_wrap();
    config.duplicates = Duplicates::re_arm;
    ReceiveSequence received(config);
    for (int i = 0; i < 3; ++i) received.take(Instant());
    EXPECT_EQ(received.take_rseq(), 253);
    received.drop(251, duplicate);
    EXPECT_EQ(received.take_rseq(), 253);
    received.drop(251, duplicate);
    EXPECT_FALSE(received.null_due());
    received.drop(252, duplicate);
    EXPECT_TRUE(received.null_due());
}

// HIPPI-1
TEST(HippiLink, Carries4096BytesIn128UnitsOf40) {
    Config config = near_wrap();
    config.w_max = 254;
    Pair pair = Pair::started(config);
    ASSERT_EQ(pair.a.engine.submit(message(1, 4096)), SubmitStatus::accepted);
    const Frames frames = pair.take(pair.a);
    std::size_t bytes = 0;
    for (const Frame& frame : frames) {
        bytes += frame.bytes.size();
        EXPECT_EQ(frame.control().tail, &frame == &frames.back());
    }
    EXPECT_EQ(frames.size(), 128);
    EXPECT_EQ(bytes, 5120);
    pair.give(pair.b, frames);
    ASSERT_EQ(pair.b.messages.size(), 1);
    EXPECT_EQ(pair.b.messages[0], message(1, 4096));
}

// HIPPI-4, HIPPI-12
TEST(HippiLink, NumbersUnitsUpTo254AndThenFromZero) {
    Pair pair = Pair::started();
    std::vector<unsigned> numbers;
    for (std::uint64_t i = 0; i < 600; ++i) {
        ASSERT_EQ(pair.a.submit(1, i), 1);
        const Frames frames = pair.take(pair.a);
        ASSERT_EQ(frames.size(), 1);
        EXPECT_EQ(frames[0].control().tseq, (250 + i) % 255);
        EXPECT_EQ(pair.give(pair.b, frames[0]), accepted);
        pair.wait_for_null();
        pair.carry(pair.b);
    }
    EXPECT_EQ(pair.b.messages.size(), 600);
    EXPECT_EQ(pair.a.engine.stats().resent, 0);
}

// HIPPI-5
TEST(HippiLink, NeverHasMoreThanItsWindowOutstanding) {
    for (const std::uint32_t window : {1U, 127U, 254U}) {
        Config config = near_wrap();
        config.w_max = window;
        config.message_max = 16'384;
        config.buffers[0] = 512;
        Pair pair = Pair::started(config);
        ASSERT_EQ(pair.a.engine.submit(message(1, 16'384)), SubmitStatus::accepted);
        const Frames frames = pair.take(pair.a);
        EXPECT_EQ(frames.size(), window);
        EXPECT_EQ(pair.taken(pair.a), "");
        pair.give(pair.b, frames[0]);
        pair.wait_for_null();
        EXPECT_EQ(pair.carry(pair.b), "null/1");
        EXPECT_EQ(pair.take(pair.a).size(), 1);
        EXPECT_EQ(pair.a.engine.outstanding(), window);
    }
}

// HIPPI-6, HIPPI-7
TEST(HippiLink, AnRseqFreesExactlyTheUnitsBeforeItAnd255None) {
    Pair pair = Pair::started();
    pair.a.submit(8);
    EXPECT_EQ(pair.taken(pair.a), "0..7");
    EXPECT_EQ(pair.give(pair.a, made(Type::null, no_number)), control);
    EXPECT_EQ(pair.a.engine.outstanding(), 8);
    EXPECT_EQ(pair.give(pair.a, made(Type::null, no_number, pair.number(6))), control);
    EXPECT_EQ(pair.a.engine.outstanding(), 2);
    EXPECT_EQ(pair.taken(pair.a), "");
    // Exactly units 6 and 7 remain.
    EXPECT_EQ(pair.give(pair.a, made(Type::null, no_number, pair.number(6))), control);
    EXPECT_EQ(pair.taken(pair.a), "6..7*");
    EXPECT_EQ(pair.give(pair.a, made(Type::null, no_number, pair.number(8))), control);
    EXPECT_EQ(pair.a.engine.outstanding(), 0);
}

// HIPPI-8, HIPPI-28
TEST(HippiLink, TheSameNumberAgainReplaysAllInOrderAcrossTheWrapBeforeAnythingNew) {
    Pair pair = Pair::started();
    pair.a.submit(8);
    pair.take(pair.a);
    pair.give(pair.a, made(Type::null, no_number, pair.number(3)));
    pair.give(pair.a, made(Type::null, no_number, pair.number(3)));
    pair.a.submit(2, 8);
    const Frames frames = pair.take(pair.a);
    EXPECT_EQ(pair.text(frames), "3..7* 8..9");
    std::vector<unsigned> numbers;
    for (const Frame& frame : frames) numbers.push_back(frame.control().tseq);
    EXPECT_EQ(numbers, (std::vector<unsigned>{253, 254, 0, 1, 2, 3, 4}));
    EXPECT_EQ(pair.a.engine.stats().replays, 1);
}

// HIPPI-8: an acknowledgement beyond the replay pointer moves the pointer. One that covers the rest
// ends the replay.
TEST(HippiLink, AReplayUnderWayJumpsOverWhatIsAcknowledgedMeanwhile) {
    Pair pair = Pair::started();
    pair.a.submit(8);
    pair.take(pair.a);
    pair.give(pair.a, made(Type::null, no_number, pair.number(0)));
    EXPECT_EQ(pair.taken(pair.a, 2), "0..1*");
    pair.give(pair.a, made(Type::null, no_number, pair.number(1)));
    EXPECT_EQ(pair.taken(pair.a, 1), "2*");
    pair.give(pair.a, made(Type::null, no_number, pair.number(5)));
    EXPECT_EQ(pair.taken(pair.a, 1), "5*");
    pair.give(pair.a, made(Type::null, no_number, pair.number(8)));
    pair.a.submit(1, 8);
    EXPECT_EQ(pair.taken(pair.a), "8");
}

// HIPPI-9
TEST(HippiLink, TheSameNumberAgainDoesNothingWithNoneOutstanding) {
    Pair pair = Pair::started();
    pair.a.submit(2);
    pair.take(pair.a);
    for (int i = 0; i < 3; ++i) pair.give(pair.a, made(Type::null, no_number, pair.number(2)));
    EXPECT_EQ(pair.taken(pair.a), "");
    EXPECT_EQ(pair.a.engine.stats().replays, 0);
    EXPECT_EQ(pair.a.engine.stats().protocol_errors, 0);
}

// HIPPI-10
TEST(HippiLink, TwoCopiesOfOneNoticeCauseOneReplay) {
    for (const bool guard : {true, false}) {
        Config config = near_wrap();
        config.guard = guard;
        Pair pair = Pair::started(config);
        pair.a.submit(3);
        const Frames frames = pair.take(pair.a);
        pair.damage(pair.b, frames[0]);  // the very first unit: both copies are of the notice
        const Frames notices = pair.take(pair.b);
        ASSERT_EQ(pair.text(notices), "null/0 null/0");
        pair.give(pair.a, notices[0]);
        EXPECT_EQ(pair.taken(pair.a), "0..2*");
        pair.wait(config.loop - Duration(1));
        pair.give(pair.a, notices[1]);
        EXPECT_EQ(pair.taken(pair.a), guard ? "" : "0..2*");
        EXPECT_EQ(pair.a.engine.stats().replays, guard ? 1 : 2);
        EXPECT_EQ(pair.a.engine.stats().notices_guarded, guard ? 1 : 0);
    }
}

// HIPPI-10: the guard lasts one loop, not for ever.
TEST(HippiLink, AfterOneLoopANoticeOfTheSameNumberCountsAgain) {
    Pair pair = Pair::started();
    pair.a.submit(3);
    pair.take(pair.a);
    const Frame notice = made(Type::null, no_number, pair.number(0));
    pair.give(pair.a, notice);
    pair.give(pair.a, notice);  // before the first unit of the replay has left
    EXPECT_EQ(pair.taken(pair.a, 1), "0*");
    pair.wait(pair.config.loop);
    pair.give(pair.a, notice);  // the replay still runs
    EXPECT_EQ(pair.taken(pair.a), "1..2*");
    pair.give(pair.a, notice);
    EXPECT_EQ(pair.taken(pair.a), "0..2*");
    EXPECT_EQ(pair.a.engine.stats().replays, 2);
    EXPECT_EQ(pair.a.engine.stats().notices_guarded, 2);
}

// HIPPI-11
TEST(HippiLink, AnAcknowledgementClearsRetriesAndTimer) {
    Pair pair = Pair::started();
    pair.a.submit(2);
    pair.take(pair.a);
    for (std::uint32_t i = 1; i <= 3; ++i) {
        pair.wait(pair.config.retry_after);
        EXPECT_EQ(pair.taken(pair.a), "0..1*");
        EXPECT_EQ(pair.a.engine.retries(), i);
    }
    pair.wait(pair.config.retry_after - Duration(1));
    pair.give(pair.a, made(Type::null, no_number, pair.number(1)));
    EXPECT_EQ(pair.a.engine.retries(), 0);
    EXPECT_EQ(pair.a.engine.next_deadline(), pair.now + pair.config.retry_after);
    pair.wait(pair.config.retry_after - Duration(1));
    EXPECT_EQ(pair.taken(pair.a), "");
    pair.give(pair.a, made(Type::null, no_number, pair.number(2)));
    EXPECT_EQ(pair.a.engine.next_deadline(), never);
}

TEST(HippiLink, TheTimerFallsWithTheMeasuredLoopIfItMay) {
    Config config = near_wrap();
    config.retry_floor = config.loop * 2;
    config.retry_after = config.loop * 100;
    Pair pair = Pair::started(config);
    pair.a.submit(1);
    pair.take(pair.a);
    EXPECT_EQ(pair.a.engine.next_deadline(), pair.now + config.loop * 100);
    pair.wait(config.loop);
    pair.give(pair.a, made(Type::null, no_number, pair.number(1)));
    pair.a.submit(1);
    pair.take(pair.a);
    EXPECT_EQ(pair.a.engine.next_deadline(), pair.now + config.loop * 3);
}

// On a shared path: the first replay resends all units, later ones only the first unit, each after
// a longer wait.
TEST(HippiLink, BacksOffIfItMayAndGoesOnWithTheRestOnceTheFirstIsAcknowledged) {
    Config config = near_wrap();
    config.backs_off = true;
    config.retries_max = Config::retries_unlimited;
    Pair pair = Pair::started(config);
    pair.a.submit(8);
    EXPECT_EQ(pair.taken(pair.a), "0..7");
    EXPECT_EQ(pair.a.engine.unanswered().since, never);
    const Instant first = pair.now + config.retry_after;
    for (int round = 0; round < 12; ++round) {
        const Duration wait = pair.a.engine.next_deadline() - pair.now;
        EXPECT_EQ(wait, config.retry_after * (1 << round)) << round;
        pair.wait(wait);
        EXPECT_EQ(pair.taken(pair.a), round == 0 ? "0..7*" : "0*") << round;
        // The receiver still lacks the unit. Another notice for it does not cause another replay.
        if (round == 0) continue;
        pair.a.submit(1);
        EXPECT_EQ(pair.give(pair.a, made(Type::null, no_number, pair.number(0))),
                  RxVerdict::control);
        EXPECT_EQ(pair.taken(pair.a), "");
    }
    EXPECT_EQ(pair.a.engine.unanswered().times, 12U);
    EXPECT_EQ(pair.a.engine.unanswered().since, first);
    EXPECT_EQ(pair.a.engine.unanswered().bytes, unit_size);

    pair.give(pair.a, made(Type::null, no_number, pair.number(1)));
    EXPECT_EQ(pair.a.engine.unanswered().since, never);
    // Each acknowledged unit permits one more unit than before. New units come after the rest of
    // the replay.
    EXPECT_EQ(pair.taken(pair.a), "1..2*");
    EXPECT_EQ(pair.a.engine.next_deadline(), pair.now + config.retry_after);
    pair.give(pair.a, made(Type::null, no_number, pair.number(3)));
    EXPECT_EQ(pair.taken(pair.a), "3..6*");
    pair.give(pair.a, made(Type::null, no_number, pair.number(7)));
    EXPECT_EQ(pair.taken(pair.a), "7* 8..14");
}

// If more units follow, the replay is held. With a single unit the replay is finished, and after
// the guard a notice could begin the next.
TEST(HippiLink, BacksOffFromTheNoticesOfALoneUnit) {
    Config config = near_wrap();
    config.backs_off = true;
    Pair pair = Pair::started(config);
    pair.a.submit(1);
    EXPECT_EQ(pair.taken(pair.a), "0");
    for (int round = 0; round < 2; ++round) {
        pair.wait(pair.a.engine.next_deadline() - pair.now);
        EXPECT_EQ(pair.taken(pair.a), "0*");
    }
    const Instant due = pair.a.engine.next_deadline();
    for (int i = 0; i < 3; ++i) {
        pair.wait(config.loop);
        EXPECT_EQ(pair.give(pair.a, made(Type::null, no_number, pair.number(0))), control);
        EXPECT_EQ(pair.taken(pair.a), "");
    }
    EXPECT_EQ(pair.a.engine.next_deadline(), due);
    EXPECT_EQ(pair.a.engine.stats().replays, 2);
}

TEST(HippiLink, ALinkThatTakesNothingUsesUpNoRetries) {
    Pair pair = Pair::started();
    pair.a.submit(1);
    pair.take(pair.a);
    for (int i = 0; i < 100; ++i) pair.wait(pair.config.retry_after);
    EXPECT_EQ(pair.a.engine.retries(), 1);
    EXPECT_EQ(pair.a.engine.stats().timeouts, 1);
    EXPECT_EQ(pair.taken(pair.a), "0*");
}

// HIPPI-20
TEST(HippiLink, WithThePositiveCopyLostTheSecondOnlyAcknowledgesAndTheTimerReplays) {
    Pair pair = Pair::started();
    pair.a.submit(3);
    const Frames frames = pair.take(pair.a);
    pair.give(pair.b, frames[0]);
    pair.wait_for_null();
    EXPECT_EQ(pair.taken(pair.b), "null/1");  // is lost
    pair.damage(pair.b, frames[1]);
    EXPECT_EQ(pair.carry(pair.b), "null/1");
    EXPECT_EQ(pair.a.engine.outstanding(), 2);
    EXPECT_EQ(pair.taken(pair.a), "");
    pair.wait(pair.config.retry_after);
    EXPECT_EQ(pair.carry(pair.a), "1..2*");
    EXPECT_EQ(pair.a.engine.stats().timeouts, 1);
    EXPECT_EQ(pair.b.messages.size(), 3);
}

// HIPPI-22
TEST(HippiLink, ADamagedHeadOfAReplayWaitsForTheTimer) {
    Pair pair = Pair::started();
    pair.a.submit(2);
    Frames frames = pair.take(pair.a);
    pair.give(pair.b, frames[0]);
    pair.damage(pair.b, frames[1]);
    EXPECT_EQ(pair.carry(pair.b), "null/1 null/1");
    frames = pair.take(pair.a);
    ASSERT_EQ(pair.text(frames), "1*");
    pair.damage(pair.b, frames[0]);
    EXPECT_EQ(pair.taken(pair.b), "");
    pair.wait(pair.config.retry_after);
    EXPECT_EQ(pair.carry(pair.a), "1*");
    EXPECT_EQ(pair.b.messages.size(), 2);
    EXPECT_EQ(pair.a.engine.stats().timeouts, 1);
}

// HIPPI-35
TEST(HippiLink, AUnitDamagedInsideAReplayIsRecoveredByNotice) {
    Pair pair = Pair::started();
    pair.a.submit(5);
    Frames frames = pair.take(pair.a);
    pair.give(pair.b, frames[0]);
    pair.damage(pair.b, frames[1]);
    EXPECT_EQ(pair.carry(pair.b), "null/1 null/1");
    frames = pair.take(pair.a);
    ASSERT_EQ(pair.text(frames), "1..4*");
    pair.give(pair.b, frames[0]);
    pair.give(pair.b, frames[1]);
    EXPECT_EQ(pair.damage(pair.b, frames[2]), corrupt);
    EXPECT_EQ(pair.give(pair.b, frames[3]), out_of_sequence);
    EXPECT_EQ(pair.carry(pair.b), "null/3 null/3");
    EXPECT_EQ(pair.carry(pair.a), "3..4*");
    EXPECT_EQ(pair.b.numbers(), (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(pair.a.engine.stats().timeouts, 0);
    EXPECT_EQ(pair.a.engine.stats().replays, 2);
}

// HIPPI-29
TEST(HippiLink, AResentUnitKeepsAllButRseqAndTheLinkCheck) {
    Pair pair = Pair::started();
    pair.b.submit(2);
    pair.carry(pair.b);
    pair.a.submit(2);
    const Frames first = pair.take(pair.a);
    ASSERT_EQ(pair.text(first), "0/2 1");
    EXPECT_EQ(first[0].control().credits, 2);
    pair.give(pair.a, made(Type::null, no_number, pair.number(0)));
    const Frames again = pair.take(pair.a);
    ASSERT_EQ(pair.text(again), "0..1*");
    Control expected = first[0].control();
    expected.rseq = no_number;
    expected.lcrc = again[0].control().lcrc;
    EXPECT_EQ(again[0].control(), expected);
    EXPECT_NE(again[0].control().lcrc, first[0].control().lcrc);
    EXPECT_NE(again[0].control().ecrc, 0);
    EXPECT_EQ(again[1].bytes, first[1].bytes);
}

}  // namespace
}  // namespace wireproof::hippi::test
