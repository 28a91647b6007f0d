#include "wireproof/front/verbs/faults/fault_script.hpp"

#include <gtest/gtest.h>

#include <map>

namespace wireproof::verbs {
namespace {

TEST(FaultScript, NothingIsNoFault) {
    const auto script = read_fault_script("", "f");
    ASSERT_TRUE(script);
    EXPECT_TRUE(script->empty());
}

TEST(FaultScript, APacketIsHeldBackBehindOneAtLeast) {
    for (const char* table : {"[sent]", "[received]"}) {
        const auto read = [table](const char* line) {
            return read_fault_script(std::string(table) + "\nreorder = 0.5\n" + line, "f");
        };
        EXPECT_FALSE(read("hold_max = 0"));
        EXPECT_FALSE(read("hold_max = 1025"));
        EXPECT_TRUE(read("hold_max = 1"));
    }
}

TEST(FaultScript, HasChancesRulesLinksAndCompletions) {
    const auto script = read_fault_script(R"(
[sent]
loss = 0.5
delay = 1
delay_us = 300
burst = 0.25
burst_packets = 3
[received]
damage = 0.125
[[packet]]
way = "received"
opcode = "ACK"
queue_pair = 2
psn = [5, 9]
nth = 3
attempt = [1, 4]
fate = "duplicate"
[[packet]]
fate = "delay"
behind = 2
[[link_down]]
at_packet = 40
for_ms = 5
[[completion]]
nth = 3
status = "RNR_RETRY_EXC_ERR"
[[completion]]
of = "receive"
status = "LOC_LEN_ERR"
[[event]]
what = "QP_ACCESS_ERR"
queue_pair = 3
at_packet = 9
[[event]]
what = "DEVICE_FATAL"
at_ms = 7
)",
                                          "f");
    ASSERT_TRUE(script) << script.error().message;
    EXPECT_EQ(script->sent.rates.loss, 0.5);
    EXPECT_EQ(script->sent.delay_time, Duration::microseconds(300));
    EXPECT_EQ(script->sent.burst_packets, 3U);
    EXPECT_EQ(script->received.damage, 0.125);
    ASSERT_EQ(script->rules.size(), 2U);
    const PacketRule& rule = script->rules[0];
    EXPECT_EQ(rule.way, Way::received);
    EXPECT_EQ(rule.rule.kind, "ACK");
    EXPECT_EQ(rule.queue_pair, 2U);
    EXPECT_EQ(rule.rule.number_first, 5U);
    EXPECT_EQ(rule.rule.number_last, 9U);
    EXPECT_EQ(rule.rule.nth_first, 3U);
    EXPECT_EQ(rule.rule.nth_last, 3U);
    EXPECT_EQ(rule.attempt_last, 4U);
    EXPECT_EQ(rule.rule.fate, Fate{.duplicated = true});
    EXPECT_EQ(script->rules[1].rule.fate, Fate{.held_behind = 2});
    EXPECT_EQ(script->downs[0].at_packet, 40U);
    EXPECT_EQ(script->downs[0].lasts, Duration::milliseconds(5));
    EXPECT_EQ(script->completions[0].status, proto::ib::CompletionStatus::rnr_retry_exceeded);
    EXPECT_EQ(script->completions[0].of, CompletionFault::Of::send);
    EXPECT_EQ(script->completions[1].of, CompletionFault::Of::receive);
    ASSERT_EQ(script->events.size(), 2U);
    EXPECT_EQ(script->events[0].what, EventFault::What::access_refused);
    EXPECT_EQ(script->events[0].queue_pair, 3U);
    EXPECT_EQ(script->events[0].at_packet, 9U);
    EXPECT_EQ(script->events[1].what, EventFault::What::device_fatal);
    EXPECT_EQ(script->events[1].at, Duration::milliseconds(7));
    EXPECT_FALSE(script->empty());
    EXPECT_FALSE(read_fault_script("[[event]]\nwhat = \"DEVICE_FATAL\"\n", "f")->empty());
}

TEST(FaultScript, WhatIsWrongIsReportedWithItsPosition) {
    const std::map<std::string, std::string> wrong = {
        {"[sent]\nlos = 1\n", "f:2:1: unknown key \"los\""},
        {"[sent]\nloss = 2\n", "f:2:8: \"loss\" must be a probability"},
        {"[[packet]]\nnth = 1\n", "f:1:1: [[packet]] needs the key \"fate\""},
        {"[[packet]]\nfate = \"delay\"\n", "f:1:1: [[packet]] needs the key \"delay_us\""},
        {"[[packet]]\nfate = \"gone\"\n", "f:2:8: \"fate\" must be \"lose"},
        {"[[packet]]\nfate = \"lose\"\nopcode = \"SENT\"\n", "f:3:10: \"opcode\" must be \"ACK"},
        {"[[packet]]\nfate = \"lose\"\npsn = 16777216\n", "f:3:7: \"psn\" must be"},
        {"[[packet]]\nfate = \"lose\"\nnth = 0\n", "f:3:7: \"nth\" must be"},
        {"[[link_down]]\nat_ms = 1\n", "f:1:1: [[link_down]] needs the key \"for_ms\""},
        {"[[completion]]\nof = \"none\"\nstatus = \"LOC_LEN_ERR\"\n",
         "f:2:6: \"of\" must be \"send"},
        {"[[event]]\nat_ms = 1\n", "f:1:1: [[event]] needs the key \"what\""},
        {"[[event]]\nwhat = \"PORT_ERR\"\n", "f:2:8: \"what\" must be \"DEVICE_FATAL"},
        {"[[completion]]\nnth = 1\n", "f:1:1: [[completion]] needs the key \"status\""},
        {"[[completion]]\nstatus = \"SUCCESS\"\n", "f:2:10: \"status\" must be \"LOC_LEN"}};
    for (const auto& [text, error] : wrong) {
        const auto script = read_fault_script(text, "f");
        ASSERT_FALSE(script) << text;
        EXPECT_EQ(script.error().message.substr(0, error.size()), error) << script.error().message;
    }
}

TEST(FaultScript, ThereMayBe64Rules) {
    std::string text;
    for (std::size_t i = 0; i < FaultScript::rules_max; ++i)
        text += "[[packet]]\nfate = \"lose\"\n";
    EXPECT_TRUE(read_fault_script(text, "f"));
    EXPECT_FALSE(read_fault_script(text + "[[packet]]\nfate = \"lose\"\n", "f"));
}

}  // namespace
}  // namespace wireproof::verbs
