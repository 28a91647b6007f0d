#include "wireproof/front/verbs/faults/fault_draws.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"

namespace wireproof::verbs {
namespace {

using proto::ib::Operation;

constexpr std::uint32_t first_psn = 0xFFFFF0;  // shortly before the wrap
constexpr std::uint64_t seed = 7;

std::vector<std::byte> encoded(const proto::ib::Headers& headers) {
    std::vector<std::byte> room(proto::ib::packet_max(256));
    TxFrame frame;
    frame.open(room, {.frame_max = room.size()});
    proto::ib::encode(headers, {}, frame);
    std::vector<std::byte> bytes(frame.size());
    frame.gather(bytes);
    return bytes;
}

std::vector<std::byte> packet_of(std::uint32_t psn, Operation operation = Operation::send_only) {
    proto::ib::Headers headers;
    headers.bth.opcode = proto::ib::opcode_of(proto::ib::Transport::rc, operation);
    headers.bth.psn = proto::ib::Psn(psn & 0xFFFFFF);
    headers.aeth.syndrome = proto::ib::Syndrome::ack(0);
    return encoded(headers);
}

struct Sender {
    FaultDraws draws;
    std::uint32_t queue_pair = 1;
    std::uint32_t first = first_psn;
    Way way = Way::sent;
    bool from_lower = false;

    explicit Sender(const FaultScript& script, std::uint64_t seed_of_run = seed)
        : draws(script, seed_of_run) {}

    PacketFate pass(std::uint32_t place, Operation operation = Operation::send_only) {
        const auto bytes = packet_of(first + place, operation);
        return draws.decide({.way = way,
                             .queue_pair = queue_pair,
                             .first_psn = first,
                             .from_lower = from_lower,
                             .bytes = bytes});
    }
    /// Sends this many packets, each once. Returns those that are lost.
    std::vector<std::uint32_t> lost_of(std::uint32_t packets) {
        std::vector<std::uint32_t> lost;
        for (std::uint32_t place = 0; place < packets; ++place) {
            if (pass(place).fate.lost) lost.push_back(place);
        }
        return lost;
    }
};

FaultScript losing(double chance) {
    FaultScript script;
    script.sent.rates.loss = chance;
    return script;
}

FaultScript with_rule(PacketRule rule) {
    FaultScript script;
    rule.rule.fate.lost = true;
    script.rules.push_back(rule);
    return script;
}

TEST(FaultDraws, TheSameSeedLosesTheSamePackets) {
    const auto lost = Sender(losing(0.1)).lost_of(1000);
    EXPECT_GT(lost.size(), 60U);
    EXPECT_LT(lost.size(), 140U);
    EXPECT_EQ(Sender(losing(0.1)).lost_of(1000), lost);
    EXPECT_NE(Sender(losing(0.1), seed + 1).lost_of(1000), lost);
}

// The packets of several queue pairs may leave in any order, because threads send them.
TEST(FaultDraws, WhatElsePassesChangesNothing) {
    const auto lost = Sender(losing(0.1)).lost_of(1000);
    Sender mixed(losing(0.1));
    Random random(1);
    std::vector<std::uint32_t> found;
    std::uint32_t other = 0;
    for (std::uint32_t place = 0; place < 1000; ++place) {
        while (random.chance(0.5)) {
            mixed.queue_pair = 2;
            mixed.pass(other++);
            mixed.queue_pair = 1;
            mixed.pass(place, Operation::acknowledge);
        }
        if (mixed.pass(place).fate.lost) found.push_back(place);
    }
    EXPECT_EQ(found, lost);
}

TEST(FaultDraws, ProgramsMayDrawAnyFirstPsn) {
    Sender other(losing(0.1));
    other.first = 5;
    EXPECT_EQ(other.lost_of(1000), Sender(losing(0.1)).lost_of(1000));
}

TEST(FaultDraws, QueuePairsDirectionsAndWaysHaveFatesOfTheirOwn) {
    FaultScript script = losing(0.1);
    script.received = script.sent;
    const auto lost = Sender(script).lost_of(1000);
    Sender queue_pair(script);
    queue_pair.queue_pair = 2;
    EXPECT_NE(queue_pair.lost_of(1000), lost);
    Sender direction(script);
    direction.from_lower = true;
    EXPECT_NE(direction.lost_of(1000), lost);
    Sender way(script);
    way.way = Way::received;
    EXPECT_NE(way.lost_of(1000), lost);
}

TEST(FaultDraws, EveryAttemptIsDrawnAnew) {
    Sender sender(losing(0.5));
    unsigned both = 0;
    unsigned once = 0;
    for (std::uint32_t place = 0; place < 1000; ++place) {
        const bool first = sender.pass(place).fate.lost;
        const bool second = sender.pass(place).fate.lost;
        ++(first == second ? both : once);
    }
    EXPECT_GT(both, 400U);
    EXPECT_GT(once, 400U);
    EXPECT_EQ(sender.pass(3).which, "SEND Only, packet 4 of queue pair 1, attempt 3");
}

// Only attempts of packets far behind the newest one are forgotten.
TEST(FaultDraws, AttemptsOfAPacketInTheWindowAreNotForgotten) {
    Sender sender(losing(0));
    for (std::uint32_t place = 0; place < 200'000; ++place) sender.pass(place);
    EXPECT_NE(sender.pass(199'000).which.find("attempt 2"), std::string::npos);
}

TEST(FaultDraws, ABurstTakesPacketsOneBehindTheOther) {
    FaultScript script;
    script.sent.burst = 0.01;
    script.sent.burst_packets = 5;
    const auto lost = Sender(script).lost_of(5000);
    EXPECT_GT(lost.size(), 150U);
    EXPECT_LT(lost.size(), 350U);
    // A burst has five packets: four follow its first one.
    for (std::size_t i = 0; i + 5 < lost.size(); ++i) {
        const bool begins = i == 0 || lost[i] != lost[i - 1] + 1;
        if (begins) {
            EXPECT_EQ(lost[i + 4], lost[i] + 4);
        }
    }
}

TEST(FaultDraws, ARuleNamesTheNthOfAnOpcodeOnItsFirstAttempt) {
    PacketRule rule;
    rule.rule.kind = "SEND Only";
    rule.rule.nth_first = 2;
    rule.rule.nth_last = 3;
    Sender sender(with_rule(rule));
    EXPECT_FALSE(sender.pass(0).fate.lost);
    EXPECT_FALSE(sender.pass(1, Operation::write_only).fate.lost);
    EXPECT_TRUE(sender.pass(2).fate.lost);
    EXPECT_FALSE(sender.pass(2).fate.lost) << "its second attempt";
    EXPECT_FALSE(sender.pass(0).fate.lost) << "counted once";
    EXPECT_TRUE(sender.pass(3).fate.lost);
    EXPECT_FALSE(sender.pass(4).fate.lost);
}

TEST(FaultDraws, ARuleMayNameLaterAttempts) {
    PacketRule rule;
    rule.rule.nth_first = rule.rule.nth_last = 2;
    rule.attempt_first = 2;
    rule.attempt_last = 3;
    Sender sender(with_rule(rule));
    sender.pass(0);
    std::vector<bool> lost;
    for (int attempt = 1; attempt <= 4; ++attempt) lost.push_back(sender.pass(1).fate.lost);
    EXPECT_EQ(lost, (std::vector<bool>{false, true, true, false}));
}

TEST(FaultDraws, ARuleNamesPsnsAcrossTheWrap) {
    PacketRule rule;
    rule.rule.number_first = 0xFFFFFE;
    rule.rule.number_last = 1;
    EXPECT_EQ(Sender(with_rule(rule)).lost_of(100), (std::vector<std::uint32_t>{14, 15, 16, 17}));
}

// A program resets a queue pair and connects it again, with another first PSN.
TEST(FaultDraws, ANewConnectionCountsFromItsOwnBegin) {
    PacketRule rule;
    rule.rule.nth_first = rule.rule.nth_last = 1;
    Sender sender(with_rule(rule));
    EXPECT_TRUE(sender.pass(0).fate.lost);
    EXPECT_FALSE(sender.pass(0).fate.lost);
    sender.first = 5;
    const PacketFate first = sender.pass(0);
    EXPECT_EQ(first.which, "SEND Only, packet 1 of queue pair 1, attempt 1");
    EXPECT_TRUE(first.fate.lost) << "the rule counts anew, too";
}

TEST(FaultDraws, APacketThatABurstTakesIsOnlyLost) {
    FaultScript script;
    script.sent.burst = 1;
    script.sent.rates.duplicate = script.sent.rates.reorder = script.sent.damage = 1;
    script.sent.delay = 1;
    const PacketFate fate = Sender(script).pass(0);
    EXPECT_EQ(fate.fate, Fate{.lost = true});
    EXPECT_EQ(fate.delay, Duration());
}

std::vector<std::byte> datagram_between(std::uint32_t source, std::uint32_t destination) {
    proto::ib::Headers headers;
    headers.bth.opcode = proto::ib::opcode_of(proto::ib::Transport::ud, Operation::send_only);
    headers.bth.dest_qp = destination;
    headers.deth = {.qkey = 1, .source_qp = source};
    return encoded(headers);
}

// A queue pair exchanges datagrams with many. What it sends belongs to the flow to its destination,
// what it receives to the flow from its source.
TEST(FaultDraws, EachPeerOfADatagramQueuePairIsAFlow) {
    constexpr std::uint32_t own = 0x10;
    for (const Way way : {Way::sent, Way::received}) {
        FaultDraws draws(FaultScript{}, seed);
        const auto attempt = [&](std::uint32_t other) {
            const auto bytes =
                way == Way::sent ? datagram_between(own, other) : datagram_between(other, own);
            const std::string which = draws.decide({.way = way, .bytes = bytes}).which;
            return which.substr(which.find("attempt"));
        };
        EXPECT_EQ(attempt(0x20), "attempt 1");
        EXPECT_EQ(attempt(0x21), "attempt 1");
        EXPECT_EQ(attempt(0x20), "attempt 2");
    }
}

TEST(FaultDraws, ARuleIsOfOneQueuePairAndOneWay) {
    PacketRule rule;
    rule.queue_pair = 2;
    rule.way = Way::received;
    Sender sender(with_rule(rule));
    EXPECT_TRUE(sender.lost_of(10).empty());
    sender.queue_pair = 2;
    EXPECT_TRUE(sender.lost_of(10).empty());
    sender.way = Way::received;
    EXPECT_EQ(sender.lost_of(10).size(), 10U);
}

TEST(FaultDraws, WhatIsNoPacketPasses) {
    FaultDraws draws(losing(1), seed);
    EXPECT_EQ(draws.decide({.bytes = ConstBytes()}).fate, Fate());
    const std::array<std::byte, 12> reserved{std::byte{0xFF}};
    EXPECT_EQ(draws.decide({.bytes = reserved}).fate, Fate());
}

}  // namespace
}  // namespace wireproof::verbs
