// Ladders of flits without one of the corrections FLIT-22 to 25: each shows a defect, and none with
// the correction.
#include <gtest/gtest.h>

#include <string>

#include "wireproof/lab/ladder/ladder_test_kit.hpp"

namespace wireproof::lab {
namespace {

struct Drawn {
    const char* correction;
    std::string engine;  // other keys
    std::string rest;
};

Ladder ladder_of(const Drawn& drawn, bool corrected) {
    return run_text("protocol = \"flit\"\n[engine]\n" + drawn.engine + drawn.correction +
                    (corrected ? " = true\n" : " = false\n") + drawn.rest +
                    "[stop]\nframes = 60\n");
}

std::string traffic(int messages, int at_ns = 0, int every_ns = 0) {
    return "[[traffic]]\nfrom = \"A\"\nmessages = " + std::to_string(messages) +
           "\nat_ns = " + std::to_string(at_ns) + "\nevery_ns = " + std::to_string(every_ns) + "\n";
}
std::string damaged(const std::string& direction, const std::string& kind,
                    const std::string& which) {
    return "[[fault]]\ndirection = \"" + direction + "\"\nkind = \"" + kind + "\"\n" + which +
           "\nfate = \"damaged\"\n";
}

const std::string small =
    "selective = true\nmodulus = 7\nfirst_number = 6\noutstanding = 3\n"
    "replay_num_limit = 0\n";

void expect_defect_without(const Drawn& drawn, const char* wrong) {
    EXPECT_EQ(ladder_of(drawn, false).wrong, wrong) << drawn.correction;
    EXPECT_EQ(ladder_of(drawn, true).wrong, "") << drawn.correction;
}

// FLIT-22: the timer is too short. A duplicate and the NOP after it are damaged, and then a new
// flit comes: B takes it for the flit after it, and stores it under that number.
TEST(FlitLadder, ASelectiveNakForTwoDamagedFlitsDeliversAMessageTwice) {
    expect_defect_without(
        {"standard_after_two_invalid", small + "explicit_after_jump = 2\ntimeout_flits = 3\n",
         traffic(3) + traffic(1, 1600) + damaged("A->B", "payload", "number = 1") +
             damaged("A->B", "NOP", "nth = 1")},
        "message 5 is not what was sent");
}

// FLIT-23
TEST(FlitLadder, OneExplicitFlitAfterAJumpDeliversAWrongMessage) {
    expect_defect_without({"explicit_run_after_jump",
                           small + "explicit_after_jump = 2\ntimeout_flits = 2\nnak_ignore = 3\n",
                           traffic(3, 0, 600) + damaged("A->B", "payload", "nth = 2")},
                          "message 3 is not what was sent");
}

// FLIT-23: B's store is emptied, so the flit after the repaired one is missing. An explicit NOP
// that is damaged does not tell B so.
TEST(FlitLadder, AnExplicitNopThatCountsDeliversAWrongMessage) {
    expect_defect_without({"only_payload_counts", small + "explicit_after_jump = 2\n",
                           traffic(2) + traffic(1, 2200) + damaged("A->B", "payload", "nth = 1") +
                               damaged("A->B", "NOP", "nth = [1, 2]")},
                          "message 2 is not what was sent");
}

// FLIT-24
TEST(FlitLadder, AFlitAfterAJumpThatIsNotExplicitDeliversAWrongMessage) {
    expect_defect_without({"explicit_after_gap", small + "timeout_flits = 3\nnak_ignore = 3\n",
                           traffic(6) + damaged("A->B", "payload", "nth = 2")},
                          "message 4 is not what was sent");
}

// FLIT-25: the payload flit and the only Nak for it are damaged, and nothing else comes.
TEST(FlitLadder, WithoutTheTimerAMessageNeverArrives) {
    const Drawn drawn{
        "replay_timer", "nak_run = 1\ntimeout_flits = 20\n",
        traffic(1) + damaged("A->B", "payload", "nth = 1") + damaged("B->A", "NOP+Nak", "nth = 1")};
    const Ladder without = ladder_of(drawn, false);
    EXPECT_EQ(without.end, LadderEnd::idle);
    EXPECT_EQ((*without.counts)[1].delivered, 0U);
    const Ladder with = ladder_of(drawn, true);
    EXPECT_EQ((*with.counts)[1].delivered, 1U);
    EXPECT_EQ((*with.counts)[0].timeouts, 1U);
}

}  // namespace
}  // namespace wireproof::lab
