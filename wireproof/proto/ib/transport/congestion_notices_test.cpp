// A receiver of marked packets sends congestion notification packets (CNP). A requester that
// receives one makes its window smaller.
#include "wireproof/proto/ib/transport/congestion_notices.hpp"

#include <gtest/gtest.h>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

RxVerdict give_marked(End& end, Instant now, const PacketBytes& packet, PeerId from = other_end) {
    return end.port.on_frame(
        now, {.bytes = packet, .from = from, .integrity = Integrity::intact, .marked = true});
}

/// As adapters send it, to the queue pair of end `a`.
PacketBytes notification() {
    PacketBytes packet(Bth::size + 16);
    constexpr std::array<unsigned, 8> head = {0x81, 0x00, 0xFF, 0xFF, 0x40, 0x00, 0x01, 0x00};
    for (std::size_t i = 0; i < head.size(); ++i) packet[i] = static_cast<std::byte>(head[i]);
    return packet;
}

class Notices : public testing::TestWithParam<Transport> {
protected:
    Notices() : pair({.transport = GetParam(), .connection = {}}) { pair.receives(8); }

    /// A marked Send arrives at `b`, and `a` has no other packets.
    void mark_one() {
        pair.send(10);
        for (const auto& packet : pair.a.leaving(pair.now)) give_marked(pair.b, pair.now, packet);
    }
    std::vector<PacketBytes> notices() {
        std::vector<PacketBytes> all = pair.b.leaving(pair.now);
        std::erase_if(all, [](const PacketBytes& one) {
            return decoded(one).opcode->verb != Verb::congestion;
        });
        return all;
    }

    Pair pair;
};
INSTANTIATE_TEST_SUITE_P(, Notices, testing::Values(Transport::rc, Transport::uc),
                         [](const auto& each) { return std::string(name_of(each.param)); });

// RC-35
TEST_P(Notices, AMarkedPacketDrawsOneOfTheRightBytes) {
    pair.send(10);
    pair.give(pair.a.leaving(pair.now));
    EXPECT_TRUE(notices().empty());
    mark_one();
    EXPECT_EQ(notices(), std::vector<PacketBytes>{notification()});
    EXPECT_EQ(pair.b.counters().marked, 1U);
    EXPECT_EQ(pair.b.counters().cnps_sent, 1U);
}

// RC-35
TEST_P(Notices, AtMostOneLeavesInFiftyMicroseconds) {
    for (int i = 0; i < 4; ++i) {
        mark_one();
        EXPECT_EQ(notices().size(), i == 0 || i == 3 ? 1U : 0U) << i;
        pair.pass(Duration::microseconds(i == 0 ? 49 : i == 1 ? 0 : 1));
    }
    EXPECT_EQ(pair.b.counters().marked, 4U);
    EXPECT_EQ(pair.b.counters().cnps_sent, 2U);
}

// RC-35
TEST_P(Notices, AMarkOfAnotherHostDrawsNone) {
    pair.send(10);
    for (const auto& packet : pair.a.leaving(pair.now)) {
        give_marked(pair.b, pair.now, packet, PeerId{9});
    }
    EXPECT_TRUE(pair.b.leaving(pair.now).empty());
    EXPECT_EQ(pair.b.counters().marked, 0U);
}

// Two ends would answer each other for ever.
// RC-35
TEST_P(Notices, AMarkedNoticeDrawsNone) {
    EXPECT_EQ(give_marked(pair.a, pair.now, notification()), RxVerdict::control);
    EXPECT_TRUE(pair.a.leaving(pair.now).empty());
}

// RC-35
TEST_P(Notices, NoneLeavesAfterAnError) {
    mark_one();
    pair.b.modify({.state = QueuePairState::error});
    EXPECT_TRUE(notices().empty());
}

// RC-36
TEST_P(Notices, WithoutCongestionControlTheyAreCountedAndChangeNothing) {
    EXPECT_EQ(pair.a.give(pair.now, notification()), RxVerdict::control);
    EXPECT_EQ(pair.a.port.counters().congestion, 1U);
    EXPECT_EQ(pair.a.counters().cnps_handled, 0U);
    EXPECT_TRUE(pair.a.leaving(pair.now).empty());
}

class NoticeReceived : public testing::Test {
protected:
    NoticeReceived() : pair({.timeout = std::uint8_t{14}, .congestion = Congestion::by_loss}) {}
    /// How many packets of a long message leave at once.
    std::size_t window() { return pair.a_leaving().size(); }

    RcPair pair;
};

// RC-36
TEST_F(NoticeReceived, MakesTheWindowSmaller) {
    EXPECT_EQ(pair.a.give(pair.now, notification()), RxVerdict::control);
    EXPECT_EQ(pair.a.counters().cnps_handled, 1U);
    pair.post(Request::write, 256 * 40);
    EXPECT_EQ(window(), 5U);
}

// RC-36
TEST_F(NoticeReceived, FromAnotherHostChangesNothing) {
    EXPECT_EQ(pair.a.give(pair.now, notification(), PeerId{9}), RxVerdict::foreign);
    pair.post(Request::write, 256 * 40);
    EXPECT_EQ(window(), 10U);
}

// They load the path to this side, and the flow that this side controls.
// RC-36
TEST_F(NoticeReceived, AMarkedResponseOfAReadCountsAsOne) {
    pair.read(256);
    pair.give(pair.a_leaving());
    for (const auto& packet : pair.b.leaving(pair.now)) give_marked(pair.a, pair.now, packet);
    EXPECT_EQ(names(pair.a_leaving()), Names{"CNP 000000"});
    pair.post(Request::write, 256 * 40);
    EXPECT_EQ(window(), 5U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
