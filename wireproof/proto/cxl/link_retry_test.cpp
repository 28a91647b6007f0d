// Requests, answers and replays, flit by flit.
#include "wireproof/proto/cxl/pair_test_kit.hpp"

namespace wireproof::cxl {
namespace {

// After Pair::start, both ends have sent INIT.Param and one LLCRD: 21, 22. The next number is 23.
constexpr std::uint32_t next_number = 23;

// CXL-4, CXL-11, CXL-24
TEST(CxlRetry, ADamagedFlitIsAskedForAndComesAgainWithAllAfterIt) {
    Pair pair;
    pair.submit(4);
    const std::vector<Frame> sent = pair.frames(pair.a);
    ASSERT_EQ(Pair::names_of(sent), Names(4, "data"));
    EXPECT_EQ(pair.b.give(pair.now, sent[0]), RxVerdict::accepted);
    EXPECT_EQ(pair.b.damage(pair.now), RxVerdict::corrupt);
    EXPECT_EQ(pair.b.give(pair.now, sent[2]), RxVerdict::out_of_sequence);
    EXPECT_EQ(pair.b.give(pair.now, sent[3]), RxVerdict::out_of_sequence);
    EXPECT_EQ(pair.b.link.lrsm().state(), LocalRetry::State::llrreq);
    EXPECT_EQ(pair.carry(pair.b, pair.a), sequence("RETRY.Req 0"));
    EXPECT_EQ(pair.b.link.lrsm().state(), LocalRetry::State::local_idle);

    const std::vector<Frame> answer = pair.frames(pair.a);
    Names expected = sequence("RETRY.Ack 0");
    expected.insert(expected.end(), 3, "data");
    ASSERT_EQ(Pair::names_of(answer), expected);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(answer[6 + i].bytes, sent[1 + i].bytes);
        EXPECT_TRUE(answer[6 + i].resent);
        EXPECT_FALSE(sent[1 + i].resent);
    }
    pair.carry(answer, pair.b);
    pair.expect_all();
    EXPECT_TRUE(pair.b.link.lrsm().normal());
    EXPECT_EQ(pair.a.link.stats().replays, 1U);
    EXPECT_EQ(pair.a.link.stats().resent, 3U);
    EXPECT_EQ(pair.b.link.stats().naks, 1U);
    EXPECT_EQ(pair.b.link.stats().timeouts, 0U);
    pair.finish();
    EXPECT_EQ(pair.a.link.sender().news_outstanding(), 0U);
}

// CXL-24: an error on a flit that is not retryable asks, too, and the answer is empty.
TEST(CxlRetry, ADamagedIdleAsksAndTheAnswerIsEmpty) {
    Pair pair;
    pair.b.damage(pair.now);
    EXPECT_EQ(pair.carry(pair.b, pair.a), sequence("RETRY.Req 23"));
    EXPECT_EQ(pair.b.link.lrsm().num_retry(), 1U);
    const std::vector<Frame> answer = pair.frames(pair.a);
    EXPECT_EQ(Pair::names_of(answer), sequence("RETRY.Ack 23"));
    const auto ack = RetryAck::decode(*read_flit({.bytes = answer.back().bytes}));
    EXPECT_EQ(ack, (RetryAck{.empty = true,
                             .num_retry = 1,
                             .wr_ptr = next_number,
                             .eseq = next_number,
                             .num_free_buf = 24}));
    pair.carry(answer, pair.b);
    EXPECT_TRUE(pair.b.link.lrsm().normal());
    EXPECT_EQ(pair.b.link.lrsm().num_retry(), 0U);
    EXPECT_EQ(pair.a.link.stats().replays, 0U);
    EXPECT_EQ(pair.b.link.next_deadline(), never) << "TIMEOUT has stopped";
}

// CXL-15: what RETRY.Ack says when flits follow.
TEST(CxlRetry, TheAnswerNamesTheRequestAndTheBuffer) {
    Pair pair;
    pair.submit(3);
    pair.leaving(pair.a);
    pair.b.damage(pair.now);
    pair.carry(pair.b, pair.a);
    const std::vector<Frame> answer = pair.frames(pair.a);
    const auto ack = RetryAck::decode(*read_flit({.bytes = answer[5].bytes}));
    EXPECT_EQ(ack, (RetryAck{.num_retry = 1, .wr_ptr = 2, .eseq = 23, .num_free_buf = 21}));
}

// CXL-2
TEST(CxlRetry, ARequestOrAnAnswerWithoutItsFramesIsDropped) {
    Pair pair;
    const FlitBytes request = RetryRequest{.eseq = next_number, .num_retry = 1}.encode();
    const auto give_frames = [&](int count) {
        for (int i = 0; i < count; ++i) {
            EXPECT_EQ(pair.a.give(pair.now, frame_flit()), RxVerdict::control);
        }
    };
    EXPECT_EQ(pair.a.give(pair.now, request), RxVerdict::refused);
    give_frames(4);
    EXPECT_EQ(pair.a.give(pair.now, request), RxVerdict::refused);
    give_frames(5);
    EXPECT_EQ(pair.a.give(pair.now, idle_flit()), RxVerdict::control);
    EXPECT_EQ(pair.a.give(pair.now, request), RxVerdict::refused);
    give_frames(5);
    EXPECT_EQ(pair.a.give(pair.now, llcrd_flit(0)), RxVerdict::control);
    EXPECT_EQ(pair.a.give(pair.now, request), RxVerdict::refused);
    EXPECT_FALSE(pair.a.link.rrsm().must_answer());
    EXPECT_EQ(pair.a.link.stats().unframed, 4U);
    EXPECT_EQ(pair.a.give(pair.now, request), RxVerdict::refused);
    give_frames(7);
    EXPECT_EQ(pair.a.give(pair.now, request), RxVerdict::control);
    EXPECT_TRUE(pair.a.link.rrsm().must_answer());
    EXPECT_EQ(pair.a.give(pair.now, request), RxVerdict::refused) << "frames count once";
    EXPECT_EQ(pair.a.give(pair.now, RetryAck{}.encode()), RxVerdict::refused);
    give_frames(3);
    pair.a.damage(pair.now);
    give_frames(2);
    EXPECT_EQ(pair.a.give(pair.now, request), RxVerdict::refused) << "one of the row was damaged";
}

// CXL-2, CXL-9: fewer frames can be enough, but not none.
TEST(CxlRetry, FramesNeededSaysHowManyFramesMustArrive) {
    Config config = test_config();
    config.frames_needed = 2;
    Pair pair(config);
    pair.submit(1);
    const std::vector<Frame> sent = pair.frames(pair.a);
    pair.b.damage(pair.now);
    const std::vector<Frame> asked = pair.frames(pair.b);
    ASSERT_EQ(asked.size(), 6U);
    pair.a.damage(pair.now);
    pair.carry({asked.begin() + 4, asked.end()}, pair.a);
    EXPECT_FALSE(pair.a.link.rrsm().must_answer());
    pair.carry({asked.begin() + 3, asked.end()}, pair.a);
    EXPECT_TRUE(pair.a.link.rrsm().must_answer());
}

// CXL-9: one flit of the sequence is spoilt, each in its turn; TIMEOUT repairs.
TEST(CxlRetry, AnErrorInARequestIsRepairedByTimeout) {
    for (std::size_t spoilt = 0; spoilt < 6; ++spoilt) {
        Pair pair;
        pair.submit(2);
        pair.frames(pair.a);
        pair.b.damage(pair.now);
        const std::vector<Frame> asked = pair.frames(pair.b);
        for (std::size_t i = 0; i < asked.size(); ++i) {
            if (i == spoilt) {
                pair.a.damage(pair.now);
            } else {
                pair.a.give(pair.now, asked[i]);
            }
        }
        EXPECT_FALSE(pair.a.link.rrsm().must_answer()) << spoilt;
        pair.settle();  // A asks for what it missed, which was nothing
        EXPECT_EQ(pair.b.got.size(), 0U);
        EXPECT_EQ(pair.a.link.stats().naks, 1U);
        pair.finish();
        pair.expect_all();
        EXPECT_EQ(pair.b.link.stats().timeouts, 1U) << spoilt;
        EXPECT_EQ(pair.b.link.stats().naks, 2U);
        EXPECT_EQ(pair.a.link.stats().replays, 1U);
    }
}

// CXL-9
TEST(CxlRetry, AnErrorInAnAnswerIsRepairedByTimeout) {
    for (std::size_t spoilt = 0; spoilt < 6; ++spoilt) {
        Pair pair;
        pair.submit(2);
        pair.frames(pair.a);
        pair.b.damage(pair.now);
        pair.carry(pair.b, pair.a);
        const std::vector<Frame> answer = pair.frames(pair.a);
        ASSERT_EQ(answer.size(), 8U);
        for (std::size_t i = 0; i < answer.size(); ++i) {
            if (i == spoilt) {
                pair.b.damage(pair.now);
            } else {
                pair.b.give(pair.now, answer[i]);
            }
        }
        EXPECT_EQ(pair.b.link.lrsm().state(), LocalRetry::State::local_idle) << spoilt;
        EXPECT_EQ(pair.b.got.size(), 0U);
        pair.finish();
        pair.expect_all();
        EXPECT_EQ(pair.b.link.stats().timeouts, 1U) << spoilt;
        EXPECT_EQ(pair.a.link.stats().replays, 2U);
        EXPECT_EQ(pair.a.link.stats().resent, 4U);
    }
}

// CXL-25
TEST(CxlRetry, TimeoutIsOfSoManyFlitTimes) {
    Pair pair;
    pair.b.damage(pair.now);
    pair.leaving(pair.b);
    EXPECT_EQ(pair.b.link.next_deadline(), pair.now + Duration::nanoseconds(2000));
    pair.pass(Duration::nanoseconds(1999));
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    pair.pass(Duration::nanoseconds(1));
    EXPECT_EQ(pair.b.link.stats().timeouts, 1U);
    EXPECT_EQ(pair.leaving(pair.b), sequence("RETRY.Req 23"));
    EXPECT_EQ(pair.b.link.lrsm().num_retry(), 2U);
}

// CXL-6: TIMEOUT is shorter than the loop. The first answer is not the one that is waited for; its
// replay is dropped.
TEST(CxlRetry, TheAnswerToAnEarlierRequestIsIgnoredWithItsReplay) {
    Config config = test_config();
    config.probe_after = 2 * config.timeout;
    Pair pair(config);
    pair.submit(3);
    pair.frames(pair.a);
    pair.b.damage(pair.now);
    pair.carry(pair.b, pair.a);
    const std::vector<Frame> first = pair.frames(pair.a);
    pair.wait();
    pair.carry(pair.b, pair.a);
    const std::vector<Frame> second = pair.frames(pair.a);
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < 5; ++i) pair.b.give(pair.now, first[i]);
    EXPECT_EQ(pair.b.give(pair.now, first[5]), RxVerdict::stale);
    for (std::size_t i = 6; i < 9; ++i) {
        EXPECT_EQ(pair.b.give(pair.now, first[i]), RxVerdict::out_of_sequence);
    }
    pair.carry(second, pair.b);
    pair.expect_all();
    EXPECT_EQ(pair.b.link.stats().stale_acks, 1U);
}

// CXL-6: the defect. The replay that the second answer announces is counted, too.
TEST(CxlRetry, WithoutTheComparisonAReplayIsDeliveredTwice) {
    Config config = test_config();
    config.probe_after = 2 * config.timeout;
    config.mends.compares_num_retry = false;
    Pair pair(config);
    pair.submit(3);
    pair.frames(pair.a);
    pair.b.damage(pair.now);
    pair.carry(pair.b, pair.a);
    const std::vector<Frame> first = pair.frames(pair.a);
    pair.wait();
    pair.carry(pair.b, pair.a);
    const std::vector<Frame> second = pair.frames(pair.a);
    pair.carry(first, pair.b);
    pair.carry(second, pair.b);
    EXPECT_EQ(pair.b.got.size(), 6U);
    EXPECT_EQ(pair.b.link.stats().protocol_errors, 1U);
}

// CXL-6
TEST(CxlRetry, AnAnswerInNormalChangesNothing) {
    Pair pair;
    for (int i = 0; i < 5; ++i) pair.b.give(pair.now, frame_flit());
    const auto before = pair.b.fingerprint(pair.now);
    for (int i = 0; i < 5; ++i) pair.b.give(pair.now, frame_flit());
    EXPECT_EQ(pair.b.give(pair.now, RetryAck{}.encode()), RxVerdict::stale);
    EXPECT_EQ(pair.b.link.stats().protocol_errors, 1U);
    EXPECT_TRUE(pair.b.link.lrsm().normal());
    for (int i = 0; i < 5; ++i) pair.b.give(pair.now, frame_flit());
    EXPECT_EQ(pair.b.fingerprint(pair.now), before);
}

// CXL-4: both ends have asked; each answers although its own LRSM waits.
TEST(CxlRetry, BothEndsAskAtOnceAndAnswerEachOther) {
    Pair pair;
    pair.submit(2);
    EXPECT_EQ(pair.b.link.submit(message(5, 9)), SubmitStatus::accepted);
    pair.frames(pair.a);
    pair.frames(pair.b);
    pair.a.damage(pair.now);
    pair.b.damage(pair.now);
    const std::vector<Frame> a_asks = pair.frames(pair.a);
    const std::vector<Frame> b_asks = pair.frames(pair.b);
    pair.carry(a_asks, pair.b);
    pair.carry(b_asks, pair.a);
    pair.settle();
    pair.expect_all();
    ASSERT_EQ(pair.a.got.size(), 1U);
    EXPECT_EQ(pair.a.got[0], message(5, 9));
    EXPECT_EQ(pair.a.link.stats().timeouts + pair.b.link.stats().timeouts, 0U);
}

// CXL-17: a RETRY.Ack goes before a RETRY.Req, and both before the replay.
TEST(CxlRetry, TheAnswerGoesFirstThenTheRequestThenTheReplay) {
    Pair pair;
    pair.submit(2);
    pair.frames(pair.a);
    pair.b.damage(pair.now);
    pair.carry(pair.b, pair.a);
    pair.a.damage(pair.now);
    pair.submit(1);
    Names expected = sequence("RETRY.Ack 23");
    const Names request = sequence("RETRY.Req 23");
    expected.insert(expected.end(), request.begin(), request.end());
    expected.insert(expected.end(), 3, "data");
    const std::vector<Frame> all = pair.frames(pair.a);
    EXPECT_EQ(Pair::names_of(all), expected);
    EXPECT_TRUE(all[13].resent);
    EXPECT_FALSE(all[14].resent);
}

// CXL-17: nothing comes between the flits of a sequence that has begun.
TEST(CxlRetry, ASequenceThatHasBegunIsFinishedFirst) {
    Pair pair;
    pair.a.damage(pair.now);
    EXPECT_EQ(pair.a.poll(pair.now)->name(), "RETRY.Frame");
    pair.b.damage(pair.now);
    pair.carry(pair.b, pair.a);
    ASSERT_TRUE(pair.a.link.rrsm().must_answer());
    Names expected(4, "RETRY.Frame");
    expected.push_back("RETRY.Req 23");
    const Names answer = sequence("RETRY.Ack 23");
    expected.insert(expected.end(), answer.begin(), answer.end());
    EXPECT_EQ(pair.leaving(pair.a), expected);
}

// CXL-4: a second request in the middle of a replay begins it again.
TEST(CxlRetry, ARequestDuringAReplayBeginsItAgain) {
    Pair pair;
    pair.submit(6);
    pair.frames(pair.a);
    pair.b.damage(pair.now);
    pair.carry(pair.b, pair.a);
    for (int i = 0; i < 6 + 2; ++i) {
        const auto frame = pair.a.poll(pair.now);
        if (i < 6) pair.b.give(pair.now, *frame);
    }
    EXPECT_TRUE(pair.a.link.sender().replaying());
    pair.b.damage(pair.now);
    pair.carry(pair.b, pair.a);
    Names expected = sequence("RETRY.Ack 23");
    expected.insert(expected.end(), 6, "data");
    EXPECT_EQ(pair.carry(pair.a, pair.b), expected);
    pair.expect_all();
    EXPECT_EQ(pair.b.link.lrsm().num_retry(), 0U);
    EXPECT_EQ(pair.b.link.stats().naks, 2U);
}

TEST(CxlRetry, ARequestForWhatWasNeverSentOrIsFreedIsAnError) {
    Pair pair;
    pair.submit(2);
    pair.frames(pair.a);
    const auto before = pair.a.fingerprint(pair.now);
    for (const std::uint32_t eseq : {2U, 10U, 21U, 24U, 255U}) {
        for (int i = 0; i < 5; ++i) pair.a.give(pair.now, frame_flit());
        EXPECT_EQ(pair.a.give(pair.now, RetryRequest{.eseq = eseq, .num_retry = 1}.encode()),
                  RxVerdict::stale)
            << eseq;
    }
    EXPECT_EQ(pair.a.link.stats().protocol_errors, 5U);
    EXPECT_EQ(pair.a.fingerprint(pair.now), before);
}

// CXL-16: no RETRY flit is counted by the receiver or kept by the sender.
TEST(CxlRetry, RetryFlitsHaveNoNumber) {
    Pair pair;
    pair.b.damage(pair.now);
    pair.settle();
    EXPECT_EQ(pair.a.link.sender().wr_ptr(), next_number);
    EXPECT_EQ(pair.b.link.sender().wr_ptr(), next_number);
    EXPECT_EQ(pair.a.link.receiver().eseq(), next_number);
    EXPECT_EQ(pair.b.link.receiver().eseq(), next_number);
    EXPECT_TRUE(retryable(FlitKind::message) && retryable(FlitKind::llcrd) &&
                retryable(FlitKind::init));
    for (const FlitKind kind :
         {FlitKind::idle, FlitKind::request, FlitKind::ack, FlitKind::frame, FlitKind::unknown}) {
        EXPECT_FALSE(retryable(kind));
    }
}

TEST(CxlRetry, AControlFlitThatIsUnknownIsMalformed) {
    Pair pair;
    FlitBytes unknown = idle_flit();
    unknown[4] = std::byte{0x5F};
    EXPECT_EQ(pair.a.give(pair.now, unknown), RxVerdict::malformed);
    FlitBytes long_one = message_flit({}, false);
    long_one[1] = std::byte{200};
    const std::uint32_t eseq = pair.a.link.receiver().eseq();
    EXPECT_EQ(pair.a.give(pair.now, long_one), RxVerdict::malformed);
    EXPECT_EQ(pair.a.link.receiver().eseq(), (eseq + 1) % 24) << "its number is used up";
    EXPECT_TRUE(pair.a.got.empty());
}

// CXL-24: the line decides about damage, or the engine by the CRC.
TEST(CxlRetry, TheEngineChecksTheCrcOnlyIfTheLineHasNot) {
    Pair pair;
    pair.submit(1);
    std::optional<Frame> frame = pair.a.poll(pair.now, false);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->bytes[66], std::byte{0});
    Pair other = pair;
    EXPECT_EQ(pair.b.give(pair.now, *frame, Integrity::intact), RxVerdict::accepted);
    EXPECT_EQ(other.b.give(pair.now, *frame, Integrity::check), RxVerdict::corrupt);
    EXPECT_EQ(other.b.link.lrsm().state(), LocalRetry::State::llrreq);
}

// CXL-8: two retries with a good flit between them do not add up.
TEST(CxlRetry, AGoodFlitBetweenTwoRetriesZeroesNumRetry) {
    Pair pair;
    for (int i = 0; i < 40; ++i) {
        pair.submit(2);
        const std::vector<Frame> sent = pair.frames(pair.a);
        pair.b.damage(pair.now);
        pair.settle();
        EXPECT_EQ(pair.b.link.lrsm().num_retry(), 0U);
    }
    pair.finish();
    pair.expect_all();
    EXPECT_EQ(pair.b.link.stats().naks, 40U);
    EXPECT_EQ(pair.b.link.stats().resets, 0U);
}

}  // namespace
}  // namespace wireproof::cxl
