#include "wireproof/front/am/buffer_pool.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "wireproof/core/pump.hpp"
#include "wireproof/wire/memory/memory_wire.hpp"

namespace wireproof::am {
namespace {

using Use = BufferPool::Use;

Config config_of(std::uint16_t node, std::uint16_t peer) {
    Config config = Config::ethernet();
    config.window = {16, 16};
    config.chunk_packets = 4;
    config.save_bytes = 4096;
    config.reply_places = 8;
    config.held_packets = 8;
    config.first_number = {0xFFFFFFFA, 0xFFFFFFFA};
    config.node = node;
    config.peer = peer;
    config.cookie = 7;  // they have a session
    return config;
}

/// `ours`: this side's connection to one peer, without buffers at first. `theirs`: the peer's
/// connection.
struct Line {
    explicit Line(std::uint16_t peer)
        : ours(config_of(0, peer), nothing, ConnectionBuffers::none(config_of(0, peer))),
          theirs(config_of(peer, 0), nothing) {}

    PostStatus request() { return ours.request(HandlerId{1}, {}); }
    PostStatus request_of_peer() { return theirs.request(HandlerId{1}, {}); }
    void turn(Instant now) {
        now_ = now;
        pump(theirs, link.end(1), PeerId{0}, now, [](const Delivery&) {});
        pump(ours, link.end(0), PeerId{0}, now, [this](const Delivery&) { ++delivered; });
    }
    /// Carries frames until both connections are at rest.
    void finish(Instant& now) {
        for (int i = 0; i < 1'000 && !(ours.at_rest() && theirs.at_rest()); ++i) {
            turn(now);
            now = now + Duration::milliseconds(1);
        }
        EXPECT_TRUE(ours.at_rest() && theirs.at_rest());
    }

    MemoryTable nothing;
    MemoryLink link{{.capacity = 64}};
    Connection ours;
    Connection theirs;
    int delivered = 0;

private:
    Instant now_;
};

struct Lines {
    Lines(std::size_t peers, std::size_t asking) : pool(config_of(0, 1), peers, asking) {
        for (std::size_t i = 0; i < peers; ++i) {
            lines.push_back(std::make_unique<Line>(static_cast<std::uint16_t>(i + 1)));
        }
    }
    Line& operator[](std::size_t peer) { return *lines[peer]; }
    bool lend(std::size_t peer, Use use) { return pool.lend(now, peer, lines[peer]->ours, use); }
    /// Posts a request to the peer.
    void ask(std::size_t peer) {
        ASSERT_TRUE(lend(peer, Use::ask)) << peer;
        ASSERT_EQ(lines[peer]->request(), PostStatus::accepted) << peer;
    }
    /// A request of the peer arrives and finds no buffers.
    void put_off(std::size_t peer) {
        ASSERT_EQ(lines[peer]->request_of_peer(), PostStatus::accepted);
        lines[peer]->turn(now);
        ASSERT_TRUE(lines[peer]->ours.wants_buffers());
        pool.wait(now, peer, lines[peer]->ours);
    }
    void pass(Duration time) {
        const Instant end = now + time;
        while (pool.next_look() <= end) {
            now = std::max(now, pool.next_look());
            pool.look(now);
        }
        now = end;
    }

    Instant now{Duration::milliseconds(1)};
    std::vector<std::unique_ptr<Line>> lines;
    BufferPool pool;
};

TEST(BufferPool, MakesASetWhenItIsNeededAndNoSooner) {
    Lines lines(20, 20);
    EXPECT_EQ(lines.pool.sets_made(), 0U);
    EXPECT_FALSE(lines[3].ours.has_buffers());
    lines.ask(3);
    EXPECT_TRUE(lines[3].ours.has_buffers());
    EXPECT_TRUE(lines.lend(3, Use::ask)) << "it has some";
    EXPECT_EQ(lines.pool.sets_made(), 1U);
    EXPECT_EQ(lines.pool.sets_lent(), 1U);
}

TEST(BufferPool, TakesThemBackOnceTrafficHasEnded) {
    Lines lines(20, 20);
    lines.ask(3);
    lines.pass(BufferPool::rest * 10);
    EXPECT_TRUE(lines[3].ours.has_buffers()) << "a request is under way";
    lines[3].finish(lines.now);
    lines.pass(BufferPool::rest * 3);
    EXPECT_FALSE(lines[3].ours.has_buffers());
    EXPECT_EQ(lines.pool.use_of(3), Use::none);
    EXPECT_EQ(lines.pool.next_look(), never) << "nobody has any";
    lines.ask(4);
    EXPECT_EQ(lines.pool.sets_made(), 1U) << "the next has the same";
}

TEST(BufferPool, LeavesThemWithTrafficThatRestsBetweenMessages) {
    Lines lines(20, 20);
    for (int i = 0; i < 20; ++i) {
        lines.ask(3);
        lines[3].finish(lines.now);
        const std::size_t lent = lines.pool.sets_lent();
        lines.pass(BufferPool::rest - Duration::milliseconds(5));
        EXPECT_EQ(lines.pool.sets_lent(), lent) << i;
    }
}

TEST(BufferPool, NoMoreAskAtOnceThanTheLimit) {
    Lines lines(20, 7);
    for (std::size_t peer = 0; peer < 7; ++peer) lines.ask(peer);
    EXPECT_FALSE(lines.lend(7, Use::ask));
    EXPECT_EQ(lines[7].request(), PostStatus::window_full);
    EXPECT_TRUE(lines.lend(8, Use::answer)) << "kept for that";
    EXPECT_FALSE(lines.pool.may_ask(8));
    EXPECT_FALSE(lines.lend(8, Use::ask)) << "it may not ask with it";
    EXPECT_EQ(lines.pool.sets_made(), 8U);
    lines[2].finish(lines.now);
    EXPECT_TRUE(lines.lend(8, Use::ask)) << "another has ended, and no longer asks";
    EXPECT_FALSE(lines[2].ours.has_buffers());
}

TEST(BufferPool, AConnectionAtRestGivesThemUpForOneThatNeedsThem) {
    Lines lines(20, 7);
    for (std::size_t peer = 0; peer < 7; ++peer) lines.ask(peer);
    lines[5].finish(lines.now);
    lines.ask(7);
    EXPECT_FALSE(lines[5].ours.has_buffers());
    EXPECT_EQ(lines.pool.sets_made(), 7U);
}

TEST(BufferPool, APeerThatWasDeferredIsServedInTurnAndBeforeOthersAsk) {
    Lines lines(20, 7);
    for (std::size_t peer = 0; peer < 7; ++peer) lines.ask(peer);
    ASSERT_TRUE(lines.lend(7, Use::answer));
    ASSERT_EQ(lines[7].request_of_peer(), PostStatus::accepted);
    lines[7].turn(lines.now);
    lines.put_off(9);
    lines.put_off(8);
    EXPECT_LE(lines.pool.next_look(), lines.now + Duration::milliseconds(1));
    lines[2].finish(lines.now);
    EXPECT_FALSE(lines.lend(10, Use::ask)) << "others wait for what could be had";
    EXPECT_TRUE(lines[2].ours.has_buffers());
    EXPECT_EQ(lines.pool.serve_next(lines.now), 9U);
    EXPECT_EQ(lines.pool.use_of(9), Use::answer);
    lines[9].finish(lines.now);
    EXPECT_EQ(lines[9].delivered, 1) << "the request that was put off";
    EXPECT_EQ(lines.pool.serve_next(lines.now), 8U);
    EXPECT_EQ(lines.pool.serve_next(lines.now), std::nullopt);
    lines[8].finish(lines.now);
    EXPECT_EQ(lines[8].delivered, 1);
    EXPECT_TRUE(lines.lend(10, Use::ask)) << "nobody waits any more";
}

TEST(BufferPool, WithASetForEveryPeerAllMayAsk) {
    Lines lines(3, 1'000);
    for (std::size_t peer = 0; peer < 3; ++peer) lines.ask(peer);
    EXPECT_EQ(lines.pool.sets_made(), 3U);
}

}  // namespace
}  // namespace wireproof::am
