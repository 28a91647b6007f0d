// The limit of packets in flight with a peer: the window alone, and RC queue pairs that share it.
#include "wireproof/proto/ib/transport/peer_windows.hpp"

#include <gtest/gtest.h>

#include "wireproof/proto/ib/port/connection.hpp"
#include "wireproof/proto/ib/rc/rc_test_kit.hpp"
#include "wireproof/proto/ib/transport/peer_window.hpp"

namespace wireproof::proto::ib::test {
namespace {

constexpr PeerId windows_peer{3};

/// Sends a full window of packets; all arrive.
void fill(PeerWindows& windows) {
    const std::uint32_t all = windows.packets(windows_peer);
    windows.change(windows_peer, 0, all);
    windows.on_arrived(windows_peer, all);
    windows.change(windows_peer, all, 0);
}

TEST(PeerWindows, WithoutALimitNothingIsCounted) {
    PeerWindows windows({});
    windows.change(windows_peer, 0, 1'000'000);
    EXPECT_GT(windows.room(windows_peer), 1'000'000'000U);
    EXPECT_TRUE(windows.idle(windows_peer));
}

TEST(PeerWindows, AStockBufferHoldsTheFirstWindowOfEachPathMtu) {
    const std::array<std::pair<std::size_t, std::uint32_t>, 3> held = {
        {{1024, 92}, {2048, 48}, {4096, 25}}};
    for (const auto& [path_mtu, packets] : held) {
        const PeerWindows::Config config = peer_window_of(path_mtu);
        EXPECT_LT(config.start, packets) << path_mtu;
        EXPECT_GT(config.start, packets * 3 / 4) << path_mtu;
        EXPECT_GE(config.start, config.least);
    }
}

TEST(PeerWindows, GrowsByOneAWindowUpToItsFirstSizeAndSlowlyBeyond) {
    PeerWindows windows({.start = 32, .least = 8, .most = 40});
    for (int i = 0; i < 15; ++i) fill(windows);
    EXPECT_EQ(windows.packets(windows_peer), 32U);
    fill(windows);
    EXPECT_EQ(windows.packets(windows_peer), 33U);
    windows.change(windows_peer, 0, 33);
    windows.on_lost(windows_peer);
    windows.on_lost(windows_peer);  // for the same packets in flight
    EXPECT_EQ(windows.packets(windows_peer), 16U);
    windows.change(windows_peer, 33, 0);
    for (int i = 0; i < 16; ++i) fill(windows);
    EXPECT_EQ(windows.packets(windows_peer), 32U);
    for (int i = 0; i < 1000; ++i) fill(windows);
    EXPECT_EQ(windows.packets(windows_peer), 40U);
}

TEST(PeerWindows, ANearPeerHasNoLimitAndIsCountedOn) {
    PeerWindows windows({.start = 32, .least = 8, .most = 40});
    windows.set_near(windows_peer, true);
    windows.change(windows_peer, 0, 1000);
    EXPECT_GT(windows.room(windows_peer), 1'000'000'000U);
    EXPECT_GT(windows.packets(windows_peer), 1'000'000'000U);
    EXPECT_FALSE(windows.idle(windows_peer));
    EXPECT_EQ(windows.room(PeerId{4}), 32U);
    windows.on_lost(windows_peer);
    windows.on_arrived(windows_peer, 1000);
    windows.set_near(windows_peer, false);
    EXPECT_EQ(windows.packets(windows_peer),
              32U);  // losses and arrivals of a near peer change no window
    EXPECT_EQ(windows.room(windows_peer), 0U);
    windows.change(windows_peer, 1000, 0);
    EXPECT_EQ(windows.room(windows_peer), 32U);
}

TEST(PeerWindows, ALossThatCongestionControlKnowsKeepsTheFirstSize) {
    PeerWindows windows({.start = 32, .least = 8, .most = 256});
    windows.on_lost(windows_peer, PeerWindows::Loss::controlled);
    EXPECT_EQ(windows.packets(windows_peer), 32U);
    while (windows.packets(windows_peer) < 40) fill(windows);
    windows.on_lost(windows_peer, PeerWindows::Loss::controlled);
    EXPECT_EQ(windows.packets(windows_peer), 32U);
    windows.on_lost(windows_peer);
    EXPECT_EQ(windows.packets(windows_peer), 16U);
    windows.on_lost(windows_peer, PeerWindows::Loss::controlled);
    EXPECT_EQ(windows.packets(windows_peer), 16U);
}

TEST(PeerWindows, LossesLeaveTheLeastAndOneHalvesOnce) {
    PeerWindows windows({.start = 32, .least = 8, .most = 256});
    for (const std::uint32_t left : {16U, 8U, 8U}) {
        fill(windows);
        windows.change(windows_peer, 0, 8);
        windows.on_lost(windows_peer);
        EXPECT_EQ(windows.packets(windows_peer), left);
        windows.change(windows_peer, 8, 0);
        windows.on_arrived(windows_peer, 8);  // the packets that were in flight
    }
}

// If the queue pairs do not fill a window, arrivals do not show that it can be larger.
TEST(PeerWindows, DoesNotGrowWhileItIsNotFilled) {
    PeerWindows windows({.start = 32});
    for (int i = 0; i < 1000; ++i) {
        windows.change(windows_peer, 0, 15);
        windows.on_arrived(windows_peer, 15);
        windows.change(windows_peer, 15, 0);
    }
    EXPECT_EQ(windows.packets(windows_peer), 32U);
}

PairSettings limited(std::uint32_t start, const QueuePairChange& connection = {}) {
    PairSettings settings = rc_settings(connection);
    settings.peer_window = {.start = start, .least = 2, .most = start};
    return settings;
}

TEST(PeerWindows, NoMorePacketsAreUnderWayThanItAllows) {
    RcPair pair(limited(4));
    pair.receives(1, 0x1000);
    pair.post(Request::send, 0x700);  // 7 packets
    const auto first = pair.a_leaving();
    EXPECT_EQ(first.size(), 4U);
    pair.give(first);
    EXPECT_EQ(pair.a.port.windows().room(other_end), 0U);
    // The packets in the middle ask for no acknowledgement. The test gives one anyway.
    EXPECT_EQ(pair.a.give(pair.now, ack(0)), RxVerdict::control);
    EXPECT_EQ(pair.a_leaving().size(), 3U);
}

// Otherwise the rest of the message would wait for a timeout.
TEST(PeerWindows, AFullWindowAsksForAnAcknowledgement) {
    RcPair pair(limited(4));
    pair.receives(1, 0x1000);
    pair.post(Request::send, 0x700);
    pair.settle();
    EXPECT_EQ(ids(pair.a.sent()), std::vector<std::uint64_t>{1});
    EXPECT_EQ(pair.a.counters().timeouts, 0U);
}

TEST(PeerWindows, ALongReadIsAskedForInParts) {
    RcPair pair(
        limited(4, {.max_dest_rd_atomic = std::uint8_t{2}, .max_rd_atomic = std::uint8_t{2}}));
    pair.b.fill(0x4000, pattern(0xA10, 50));
    pair.read(0xA10);  // 11 packets
    const auto asked = pair.a_leaving();
    EXPECT_EQ(names(asked), Names{"READ Request fffffe"});
    EXPECT_EQ(decoded(asked[0]).headers.reth.length, 0x400U);
    pair.give(asked);
    std::size_t most = 0;
    std::size_t requests = 1;
    for (auto answers = pair.b.leaving(pair.now); !answers.empty();
         answers = pair.b.leaving(pair.now)) {
        most = std::max(most, answers.size());
        for (const auto& one : answers) {
            EXPECT_EQ(pair.a.give(pair.now, one), RxVerdict::accepted);
        }
        const auto more = pair.a_leaving();
        requests += more.size();
        pair.give(more);
    }
    EXPECT_LE(most, 4U);
    EXPECT_EQ(requests, 3U);
    EXPECT_EQ(ids(pair.a.sent()), std::vector<std::uint64_t>{1});
    EXPECT_EQ(pair.a.bytes(0x2000, 0xA10), pattern(0xA10, 50));
}

// The peer keeps each part as a request of its own, so a repeated part has the same end.
TEST(PeerWindows, APartIsAskedForAgainAsItWas) {
    for (std::size_t lost = 0; lost < 6; ++lost) {
        RcPair pair(
            limited(6, {.max_dest_rd_atomic = std::uint8_t{2}, .max_rd_atomic = std::uint8_t{2}}));
        pair.b.fill(0x4000, pattern(0x900, 50));
        pair.read(0x900);  // 9 packets: 6, and then 3 more
        pair.give(pair.a_leaving());
        const auto answers = pair.b.leaving(pair.now);
        ASSERT_EQ(answers.size(), 6U);
        for (std::size_t i = 0; i < answers.size(); ++i) {
            if (i != lost) pair.a.give(pair.now, answers[i]);
            pair.give(pair.a_leaving());
        }
        for (int i = 0; i < 4; ++i) {
            pair.settle();
            if (pair.a.port.next_deadline() != never) pair.pass(rto);
        }
        EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::success}) << lost;
        EXPECT_EQ(pair.a.bytes(0x2000, 0x900), pattern(0x900, 50)) << lost;
        EXPECT_EQ(pair.b.counters().resource_gone, 0U) << lost;
        EXPECT_LE(pair.a.counters().went_back + pair.a.counters().timeouts, 2U) << lost;
    }
}

using Woken = std::vector<std::uint32_t>;
Woken woken(PeerWindows& windows, std::uint32_t last) {
    Woken woken;
    windows.wake(windows_peer, last, [&](std::uint32_t one) { woken.push_back(one); });
    return woken;
}

TEST(PeerWindows, WakesAsManyQueuePairsAsThereIsRoomForInTurn) {
    PeerWindows windows({.start = 3});
    windows.change(windows_peer, 0, 3);
    for (const std::uint32_t one : {7U, 5U, 9U, 5U, 3U, 8U}) windows.wait(windows_peer, one, 1);
    EXPECT_EQ(woken(windows, 5), Woken{});
    windows.change(windows_peer, 3, 1);
    EXPECT_EQ(woken(windows, 5), (Woken{7, 8}));
    windows.wait_no_more(windows_peer, 9);
    EXPECT_EQ(woken(windows, 8), (Woken{3, 5}));
    EXPECT_EQ(woken(windows, 8), Woken{});
}

TEST(PeerWindows, WakesOnlyQueuePairsThatFindTheRoomThatTheyNeed) {
    PeerWindows windows({.start = 20});
    windows.change(windows_peer, 0, 14);
    for (const std::uint32_t one : {4U, 5U, 6U}) windows.wait(windows_peer, one, 8);
    windows.wait(windows_peer, 7, 3);
    windows.wait(windows_peer, 8, 1);
    windows.wait(windows_peer, 9, 3);
    EXPECT_EQ(woken(windows, 7), (Woken{8, 9}));  // 2 of 6 are left
    EXPECT_EQ(woken(windows, 9), Woken{7});
    EXPECT_EQ(woken(windows, 9), Woken{});
    windows.wait(windows_peer, 5, 6);  // needs less than before
    EXPECT_EQ(woken(windows, 3), Woken{5});
    windows.change(windows_peer, 14, 12);
    EXPECT_EQ(woken(windows, 3), Woken{4});
    EXPECT_EQ(woken(windows, 4), Woken{6});
    EXPECT_EQ(woken(windows, 4), Woken{});
}

// Otherwise a queue pair that needs more than a small window has would wait for ever.
TEST(PeerWindows, WakesOneThatNeedsMoreThanTheWindowIfNothingIsInFlight) {
    PeerWindows windows({.start = 4});
    windows.change(windows_peer, 0, 1);
    windows.wait(windows_peer, 5, 8);
    windows.wait(windows_peer, 6, 8);
    EXPECT_EQ(woken(windows, 0), Woken{});
    windows.change(windows_peer, 1, 0);
    EXPECT_EQ(woken(windows, 0), Woken{5});
}

class TwoQueuePairs : public testing::Test {
protected:
    void SetUp() override {
        other = pair.a.port
                    .add_queue_pair({.transport = Transport::rc,
                                     .domain = domain,
                                     .send_completions = pair.a.sends,
                                     .receive_completions = pair.a.receives})
                    .value();
        ASSERT_EQ(pair.a.port.modify(other, test::to_init()), ModifyStatus::done);
        const Connection connection{.peer = other_end, .path_mtu = test_mtu};
        ASSERT_EQ(ib::connect(pair.a.port, other, connection), ModifyStatus::done);
        pair.post(Request::write, 0x800);  // 8 packets
        ASSERT_EQ(pair.a_leaving().size(), 4U);
        const Piece piece = pair.a.piece(0, 100);
        ASSERT_EQ(pair.a.port.post_send(other, {.terms = {.request = Request::write},
                                                .pieces = std::span(&piece, 1)}),
                  PostStatus::accepted);
        ASSERT_TRUE(pair.a_leaving().empty());
    }
    std::uint64_t sent_by_other() const { return pair.a.port.queue_pair(other)->counters.sent; }

    RcPair pair{limited(4)};
    std::uint32_t other = 0;
};

TEST_F(TwoQueuePairs, ShareTheWindowAndOneThatWaitedIsAskedWhenThereIsRoom) {
    EXPECT_EQ(pair.a.give(pair.now, ack(0)), RxVerdict::control);
    EXPECT_EQ(pair.a_leaving().size(), 3U);
    EXPECT_EQ(sent_by_other(), 1U);
}

TEST_F(TwoQueuePairs, OneThatEndsLeavesItsRoomToTheOther) {
    pair.a.modify({.state = QueuePairState::error});
    EXPECT_EQ(pair.a_leaving().size(), 1U);
    EXPECT_EQ(sent_by_other(), 1U);
    EXPECT_EQ(pair.a.port.windows().room(other_end), 3U);
}

TEST_F(TwoQueuePairs, OneThatIsResetOrRemovedLeavesItsRoomToTheOther) {
    pair.a.modify({.state = QueuePairState::reset});
    EXPECT_EQ(pair.a_leaving().size(), 1U);
    EXPECT_TRUE(pair.a.port.remove_queue_pair(other));
    EXPECT_EQ(pair.a.port.windows().room(other_end), 4U);
}

/// `pair.a` fills the window. Then a queue pair with a smaller number waits for room for at least
/// two answers of a Read, and one after it for the room of one packet.
class ThreeQueuePairs : public testing::Test {
protected:
    void SetUp() override {
        pair.post(Request::write, 0x400);  // 4 packets
        ASSERT_EQ(pair.a_leaving().size(), 4U);
        for (std::uint32_t* const one : {&reads, &writes}) {
            *one = pair.a.port
                       .add_queue_pair({.transport = Transport::rc,
                                        .domain = domain,
                                        .send_completions = pair.a.sends,
                                        .receive_completions = pair.a.receives})
                       .value();
            ASSERT_EQ(pair.a.port.modify(*one, test::to_init()), ModifyStatus::done);
            ASSERT_EQ(ib::connect(pair.a.port, *one, {.peer = other_end, .path_mtu = test_mtu}),
                      ModifyStatus::done);
        }
        ASSERT_LT(reads, writes);
        post(reads, Request::read, 0x800);
        post(writes, Request::write, 100);
        ASSERT_TRUE(pair.a_leaving().empty());
    }
    void post(std::uint32_t number, Request request, std::size_t length) {
        const Piece piece = pair.a.piece(0, length);
        ASSERT_EQ(pair.a.port.post_send(
                      number, {.terms = {.request = request}, .pieces = std::span(&piece, 1)}),
                  PostStatus::accepted);
    }
    std::uint64_t sent_by(std::uint32_t number) const {
        return pair.a.port.queue_pair(number)->counters.sent;
    }

    RcPair pair{limited(4)};
    std::uint32_t reads = 0;
    std::uint32_t writes = 0;
};

TEST_F(ThreeQueuePairs, OneThatNeedsMoreRoomLeavesItToTheNext) {
    EXPECT_EQ(pair.a.give(pair.now, ack(0xFFFFFE)), RxVerdict::control);
    ASSERT_EQ(pair.a.port.windows().room(other_end), 1U);
    EXPECT_EQ(pair.a_leaving().size(), 1U);
    EXPECT_EQ(sent_by(writes), 1U);
    EXPECT_EQ(pair.a.give(pair.now, ack(1)), RxVerdict::control);
    EXPECT_EQ(names(pair.a_leaving()), Names{"READ Request 000000"});
}

TEST_F(ThreeQueuePairs, OneThatWasResetWaitsNoMore) {
    ASSERT_EQ(pair.a.port.modify(reads, {.state = QueuePairState::reset}), ModifyStatus::done);
    EXPECT_EQ(pair.a.give(pair.now, ack(0xFFFFFE)), RxVerdict::control);
    EXPECT_EQ(pair.a_leaving().size(), 1U);
    EXPECT_EQ(sent_by(writes), 1U);
}

TEST_F(ThreeQueuePairs, OneThatWasRemovedWaitsNoMore) {
    ASSERT_TRUE(pair.a.port.remove_queue_pair(reads));
    EXPECT_EQ(pair.a.give(pair.now, ack(0xFFFFFE)), RxVerdict::control);
    EXPECT_EQ(pair.a_leaving().size(), 1U);
    EXPECT_EQ(sent_by(writes), 1U);
}

constexpr PeerId other_address{4};

// Else the old address would keep its room for a queue pair that sends elsewhere.
TEST_F(ThreeQueuePairs, OneWhosePeerHasAnotherAddressWaitsForTheOldOneNoMore) {
    ASSERT_EQ(pair.a.port.modify(reads, {.state = QueuePairState::sqd}), ModifyStatus::done);
    ASSERT_EQ(pair.a.port.modify(reads, {.address = other_address}), ModifyStatus::done);
    EXPECT_EQ(pair.a.give(pair.now, ack(0xFFFFFF)), RxVerdict::control);
    ASSERT_EQ(pair.a.port.windows().room(other_end), 2U);
    EXPECT_EQ(pair.a_leaving().size(), 2U);
    EXPECT_EQ(sent_by(reads), 1U);
    EXPECT_EQ(sent_by(writes), 1U);
    EXPECT_EQ(pair.a.port.windows().room(other_address), 0U);
}

TEST_F(TwoQueuePairs, PacketsInFlightCountForTheNewAddressOfThePeer) {
    const PeerWindows& windows = pair.a.port.windows();
    pair.a.modify({.state = QueuePairState::sqd});
    pair.a.modify({.address = other_address});
    EXPECT_EQ(windows.under_way(other_end), 0U);
    EXPECT_EQ(windows.under_way(other_address), 4U);
    EXPECT_EQ(pair.a_leaving().size(), 1U);
    EXPECT_EQ(sent_by_other(), 1U);
    EXPECT_EQ(pair.a.give(pair.now, ack(1), other_address), RxVerdict::control);
    EXPECT_EQ(windows.under_way(other_address), 0U);
    EXPECT_EQ(pair.a_leaving().size(), 4U);
    EXPECT_EQ(pair.a.give(pair.now, ack(5), other_address), RxVerdict::control);
    EXPECT_EQ(windows.room(other_address), 4U);
}

// A queue pair that is ready is asked in each poll, also if there is still no room for its Read.
TEST(PeerWindows, ReadsThatWaitForMoreRoomAreNotAskedAgainUntilThereIs) {
    PairSettings settings = rc_settings();
    settings.peer_window = {.start = 8, .least = 4, .most = 8};
    RcPair pair(settings);
    pair.post(Request::write, 0x500);  // 5 packets
    ASSERT_EQ(pair.a_leaving().size(), 5U);
    constexpr std::uint64_t count = 20;
    const Piece piece = pair.a.piece(0, 0x800);  // 8 packets
    std::vector<std::uint32_t> readers;
    for (std::uint64_t i = 0; i < count; ++i) {
        readers.push_back(pair.a.port
                              .add_queue_pair({.transport = Transport::rc,
                                               .domain = domain,
                                               .send_completions = pair.a.sends,
                                               .receive_completions = pair.a.receives})
                              .value());
        const std::uint32_t number = readers.back();
        ASSERT_EQ(pair.a.port.modify(number, test::to_init()), ModifyStatus::done);
        ASSERT_EQ(ib::connect(pair.a.port, number, {.peer = other_end, .path_mtu = test_mtu}),
                  ModifyStatus::done);
        ASSERT_EQ(pair.a.port.post_send(number, {.terms = {.request = Request::read},
                                                 .pieces = std::span(&piece, 1)}),
                  PostStatus::accepted);
    }
    ASSERT_EQ(pair.a.port.windows().room(other_end), 3U);
    const auto ready = [&pair] {
        std::vector<PeerId> peers;
        pair.a.port.ready_peers(peers);
        return peers.size();
    };
    EXPECT_TRUE(pair.a_leaving().empty());
    EXPECT_EQ(ready(), 0U);
    EXPECT_EQ(pair.a.give(pair.now, ack(0xFFFFFE)), RxVerdict::control);
    EXPECT_EQ(pair.a.port.windows().room(other_end), 4U);
    EXPECT_EQ(names(pair.a_leaving()), Names{"READ Request 000000"});
    EXPECT_EQ(ready(), 0U);
    EXPECT_EQ(pair.a.port.queue_pair(readers.front())->counters.sent, 1U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
