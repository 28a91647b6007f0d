// The built-in scenarios of docs/rules, frame by frame, and how the ladder connects the arrival of
// a frame with its departure.
#include <gtest/gtest.h>

#include "wireproof/lab/ladder/ladder_test_kit.hpp"

namespace wireproof::lab {
namespace {

// PCIE-24: S1
TEST(Ladder, PcieLostTlp) {
    const Ladder ladder = run_built_in("pcie-lost-tlp");
    EXPECT_EQ(order(ladder),
              "TLP 0, <Ack 0, TLP 1, TLP 2 lost, TLP 3 refused, <Nak 1, TLP 2*, TLP 3*, <Ack 3");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 2, 4}));
    EXPECT_EQ(ladder.frames[4].arrivals.at(0).verdict, RxVerdict::out_of_sequence);
}

// PCIE-24: S1w
TEST(Ladder, PcieWrap) {
    const Ladder ladder = run_built_in("pcie-wrap");
    EXPECT_EQ(order(ladder),
              "TLP 4094, TLP 4095, TLP 0, TLP 1 lost, TLP 2 refused, <Ack 0, <Nak 0, "
              "TLP 1*, TLP 2*, <Ack 2");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 2, 5}));
}

// PCIE-24: S2
TEST(Ladder, PcieLostAck) {
    const Ladder ladder = run_built_in("pcie-lost-ack");
    EXPECT_EQ(order(ladder), "TLP 0, <Ack 0, TLP 1, TLP 2, <Ack 2 lost, TLP 3, TLP 4, <Ack 4");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 0, 5}));
}

// PCIE-24: S3
TEST(Ladder, PcieLostNak) {
    const Ladder ladder = run_built_in("pcie-lost-nak");
    EXPECT_EQ(order(ladder),
              "TLP 0, <Ack 0, TLP 1, TLP 2 damaged, <Nak 1 lost, TLP 1* refused, TLP 2*, <Ack 1, "
              "<Ack 2");
    EXPECT_EQ(sum_of(ladder), (Sum{1, 2, 3}));
    EXPECT_EQ(ladder.frames[3].arrivals.at(0).verdict, RxVerdict::corrupt);
    EXPECT_EQ(ladder.frames[5].arrivals.at(0).verdict, RxVerdict::duplicate);
}

// PCIE-24: S4
TEST(Ladder, PcieLostLast) {
    const Ladder ladder = run_built_in("pcie-lost-last");
    EXPECT_EQ(order(ladder), "TLP 0, <Ack 0, TLP 1 lost, TLP 1*, <Ack 1");
    EXPECT_EQ(sum_of(ladder), (Sum{1, 1, 2}));
    ASSERT_EQ(ladder.notes.size(), 1U);
    EXPECT_EQ(ladder.notes[0].text, "timer");
    EXPECT_EQ(ladder.notes[0].time, ladder.frames[3].time);
}

// FLIT-8, FLIT-9
TEST(Ladder, FlitLostPayload) {
    const Ladder ladder = run_built_in("flit-lost-payload");
    EXPECT_EQ(order(ladder),
              "payload ack 1021, payload ack 1021 damaged, payload ack 1021 refused, "
              "payload ack 1021 refused, <NOP+Nak ack 1022, NOP ack 1021, <NOP+Nak ack 1022, "
              "payload 1023*, <NOP+Nak ack 1022, payload 1*, payload 2*, NOP ack 1021, "
              "<NOP ack 2");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 3, 4}));
}

// FLIT-13
TEST(Ladder, FlitSelective) {
    const Ladder ladder = run_built_in("flit-selective");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 1, 5}));
    EXPECT_EQ(ladder.frames[2].arrivals.at(0).verdict, RxVerdict::held);
}

// FLIT-7
TEST(Ladder, FlitLostNop) {
    const Ladder ladder = run_built_in("flit-lost-nop");
    EXPECT_EQ(order(ladder),
              "payload ack 1023, NOP ack 1023 damaged, <NOP ack 1, payload ack 1023, "
              "NOP ack 1023, <NOP ack 2");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 0, 2}));
}

// FLIT-14
TEST(Ladder, FlitConverted) {
    const Ladder ladder = run_built_in("flit-converted");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 6, 7}));
    const std::string sent = order(ladder);
    EXPECT_NE(sent.find("<NOP+SNak ack 1"), std::string::npos) << sent;
    EXPECT_NE(sent.find("<NOP+Nak ack 1"), std::string::npos) << sent;
}

// FLIT-17
TEST(Ladder, FlitLostAck) {
    const Ladder ladder = run_built_in("flit-lost-ack");
    EXPECT_EQ(order(ladder),
              "payload ack 1022, NOP ack 1022, <NOP ack 1023 damaged, payload 1023* refused, "
              "NOP ack 1022, <NOP ack 1023");
    EXPECT_EQ(sum_of(ladder), (Sum{1, 1, 1}));
}

// UCIE-2, FLIT-10
TEST(Ladder, FlitUcieFalseNak) {
    const Ladder ladder = run_built_in("flit-ucie-false-nak");
    EXPECT_EQ(order(ladder),
              "payload ack 255, <NOP ack 1 damaged, NOP+Nak ack 255, <NOP 255, <NOP ack 1, "
              "NOP ack 255");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 0, 1}));
}

// CXL-13
TEST(Ladder, FlitHalfUsed) {
    const Ladder ladder = run_built_in("flit-half-used");
    EXPECT_EQ(ladder.frames.at(0).arrivals.at(0).delivered, std::vector<std::string>{"message 1"});
    EXPECT_EQ(order(ladder),
              "payload ack 1022 damaged, payload ack 1022 refused, NOP ack 1022, "
              "<NOP+Nak ack 1022, <NOP+Nak ack 1022, payload 1023*, <NOP+Nak ack 1022, payload 1*, "
              "<NOP ack 1023, NOP 1, <NOP ack 1, <NOP ack 1");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 2, 2}));
}

// HIPPI-19: H1
TEST(Ladder, HippiLostData) {
    const Ladder ladder = run_built_in("hippi-lost-data");
    EXPECT_EQ(order(ladder),
              "data 0, <null 1, data 1, data 2 lost, data 3 refused, <null 2, <null 2, "
              "data 2*, data 3*, <null 4");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 2, 4}));
}

// HIPPI-19: H2
TEST(Ladder, HippiLostAckNull) {
    const Ladder ladder = run_built_in("hippi-lost-ack-null");
    EXPECT_EQ(order(ladder), "data 0, data 1, <null 2 lost, data 2, <null 3");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 0, 3}));
}

// HIPPI-19: H3
TEST(Ladder, HippiLostAckData) {
    const Ladder ladder = run_built_in("hippi-lost-ack-data");
    EXPECT_EQ(order(ladder),
              "data 0, <null 1, data 1, data 2, data 3, <data 0 ack 3 lost, <data 1 refused, "
              "<data 2 ack 4 refused, null 0, null 0, <data 0*, <data 1*, <data 2*, null 3, "
              "data 1* refused, data 2* refused, data 3* refused, "
              "<status null 4, <status null 4, <status null 4");
    EXPECT_EQ(sum_of(ladder), (Sum{1, 6, 7}));
    ASSERT_EQ(ladder.notes.size(), 1U);
    EXPECT_EQ(ladder.notes[0].side, Side::a) << "the forward timer, and no other";
}

// HIPPI-19: H4
TEST(Ladder, HippiLostNotice) {
    const Ladder ladder = run_built_in("hippi-lost-notice");
    EXPECT_EQ(order(ladder),
              "data 0, data 1 lost, data 2 refused, <null 1 lost, <null 1, data 1*, data 2*, "
              "<null 3");
    EXPECT_EQ(sum_of(ladder), (Sum{1, 2, 3}));
}

// HIPPI-19: H5
TEST(Ladder, HippiLostLast) {
    const Ladder ladder = run_built_in("hippi-lost-last");
    EXPECT_EQ(order(ladder), "data 0, <null 1, data 1 lost, data 1*, <null 2");
    EXPECT_EQ(sum_of(ladder), (Sum{1, 1, 2}));
}

// AM-11
TEST(Ladder, AmLostRequest) {
    const Ladder ladder = run_built_in("am-lost-request");
    EXPECT_EQ(order(ladder),
              "REQ 65535 ack 65535, REQ 0 ack 65535 lost, REQ 1 ack 65535 refused, "
              "<REP 65535 ack 65535, <NACK 0 ack 0, REQ 0 ack 65535*, REQ 1 ack 65535*, "
              "<REP 0 ack 65535, <REP 1 ack 65535, <KEEPALIVE ch 1 ack 65535, NACK 2 ch 1 ack 2");
    EXPECT_EQ(sum_of(ladder), (Sum{1, 2, 6}));
}

TEST(Ladder, AmLostReply) {
    EXPECT_EQ(order(run_built_in("am-lost-reply")),
              "REQ 7 ack 7, <REP 7 ack 7 lost, KEEPALIVE ack 7, <NACK 8 ack 8, "
              "<KEEPALIVE ch 1 ack 7, NACK 7 ch 1 ack 7, <REP 7 ack 7*, "
              "<KEEPALIVE ch 1 ack 7, NACK 8 ch 1 ack 8");
}

TEST(Ladder, AmKeepalive) {
    EXPECT_EQ(order(run_built_in("am-keepalive")),
              "REQ 7 ack 7 lost, KEEPALIVE ack 7, <NACK 7 ack 7, REQ 7 ack 7*, "
              "KEEPALIVE ack 7, <NACK 8 ack 8");
}

TEST(Ladder, AmLostBulkChunk) {
    const Ladder ladder = run_built_in("am-lost-bulk-chunk");
    EXPECT_EQ(sum_of(ladder), (Sum{0, 8, 1}));
    // Of the first chunk that is resent, the receiver takes only the packet that fills the gap.
    std::vector<RxVerdict> again;
    for (const LadderFrame& frame : ladder.frames) {
        if (frame.resent && frame.info.number == 101) again.push_back(frame.arrivals[0].verdict);
    }
    using enum RxVerdict;
    EXPECT_EQ(again, (std::vector{duplicate, accepted, duplicate, duplicate}));
}

TEST(Ladder, EveryBuiltInScenarioIsWhatItsFileIsCalledAndDeliversAll) {
    EXPECT_GE(built_in_scenarios().size(), 20U);
    for (const BuiltIn& one : built_in_scenarios()) {
        const Ladder ladder = run_built_in(one.name);
        EXPECT_NE(ladder.title, "") << one.name;
        const auto& [a, b] = *ladder.counts;
        // A flush loses what was sent before it.
        const std::uint64_t lost = one.name == "ue-flush" ? 2 : 0;
        EXPECT_GE(b.delivered + lost, a.asked) << one.name;
        EXPECT_GE(a.delivered, b.asked) << one.name;
    }
}

constexpr std::string_view three_tlps = R"(
protocol = "pcie"
[[traffic]]
from = "A"
messages = 3
)";

TEST(Ladder, AFrameDeliveredTwiceHasAVerdictForEach) {
    const Ladder ladder = run_text(std::string(three_tlps) + R"(
[[fault]]
direction = "A->B"
kind = "TLP"
number = 1
fate = "duplicated"
)");
    const auto& arrivals = ladder.frames[1].arrivals;
    ASSERT_EQ(arrivals.size(), 2U);
    EXPECT_EQ(arrivals[0].verdict, RxVerdict::accepted);
    EXPECT_EQ(arrivals[1].verdict, RxVerdict::duplicate);
    EXPECT_LT(arrivals[0].time, arrivals[1].time);
    EXPECT_EQ(ladder.frames[1].fate_word(), "duplicated");
    EXPECT_EQ(ladder.frames[2].arrivals.at(0).delivered, std::vector<std::string>{"message 3"});
}

TEST(Ladder, AFrameHeldBackKeepsItsOwnVerdictAndArrivesBehindTheNext) {
    const Ladder ladder = run_text(std::string(three_tlps) + R"(
[[fault]]
direction = "A->B"
kind = "TLP"
number = 0
fate = "held"
)");
    ASSERT_GE(ladder.frames.size(), 3U);
    const LadderArrival& held = ladder.frames[0].arrivals.at(0);
    const LadderArrival& next = ladder.frames[1].arrivals.at(0);
    const LadderArrival& last = ladder.frames[2].arrivals.at(0);
    EXPECT_EQ(next.verdict, RxVerdict::out_of_sequence);
    EXPECT_EQ(held.verdict, RxVerdict::accepted);
    EXPECT_EQ(last.verdict, RxVerdict::out_of_sequence);
    EXPECT_EQ(held.delivered, std::vector<std::string>{"message 1"});
    EXPECT_EQ(held.time, next.time);
    EXPECT_LT(held.time, last.time);
    EXPECT_EQ(sum_of(ladder).delivered, 3U);
}

// Credits are renewed so often that an UpdateFC is always in flight.
TEST(Ladder, WhatIsInFlightAsTheLadderBeginsIsNotOnIt) {
    const Ladder ladder = run_text(std::string(three_tlps) + R"(
[engine]
header_credits = 3
update_every_ns = 70
)");
    ASSERT_EQ(sum_of(ladder).delivered, 3U);
    for (const LadderFrame& frame : ladder.frames) {
        if (frame.arrivals.empty()) continue;
        EXPECT_EQ(frame.arrivals.size(), 1U);
        const auto leaving = static_cast<std::int64_t>(frame.bytes.size());  // a byte takes 1 ns
        EXPECT_EQ(frame.arrivals[0].time - frame.time, Duration::nanoseconds(200 + leaving));
    }
}

TEST(Ladder, TheStartIsDrawnAndMeetsFaultsOnlyIfAskedFor) {
    const std::string lost_first = std::string(three_tlps) + R"(
[[fault]]
direction = "A->B"
nth = 1
fate = "lost"
)";
    EXPECT_EQ(order(run_text(lost_first)).substr(0, 24), "TLP 0 lost, TLP 1 refuse");
    const std::string shown = order(run_text("show_start = true\n" + lost_first));
    EXPECT_EQ(shown.substr(0, 39), "InitFC1-P lost, <InitFC1-P, InitFC1-NP,");
    EXPECT_NE(shown.find("TLP 2"), std::string::npos);
}

TEST(Ladder, ASessionOfSpAmIsAgreedOnBeforeTheLadderOrOnIt) {
    const std::string text = R"(
protocol = "sp-am"
[engine]
hello = true
first_number = 7
[[traffic]]
from = "B"
)";
    EXPECT_EQ(order(run_text(text)), "<REQ 7 ack 7, <KEEPALIVE ack 7, NACK 8 ack 8");
    EXPECT_EQ(order(run_text("show_start = true\n" + text)),
              "<HELLO, HELLO, <HELLO, <REQ 7 ack 7, <KEEPALIVE ack 7, NACK 8 ack 8");
}

TEST(Ladder, EndsThatCannotComeUpAreReported) {
    const auto scenario = read_scenario(R"(
protocol = "sp-am"
[engine]
hello = true
keepalive_after_ns = 1000
keepalive_max_ns = 1000
keepalive_limit = 1
[[traffic]]
from = "A"
)",
                                        "test.toml");
    ASSERT_TRUE(scenario.has_value());
    const auto ladder = run_scenario(*scenario);
    ASSERT_FALSE(ladder.has_value());
    EXPECT_TRUE(ladder.error().message.starts_with("test: the ends do not come up"));
}

TEST(Ladder, EndsThoughCreditsAreRenewedForEver) {
    const Ladder ladder = run_text(R"(
protocol = "pcie"
[engine]
header_credits = 1
payload_max = 64
data_credits = 4
[[traffic]]
from = "A"
messages = 2
)");
    EXPECT_EQ(ladder.end, LadderEnd::idle);
    EXPECT_EQ(order(ladder), "TLP 0, <UpdateFC-P, TLP 1, <UpdateFC-P, <Ack 1");
}

TEST(Ladder, ABurstIsARangeOfFrames) {
    const Ladder ladder = run_text(R"(
protocol = "hippi6400"
[[traffic]]
from = "A"
messages = 5
[[fault]]
direction = "A->B"
kind = "data"
nth = [2, 4]
fate = "lost"
)");
    EXPECT_EQ(order(ladder).substr(0, 53), "data 0, data 1 lost, data 2 lost, data 3 lost, data 4");
}

TEST(Ladder, EndsAtTheTimeOrNumberOfFramesAskedFor) {
    const std::string hopeless = std::string(three_tlps) + R"(
[[fault]]
direction = "A->B"
kind = "TLP"
nth = "all"
fate = "lost"
[stop]
)";
    const Ladder few = run_text(hopeless + "frames = 20\n");
    EXPECT_EQ(few.end, LadderEnd::frame_limit);
    EXPECT_EQ(few.frames.size(), 20U);
    const Ladder early = run_text(hopeless + "until_ns = 4000\n");
    EXPECT_EQ(early.end, LadderEnd::time_limit);
    EXPECT_EQ(early.ended, Duration::nanoseconds(4000));
    EXPECT_EQ(order(early),
              "TLP 0 lost, TLP 1 lost, TLP 2 lost, TLP 0* lost, TLP 1* lost, TLP 2* lost");
}

// The rules of each protocol keep everything in order. This test checks that the ladder follows all
// events on the cables, and is the same each time.
TEST(Ladder, FollowsRandomFaultsAndIsAFunctionOfItsSeed) {
    const std::string noise = R"(
[[random]]
loss = 0.1
ber = 1e-5
)";
    for (const std::string_view protocol : protocol_names) {
        for (int seed = 1; seed <= 20; ++seed) {
            std::string text =
                "seed = " + std::to_string(seed) + "\nprotocol = \"" + std::string(protocol) + R"("
[[traffic]]
from = "A"
messages = 12
[[traffic]]
from = "B"
messages = 12
at_ns = 700
)" + noise;
            // Links guarantee nothing on a wire that repeats and reorders.
            if (protocol == "sp-am") text += "duplicate = 0.1\nreorder = 0.2\n";
            // A request and an answer of CXL have six frames each, and all must arrive.
            text += "[stop]\nframes = 10_000\n";
            const Ladder ladder = run_text(text);
            ASSERT_EQ(ladder.end, LadderEnd::idle) << protocol << " " << seed;
            EXPECT_EQ(ladder.wrong, "") << protocol << " " << seed;
            EXPECT_EQ(sum_of(ladder).delivered, 24U) << protocol << " " << seed;
            for (const LadderFrame& frame : ladder.frames) {
                const std::size_t wanted = frame.fate.lost ? 0 : frame.fate.duplicated ? 2 : 1;
                ASSERT_EQ(frame.arrivals.size(), wanted) << protocol << " " << seed;
            }
            EXPECT_EQ(order(ladder), order(run_text(text)));
        }
    }
}

TEST(Ladder, BurstsLoseMoreThanOneInARow) {
    const Ladder ladder = run_text(R"(
seed = 3
protocol = "pcie"
[[traffic]]
from = "A"
messages = 200
[[random]]
direction = "A->B"
burst_begin = 0.02
burst_end = 0.2
)");
    std::size_t longest = 0;
    std::size_t run = 0;
    for (const LadderFrame& frame : ladder.frames) {
        if (frame.from == Side::b) {
            EXPECT_FALSE(frame.fate.lost);
            continue;
        }
        run = frame.fate.lost ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    EXPECT_GE(longest, 3U);
    EXPECT_EQ(sum_of(ladder).delivered, 200U);
}

}  // namespace
}  // namespace wireproof::lab
