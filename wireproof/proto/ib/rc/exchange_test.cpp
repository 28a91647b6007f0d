// Both halves of RC together: a mixed exchange in which each single packet is lost, duplicated or
// late. The test also limits the cost, because retransmission can hide defects of a reliable
// protocol.
#include <gtest/gtest.h>

#include <deque>

#include "wireproof/proto/ib/rc/rc_test_kit.hpp"

namespace wireproof::proto::ib::test {
namespace {

enum class Fate { none, lost, repeated, late };

class Exchange {
public:
    Exchange(Fate fate, std::size_t which, std::uint32_t peer_window = 0)
        : pair(settings_of(peer_window)), fate_(fate), which_(which) {
        pair.b.fill(0x4400, pattern(600, 50));
        pair.b.fill(0x6000, std::vector<std::byte>(8));
        pair.receives(2);
        pair.send(600);
        pair.read(600, 0x400);
        pair.atomic(Request::fetch_add, 5);
        pair.post(Request::write_immediate, 300, 0x1800);
        pair.atomic(Request::compare_swap, 9, 5);
    }

    void run() {
        for (int turns = 0; turns < 50; ++turns) {
            for (bool moved = true; moved;) {
                moved = move(pair.a, pair.b);
                moved = move(pair.b, pair.a) || moved;
            }
            if (late_) {
                (late_from_a_ ? pair.b : pair.a).give(pair.now, *late_);
                late_.reset();
                continue;
            }
            const Instant next = pair.a.port.next_deadline();
            if (next == never) return;
            pair.pass(next - pair.now);
        }
        ADD_FAILURE() << "never ends";
    }

    void expect_done() {
        EXPECT_EQ(ids(pair.a.sent()), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
        EXPECT_EQ(pair.b.received().size(), 2U);
        EXPECT_EQ(pair.got(0, 600), pattern(600, 1));
        EXPECT_EQ(pair.a.bytes(0x2400, 600), pattern(600, 50));
        EXPECT_EQ(pair.target(), 9U);
        EXPECT_EQ(pair.result(), 5U);
        EXPECT_LE(pair.a.counters().timeouts + pair.a.counters().went_back, 2U);
        EXPECT_LE(pair.a.counters().sent, 24U);
        EXPECT_LE(pair.b.counters().naks_sent, 2U);
        EXPECT_EQ(pair.a.state(), QueuePairState::rts);
    }

    RcPair pair;
    std::size_t packets = 0;

private:
    static PairSettings settings_of(std::uint32_t peer_window) {
        PairSettings settings = rc_settings({.retry_count = std::uint8_t{2}});
        settings.peer_window = {.start = peer_window, .least = 1, .most = 4};
        return settings;
    }
    bool move(End& from, End& to) {
        const auto packet = from.poll(pair.now);
        if (!packet) return false;
        const Fate fate = packets++ == which_ ? fate_ : Fate::none;
        if (fate == Fate::lost) return true;
        if (fate == Fate::late) {
            late_ = packet;
            late_from_a_ = &from == &pair.a;
            return true;
        }
        to.give(pair.now, *packet);
        if (fate == Fate::repeated) to.give(pair.now, *packet);
        return true;
    }

    Fate fate_;
    std::size_t which_;
    std::optional<PacketBytes> late_;
    bool late_from_a_ = false;
};

// RC-1
TEST(RcExchange, EndsWellWhicheverPacketIsLostOrRepeated) {
    for (const std::uint32_t peer_window : {0U, 1U, 2U, 4U}) {
        Exchange clean(Fate::none, 0, peer_window);
        clean.run();
        clean.expect_done();
        EXPECT_EQ(clean.pair.a.counters().resent, 0U);
        ASSERT_GE(clean.packets, 14U);
        for (const Fate fate : {Fate::lost, Fate::repeated, Fate::late}) {
            for (std::size_t which = 0; which < clean.packets; ++which) {
                SCOPED_TRACE("window " + std::to_string(peer_window) + ", fate " +
                             std::to_string(static_cast<int>(fate)) + " of packet " +
                             std::to_string(which));
                Exchange exchange(fate, which, peer_window);
                exchange.run();
                exchange.expect_done();
            }
        }
    }
}

// Not a rule of the specification: measurements of recovery need unlimited retries.
TEST(RcExchange, UnlimitedRetriesNeverEndAConnection) {
    PairSettings settings = rc_settings(QueuePairChange{.retry_count = std::uint8_t{1}});
    settings.queue_pair.retries_unlimited = true;
    RcPair pair(settings);
    pair.receives(1);
    pair.send(10);
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(pair.a_leaving().size(), 1U) << i;
        pair.pass(rto);
    }
    EXPECT_EQ(pair.a.counters().timeouts, 20U);
    for (const auto& packet : pair.a_leaving()) pair.b.give(pair.now, packet);
    for (const auto& packet : pair.b.leaving(pair.now)) pair.a.give(pair.now, packet);
    EXPECT_EQ(statuses(pair.a.sent()), Statuses{CompletionStatus::success});
}

// RC-16: credits work when message numbers wrap on a small circle.
TEST(RcExchange, MessageNumbersMayTurnASmallerCircle) {
    PairSettings settings = rc_settings();
    settings.queue_pair.msn_modulus = 8;
    settings.queue_pair.credits = true;
    RcPair pair(settings);
    for (std::uint32_t i = 0; i < 10; ++i) {
        pair.receives(1);
        pair.send(10);
        for (const auto& packet : pair.a_leaving()) pair.b.give(pair.now, packet);
        const auto answers = pair.b.leaving(pair.now);
        ASSERT_EQ(answers.size(), 1U) << i;
        EXPECT_EQ(decoded(answers[0]).headers.aeth.msn.value(), (i + 1) % 8);
        pair.a.give(pair.now, answers[0]);
    }
    EXPECT_EQ(pair.b.received().size(), 10U);
    EXPECT_EQ(pair.a.counters().resent, 0U);
}

}  // namespace
}  // namespace wireproof::proto::ib::test
