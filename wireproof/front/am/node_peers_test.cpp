// Peers that are full, dead, gone or restarted, beside peers that work.
#include <gtest/gtest.h>

#include "wireproof/front/am/node_test_kit.hpp"

namespace wireproof::am {
namespace {

using namespace test;

std::string text(const PeerLost& lost) {
    constexpr std::array<const char*, 4> whys = {"silent", "restarted", "gone", "unanswered"};
    constexpr std::array<const char*, 4> kinds = {"request", "reply", "store", "get"};
    std::string out = std::to_string(lost.peer) + " " + whys[static_cast<std::size_t>(lost.why)];
    for (const Undelivered& message : lost.undelivered) {
        out += std::string(" | ") + kinds[static_cast<std::size_t>(message.kind)] + " " +
               std::to_string(message.handler);
        const Words words = message.words();
        for (std::size_t i = 0; i < words.size(); ++i) out += " " + std::to_string(words[i]);
    }
    return out;
}

/// Each node echoes, and records the peers that it loses.
struct Town {
    explicit Town(const Config& config = quick(), std::size_t nodes = 3, std::size_t capacity = 256)
        : job(config, nodes, {}, capacity), lost(nodes), answers(nodes) {
        for (std::size_t i = 0; i < nodes; ++i) settle_in(i);
    }

    void settle_in(std::size_t node) {
        job[node].handle(
            ask, [](const Message& m) { EXPECT_EQ(m.reply(answer, {m.words()[0]}), Status::ok); });
        job[node].handle(answer, [this, node](const Message&) { ++answers[node]; });
        job[node].on_peer_lost([this, node](const PeerLost& l) { lost[node].push_back(text(l)); });
    }

    /// Afterwards the two have a session, and nothing is in flight.
    void acquaint(std::size_t from, std::size_t to) {
        ASSERT_EQ(job.request(from, to, ask, {0}), Status::ok);
        ASSERT_TRUE(job.settle());
        ASSERT_TRUE(job[to].connected(from));
        answers[from] = 0;
    }

    Job job;
    std::vector<std::vector<std::string>> lost;
    std::vector<std::uint32_t> answers;
};

using Lost = std::vector<std::string>;

TEST(AmNodePeers, AFullPeerStopsNoTrafficToAnother) {
    Config config = quick();
    config.cookie = 7;  // sessions exist from the start: requests leave without a HELLO
    config.peer_timeout = Duration::milliseconds(1'000'000);
    Town town(config, 3, 16);
    std::uint32_t to_full = 0;
    std::uint32_t to_living = 0;
    town.job[2].handle(ask, [&](const Message& m) { EXPECT_EQ(m.words()[0], to_full++); });
    std::uint32_t posted = 0;
    for (int round = 0; round < 200; ++round) {  // node 2 does not poll
        while (town.job.request(0, 2, ask, {posted}) == Status::ok) ++posted;
        for (int i = 0; i < 10; ++i) {
            to_living += town.job.request(0, 1, ask, {1}) == Status::ok ? 1U : 0U;
        }
        for (const std::size_t node : {0U, 1U}) town.job[node].poll(town.job.now);
        town.job.now = town.job.now + town.job.step;
    }
    EXPECT_EQ(posted, 1024U) << "its window";
    EXPECT_EQ(to_living, 2000U);
    EXPECT_GE(town.answers[0], 1900U);
    ASSERT_TRUE(town.job.settle());
    EXPECT_EQ(town.answers[0], 2000U);
    EXPECT_EQ(to_full, posted) << "nothing was lost to the full peer either";
    EXPECT_TRUE(town.lost[0].empty());
}

/// A peer that sends faster than this node receives.
struct FloodedWire {
    struct FullLane {
        LaneCapabilities capabilities() const { return {.frame_max = 2048}; }
        TxFrame* claim() { return nullptr; }
        void commit() {}
    };
    FullLane& lane(PeerId) { return full; }
    std::optional<RxFrame> receive(Instant) {
        if (received == 1'000'000) return std::nullopt;  // so that a turn without a limit ends, too
        ++received;
        return RxFrame{.bytes = garbage, .from = PeerId{1}, .lent = {}};
    }
    void flush(Instant) {}
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return std::nullopt; }
    Instant next_deadline() const { return never; }

    FullLane full;
    std::vector<std::byte> garbage = pattern(100);
    std::size_t received = 0;
};

TEST(AmNodePeers, ATurnEndsThoughAPeerSendsWithoutEnd) {
    FloodedWire wire;
    Node node(host::AnyWire(std::ref(wire)), quick(), 2);
    for (const std::size_t turns : {1U, 2U, 3U}) {
        node.poll(Instant(Duration::milliseconds(1)));
        EXPECT_EQ(wire.received, turns * 4096);
    }
}

TEST(AmNodePeers, ADeadPeerIsReportedOnceWithAllThatWasUnderWay) {  // AM-50
    Town town;
    town.acquaint(0, 1);
    town.acquaint(0, 2);
    town.job.stop(2);
    const auto source = pattern(100'000);
    std::vector<std::byte> destination(10);
    std::vector<std::string> ends;
    const auto ended = [&ends](const char* what) {
        return [&ends, what](Status status) {
            ends.push_back(std::string(what) + " " + std::string(name_of(status)));
        };
    };
    ASSERT_EQ(town.job.request(0, 2, ask, {1, 2, 0xFFFFFFFF}), Status::ok);
    ASSERT_EQ(town.job[0].store_async(2, base, source, stored, 0, ended("store")), Status::ok);
    ASSERT_EQ(town.job.request(0, 2, 77), Status::ok);
    ASSERT_EQ(town.job[0].get(2, base, destination, ended("get")), Status::ok);
    std::uint32_t living = 0;
    ASSERT_TRUE(town.job.run([&] {
        living += town.job.request(0, 1, ask, {living}) == Status::ok ? 1U : 0U;
        return !town.lost[0].empty();
    }));
    EXPECT_EQ(town.lost[0], Lost{"2 silent | request 1 1 2 4294967295 | store 3 | request 77 | "
                                 "get 0"});
    EXPECT_EQ(ends, (std::vector<std::string>{"store peer_lost", "get peer_lost"}));
    EXPECT_GE(living, 900U) << "100 ms at 10 requests a ms";
    ASSERT_TRUE(town.job.settle());
    EXPECT_EQ(town.answers[0], living);
    town.job.turns(3'000);
    EXPECT_EQ(town.lost[0].size(), 1U) << "nobody waits for it any more";
    EXPECT_TRUE(town.lost[1].empty());
}

TEST(AmNodePeers, WhatADeadPeerIsAskedLaterIsReportedAgain) {
    Town town;
    town.acquaint(0, 2);
    town.job.stop(2);
    for (std::uint32_t i = 0; i < 3; ++i) {
        ASSERT_EQ(town.job.request(0, 2, ask, {i}), Status::ok);
        ASSERT_TRUE(town.job.run([&] { return town.lost[0].size() == i + 1; }));
    }
    EXPECT_EQ(town.lost[0],
              (Lost{"2 silent | request 1 0", "2 silent | request 1 1", "2 silent | request 1 2"}));
}

TEST(AmNodePeers, APeerThatNeverCameIsReportedToo) {
    Town town;
    town.job.stop(1);
    std::vector<Status> ends;
    const auto source = pattern(10);
    ASSERT_EQ(town.job[0].store_async(1, base, source, stored, 0,
                                      [&](Status status) { ends.push_back(status); }),
              Status::ok);
    const Instant begun = town.job.now;
    ASSERT_TRUE(town.job.run([&] { return !town.lost[0].empty(); }));
    EXPECT_EQ(town.lost[0], Lost{"1 silent | store 3"});
    EXPECT_EQ(ends, std::vector<Status>{Status::peer_lost});
    EXPECT_GE(town.job.now - begun, Duration::milliseconds(100));
    EXPECT_LE(town.job.now - begun, Duration::milliseconds(110));
    EXPECT_TRUE(town.job[0].idle());
}

TEST(AmNodePeers, RepliesThatWaitedAreReportedToo) {
    Town town;
    town.acquaint(0, 1);
    for (std::uint32_t i = 0; i < 3; ++i) {
        ASSERT_EQ(town.job.request(0, 1, ask, {i}), Status::ok);
    }
    town.job[0].poll(town.job.now);
    town.job.stop(0);
    ASSERT_TRUE(town.job.run([&] { return !town.lost[1].empty(); }));
    EXPECT_EQ(town.lost[1], Lost{"0 silent | reply 2 0 | reply 2 1 | reply 2 2"});
}

TEST(AmNodePeers, EveryLostPeerIsReportedForItself) {
    Town town(quick(), 4);
    for (const std::size_t peer : {1U, 2U, 3U}) town.acquaint(0, peer);
    town.job.stop(1);
    town.job.stop(3);
    for (const std::size_t peer : {1U, 2U, 3U}) {
        ASSERT_EQ(town.job.request(0, peer, ask, {1}), Status::ok);
    }
    ASSERT_TRUE(town.job.settle());
    std::sort(town.lost[0].begin(), town.lost[0].end());
    EXPECT_EQ(town.lost[0], (Lost{"1 silent | request 1 1", "3 silent | request 1 1"}));
    EXPECT_EQ(town.answers[0], 1U);
}

TEST(AmNodePeers, SilenceMattersOnlyToACallerThatWaits) {
    Town town;
    town.acquaint(0, 1);
    town.acquaint(0, 2);
    town.job.stop(2);
    town.job.turns(5'000);
    EXPECT_TRUE(town.lost[0].empty());
    EXPECT_EQ(town.job[0].next_deadline(), never) << "nothing is due where nothing is awaited";
    town.job[0].set_awaiting(true);
    const Instant begun = town.job.now;
    ASSERT_TRUE(town.job.run([&] { return !town.lost[0].empty(); }));
    EXPECT_EQ(town.lost[0], Lost{"2 silent"}) << "the living peer answered";
    EXPECT_LE(town.job.now - begun, Duration::milliseconds(110));
    EXPECT_GT(town.job[0].counters(2).keepalives, 0U);
    town.job.turns(3'000);
    EXPECT_EQ(town.lost[0].size(), 1U);
    EXPECT_TRUE(town.job[0].connected(1));
    EXPECT_FALSE(town.job[0].connected(2));
}

TEST(AmNodePeers, APeerThatTheWireCallsGoneIsLostAtOnce) {
    Town town;
    town.acquaint(0, 1);
    town.acquaint(0, 2);
    ASSERT_EQ(town.job.request(0, 1, ask, {5}), Status::ok);
    town.job.wire(0).events.emplace_back(PeerId{1}, WireEvent::peer_gone);
    town.job.wire(0).events.emplace_back(PeerId{2}, WireEvent::new_life);
    // An event of the node itself, not of a peer.
    town.job.wire(0).events.emplace_back(PeerId{0}, WireEvent::peer_gone);
    town.job[0].poll(town.job.now);
    EXPECT_EQ(town.lost[0], (Lost{"1 gone | request 1 5", "2 restarted"}));
}

TEST(AmNodePeers, AReportKeepsWhatItCapturedAndMayReplaceItself) {
    Town town;
    std::string heard;
    const auto lose_both = [&] {
        for (const PeerId peer : {PeerId{1}, PeerId{2}}) {
            town.acquaint(0, static_cast<std::size_t>(peer));
            town.job.wire(0).events.emplace_back(peer, WireEvent::peer_gone);
        }
        town.job[0].poll(town.job.now);
    };
    town.job[0].on_peer_lost([&heard, count = 0](const PeerLost&) mutable {
        heard += " loss " + std::to_string(++count);
    });
    lose_both();
    town.job[0].on_peer_lost([&, own = std::string(100, 'a')](const PeerLost&) {
        town.job[0].on_peer_lost([&](const PeerLost&) { heard += " later"; });
        heard += own == std::string(100, 'a') ? " itself" : " destroyed";
    });
    lose_both();
    EXPECT_EQ(heard, " loss 1 loss 2 itself later");

    heard.clear();
    town.job[0].on_refused([&heard, count = 0](std::size_t, std::uint16_t) mutable {
        heard += " refusal " + std::to_string(++count);
    });
    ASSERT_EQ(town.job.request(0, 1, 77), Status::ok);
    ASSERT_EQ(town.job.request(0, 1, 78), Status::ok);
    ASSERT_TRUE(town.job.settle());
    EXPECT_EQ(heard, " refusal 1 refusal 2");
}

TEST(AmNodePeers, ThePeerMayBeAskedAgainFromTheReportOfItsLoss) {
    Town town;
    town.acquaint(0, 1);
    ASSERT_EQ(town.job.request(0, 1, ask, {5}), Status::ok);
    const auto source = pattern(10);
    std::vector<Status> in_done;
    ASSERT_EQ(town.job[0].store_async(1, base, source, stored, 0,
                                      [&](Status status) {
                                          EXPECT_EQ(status, Status::peer_lost);
                                          in_done.push_back(town.job.request(0, 1, ask, {6}));
                                      }),
              Status::ok);
    std::vector<Status> in_report;
    town.job[0].on_peer_lost([&](const PeerLost& lost) {
        for (const Undelivered& message : lost.undelivered) {
            if (message.kind != Undelivered::Kind::request) continue;
            in_report.push_back(
                town.job[0].request(town.job.now, 1, message.handler, message.bytes));
        }
    });
    town.job.wire(0).events.emplace_back(PeerId{1}, WireEvent::peer_gone);
    ASSERT_TRUE(town.job.run([&] { return town.answers[0] == 1; }));
    EXPECT_EQ(in_done, std::vector<Status>{Status::would_block}) << "the old session is not over";
    EXPECT_EQ(in_report, std::vector<Status>{Status::ok});
}

TEST(AmNodePeers, ARestartedPeerIsReportedAndTrafficGoesOn) {  // AM-49
    Town town;
    town.acquaint(0, 1);
    town.acquaint(0, 2);
    ASSERT_EQ(town.job.request(0, 1, ask, {5}), Status::ok);
    town.job[0].poll(town.job.now);  // the request left, and no node received it
    town.job.restart(1, 99);
    town.settle_in(1);
    ASSERT_EQ(town.job.request(1, 0, ask, {6}), Status::ok);
    ASSERT_TRUE(town.job.run([&] { return town.answers[1] == 1; }));
    EXPECT_EQ(town.lost[0], Lost{"1 restarted | request 1 5"});
    EXPECT_TRUE(town.lost[1].empty()) << "the new life lost nobody";
    for (std::uint32_t i = 0; i < 100; ++i) {
        ASSERT_EQ(town.job.request(0, 1, ask, {i}), Status::ok);
        ASSERT_EQ(town.job.request(0, 2, ask, {i}), Status::ok);
    }
    ASSERT_TRUE(town.job.settle());
    EXPECT_EQ(town.answers[0], 200U);
    EXPECT_EQ(town.lost[0].size(), 1U);
    EXPECT_EQ(town.job[0].counters(1).sessions, 2U);
    EXPECT_EQ(town.job[0].counters(2).sessions, 1U);
}

TEST(AmNodePeers, MemoryOfADeadPeersTransferIsFreeAgain) {
    Town town(quick(), 2, 16);  // 16 frames fit on the link
    std::vector<std::byte> memory(100'000);
    ASSERT_TRUE(town.job[1].register_memory(0, base, memory, {.get = true, .store = true}));
    town.job[1].handle(stored, [](const Message&) {});
    town.acquaint(0, 1);
    const auto source = pattern(100'000);
    ASSERT_EQ(town.job[0].store_async(1, base, source, stored, 0, nullptr), Status::ok);
    for (const std::size_t node : {0U, 1U}) town.job[node].poll(town.job.now);
    EXPECT_EQ(town.job[1].unregister_memory(0, base), Status::would_block);
    town.job.stop(0);
    // The receiver still expects bytes, so it asks the peer, although it sent nothing itself.
    ASSERT_TRUE(town.job.run([&] { return !town.lost[1].empty(); }));
    EXPECT_EQ(town.lost[1], Lost{"0 silent"});
    EXPECT_EQ(town.job[1].unregister_memory(0, base), Status::ok);
}

}  // namespace
}  // namespace wireproof::am
