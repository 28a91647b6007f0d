#include "wireproof/app/capture/pairing.hpp"

#include <gtest/gtest.h>

namespace wireproof::capture {
namespace {

constexpr std::size_t there = 0;
constexpr std::size_t back = 1;

proto::ib::Psn psn_of(std::uint32_t value) {
    return proto::ib::Psn(value & 0xFFFFFF);
}

/// Connections between two hosts: ways 0, 2, 4 … send requests, ways 1, 3, 5 … send their answers.
struct Hosts {
    explicit Hosts(std::size_t connections) {
        for (std::size_t i = 0; i < connections; ++i) {
            pairing.add(there);
            pairing.add(back);
        }
    }
    void send(std::size_t way, std::uint32_t from, std::uint32_t count, std::uint16_t port = 7,
              bool ends = true) {
        for (std::uint32_t i = 0; i < count; ++i) {
            pairing.on_request(
                way,
                {.psn = psn_of(from + i), .end = psn_of(from + i + 1), .port = port, .ends = ends});
        }
    }
    Pairing::Answered acknowledge(std::size_t way, std::uint32_t number, std::uint16_t port = 7) {
        return pairing.on_answer(way, {.psn = psn_of(number), .port = port});
    }
    Pairing::Answered refuse(std::size_t way, std::uint32_t number) {
        return pairing.on_answer(way, {.psn = psn_of(number), .port = 7, .refuses = true});
    }

    Pairing pairing;
};

using Ways = std::vector<std::size_t>;

TEST(Pairing, TheOnlyOneThatSentThePsnIsAnswered) {
    for (const std::uint32_t first : {0U, 0xFFFFFEU}) {
        Hosts hosts(2);
        hosts.send(0, first, 3);
        EXPECT_EQ(hosts.acknowledge(1, first + 2).way, 0U);
        // Now both are at the same PSNs, and the first pair is known.
        hosts.send(2, first, 3);
        EXPECT_EQ(hosts.acknowledge(3, first + 2).way, 2U);
        EXPECT_EQ(hosts.pairing.peer_of(1), 0U);
        EXPECT_EQ(hosts.pairing.peer_of(2), 3U);
    }
}

TEST(Pairing, WhatRemainsAmbiguousIsNamedAndLaterAnswersDecide) {
    Hosts hosts(2);
    hosts.send(0, 0, 5);
    hosts.send(2, 0, 5);
    const auto first = hosts.acknowledge(1, 2);
    EXPECT_FALSE(first.way);
    EXPECT_EQ(first.possible, (Ways{0, 2}));
    EXPECT_EQ(hosts.acknowledge(3, 4).possible, (Ways{0, 2}));
    hosts.send(2, 5, 1);
    EXPECT_EQ(hosts.acknowledge(3, 5).way, 2U);
    // Only one way remains for the other answer.
    EXPECT_EQ(hosts.acknowledge(1, 4).way, 0U);
}

TEST(Pairing, APortThatEachDirectionHasAloneDecides) {
    Hosts hosts(2);
    hosts.send(0, 0, 5, 50'001);
    hosts.send(2, 0, 5, 50'002);
    EXPECT_EQ(hosts.acknowledge(1, 2, 50'002).way, 2U);
    EXPECT_EQ(hosts.acknowledge(3, 2, 50'001).way, 0U);
}

TEST(Pairing, APortThatAllShareDoesNotPairThem) {
    Hosts hosts(3);
    for (const std::size_t way : {0U, 2U, 4U}) hosts.send(way, 0, 5);
    EXPECT_EQ(hosts.acknowledge(1, 2).possible, (Ways{0, 2, 4}));
}

TEST(Pairing, TheCountOfMessagesDecidesWherePsnsDoNot) {
    Hosts hosts(2);
    hosts.send(0, 0, 3, 7, false);
    hosts.send(0, 3, 1, 7, true);  // one message of four packets
    hosts.send(2, 0, 4);           // four messages
    const auto answered =
        hosts.pairing.on_answer(1, {.psn = psn_of(3), .port = 7, .msn = proto::ib::Msn(4)});
    EXPECT_EQ(answered.way, 2U);
}

TEST(Pairing, WhatTheCaptureMissedIsAnsweredAllTheSame) {
    Hosts hosts(1);
    hosts.send(0, 10, 3);
    EXPECT_EQ(hosts.acknowledge(1, 15).way, 0U);
    Hosts two(2);
    two.send(0, 10, 3);
    two.send(2, 12, 3);
    const auto answered = two.acknowledge(1, 20);
    EXPECT_FALSE(answered.way);
    EXPECT_TRUE(answered.possible.empty());
}

TEST(Pairing, APairThatWasWrongIsTakenBack) {
    Hosts hosts(2);
    hosts.send(0, 0, 3);
    EXPECT_EQ(hosts.acknowledge(3, 2).way, 0U);  // really of way 2, which the capture missed
    hosts.send(2, 3, 4);
    EXPECT_EQ(hosts.acknowledge(3, 5).way, 2U);
    EXPECT_EQ(hosts.acknowledge(1, 2).way, 0U);
}

TEST(Pairing, WhatCmSaysIsNotTakenBack) {
    Hosts hosts(2);
    hosts.pairing.pair(0, 3);
    hosts.send(0, 0, 3);
    hosts.send(2, 3, 4);
    EXPECT_EQ(hosts.acknowledge(3, 5).way, 0U);
    EXPECT_EQ(hosts.acknowledge(1, 5).way, 2U);
}

TEST(Pairing, ASenderThatGoesBackShowsWhoWasRefused) {
    Hosts hosts(2);
    hosts.send(0, 0, 8);
    hosts.send(2, 0, 8);
    EXPECT_EQ(hosts.refuse(3, 5).possible, (Ways{0, 2}));
    EXPECT_FALSE(hosts.pairing.was_refused(2, psn_of(4)));
    EXPECT_TRUE(hosts.pairing.was_refused(2, psn_of(5)));
    EXPECT_EQ(hosts.pairing.peer_of(3), 2U);
    EXPECT_FALSE(hosts.pairing.was_refused(0, psn_of(5)));
}

TEST(Pairing, AQueuePairMayMeetAnotherAfterItsConnection) {
    Hosts hosts(2);
    hosts.send(0, 0, 3);
    EXPECT_EQ(hosts.acknowledge(1, 2).way, 0U);
    hosts.pairing.unpair(0);
    hosts.send(0, 100, 3);
    EXPECT_EQ(hosts.acknowledge(3, 102).way, 0U);
}

/// All ways send from PSN 0 on, one request in each round. The next round answers it.
std::uint64_t looks_of_each_answer(std::size_t connections, std::uint32_t rounds, bool ports) {
    Hosts hosts(connections);
    for (std::uint32_t round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < connections; ++i) {
            hosts.send(2 * i, round, 1, static_cast<std::uint16_t>(ports ? i : 7));
        }
        for (std::size_t i = 0; i < connections; ++i) {
            hosts.acknowledge(2 * i + 1, round, static_cast<std::uint16_t>(ports ? i : 7));
        }
    }
    return hosts.pairing.looked_at() / (connections * rounds);
}

TEST(Pairing, TheSearchDoesNotGrowWithTheNumberOfQueuePairs) {
    for (const bool ports : {false, true}) {
        for (const std::size_t connections : {10U, 300U, 3'000U}) {
            EXPECT_LE(looks_of_each_answer(connections, 12, ports), 48U) << connections;
        }
    }
}

TEST(Pairing, ThousandsOfQueuePairsAtTheSamePsnsAreDistinguishedByTheirPorts) {
    Hosts hosts(3'000);
    for (std::size_t i = 0; i < 3'000; ++i) {
        hosts.send(2 * i, 0, 4, static_cast<std::uint16_t>(49'152 + i));
    }
    for (std::size_t i = 0; i < 3'000; ++i) {
        EXPECT_EQ(hosts.acknowledge(2 * i + 1, 3, static_cast<std::uint16_t>(49'152 + i)).way,
                  2 * i);
    }
}

TEST(Pairing, ThousandsThatNothingDistinguishesStayUnknown) {
    Hosts hosts(3'000);
    for (std::size_t i = 0; i < 3'000; ++i) hosts.send(2 * i, 0, 4);
    const auto answered = hosts.refuse(1, 3);
    EXPECT_FALSE(answered.way);
    EXPECT_TRUE(answered.many);
    EXPECT_TRUE(answered.possible.empty());
}

}  // namespace
}  // namespace wireproof::capture
