// Messages that a turn holds back to send them together with later ones, and for how long.
#include <gtest/gtest.h>

#include "wireproof/front/am/node_test_kit.hpp"

namespace wireproof::am {
namespace {

using namespace test;

/// `gather` requests are needed to end a delay, and the receiver sends no acknowledgement because
/// of time alone.
Config acked_seldom(std::uint32_t gather) {
    Config config = quick();
    config.coalesce = gather;
    config.ack_after = Duration();
    return config;
}

// If a peer has not acknowledged yet, many packets count as in flight, as if the peer were far
// behind. Requests that come seldom, one in each turn, must not be held back because of that.
TEST(AmNode, ASlowStreamIsNotKeptBack) {
    const Config config = acked_seldom(4);
    Job job(config);
    std::uint32_t heard = 0;
    job[1].handle(ask, [&](const Message&) { ++heard; });
    int lost = 0;
    job[0].on_peer_lost([&](const PeerLost&) { ++lost; });
    for (std::uint32_t i = 0; i < 200; ++i) {
        ASSERT_EQ(job[0].post(1, ask, words({i})), Status::ok);
        job.turns(1);
        if (i == 0) job.turns(3);  // they begin the session
        ASSERT_EQ(heard, i + 1);
        job.now = job.now + config.keepalive_after * 2;
    }
    EXPECT_EQ(lost, 0);
}

// A stream that never pauses is held back for at most Config::coalesce_for.
TEST(AmNode, ABusyStreamIsKeptBackForItsTimeAtMost) {
    const Config config = acked_seldom(100);
    Job job(config);
    job.step = Duration::microseconds(10);
    std::uint32_t heard = 0;
    job[1].handle(ask, [&](const Message&) { ++heard; });
    ASSERT_EQ(job[0].post(1, ask, words({0})), Status::ok);
    ASSERT_TRUE(job.run([&] { return heard == 1; }));
    for (std::uint32_t i = 0; i < 99; ++i) {
        ASSERT_EQ(job[0].post(1, ask, words({i})), Status::ok);
    }
    job.now = job.now + config.coalesce_for;
    job.turn();
    ASSERT_EQ(heard, 100U);
    std::uint32_t behind = 0;  // the maximum
    for (std::uint32_t i = 0; i < 60; ++i) {
        ASSERT_EQ(job[0].post(1, ask, words({i})), Status::ok);
        job.turn();
        behind = std::max(behind, 101 + i - heard);
    }
    EXPECT_EQ(behind, 5U);  // 50 us in steps of 10 us
}

// The same for stores, while enough packets are in flight.
TEST(AmNode, StoresOfABusyStreamAreKeptBackForTheirTimeAtMost) {
    const Config config = acked_seldom(20);
    Job job(config);
    job.step = Duration::microseconds(10);
    std::vector<std::byte> memory(64);
    ASSERT_TRUE(job[1].register_memory(0, base, memory, {.get = false, .store = true}));
    std::uint32_t asked = 0;
    std::uint32_t heard = 0;
    job[1].handle(ask, [&](const Message&) { ++asked; });
    job[1].handle(stored, [&](const Message&) { ++heard; });
    for (std::uint32_t i = 0; i < 25; ++i) {
        ASSERT_EQ(job[0].post(1, ask, words({i})), Status::ok);
    }
    ASSERT_TRUE(job.run([&] { return asked == 25; }));
    const auto source = pattern(64);
    std::uint32_t behind = 0;  // the maximum
    for (std::uint32_t i = 1; i <= 60; ++i) {
        ASSERT_EQ(job[0].store_async(1, base, source, stored, 0, {}), Status::ok);
        job.turn();
        behind = std::max(behind, i - heard);
    }
    EXPECT_EQ(behind, 5U);  // 50 us in steps of 10 us
    EXPECT_TRUE(job.run([&] { return heard == 60 && job[0].idle(); }));
    EXPECT_EQ(job[0].counters(1).resent, 0U);
    EXPECT_EQ(memory, source);
}

// While `coalesce` requests are in flight, a turn that follows new requests may hold them back. The
// next turn may not.
TEST(AmNode, RequestsGatherWhileAsManyAreUnderWay) {
    Config config = quick();
    config.coalesce = 4;
    Job job(config);
    std::uint32_t heard = 0;
    job[1].handle(ask, [&](const Message&) { ++heard; });
    const auto post = [&job](std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            ASSERT_EQ(job[0].post(1, ask, words({i})), Status::ok);
        }
    };
    const auto left = [&job] { return job[0].connection(1).stats().sent_of(Kind::bundle); };
    post(1);
    ASSERT_TRUE(job.run([&] { return heard == 1; }));
    post(3);
    job[0].poll(job.now);  // too few are in flight
    EXPECT_EQ(left(), 1U);
    post(2);
    job[0].poll(job.now);
    EXPECT_EQ(left(), 1U);
    EXPECT_TRUE(job[0].keeps_back());
    job[0].poll(job.now);  // nothing was posted since the last turn
    EXPECT_EQ(left(), 2U);
    EXPECT_FALSE(job[0].keeps_back());
    post(3);
    job[0].poll(job.now);
    EXPECT_EQ(left(), 2U);
    post(1);
    job[0].poll(job.now);  // enough requests wait
    EXPECT_EQ(left(), 3U);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(heard, 10U);
}

// The receiver acknowledges a store as soon as it arrives, so the stores after it can wait for this
// acknowledgement. If each turn sent its store alone, each store of a stream would need a datagram.
TEST(AmNode, StoresGatherUntilThoseBeforeAreAnswered) {
    Config config = quick();
    config.coalesce = 8;
    Job job(config);
    std::vector<std::byte> memory(64);
    ASSERT_TRUE(job[1].register_memory(0, base, memory, {.get = false, .store = true}));
    std::uint32_t heard = 0;
    std::uint32_t ended = 0;
    job[1].handle(stored, [&](const Message&) { ++heard; });
    const auto source = pattern(64);
    const auto store = [&] {
        ASSERT_EQ(job[0].store_async(1, base, source, stored, 0, [&](Status) { ++ended; }),
                  Status::ok);
    };
    const auto left = [&job] { return job[0].connection(1).stats().sent_of(Kind::open); };
    store();
    ASSERT_TRUE(job.run([&] { return ended == 1; }));
    job[0].poll(job.now);
    store();
    job[0].poll(job.now);  // nothing is in flight
    EXPECT_EQ(left(), 2U);
    for (int i = 0; i < 3; ++i) {
        store();
        job[0].poll(job.now);
        EXPECT_EQ(left(), 2U) << i;
        EXPECT_TRUE(job[0].keeps_back());
    }
    job[1].poll(job.now);  // acknowledges the second
    store();
    job[0].poll(job.now);
    EXPECT_EQ(left(), 6U);
    EXPECT_FALSE(job[0].keeps_back());
    EXPECT_EQ(ended, 2U);
    store();
    job[0].poll(job.now);
    EXPECT_EQ(left(), 6U);
    for (int i = 0; i < 7; ++i) store();
    job[0].poll(job.now);  // enough stores wait, so acknowledgements do not matter
    EXPECT_EQ(left(), 14U);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(heard, 14U);
    EXPECT_EQ(ended, 14U);
    EXPECT_EQ(job[0].counters(1).resent, 0U);
}

TEST(AmNode, GetsGatherUntilThoseBeforeAreAnswered) {
    Config config = quick();
    config.coalesce = 8;
    Job job(config);
    std::vector<std::byte> there(64, std::byte{7});
    ASSERT_TRUE(job[1].register_memory(0, base, there, {.get = true, .store = false}));
    std::vector<std::byte> here(64);
    int ended = 0;
    const auto get = [&] {
        ASSERT_EQ(job[0].get(1, base, here, [&](Status) { ++ended; }), Status::ok);
        job[0].poll(job.now);
    };
    const auto left = [&job] { return job[0].connection(1).stats().sent_of(Kind::get_request); };
    get();
    ASSERT_TRUE(job.run([&] { return ended == 1; }));
    job[0].poll(job.now);
    get();  // nothing is in flight
    EXPECT_EQ(left(), 2U);
    get();
    get();
    EXPECT_EQ(left(), 2U);
    EXPECT_TRUE(job[0].keeps_back());
    job[1].poll(job.now);
    get();  // held back only until the answer arrives
    EXPECT_EQ(ended, 2);
    EXPECT_EQ(left(), 5U);
    get();
    EXPECT_EQ(left(), 5U);
    job[0].poll(job.now);  // nothing was posted since the last turn
    EXPECT_EQ(left(), 6U);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(ended, 6);
}

// The receiver acknowledges a request at some later time, so the sender must not wait for that.
TEST(AmNode, ALoneRequestUnderWayKeepsNothingBack) {
    Config config = quick();
    config.coalesce = 8;
    Job job(config);
    job[1].handle(ask, [](const Message&) {});
    ASSERT_EQ(job[0].post(1, ask, words({1})), Status::ok);
    ASSERT_TRUE(job.settle());
    for (std::uint32_t i = 0; i < 3; ++i) {
        ASSERT_EQ(job[0].post(1, ask, words({i})), Status::ok);
        job[0].poll(job.now);
        EXPECT_FALSE(job[0].keeps_back()) << i;
    }
    ASSERT_TRUE(job.settle());
}

}  // namespace
}  // namespace wireproof::am
