#include "wireproof/lab/link_retry/loss_trace.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {
namespace {

LossTrace trace_of(std::string_view text) {
    const auto trace = LossTrace::read(text, "t");
    EXPECT_TRUE(trace) << (trace ? "" : trace.error().message);
    return trace.value();
}

std::string played(const LossTrace& trace, int frames) {
    LossTracePlayer player(trace);
    std::string text;
    for (int i = 0; i < frames; ++i) text += player.next_is_bad() ? 'x' : '.';
    return text;
}

TEST(LossTrace, PlaysItsRunsAndBeginsAgain) {
    const LossTrace trace = trace_of("# cable\nok 3\nbad\n\n  bad 1 # still\r\nok\n");
    EXPECT_EQ(trace.frames(), 6U);
    EXPECT_EQ(trace.bad_frames(), 2U);
    EXPECT_EQ(trace.runs().size(), 3U);
    EXPECT_EQ(played(trace, 13), "...xx....xx..");
}

TEST(LossTrace, ADigestIsOfWhatItSays) {
    EXPECT_EQ(trace_of("ok 2\nok 3\nbad").digest(), trace_of("ok 5 # five\n\nbad 1\n").digest());
    EXPECT_NE(trace_of("ok 2\nbad 3").digest(), trace_of("ok 3\nbad 2").digest());
    EXPECT_NE(trace_of("ok 2\nbad 3").digest(), trace_of("bad 2\nok 3").digest());
}

TEST(LossTrace, WhatIsWrongHasItsPlace) {
    struct Row {
        const char* text;
        const char* complaint;
    };
    for (const Row& row :
         {Row{"ok 2\nlost 1\n", "t:2:1: a line is ok or bad"},
          Row{"ok 2\n  bad 0\n", "t:2:7: a count is"}, Row{"ok 1e3\n", "t:1:4: a count is"},
          Row{"ok -1\n", "t:1:4: a count is"},
          Row{"ok 99999999999999999999\n", "t:1:4: a count is"},
          Row{"ok 1 bad 2\n", "t:1:6: nothing may follow"},
          Row{"ok 1000000000000000\nok\n", "t:2:1: there are more"},
          Row{"ok 1000000000000000\nbad\n", "t:2:1: there are more"},
          Row{"bad 7\n", "t:1:1: no frame"}, Row{"", "t:1:1: no frame"}}) {
        const auto trace = LossTrace::read(row.text, "t");
        ASSERT_FALSE(trace) << row.text;
        EXPECT_EQ(trace.error().message.find(row.complaint), 0U) << trace.error().message;
    }
}

// Damages every hundredth frame and no other. Each failure costs N frames of the sender.
TEST(LossTrace, DamagesTheFramesOfAPointThatItNames) {
    RetrySettings settings;
    settings.loss_trace = std::make_shared<LossTrace>(trace_of("ok 99\nbad\n"));
    const auto point = run_retry_point(settings, {.packets = 9'700});
    ASSERT_TRUE(point);
    ASSERT_EQ(point->link.costs.by_notice, 2);
    EXPECT_EQ(static_cast<double>(point->totals[RetryCount::replays]), 98);
    EXPECT_EQ(static_cast<double>(point->totals[RetryCount::wasted]), 2 * 98);
    EXPECT_EQ(point->cannot_jump, "a recorded trace");
    EXPECT_FALSE(point->closed_etr());
    settings.protocol = RetryProtocol::ideal;
    const auto ideal = run_retry_point(settings, {.packets = 9'900});
    EXPECT_EQ(static_cast<double>(ideal->totals[RetryCount::wasted]), 99);
}

TEST(LossBursts, MustBeAbleToEnd) {
    EXPECT_TRUE(resolve({.bursts = {.begin = 0.1, .end = 0.5, .loss_in_burst = 1}}));
    EXPECT_FALSE(resolve({.bursts = {.begin = 0.1, .end = 0, .loss_in_burst = 1}}));
    EXPECT_FALSE(resolve({.bursts = {.begin = 1.5, .end = 0.5, .loss_in_burst = 1}}));
}

}  // namespace
}  // namespace wireproof::lab
