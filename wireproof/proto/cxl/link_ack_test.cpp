// Acknowledgements, the retry buffer, and the probes of a link on demand.
#include "wireproof/proto/cxl/pair_test_kit.hpp"

namespace wireproof::cxl {
namespace {

// CXL-7: a threshold alone would never return the last acknowledgements.
TEST(CxlAck, TheLastAcknowledgementsLeaveByTheTimer) {
    Pair pair;
    pair.submit(3);
    pair.carry(pair.a, pair.b);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    EXPECT_EQ(pair.b.link.receiver().num_ack(), 3U);
    EXPECT_EQ(pair.b.link.next_deadline(), pair.now + Duration::nanoseconds(100));
    pair.wait();
    EXPECT_EQ(pair.carry(pair.b, pair.a), Names{"LLCRD +3"});
    EXPECT_EQ(pair.a.link.sender().outstanding(), 0U);
    EXPECT_EQ(pair.b.link.receiver().num_ack(), 0U);
    EXPECT_EQ(pair.a.link.next_deadline(), never);
}

// CXL-7: the defect.
TEST(CxlAck, WithoutTheTimerTheLastAcknowledgementsNeverLeave) {
    Config config = test_config();
    config.mends.flushes_acks = false;
    Pair pair(config, false);
    pair.settle();
    for (int i = 0; i < 50; ++i) {
        pair.wait();
        pair.settle();
    }
    EXPECT_EQ(pair.a.link.sender().news_outstanding(), 1U) << "INIT.Param";
    EXPECT_EQ(pair.b.link.stats().acks, 0U);
}

// CXL-17, CXL-18
TEST(CxlAck, SixteenOwedAcknowledgementsLeaveAtOnce) {
    Pair pair;
    pair.submit(16);
    for (int i = 0; i < 15; ++i) pair.b.give(pair.now, *pair.a.poll(pair.now));
    EXPECT_EQ(pair.b.link.receiver().num_ack(), 15U);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    pair.b.give(pair.now, *pair.a.poll(pair.now));
    EXPECT_EQ(pair.carry(pair.b, pair.a), Names{"LLCRD +16"});
    EXPECT_EQ(pair.a.link.sender().outstanding(), 0U);
}

// CXL-18
TEST(CxlAck, AMessageCarriesEightAcknowledgements) {
    Pair pair;
    pair.submit(9);
    pair.carry(pair.a, pair.b);
    EXPECT_EQ(pair.b.link.receiver().num_ack(), 9U);
    EXPECT_EQ(pair.b.link.submit(message(1)), SubmitStatus::accepted);
    EXPECT_EQ(pair.b.link.submit(message(2)), SubmitStatus::accepted);
    EXPECT_EQ(pair.carry(pair.b, pair.a), (Names{"data +8", "data"}));
    EXPECT_EQ(pair.b.link.receiver().num_ack(), 1U);
    EXPECT_EQ(pair.a.link.sender().outstanding(), 1U);
    pair.wait();
    EXPECT_EQ(pair.carry(pair.b, pair.a), Names{"LLCRD +1"});
}

// A peer that asked for flits again cannot acknowledge them before they come: the replay would
// begin behind the oldest flit.
TEST(CxlAck, FlitsThatWereAskedForAgainCannotBeAcknowledged) {
    Pair pair;
    const std::uint32_t oldest = pair.a.link.sender().wr_ptr();
    pair.submit(3);
    EXPECT_EQ(pair.leaving(pair.a).size(), 3U);
    const FlitBytes request = RetryRequest{.eseq = oldest, .num_retry = 1}.encode();
    for (int i = 0; i < 5; ++i) pair.a.give(pair.now, frame_flit());
    EXPECT_EQ(pair.a.give(pair.now, request), RxVerdict::control);
    const std::uint64_t errors = pair.a.link.stats().protocol_errors;
    for (int i = 0; i < 30; ++i) pair.a.give(pair.now, llcrd_flit(3));
    EXPECT_EQ(pair.a.link.stats().protocol_errors, errors + 30);
    EXPECT_EQ(pair.a.link.sender().outstanding(), 3U);
    const Names left = pair.leaving(pair.a);
    EXPECT_EQ(std::count(left.begin(), left.end(), "data"), 3);
    pair.submit(20);
    pair.leaving(pair.a);
    EXPECT_LE(pair.a.link.sender().outstanding(), 23U);
}

// CXL-11: a replayed Ak takes nothing from NumAck. The flit was made when it first left.
TEST(CxlAck, AReplayedAkTakesNoAcknowledgement) {
    Pair pair;
    pair.submit(9);
    pair.carry(pair.a, pair.b);
    EXPECT_EQ(pair.b.link.submit(message(1)), SubmitStatus::accepted);
    const std::vector<Frame> sent = pair.frames(pair.b);
    pair.a.damage(pair.now);
    pair.submit(9);
    pair.carry(pair.a, pair.b);
    EXPECT_EQ(pair.b.link.receiver().num_ack(), 10U);
    const std::vector<Frame> answer = pair.frames(pair.b);
    ASSERT_EQ(answer.size(), 7U);
    EXPECT_EQ(answer[6].name(), "data +8");
    EXPECT_EQ(answer[6].bytes, sent[0].bytes);
    EXPECT_EQ(pair.b.link.receiver().num_ack(), 10U);
    pair.carry(answer, pair.a);
    EXPECT_EQ(pair.a.link.sender().outstanding(), 10U);
    pair.finish();
    EXPECT_EQ(pair.a.link.sender().news_outstanding(), 0U);
    EXPECT_EQ(pair.a.link.stats().protocol_errors, 0U);
}

// CXL-22: two ends do not acknowledge acknowledgements for ever. Messages take them along.
TEST(CxlAck, LlcrdsAloneAreNotAcknowledgedByTheTimer) {
    Pair pair;
    for (int i = 0; i < 100; ++i) {
        pair.submit(1);
        pair.finish();
        EXPECT_EQ(pair.a.link.sender().news_outstanding(), 0U);
        EXPECT_LE(pair.b.link.sender().outstanding(), 8U);
    }
    pair.expect_all();
    EXPECT_EQ(pair.b.link.stats().acks, 101U);
    EXPECT_EQ(pair.a.link.stats().acks, 1U) << "that of INIT.Param";
}

// CXL-5: of 24 entries, 22 can hold messages, and one is kept for acknowledgements.
TEST(CxlAck, TheRetryBufferIsNeverFilled) {
    Pair pair;
    ASSERT_EQ(pair.a.link.sender().outstanding(), 0U);
    pair.submit(30);
    EXPECT_EQ(pair.leaving(pair.a).size(), 22U);
    EXPECT_EQ(pair.a.link.sender().num_free_buf(), 2U);
    for (int i = 0; i < 16; ++i) pair.a.give(pair.now, message_flit({}, false));
    EXPECT_EQ(pair.leaving(pair.a), Names{"LLCRD +17"});
    EXPECT_EQ(pair.a.link.sender().num_free_buf(), 1U);
    for (int i = 0; i < 20; ++i) pair.a.give(pair.now, message_flit({}, false));
    EXPECT_EQ(pair.leaving(pair.a), Names{}) << "not even acknowledgements";
}

// CXL-5: with two free entries, a message may leave if it carries acknowledgements.
TEST(CxlAck, TheLastEntryButOneIsForAcknowledgements) {
    Pair pair;
    pair.submit(30);
    pair.leaving(pair.a);
    ASSERT_EQ(pair.a.link.sender().num_free_buf(), 2U);
    for (int i = 0; i < 6; ++i) pair.a.give(pair.now, message_flit({}, false));
    EXPECT_EQ(pair.leaving(pair.a), Names{});
    pair.a.give(pair.now, message_flit({}, false));
    EXPECT_EQ(pair.leaving(pair.a), Names{"data +8"});
    EXPECT_EQ(pair.a.link.sender().num_free_buf(), 1U);
}

// CXL-5: the defect. Eseq = WrPtr looks like an empty buffer, so nothing is replayed.
TEST(CxlAck, AFullRetryBufferLooksEmpty) {
    Config config = test_config();
    config.mends.keeps_an_entry = false;
    Pair pair(config);
    pair.submit(1);
    pair.finish();
    pair.a.give(pair.now, llcrd_flit(pair.a.link.sender().outstanding()));
    ASSERT_EQ(pair.a.link.sender().num_free_buf(), 24U);
    const std::uint32_t number = pair.a.link.sender().wr_ptr();
    pair.submit(24);
    EXPECT_EQ(pair.leaving(pair.a).size(), 24U);
    EXPECT_EQ(pair.a.link.sender().wr_ptr(), number);
    for (int i = 0; i < 5; ++i) pair.a.give(pair.now, frame_flit());
    pair.a.give(pair.now, RetryRequest{.eseq = number, .num_retry = 1}.encode());
    const std::vector<Frame> answer = pair.frames(pair.a);
    ASSERT_EQ(answer.size(), 6U) << "24 flits are lost";
    EXPECT_TRUE(RetryAck::decode(*read_flit({.bytes = answer[5].bytes})).empty);
}

// CXL-3: numbers pass the wrap at each position, with a retry each time.
TEST(CxlAck, NumbersWrapAtTheDepth) {
    for (std::uint32_t first = 0; first < 24; ++first) {
        Config config = test_config();
        config.first_number = first;
        Pair pair(config);
        for (int round = 0; round < 3; ++round) {
            pair.submit(9);
            std::vector<Frame> sent = pair.frames(pair.a);
            pair.b.give(pair.now, sent[0]);
            pair.b.damage(pair.now);
            pair.settle();
            pair.finish();
        }
        pair.expect_all();
        EXPECT_LT(pair.a.link.sender().wr_ptr(), 24U);
        EXPECT_EQ(pair.a.link.sender().wr_ptr(), pair.b.link.receiver().eseq());
        EXPECT_EQ(pair.a.link.stats().resent, 27U - 3);
        EXPECT_EQ(pair.b.link.stats().timeouts, 0U);
    }
}

TEST(CxlAck, MoreAcknowledgementsThanFlitsAreAnError) {
    Pair pair;
    pair.submit(2);
    pair.leaving(pair.a);
    ASSERT_EQ(pair.a.link.sender().outstanding(), 2U);
    EXPECT_EQ(pair.a.give(pair.now, llcrd_flit(3)), RxVerdict::control);
    EXPECT_EQ(pair.a.link.stats().protocol_errors, 1U);
    EXPECT_EQ(pair.a.link.sender().outstanding(), 2U);
    pair.a.give(pair.now, llcrd_flit(2));
    EXPECT_EQ(pair.a.link.sender().outstanding(), 0U);
}

TEST(CxlAck, AcknowledgementsOfWhatThePeerAskedForAreAnError) {
    Pair pair;
    pair.submit(4);
    pair.frames(pair.a);
    pair.b.damage(pair.now);
    pair.carry(pair.b, pair.a);
    for (int i = 0; i < 7; ++i) pair.a.poll(pair.now);
    ASSERT_TRUE(pair.a.link.sender().replaying());
    pair.a.give(pair.now, llcrd_flit(2));
    EXPECT_EQ(pair.a.link.stats().protocol_errors, 1U) << "only one has left again";
    pair.a.give(pair.now, llcrd_flit(1));
    EXPECT_EQ(pair.a.link.stats().protocol_errors, 1U);
    EXPECT_EQ(pair.a.link.sender().outstanding(), 3U);
}

// CXL-21: on demand, nothing follows the last flit, so the loss of it would not be seen.
TEST(CxlProbe, ALostLastFlitIsShownByAProbe) {
    Pair pair;
    pair.submit(1);
    pair.leaving(pair.a);
    EXPECT_EQ(pair.a.link.next_deadline(), pair.now + Duration::nanoseconds(400));
    pair.wait();
    EXPECT_EQ(pair.leaving(pair.a), Names{"RETRY.Idle"});
    EXPECT_EQ(pair.a.link.unanswered().times, 1U);
    EXPECT_EQ(pair.a.link.unanswered().since, pair.now);
    pair.wait();
    // The wire reports the two datagrams that are missing when the next one arrives.
    const std::vector<Frame> probe = pair.frames(pair.a);
    EXPECT_EQ(Pair::names_of(probe), Names{"RETRY.Idle"});
    pair.b.damage(pair.now);
    pair.b.damage(pair.now);
    pair.carry(probe, pair.b);
    pair.finish();
    pair.expect_all();
    EXPECT_EQ(pair.a.link.unanswered().since, never);
    EXPECT_EQ(pair.a.link.unanswered().times, 0U);
}

// CXL-21: what was lost is the acknowledgement. The answer to the probe shows it.
TEST(CxlProbe, ALostAcknowledgementIsShownByTheAnswerToAProbe) {
    Pair pair;
    pair.submit(2);
    pair.carry(pair.a, pair.b);
    pair.wait();
    EXPECT_EQ(pair.leaving(pair.b), Names{"LLCRD +2"});
    EXPECT_EQ(pair.b.link.next_deadline(), never) << "B waits for nothing";
    pair.wait();
    EXPECT_EQ(pair.carry(pair.a, pair.b), Names{"RETRY.Idle"});
    const std::vector<Frame> answer = pair.frames(pair.b);
    EXPECT_EQ(Pair::names_of(answer), Names{"RETRY.Frame"});
    pair.a.damage(pair.now);
    pair.carry(answer, pair.a);
    pair.finish();
    EXPECT_EQ(pair.a.link.sender().news_outstanding(), 0U);
    EXPECT_EQ(pair.b.link.stats().resent, 1U);
    EXPECT_EQ(pair.a.link.stats().replays, 0U);
}

// CXL-21: an answer is not answered, and an end that probes itself does not answer.
TEST(CxlProbe, ProbesDoNotEcho) {
    Pair pair;
    ASSERT_EQ(pair.b.link.sender().outstanding(), 1U) << "an LLCRD";
    EXPECT_EQ(pair.b.give(pair.now, idle_flit()), RxVerdict::control);
    EXPECT_EQ(pair.leaving(pair.b), Names{"RETRY.Frame"});
    EXPECT_EQ(pair.b.give(pair.now, frame_flit()), RxVerdict::control);
    EXPECT_EQ(pair.leaving(pair.b), Names{});
    EXPECT_EQ(pair.b.link.submit(message(8)), SubmitStatus::accepted);
    pair.leaving(pair.b);
    pair.b.give(pair.now, idle_flit());
    EXPECT_EQ(pair.leaving(pair.b), Names{}) << "it probes itself";
    ASSERT_EQ(pair.a.link.sender().outstanding(), 0U);
    pair.a.give(pair.now, idle_flit());
    EXPECT_EQ(pair.leaving(pair.a), Names{}) << "it lacks nothing";
}

// CXL-21: no probe while flits leave.
TEST(CxlProbe, EachFlitThatLeavesMakesTheProbeWait) {
    Pair pair;
    for (int i = 0; i < 10; ++i) {
        pair.submit(1);
        EXPECT_EQ(pair.leaving(pair.a), Names{"data"});
        EXPECT_EQ(pair.a.link.next_deadline(), pair.now + Duration::nanoseconds(400));
        pair.pass(Duration::nanoseconds(399));
    }
    EXPECT_EQ(pair.a.link.stats().idles, 1U) << "the one at the start";
}

// A path that loses each burst of more than a few flits: replays shrink until one gets through.
TEST(CxlProbe, AReplayOfAnEndThatBacksOffShrinksToOneFlitAndPauses) {
    Config config = test_config();
    config.backs_off = true;
    Pair pair(config);
    pair.submit(8);
    pair.leaving(pair.a);
    for (int i = 0; i < 2; ++i) {  // the probe and all replays are lost
        pair.b.damage(pair.now);
        pair.carry(pair.b, pair.a);
        pair.leaving(pair.a);
        while (pair.b.link.lrsm().state() != LocalRetry::State::llrreq) {
            pair.pass_to(pair.b.link.next_deadline());
            pair.leaving(pair.a);
        }
    }
    pair.carry(pair.b, pair.a);
    Names expected = sequence("RETRY.Ack 23");
    expected.push_back("data");
    EXPECT_EQ(pair.carry(pair.a, pair.b), expected);
    EXPECT_EQ(pair.b.got.size(), 1U);
    EXPECT_TRUE(pair.a.link.sender().replaying());
    EXPECT_TRUE(pair.a.link.quiet());
    EXPECT_NE(pair.a.link.next_deadline(), never) << "it goes on even without an answer";
    const std::uint64_t before = pair.a.link.stats().resent;
    for (int i = 0; i < 20 && pair.a.link.stats().resent == before; ++i) {
        pair.pass_to(pair.a.link.next_deadline());
        pair.carry(pair.a, pair.b);
    }
    EXPECT_EQ(pair.a.link.stats().resent, before + 2) << "twice as many after a pause";
    pair.finish();
    pair.expect_all();
}

TEST(CxlProbe, AnEndThatBacksOffDoublesItsWaits) {
    Config config = test_config();
    config.backs_off = true;
    Pair pair(config);
    pair.submit(1);
    pair.leaving(pair.a);
    Duration wait = Duration::nanoseconds(400);
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(pair.a.link.next_deadline() - pair.now, wait) << i;
        pair.wait();
        EXPECT_EQ(pair.leaving(pair.a), Names{"RETRY.Idle"});
        wait = wait * 2;
    }
    EXPECT_EQ(pair.a.link.unanswered().bytes, flit_size);
    for (int i = 0; i < 40; ++i) {
        pair.wait();
        pair.leaving(pair.a);
    }
    EXPECT_EQ(pair.a.link.next_deadline() - pair.now, Duration::nanoseconds(400) * 65536);
    EXPECT_TRUE(pair.a.link.unanswered().lasts(pair.now, Duration::milliseconds(50)));
}

// CXL-22: with a threshold of 1, each LLCRD would draw another one, and no message could leave.
TEST(CxlAck, AnLlcrdAloneForcesNoLlcrdWhateverTheThreshold) {
    Config config = test_config();
    config.ack_threshold = 1;
    End a(config);
    End b(config);
    const Instant now;
    std::uint64_t frames = 0;
    const auto exchange = [&] {
        for (bool moved = true; moved && frames < 1000;) {
            moved = false;
            for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
                while (const auto frame = from->poll(now)) {
                    to->give(now, *frame);
                    moved = true;
                    if (++frames == 1000) break;
                }
            }
        }
    };
    exchange();
    ASSERT_EQ(a.link.submit(message(8, 0)), SubmitStatus::accepted);
    exchange();
    EXPECT_LT(frames, 20U) << "they go on for ever";
    EXPECT_EQ(b.got.size(), 1U);
    EXPECT_EQ(a.link.sender().news_outstanding(), 0U);
}

}  // namespace
}  // namespace wireproof::cxl
