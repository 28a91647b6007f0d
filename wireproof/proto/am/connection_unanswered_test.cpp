// A packet that is sent again and again and never arrives, while all shorter packets do: a path
// with a smaller MTU than both ends were told.
#include <gtest/gtest.h>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

constexpr Duration peer_timeout = Duration::milliseconds(1'000);
constexpr Duration loop = Duration::microseconds(200);
constexpr std::size_t long_packet = 400;  // bytes; nothing longer arrives

/// Each message has its own packet, and no OPEN carries bytes of its store.
Config alone() {
    Config config = udp();
    config.bundle_max = config.open_bytes = 0;
    return config;
}

Config between_hosts(Recovery recovery = Recovery::selective,
                     Congestion congestion = Congestion::off, Config config = udp()) {
    config.recovery = recovery;
    config.congestion = congestion;
    config.give_up_after(peer_timeout);
    return config;
}

/// As over UDP to the same host and to another one, and a configuration that no user has.
Configs cases() {
    return {{"as over UDP", between_hosts()},
            {"with congestion control", between_hosts(Recovery::selective, Congestion::by_loss)},
            {"go-back-N", between_hosts(Recovery::go_back_n)},
            {"a packet for each message",
             between_hosts(Recovery::selective, Congestion::off, alone())}};
}

/// Carries frames both ways, one loop at a time, and loses the frames of a that `drops` names.
struct Path {
    explicit Path(const Config& config) : pair(config) {
        drops = [](const Frame& frame) { return frame.bytes.size() > long_packet; };
    }

    /// Runs until this time, or until `done`.
    void run(
        Instant until, const std::function<bool()>& done = [] { return false; }) {
        while (pair.now < until && !done()) {
            const std::size_t moved = turn();
            const Instant next =
                std::min(pair.a.engine.next_deadline(), pair.b.engine.next_deadline());
            if (moved == 0 && next == never) return;
            pair.wait(moved > 0 || next <= pair.now ? loop : next - pair.now);
        }
    }

    std::size_t turn() {
        const Frames there = pair.a.take(pair.now);
        for (const Frame& frame : there) {
            ++sent;
            if (frame.resent) resent.push_back({pair.now, frame.header.number});
            if (drops(frame)) continue;
            pair.give(pair.b, frame);
        }
        const Frames back = pair.b.take(pair.now);
        pair.give(pair.a, back);
        return there.size() + back.size();
    }

    bool ended() const { return !pair.a.log.empty() && pair.a.log.back().starts_with("ENDED"); }

    struct Resend {
        Instant at;
        std::uint32_t number = 0;
    };

    Pair pair;
    std::function<bool(const Frame&)> drops;
    std::size_t sent = 0;        // frames of a
    std::vector<Resend> resent;  // of these
};

// AM-50, AM-53
TEST(AmUnanswered, AStoreOnAPathThatLosesLongPacketsEndsAndSaysHowLongTheyAre) {
    for (const Config& config : cases()) {
        Path path(config);
        const auto source = pattern(20 * config.data_max());
        ASSERT_EQ(store(path.pair.a, source, 7), PostStatus::accepted);
        const Instant begun = path.pair.now;
        path.run(begun + peer_timeout * 10, [&] { return path.ended(); });
        EXPECT_EQ(path.pair.a.take_log(),
                  (Log{"FATE STORE 7", "ENDED unanswered " + std::to_string(config.packet_max)}));
        EXPECT_GE(path.pair.now - begun, peer_timeout);
        EXPECT_LE(path.pair.now - begun, peer_timeout * 3);
        EXPECT_LT(path.sent, config.recovery == Recovery::selective ? 150U : 600U);
        EXPECT_EQ(path.pair.b.log, Log{});
    }
}

// The same for a request, which is one packet, and for the bytes of a get, on the other channel.
TEST(AmUnanswered, EveryKindOfLongPacketIsFoundOut) {
    const Config config = between_hosts();
    {
        Path path(config);
        const std::vector<std::uint32_t> long_words(200, 1);
        ASSERT_EQ(request(path.pair.a, 1, long_words), PostStatus::accepted);
        path.turn();  // in a packet of its own
        requests(path.pair.a, 2);
        path.run(path.pair.now + peer_timeout * 3, [&] { return path.ended(); });
        EXPECT_EQ(path.pair.a.log.back(), "ENDED unanswered " + std::to_string(48 + 800));
        EXPECT_EQ(path.pair.a.log.size(), 4U);
        EXPECT_LT(path.sent, 150U);
    }
    Path path(config);
    std::vector<std::byte> here(3000);
    ASSERT_EQ(get(path.pair.b, here, 3), PostStatus::accepted);
    path.pair.carry(path.pair.b);
    path.run(path.pair.now + peer_timeout * 3, [&] { return path.ended(); });
    EXPECT_EQ(path.pair.a.take_log(), Log{"ENDED unanswered " + std::to_string(config.packet_max)});
    EXPECT_LT(path.sent, 150U);
}

// AM-53: for every cause of the resend, however often.
TEST(AmUnanswered, TheSamePacketLeavesAgainEverMoreSeldom) {
    for (const Config& config : cases()) {
        Path path(config);
        ASSERT_EQ(request(path.pair.a, 1, std::vector<std::uint32_t>(200, 1)),
                  PostStatus::accepted);
        path.run(path.pair.now + peer_timeout * 3, [&] { return path.ended(); });
        ASSERT_TRUE(path.ended());
        ASSERT_GT(path.resent.size(), config.resend_limit);
        Duration before{};
        for (std::size_t i = 8; i + 1 < path.resent.size(); ++i) {
            const Duration wait = path.resent[i + 1].at - path.resent[i].at;
            EXPECT_GE(wait, std::min(before * 2, config.keepalive_max)) << i;
            EXPECT_LE(wait, config.keepalive_max * 2 + loop * 4) << i;
            before = std::min(wait - loop * 4, config.keepalive_max);
        }
        EXPECT_LT(path.resent.size(), 45U);
        EXPECT_LT(path.sent, 3 * path.resent.size());
    }
}

// If a peer says each time, without a question, that the packet is missing, it causes no more
// resends.
TEST(AmUnanswered, NacksThatNobodyAskedForDrawNoMore) {
    const Config config = between_hosts();
    Path path(config);
    ASSERT_EQ(request(path.pair.a, 1, std::vector<std::uint32_t>(200, 1)), PostStatus::accepted);
    path.run(path.pair.now + peer_timeout, [&] { return path.resent.size() == 16; });
    ASSERT_EQ(path.resent.size(), 16U);
    Frames keepalive;
    while (keepalive.empty()) {
        path.pair.wait_for_timer();
        keepalive = path.pair.a.take(path.pair.now);
    }
    path.pair.give(path.pair.b, keepalive);
    const Frames nack = path.pair.b.take(path.pair.now);
    ASSERT_EQ(nack.size(), 1U);
    std::size_t drawn = 0;
    for (int i = 0; i < 1000; ++i) {
        path.pair.give(path.pair.a, nack);
        drawn += path.pair.a.take(path.pair.now).size();
        path.pair.now = path.pair.now + Duration::microseconds(1);
    }
    EXPECT_LE(drawn, 1U);
}

// AM-15, AM-50: a packet that is lost often and finally arrives was only slow.
TEST(AmUnanswered, APacketThatArrivesInTheEndEndsNothing) {
    for (const Config& config : cases()) {
        Path path(config);
        std::size_t lost = 0;
        path.drops = [&](const Frame& frame) {
            return frame.bytes.size() > long_packet && lost++ < 15;
        };
        for (std::uint32_t i = 0; i < 3; ++i) {
            const std::size_t before = path.resent.size();
            lost = i == 1 ? 15 : 0;  // the second is not lost at all
            ASSERT_EQ(request(path.pair.a, 1, std::vector<std::uint32_t>(200, i)),
                      PostStatus::accepted);
            path.run(path.pair.now + peer_timeout, [&] { return path.pair.b.log.size() == i + 1; });
            ASSERT_EQ(path.pair.b.log.size(), i + 1);
            EXPECT_EQ(path.resent.size() - before, i == 1 ? 0U : 15U);
        }
        EXPECT_EQ(path.pair.a.log, Log{});
    }
}

// AM-53: packets after the missing one could not be delivered before it.
TEST(AmUnanswered, NothingNewLeavesWhileTheSamePacketWaitsToLeaveAgain) {
    for (const Config& config : cases()) {
        Path path(config);
        ASSERT_EQ(request(path.pair.a, 1, std::vector<std::uint32_t>(200, 1)),
                  PostStatus::accepted);
        path.run(path.pair.now + peer_timeout, [&] { return path.resent.size() == 14; });
        requests(path.pair.a, 300);
        const std::size_t before = path.sent;
        path.run(path.pair.now + peer_timeout, [&] { return path.resent.size() == 18; });
        ASSERT_EQ(path.resent.size(), 18U);
        EXPECT_LE(path.sent - before, 10U);  // with a question for each packet
        // Once it arrives, all packets continue and do not wait for a timer.
        path.drops = [](const Frame&) { return false; };
        path.run(path.pair.now + config.keepalive_max * 2,
                 [&] { return !path.pair.b.log.empty(); });
        ASSERT_EQ(path.pair.b.log.size(), 1U);
        path.run(path.pair.now + config.keepalive_after + loop * 30,
                 [&] { return path.pair.b.log.size() == 301; });
        EXPECT_EQ(path.pair.b.log.size(), 301U);
    }
}

// If packets were lost together and the peer names each, they are sent again at once.
TEST(AmUnanswered, OthersLeaveAgainAsSoonAsEver) {
    const Config config = between_hosts(Recovery::selective, Congestion::off, alone());
    Path path(config);
    ASSERT_EQ(request(path.pair.a, 1, std::vector<std::uint32_t>(200, 1)), PostStatus::accepted);
    path.run(path.pair.now + peer_timeout, [&] { return path.resent.size() == 6; });
    const std::size_t before = path.resent.size();
    // Of three packets, the first is lost once, and the others show it.
    requests(path.pair.a, 3);
    std::size_t place = 0;
    path.drops = [&](const Frame& frame) {
        return frame.bytes.size() > long_packet || (!frame.resent && place++ == 0);
    };
    path.turn();
    path.turn();
    ASSERT_GT(path.resent.size(), before);
    const auto again = [&](const Path::Resend& resend) {
        return resend.number == path.pair.number(Channel::request, 1);
    };
    EXPECT_EQ(std::count_if(path.resent.begin(), path.resent.end(), again), 1);
}

// AM-42, AM-50: "not now" is an answer.
TEST(AmUnanswered, APeerWithoutRoomIsAliveAndIsNotSentTheSameAgain) {
    for (const Recovery recovery : {Recovery::selective, Recovery::go_back_n}) {
        Config config = between_hosts(recovery);
        config.reply_places = 1;
        config.window[1] = config.chunk_packets + config.window[1] / 4;
        Config slow = Pair::mirrored(config);
        slow.resend_limit = 0;  // its replies are never accepted
        Pair pair(config, slow, 1000);
        reply_to_all(pair.b);
        std::size_t resent = 0;
        const auto turn = [&] {
            for (const Frame& frame : pair.a.take(pair.now)) {
                resent += frame.resent ? 1U : 0U;
                pair.give(pair.b, frame);
            }
            for (const Frame& frame : pair.b.take(pair.now)) {
                if (!is_numbered(frame.header.kind)) pair.give(pair.a, frame);
            }
        };
        requests(pair.a, config.window[1] + 10);
        for (int i = 0; i < 10; ++i) turn();
        ASSERT_GT(pair.b.engine.stats().turned_away_as(RxVerdict::refused), 0U);
        const std::size_t begun = resent;
        const Instant end = pair.now + peer_timeout * 5;
        while (pair.now < end) {
            pair.wait_for_timer();
            for (int i = 0; i < 3; ++i) turn();
        }
        EXPECT_EQ(pair.a.log, Log{});
        EXPECT_LE(resent - begun, 20U);
        // The refused packet is sent again.
        for (int i = 0; i < 100; ++i) {
            pair.wait_for_timer();
            pair.settle();
            if (pair.a.log.size() == config.window[1] + 10) break;
        }
        EXPECT_EQ(pair.a.log.size(), config.window[1] + 10);
    }
}

// A host that was stopped between two resends did not see the peer miss anything in that time.
TEST(AmUnanswered, TimeInWhichNobodyLookedIsNotCounted) {
    Config config = between_hosts();
    config.resend_limit = 12;  // so that only time decides
    Path path(config);
    ASSERT_EQ(request(path.pair.a, 1, std::vector<std::uint32_t>(200, 1)), PostStatus::accepted);
    path.run(path.pair.now + peer_timeout, [&] { return path.resent.size() == 13; });
    path.pair.wait(peer_timeout * 100);
    const std::size_t before = path.resent.size();
    path.run(path.pair.now + config.keepalive_max * 3);
    EXPECT_FALSE(path.ended());
    EXPECT_GT(path.resent.size(), before);
    path.run(path.pair.now + peer_timeout * 3, [&] { return path.ended(); });
    EXPECT_TRUE(path.ended());
}

// The paper's machine has no such path: no packet waits, and no session ends.
TEST(AmUnanswered, WithoutALimitNothingIsHeldBack) {
    Config config = between_hosts();
    config.resend_limit = 0;
    Path path(config);
    ASSERT_EQ(request(path.pair.a, 1, std::vector<std::uint32_t>(200, 1)), PostStatus::accepted);
    path.run(path.pair.now + peer_timeout * 4);
    EXPECT_FALSE(path.ended());
}

}  // namespace
}  // namespace wireproof::am::test
