#include "wireproof/lab/link_retry/retry_ladder.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "wireproof/lab/ladder/ladder_render.hpp"

namespace wireproof::lab {
namespace {

Ladder ladder_of(const RetrySettings& settings, const RetryPlan& plan = {}) {
    const auto ladder = run_retry_ladder(settings, plan);
    EXPECT_TRUE(ladder.has_value()) << (ladder ? "" : ladder.error().message);
    return ladder.value_or(Ladder());
}

std::uint64_t wasted_within(const RetrySettings& settings, std::uint64_t packets) {
    const auto point = run_retry_point(settings, {.packets = packets}).value();
    return static_cast<std::uint64_t>(point.totals[RetryCount::wasted]);
}

std::string complaint(const RetrySettings& settings, const RetryPlan& plan = {}) {
    const auto ladder = run_retry_ladder(settings, plan);
    return ladder ? "" : ladder.error().message;
}

// The unit in the title of the ladder.
std::uint64_t failing_unit(const Ladder& ladder) {
    return std::stoull(ladder.title.substr(ladder.title.find(' ')));
}

TEST(RetryLadder, ShowsTheBadUnitWhatFollowedInVainAndWhatWasResent) {
    EXPECT_EQ(text_of(ladder_of({.bit_error = 1e-6})),
              R"(pcie-first-failure (pcie): Unit 18 is the first that costs a retry, at a bit
error rate of 1e-06 with 4096 bytes of payload and a loop of 2000. Times are
bytes on the line.

 A, bytes |                                     | B, bytes
        0 |---- TLP 4095 ---------------------->|     4124
     6124 |<---------------------- Ack 4095 ----|     4124
     4124 |---- TLP 0 ------------------------->|     8248
    10248 |<------------------------- Ack 0 ----|     8248
     8248 |---- TLP 1 ----------------x-------->|    12372 damaged
    14372 |<------------------------- Nak 0 ----|    12372
    12372 |---- TLP 2 ------------------------->|    16496 ! out of sequence
    16496 |==== TLP 1 =========================>|    20620
    22620 |<------------------------- Ack 1 ----|    20620
    20620 |==== TLP 2 =========================>|    24744
    26744 |<------------------------- Ack 2 ----|    24744
    24744 |---- TLP 3 ------------------------->|    28868

x lost or damaged   ! arrived and refused   ==== sent again
)");
}

TEST(RetryLadder, IsOfTheRunThatJumpsThereHoweverFarItIs) {
    const RetrySettings settings{.bit_error = 1e-12, .payload = 512};
    const Ladder ladder = ladder_of(settings);
    const std::uint64_t unit = failing_unit(ladder);
    EXPECT_GT(unit, 1'000'000U);
    EXPECT_EQ(wasted_within(settings, unit - 1), 0U);
    EXPECT_GT(wasted_within(settings, unit), 0U);
    const auto bad = std::find_if(ladder.frames.begin(), ladder.frames.end(),
                                  [](const LadderFrame& frame) { return frame.fate.damaged; });
    ASSERT_NE(bad, ladder.frames.end());
    EXPECT_EQ(bad->info.number, (4096 - 16 + unit - 1) % 4096);  // numbers begin 16 before the wrap
    for (const LadderFrame& frame : ladder.frames) {
        ASSERT_EQ(frame.arrivals.size(), 1U) << label_of(frame);
        const std::uint64_t flight = frame.from == Side::a ? 540 : 2'000;
        EXPECT_EQ(frame.arrivals[0].time - frame.time, Duration(static_cast<std::int64_t>(flight)));
    }
}

TEST(RetryLadder, LeavesTheMiddleOfALongLoopOutAndSaysHowMuch) {
    const RetrySettings settings{.protocol = RetryProtocol::hippi6400, .bit_error = 1e-5};
    const Ladder ladder = ladder_of(settings);
    EXPECT_LT(ladder.frames.size(), 30U);
    std::uint64_t shown = 0;
    for (const LadderFrame& frame : ladder.frames) {
        shown += frame.from == Side::a && (frame.fate.damaged || frame.refused()) ? 1U : 0U;
    }
    ASSERT_EQ(ladder.notes.size(), 1U);
    EXPECT_EQ(ladder.notes[0].text,
              "(" + std::to_string(wasted_within(settings, failing_unit(ladder)) - shown) +
                  " more data, refused)");
    EXPECT_EQ(label_of(ladder.frames[ladder.notes[0].before - 1]), "data 166");
}

TEST(RetryLadder, ShowsTheTimerThatHadToHelp) {
    RetrySettings settings{.bit_error = 1e-6};
    settings.notice_loss = 1;
    const Ladder ladder = ladder_of(settings);
    ASSERT_EQ(ladder.notes.size(), 1U);
    EXPECT_EQ(ladder.notes[0].text, "timer");
    EXPECT_EQ(ladder.notes[0].side, Side::a);
    const std::size_t next = ladder.notes[0].before;
    EXPECT_TRUE(ladder.frames[next].resent);
    EXPECT_FALSE(ladder.frames[next - 1].resent);
    EXPECT_NE(text_of(ladder).find("x---------------- Nak "), std::string::npos);
    EXPECT_NE(svg_of(ladder).find(">bytes<"), std::string::npos);
}

TEST(RetryLadder, IsOfALineWithoutBitErrorsToo) {
    RetrySettings recorded;
    recorded.loss_trace = std::make_shared<LossTrace>(LossTrace::read("ok 99\nbad\n", "t").value());
    const Ladder hundredth = ladder_of(recorded);
    EXPECT_EQ(hundredth.title,
              "Unit 100 is the first that costs a retry, with 4096 bytes of payload and a loop of "
              "2000. Times are bytes on the line.");
    EXPECT_NE(text_of(hundredth).find("==== TLP "), std::string::npos);
    RetrySettings bursts;
    bursts.bursts.begin = 0.001;
    EXPECT_NE(text_of(ladder_of(bursts)).find("==== TLP "), std::string::npos);
}

// The header of a flit has another place in each format.
TEST(RetryLadder, NamesFlitsOfEachFormat) {
    for (const std::string_view name : {"flit", "flit-selective", "flit-cxl", "ucie", "ucie-68"}) {
        RetrySettings settings;
        settings.protocol = *retry_protocol(name);
        settings.payload = 60;
        settings.bit_error = 1e-4;
        settings.fec = RetryFec::off;
        const Ladder ladder = ladder_of(settings);
        const auto count = [&](std::string_view kind) {
            return std::count_if(ladder.frames.begin(), ladder.frames.end(),
                                 [&](const LadderFrame& frame) { return frame.info.kind == kind; });
        };
        EXPECT_GT(count("payload"), 3) << name;
        EXPECT_GT(count("NOP"), 0) << name;
        EXPECT_EQ(count("IDLE") + count("frame"), 0) << name;
        EXPECT_GT(count(name == "flit-selective" ? "NOP+SNak" : "NOP+Nak"), 0) << name;
    }
}

TEST(RetryLadder, OfUcSaysThatAUnitIsLost) {
    const Ladder ladder = ladder_of({.protocol = RetryProtocol::uc, .bit_error = 1e-6});
    EXPECT_NE(ladder.title.find(" is the first that is lost, at a bit error rate of 1e-06 with"),
              std::string::npos)
        << ladder.title;
    EXPECT_TRUE(std::any_of(ladder.frames.begin(), ladder.frames.end(),
                            [](const LadderFrame& frame) { return frame.fate.damaged; }));
}

// Nulls are lost long before the unit fails. If they were shown, they would fill the ladder.
TEST(RetryLadder, BeginsWithTheUnitThatFailsWhateverWasLostOnTheWayBack) {
    RetrySettings settings{.protocol = RetryProtocol::hippi6400, .bit_error = 1e-6};
    settings.ack_every = 1;
    settings.notice_loss = 0.5;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const Ladder ladder = ladder_of(settings, {.packets = 500'000, .seed = seed});
        const auto is_bad = [](const LadderFrame& frame) {
            return frame.from == Side::a && frame.fate.damaged;
        };
        const auto bad = std::find_if(ladder.frames.begin(), ladder.frames.end(), is_bad);
        EXPECT_LT(bad - ladder.frames.begin(), 8) << seed;
        EXPECT_TRUE(std::any_of(ladder.frames.begin(), ladder.frames.end(),
                                [](const LadderFrame& frame) { return frame.resent; }))
            << seed;
    }
}

TEST(RetryLadder, EndsAfterAReadableNumberOfFrames) {
    const Ladder ladder = ladder_of({.bit_error = 1.2e-4});
    EXPECT_EQ(ladder.frames.size(), 60U);
    EXPECT_EQ(ladder.end, LadderEnd::frame_limit);
}

TEST(RetryLadder, DoesNotExistWithoutAFailure) {
    EXPECT_EQ(complaint({.protocol = RetryProtocol::ideal, .bit_error = 1e-6}),
              "ideal is a model and has no frames to draw");
    EXPECT_EQ(complaint({.protocol = RetryProtocol::go_back_n, .bit_error = 1e-6}),
              "go-back-n is a model and has no frames to draw");
    EXPECT_EQ(complaint({.bit_error = 0}),
              "pcie sends nothing in vain at this point: there is no failure to draw");
    EXPECT_EQ(complaint({.bit_error = 1e-6}, {.packets = 17}),
              "pcie sends nothing in vain at this point: there is no failure to draw");
    EXPECT_EQ(complaint({.bit_error = 1e-6}, {.packets = 18}), "");
    EXPECT_NE(complaint({.bit_error = 1e-6, .payload = 5'000}), "");
}

}  // namespace
}  // namespace wireproof::lab
