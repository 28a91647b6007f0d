// Endpoints that were moved from, that are destroyed while transfers run, that are misused inside
// their own calls, or that a forked child uses.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "wireproof/am.hpp"
#include "wireproof/front/am/endpoint_test_kit.hpp"
#include "wireproof/front/am/node_test_kit.hpp"
#include "wireproof/host/fork_test_kit.hpp"

namespace wireproof::am {
namespace {

using namespace test;

/// The names of the calls that do not answer as those of a closed Endpoint.
std::string not_closed(Endpoint& end) {
    std::string wrong;
    const auto check = [&](const char* call, bool closed) {
        if (!closed) wrong += std::string(call) + " ";
    };
    std::array<std::byte, 8> bytes{};
    const auto never = [](Status) { ADD_FAILURE() << "nothing was begun"; };
    check("is_open", !end.is_open());
    check("self", end.self() == 0);
    check("nodes", end.nodes() == 0);
    check("message_max", end.message_max() == 0);
    check("handle", end.handle(ask, echo()) == Status::closed);
    end.on_peer_lost([](const PeerLost&) {});
    end.on_refused([](std::size_t, std::uint16_t) {});
    check("request", end.request(1, ask, {1}) == Status::closed);
    check("store", end.store(1, 0, bytes, stored) == Status::closed);
    check("store_async", end.store_async(1, 0, bytes, stored, 0, never) == Status::closed);
    check("get_async", end.get_async(1, 0, bytes, never) == Status::closed);
    check("allocate", !end.allocate(8) && end.allocate(8).error() == "the Endpoint is closed");
    check("register_memory", !end.register_memory(1, bytes, {.get = true}));
    check("unregister_memory", end.unregister_memory(1, 0) == Status::closed);
    check("poll", end.poll() == 0);
    check("wait", !end.wait([] { return true; }));
    check("idle", end.idle());
    check("leave", end.leave());
    check("counters", end.counters(1).sent == 0);
    check("get", end.get(1, 0, bytes) == Status::closed);
    check("flush", end.flush(1) == Status::closed);
    check("close", end.close() == Status::closed);
    check("local_address", end.local_address().empty());
    check("set_peer_address", !end.set_peer_address(1, "127.0.0.1:1"));
    check("deallocate", end.deallocate(bytes) == Status::closed);
    check("register_memory", !end.register_memory(bytes, {.get = true}));
    check("unregister_memory", end.unregister_memory(0) == Status::closed);
    check("event_fd", end.event_fd() == -1);
    check("arm", end.arm());
    check("next_timeout", end.next_timeout() == std::chrono::nanoseconds::max());
    end.wake();
    return wrong;
}

using host::test::in_child;

class AmEndpointClosed : public testing::TestWithParam<bool> {};  // true: on shared memory

TEST_P(AmEndpointClosed, AnswersEveryCallWhenMovedFrom) {
    const Options options = options_on(GetParam());
    Endpoint a = open(options, 0);
    EXPECT_TRUE(a.is_open());
    Endpoint b = std::move(a);
    EXPECT_EQ(not_closed(a), "");
    EXPECT_TRUE(b.is_open());
    a = std::move(b);
    EXPECT_EQ(not_closed(b), "");
    EXPECT_TRUE(a.is_open());
    EXPECT_EQ(a.nodes(), 2U);
    Endpoint& same = a;
    a = std::move(same);
    EXPECT_TRUE(a.is_open());
}

TEST_P(AmEndpointClosed, MayBeMovedByAHandlerAndGoesOn) {
    const Options options = options_on(GetParam());
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
    std::vector<Endpoint> moved;
    std::uint32_t heard = 0;
    b.handle(ask, [&](const Message& m) {
        if (moved.empty()) {
            moved.push_back(std::move(b));
            EXPECT_EQ(not_closed(b), "");
        }
        EXPECT_EQ(m.reply(answer, {heard++}), Status::ok);
    });
    std::uint32_t answers = 0;
    a.handle(answer, [&](const Message& m) { EXPECT_EQ(m.words()[0], answers++); });
    for (int i = 0; i < 3; ++i) ASSERT_EQ(a.request(1, ask), Status::ok);
    ASSERT_TRUE(run({&a}, [&] {
        if (moved.empty()) {
            b.wait([&] { return heard > 0; }, milliseconds(1));
        } else {
            moved[0].poll();
        }
        return answers == 3;
    }));
    EXPECT_FALSE(b.is_open());
}

TEST_P(AmEndpointClosed, EndsTransfersWithAStatusWhenDestroyed) {
    const Options options = options_on(GetParam());
    std::vector<std::string> ends;
    std::vector<std::byte> bytes(10'000);
    {
        std::unique_ptr<Endpoint> a = std::make_unique<Endpoint>(open(options, 0));
        Endpoint* const self = a.get();
        const auto done = [&](const char* what) {
            return [&ends, self, what](Status status) {
                ends.push_back(std::string(what) + " " + std::string(name_of(status)));
                EXPECT_EQ(not_closed(*self), "") << "the callback finds it closed";
            };
        };
        ASSERT_EQ(a->store_async(1, 0, bytes, stored, 0, done("store")), Status::ok);
        ASSERT_EQ(a->get_async(1, 0, bytes, done("get")), Status::ok);
        ASSERT_EQ(a->get_async(1, 0, bytes, nullptr), Status::ok);
        a->poll();
        EXPECT_TRUE(ends.empty());
    }
    EXPECT_EQ(ends, (std::vector<std::string>{"store closed", "get closed"}));

    Endpoint a = open(options_on(GetParam()), 0);
    ASSERT_EQ(a.get_async(1, 0, bytes,
                          [&](Status status) { ends.push_back(std::string(name_of(status))); }),
              Status::ok);
    a = open(options_on(GetParam()), 0);  // the Endpoint that it held is destroyed
    EXPECT_EQ(ends.back(), "closed");
    EXPECT_EQ(ends.size(), 3U);
    EXPECT_TRUE(a.idle());
}

TEST_P(AmEndpointClosed, IsClosedInAForkedChildAndServesTheParent) {
    const Options options = options_on(GetParam());
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
    b.handle(ask, echo());
    std::uint32_t answers = 0;
    a.handle(answer, [&](const Message&) { ++answers; });
    const auto exchange = [&] {
        const std::uint32_t wanted = answers + 10;
        for (int i = 0; i < 10; ++i) EXPECT_EQ(a.request(1, ask, {1}), Status::ok);
        return run({&a, &b}, [&] { return answers == wanted && a.idle() && b.idle(); });
    };
    ASSERT_TRUE(exchange());
    std::vector<std::byte> memory(100);
    int ended = 0;
    ASSERT_EQ(a.get_async(1, 0, memory, [&](Status) { ++ended; }), Status::ok);
    a.on_peer_lost([](const PeerLost&) { ADD_FAILURE() << "the child's end is no peer's"; });
    EXPECT_EQ(in_child([&] {
                  const std::string wrong = not_closed(a) + not_closed(b);
                  { const Endpoint gone = std::move(a); }
                  b = open(options_on(false), 0);
                  return wrong.empty() && ended == 0 && b.is_open() ? 0 : 1;
              }),
              0);
    ASSERT_TRUE(run({&a, &b}, [&] { return ended == 1; }));
    ASSERT_TRUE(exchange());
    EXPECT_EQ(a.counters(1).sessions, 1U);
    EXPECT_EQ(a.counters(1).resent, 0U);
}

// A forked child that lives on must hold nothing that makes the dead parent seem alive to a peer,
// or that keeps the next node out of the parent's place.
TEST_P(AmEndpointClosed, AForkedChildKeepsNothingOpen) {
    const Options options = options_on(GetParam());
    Endpoint a = open(options, 0);
    auto b = std::make_unique<Endpoint>(open(options, 1));
    b->handle(ask, echo());
    a.handle(answer, [](const Message&) {});
    ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
    ASSERT_TRUE(settle(a, *b));
    std::array<int, 2> hold{};
    ASSERT_EQ(::pipe(hold.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(120);
        char byte = 0;
        ::close(hold[1]);
        ::_exit(::read(hold[0], &byte, 1) == 0 ? 0 : 1);
    }
    std::vector<PeerLost::Why> lost;
    a.on_peer_lost([&](const PeerLost& peer) { lost.push_back(peer.why); });
    b.reset();
    if (GetParam()) {
        ASSERT_TRUE(run({&a}, [&] { return !lost.empty(); }));
        EXPECT_EQ(lost, std::vector<PeerLost::Why>{PeerLost::Why::gone});
    }
    Options again = options;
    again.self = 1;
    // The child may not have run yet.
    const auto end = Clock::now() + patience;
    auto next = Endpoint::open(again);
    while (!next && Clock::now() < end) {
        std::this_thread::sleep_for(milliseconds(1));
        next = Endpoint::open(again);
    }
    EXPECT_TRUE(next) << next.error();
    ::close(hold[0]);
    ::close(hold[1]);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST_P(AmEndpointClosed, MayForkInsideAHandlerWhoseChildExits) {
    const Options options = options_on(GetParam());
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
    int returned = -1;
    b.handle(ask, [&](const Message& m) {
        returned = in_child([&] { return not_closed(b).empty() ? 7 : 1; });
        EXPECT_EQ(m.reply(answer), Status::ok);
    });
    bool answered = false;
    a.handle(answer, [&](const Message&) { answered = true; });
    ASSERT_EQ(a.request(1, ask), Status::ok);
    ASSERT_TRUE(run({&a, &b}, [&] { return answered; }));
    EXPECT_EQ(returned, 7);
}

INSTANTIATE_TEST_SUITE_P(On, AmEndpointClosed, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& on) {
                             return on.param ? "SharedMemory" : "Udp";
                         });

// Mistakes of the program, and the line with which each ends the process.

class AmEndpointDeathTest : public testing::TestWithParam<bool> {
protected:
    AmEndpointDeathTest() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

/// Runs `inside` in a handler of the second of two endpoints.
template <class Inside>
void run_in_handler(bool shm, Inside&& inside) {
    const Options options = options_on(shm);
    Endpoint a = open(options, 0);
    auto b = std::make_unique<Endpoint>(open(options, 1));
    b->handle(ask, [&](const Message&) { inside(a, b); });
    WIREPROOF_CHECK(a.request(1, ask) == Status::ok);
    for (int i = 0; i < 10'000; ++i) {
        a.poll();
        b->poll();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

constexpr const char* inside_itself =
    "wireproof: an Endpoint is destroyed, or another assigned to it, inside one of its own calls";

TEST_P(AmEndpointDeathTest, ItsOwnHandlerDestroysIt) {
    EXPECT_DEATH(run_in_handler(GetParam(), [](auto&, auto& b) { b.reset(); }), inside_itself);
    EXPECT_DEATH(run_in_handler(GetParam(), [](auto& a, auto& b) { *b = std::move(a); }),
                 inside_itself);
}

TEST_P(AmEndpointDeathTest, TheConditionOfAWaitDestroysIt) {
    EXPECT_DEATH(
        {
            auto a = std::make_unique<Endpoint>(open(options_on(GetParam()), 0));
            a->wait([&] {
                a.reset();
                return true;
            });
        },
        inside_itself);
}

#ifndef NDEBUG
TEST_P(AmEndpointDeathTest, TwoThreadsUseItAtOnce) {
    EXPECT_DEATH(
        {
            Endpoint a = open(options_on(GetParam()), 0);
            a.wait([&] {
                std::thread([&] { a.poll(); }).join();
                return true;
            });
        },
        "wireproof: an Endpoint is used by two threads at once");
}
#endif

INSTANTIATE_TEST_SUITE_P(On, AmEndpointDeathTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& on) {
                             return on.param ? "SharedMemory" : "Udp";
                         });

}  // namespace
}  // namespace wireproof::am
