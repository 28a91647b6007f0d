// Calls that wait for a peer: flush, close and get. Also memory that is registered for every peer,
// or deallocated. On UDP and on shared memory.
#include <gtest/gtest.h>

#include "wireproof/front/am/endpoint_test_kit.hpp"
#include "wireproof/front/am/node_test_kit.hpp"

namespace wireproof::am {
namespace {

using namespace test;

class AmEndpointFlush : public testing::TestWithParam<bool> {};  // true: on shared memory

INSTANTIATE_TEST_SUITE_P(On, AmEndpointFlush, testing::Bool(),
                         [](const auto& on) { return on.param ? "Shm" : "Udp"; });

/// Two ends. b has handled a request of a, and both are idle.
struct Settled {
    explicit Settled(bool shm) : options(options_on(shm)) {
        b.handle(ask, [](const Message&) {});
        EXPECT_EQ(a.request(1, ask, {1}), Status::ok);
        EXPECT_TRUE(settle(a, b));
    }

    Options options;
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
};

TEST_P(AmEndpointFlush, ReturnsWhenThePeerHasAll) {
    const Options both = options_on(GetParam());
    Endpoint a = open(both, 0);
    Served b(open(both, 1));
    std::atomic<int> handled{0};
    b.endpoint.handle(ask, [&](const Message&) { ++handled; });
    b.start();
    constexpr int count = 100;
    for (int i = 0; i < count; ++i) ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
    EXPECT_EQ(a.flush(1), Status::ok);
    EXPECT_TRUE(a.idle());
    EXPECT_EQ(a.flush(1), Status::ok);
    b.stop();
    EXPECT_EQ(handled, count);  // a message is acknowledged only after its handler may run
}

TEST_P(AmEndpointFlush, SaysThatTheLimitPassedOrThePeerIsLost) {
    for (const auto& [peer_timeout, limit, end] :
         {std::tuple(milliseconds(3'600'000), milliseconds(20), Status::timed_out),
          std::tuple(milliseconds(300), patience, Status::peer_lost)}) {
        Options both = options_on(GetParam());
        both.peer_timeout = peer_timeout;
        Endpoint a = open(both, 0);
        Endpoint b = open(both, 1);
        b.handle(ask, [](const Message&) {});
        ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
        ASSERT_TRUE(settle(a, b));
        ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
        EXPECT_EQ(a.flush(1, limit), end);  // b does not poll
        EXPECT_EQ(a.idle(), end == Status::peer_lost);
        EXPECT_EQ(a.flush(0), Status::no_such_peer);
        EXPECT_EQ(a.flush(2), Status::no_such_peer);
    }
}

TEST_P(AmEndpointFlush, NothingBlocksInAHandler) {
    const Options both = options_on(GetParam());
    Endpoint a = open(both, 0);
    Endpoint b = open(both, 1);
    std::vector<std::byte> bytes(8);
    bool handled = false;
    b.handle(ask, [&](const Message&) {
        EXPECT_EQ(b.flush(0), Status::not_allowed);
        EXPECT_EQ(b.close(), Status::not_allowed);
        EXPECT_EQ(b.get(0, 0, bytes), Status::not_allowed);
        EXPECT_EQ(b.get_async(0, 0, bytes, nullptr), Status::not_allowed);
        handled = true;
    });
    ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
    ASSERT_TRUE(run({&a, &b}, [&] { return handled; }));
    EXPECT_TRUE(b.is_open());
}

TEST_P(AmEndpointFlush, IsNotClosedByTheConditionOfAWait) {
    Endpoint a = open(options_on(GetParam()), 0);
    EXPECT_TRUE(a.wait([&] { return a.close() == Status::not_allowed; }, patience));
    EXPECT_TRUE(a.is_open());
    EXPECT_EQ(a.close(patience), Status::ok);
}

TEST_P(AmEndpointFlush, CloseWaitsUntilThePeerHasAll) {
    const Options both = options_on(GetParam());
    Endpoint a = open(both, 0);
    Served b(open(both, 1));
    std::atomic<int> handled{0};
    b.endpoint.handle(ask, [&](const Message&) { ++handled; });
    b.start();
    for (int i = 0; i < 10; ++i) ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
    EXPECT_EQ(a.close(patience), Status::ok);
    EXPECT_FALSE(a.is_open());
    EXPECT_EQ(a.close(), Status::closed);
    b.stop();
    EXPECT_EQ(handled, 10);
}

// The acknowledgement and the end of b arrive together.
TEST_P(AmEndpointFlush, CloseIsOkIfAPeerHadAllAndEndedFirst) {
    const Options both = options_on(GetParam());
    Endpoint a = open(both, 0);
    {
        Endpoint b = open(both, 1);
        int handled = 0;
        b.handle(ask, [&](const Message&) { ++handled; });
        ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
        ASSERT_TRUE(settle(a, b));
        ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
        a.poll();
        ASSERT_TRUE(b.wait([&] { return handled == 2; }, patience));
        EXPECT_EQ(b.close(patience), Status::ok);
    }
    EXPECT_EQ(a.close(patience), Status::ok);
}

// AM-55: the acknowledgement of the last message may be lost, and so may any frame after it. The
// peer that closes first must not leave the other one without it.
TEST_P(AmEndpointFlush, BothClosesAreOkOnAPathThatLosesFrames) {
    constexpr int rounds = 60;
    for (int round = 0; round < rounds; ++round) {
        Options both = options_on(GetParam());
        both.faults.loss = 0.1;
        both.peer_timeout = patience;  // without the rule, a lacks an acknowledgement so long
        both.seed = std::uint64_t(round) * 2 + 1;
        Endpoint a = open(both, 0);
        Endpoint b = open(both, 1);
        bool stopped = false;
        b.handle(ask, [&](const Message&) { stopped = true; });
        Status end_of_b = Status::timed_out;
        std::thread thread([&] {
            EXPECT_TRUE(b.wait([&] { return stopped; }, patience));
            end_of_b = b.close(2 * patience);
        });
        EXPECT_EQ(a.request(1, ask, {1}), Status::ok);
        EXPECT_EQ(a.close(2 * patience), Status::ok) << "round " << round;
        thread.join();
        EXPECT_EQ(end_of_b, Status::ok) << "round " << round;
    }
}

// AM-55
TEST_P(AmEndpointFlush, LeaveIsTrueOnceNoPeerWaits) {
    const Options both = options_on(GetParam());
    Endpoint a = open(both, 0);
    Endpoint b = open(both, 1);
    b.handle(ask, [&](const Message&) { EXPECT_FALSE(b.leave()) << "inside a handler"; });
    ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
    EXPECT_FALSE(a.leave()) << "the request is not acknowledged";
    ASSERT_TRUE(settle(a, b));
    EXPECT_TRUE(run({&a, &b}, [&] { return a.leave(); }));
    EXPECT_TRUE(b.leave()) << "its peer has said that it leaves";
    EXPECT_EQ(b.close(patience), Status::ok);
    EXPECT_TRUE(b.leave()) << "it is closed";
    EXPECT_EQ(a.close(patience), Status::ok);
}

// AM-55: on a path that may lose frames the node asks, and an event loop must not sleep before the
// question has left (AmNodeAtRest). On shared memory the peer is known to get each frame, so a node
// leaves at once.
TEST_P(AmEndpointFlush, OnlyAPathThatMayLoseFramesIsAsked) {
    Settled ends(GetParam());
    Endpoint& b = ends.b;
    const bool left = b.leave();
    EXPECT_EQ(left, GetParam());
    EXPECT_TRUE(left || b.next_timeout() == std::chrono::nanoseconds::zero());
    b.poll();
    EXPECT_EQ(b.leave(), left) << "it waits for the answer";
}

// AM-55: the peer has gone without a word.
TEST_P(AmEndpointFlush, ANodeWhosePeerIsGoneLeavesSoon) {
    Settled ends(GetParam());
    { const Endpoint gone = std::move(ends.b); }
    EXPECT_EQ(ends.a.close(patience), Status::ok);
}

// On shared memory, a learns at once that b has ended. It still waits for c.
TEST(AmEndpointClose, IsOkIfAPeerThatHadAllIsLostMeanwhile) {
    const Options all = options_on(true, 3);
    Endpoint a = open(all, 0);
    Served c(open(all, 2));
    std::atomic<int> handled{0};
    c.endpoint.handle(ask, [&](const Message&) { ++handled; });
    int lost = 0;
    a.on_peer_lost([&](const PeerLost& peer) {
        EXPECT_EQ(peer.peer, 1U);
        ++lost;
        c.start();
    });
    {
        Endpoint b = open(all, 1);
        ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
        ASSERT_TRUE(settle(a, b));
        ASSERT_EQ(a.request(2, ask, {1}), Status::ok);
    }
    EXPECT_EQ(a.close(patience), Status::ok);
    EXPECT_EQ(lost, 1);
    c.stop();
    EXPECT_EQ(handled, 1);
}

TEST_P(AmEndpointFlush, CloseEndsWhenItsLimitPasses) {
    Endpoint a = open(options_on(GetParam()), 0);
    std::vector<std::byte> bytes(8);
    Status end = Status::ok;
    ASSERT_EQ(a.get_async(1, 0, bytes, [&](Status status) { end = status; }), Status::ok);
    EXPECT_EQ(a.close(milliseconds(20)), Status::timed_out);
    EXPECT_FALSE(a.is_open());
    EXPECT_EQ(end, Status::closed);
}

TEST_P(AmEndpointFlush, CloseSaysThatAPeerWasLostMeanwhile) {
    Options both = options_on(GetParam());
    both.peer_timeout = milliseconds(300);
    Endpoint a = open(both, 0);
    {
        Endpoint b = open(both, 1);
        ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
        ASSERT_TRUE(settle(a, b));
        ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
    }
    EXPECT_EQ(a.close(patience), Status::peer_lost);
    EXPECT_FALSE(a.is_open());
}

TEST_P(AmEndpointFlush, AGetBlocksUntilItsBytesAreThere) {
    const Options both = options_on(GetParam());
    Endpoint a = open(both, 0);
    Served b(open(both, 1));
    auto memory = pattern(100'000);
    const auto address = b.endpoint.register_memory(0, memory, {.get = true});
    const auto hidden = b.endpoint.register_memory(0, std::span(memory).first(0), {.store = true});
    ASSERT_TRUE(address);
    ASSERT_FALSE(hidden);  // it has the same first byte
    b.start();
    std::vector<std::byte> destination(memory.size());
    EXPECT_EQ(a.get(1, *address, destination), Status::ok);
    EXPECT_EQ(destination, memory);
    EXPECT_EQ(a.get(1, *address + 1, destination), Status::forbidden);
    EXPECT_EQ(a.get(2, *address, destination), Status::no_such_peer);
}

TEST_P(AmEndpointFlush, MemoryMayBeForEveryPeer) {
    const Options all = options_on(GetParam(), 3);
    Endpoint a = open(all, 0);
    Endpoint b = open(all, 1);
    Endpoint c = open(all, 2);
    auto memory = pattern(1000);
    const auto address = b.register_memory(memory, {.get = true});
    ASSERT_TRUE(address);
    EXPECT_EQ(b.register_memory(std::span(memory).subspan(10, 10), {}).error(),
              "memory overlaps what is registered for a peer");
    std::vector<Status> ends;
    std::vector<std::byte> of_a(1000);
    std::vector<std::byte> of_c(1000);
    const auto note = [&](Status status) { ends.push_back(status); };
    ASSERT_EQ(a.get_async(1, *address, of_a, note), Status::ok);
    ASSERT_EQ(c.get_async(1, *address, of_c, note), Status::ok);
    ASSERT_TRUE(run({&a, &b, &c}, [&] { return ends.size() == 2; }));
    EXPECT_EQ(ends, (std::vector<Status>{Status::ok, Status::ok}));
    EXPECT_EQ(of_a, memory);
    EXPECT_EQ(of_c, memory);

    Status taken = Status::would_block;
    ASSERT_TRUE(run({&a, &b, &c}, [&] {
        taken = b.unregister_memory(*address);
        return taken != Status::would_block;
    }));
    EXPECT_EQ(taken, Status::ok);
    EXPECT_EQ(b.unregister_memory(*address), Status::not_allowed);
    ASSERT_EQ(c.get_async(1, *address, of_c, note), Status::ok);
    ASSERT_TRUE(run({&a, &b, &c}, [&] { return ends.size() == 3; }));
    EXPECT_EQ(ends.back(), Status::forbidden);
    // If it cannot be registered for each peer, it is registered for none.
    ASSERT_TRUE(b.register_memory(2, memory, {.get = true}));
    EXPECT_FALSE(b.register_memory(memory, {.get = true}));
    ASSERT_EQ(a.get_async(1, *address, of_a, note), Status::ok);
    ASSERT_TRUE(run({&a, &b, &c}, [&] { return ends.size() == 4; }));
    EXPECT_EQ(ends.back(), Status::forbidden);
}

TEST_P(AmEndpointFlush, MemoryIsRegisteredAgainOnlyWhenItsFormerRegistrationHasEnded) {
    Settled ends(GetParam());
    Endpoint& a = ends.a;
    Endpoint& b = ends.b;
    std::vector<std::byte> memory(1000);
    const auto address = b.register_memory(0, memory, {.store = true});
    ASSERT_TRUE(address);
    ASSERT_TRUE(run({&a, &b}, [count = 0]() mutable { return ++count > 10; }));
    if (b.unregister_memory(0, *address) == Status::would_block) {  // on shared memory
        const std::string why =
            "unregister_memory has not returned ok yet for an earlier registration of this memory "
            "for ";
        EXPECT_EQ(b.register_memory(0, memory, {.get = true}).error(), why + "peer 0");
        EXPECT_EQ(b.register_memory(memory, {.get = true}).error(), why + "a peer");
        ASSERT_TRUE(run({&a, &b}, [&] { return b.unregister_memory(0, *address) == Status::ok; }));
    }
    EXPECT_TRUE(b.register_memory(0, memory, {.get = true}));
}

TEST_P(AmEndpointFlush, AllocatedMemoryMayBeGivenBackWhenNobodyMayReachIt) {
    const Options both = options_on(GetParam());
    Endpoint a = open(both, 0);
    Endpoint b = open(both, 1);
    ASSERT_TRUE(settle(a, b));
    const auto memory = b.allocate(5000);
    ASSERT_TRUE(memory);
    EXPECT_EQ(b.deallocate(memory->first(100)), Status::not_allowed);
    std::vector<std::byte> other(10);
    EXPECT_EQ(b.deallocate(other), Status::not_allowed);
    const auto address = b.register_memory(0, memory->subspan(1000, 1000), {.store = true});
    ASSERT_TRUE(address);
    EXPECT_EQ(b.deallocate(*memory), Status::would_block);
    ASSERT_TRUE(run({&a, &b}, [&] { return b.unregister_memory(0, *address) == Status::ok; }));
    EXPECT_EQ(b.deallocate(*memory), Status::ok);
    EXPECT_EQ(b.deallocate(*memory), Status::not_allowed);
    const auto again = b.allocate(5000);
    ASSERT_TRUE(again);
    const auto part = b.register_memory(0, again->subspan(1000, 1000), {.store = true});
    ASSERT_TRUE(part);
    (void)b.unregister_memory(0, *part);  // one call is enough if deallocate() is called again
    EXPECT_TRUE(run({&a, &b}, [&] { return b.deallocate(*again) == Status::ok; }));
}

}  // namespace
}  // namespace wireproof::am
