// Endpoints in an event loop: on which descriptor the loop waits, how long, and how often it wakes.
// On UDP and on shared memory.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "wireproof/front/am/endpoint_test_kit.hpp"
#include "wireproof/host/fork_test_kit.hpp"

namespace wireproof::am {
namespace {

using namespace test;
using std::chrono::nanoseconds;

bool is_readable(int handle) {
    pollfd wanted{.fd = handle, .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, 0) == 1;
}

/// Waits as am.hpp describes, for all its Endpoints at once.
class Loop {
public:
    explicit Loop(std::vector<Endpoint*> endpoints) : endpoints_(std::move(endpoints)) {
        for (Endpoint* const endpoint : endpoints_) {
            handles_.push_back({.fd = endpoint->event_fd(), .events = POLLIN, .revents = 0});
            EXPECT_GE(handles_.back().fd, 0);
        }
    }

    /// False: `limit` has passed first.
    template <class Until>
    bool run(Until&& until, milliseconds limit = patience) {
        const auto end = Clock::now() + limit;
        while (true) {
            for (Endpoint* const endpoint : endpoints_) endpoint->poll();
            if (until()) return true;
            const auto left = end - Clock::now();
            if (left <= nanoseconds::zero()) return false;
            if (!all_arm()) continue;
            nanoseconds timeout = left;
            for (Endpoint* const endpoint : endpoints_) {
                timeout = std::min(timeout, endpoint->next_timeout());
            }
            const timespec time{.tv_sec = timeout.count() / 1'000'000'000,
                                .tv_nsec = timeout.count() % 1'000'000'000};
            ::ppoll(handles_.data(), handles_.size(), &time, nullptr);
            ++sleeps;
        }
    }

    std::uint64_t sleeps = 0;

private:
    bool all_arm() {
        return std::all_of(endpoints_.begin(), endpoints_.end(),
                           [](Endpoint* endpoint) { return endpoint->arm(); });
    }

    std::vector<Endpoint*> endpoints_;
    std::vector<pollfd> handles_;
};

class AmEndpointLoop : public testing::TestWithParam<bool> {};  // true: on shared memory

INSTANTIATE_TEST_SUITE_P(On, AmEndpointLoop, testing::Bool(),
                         [](const auto& on) { return on.param ? "Shm" : "Udp"; });

TEST_P(AmEndpointLoop, OneThreadServesTwoEndpointsAndSleepsWhereNothingHappens) {
    const Options options = options_on(GetParam());
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
    b.handle(ask, echo());
    std::uint32_t answers = 0;
    a.handle(answer, [&](const Message&) { ++answers; });
    Loop loop({&a, &b});
    constexpr std::uint32_t rounds = 200;
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        ASSERT_EQ(a.request(1, ask, {i}), Status::ok);
        ASSERT_TRUE(loop.run([&] { return answers == i; })) << i;
    }
    ASSERT_TRUE(loop.run([&] { return a.idle() && b.idle(); }));
    // At last only a frame or a wake ends a sleep. How many sleeps it takes until then is shown in
    // modelled time (AmNodeAtRest).
    EXPECT_TRUE(loop.run([&] {
        return a.next_timeout() == nanoseconds::max() && b.next_timeout() == nanoseconds::max();
    }));
    EXPECT_GT(loop.sleeps, 0U);
}

TEST_P(AmEndpointLoop, NothingMayWaitWhileARequestIsStillToLeave) {
    const Options options = options_on(GetParam());
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
    ASSERT_TRUE(settle(a, b));
    ASSERT_EQ(a.request(1, ask, {1}), Status::ok);
    EXPECT_FALSE(a.arm());
    EXPECT_EQ(a.next_timeout(), nanoseconds::zero());
    a.poll();
    EXPECT_LT(a.next_timeout(), std::chrono::seconds(10));  // the request is sent again earlier
}

// On shared memory a get may have ended when get_async returns, but its callback has not run yet.
TEST_P(AmEndpointLoop, NothingMayWaitWhileACallbackIsStillToRun) {
    const Options options = options_on(GetParam());
    Endpoint a = open(options, 0);
    Endpoint b = open(options, 1);
    const auto memory = b.allocate(64);
    ASSERT_TRUE(memory);
    const auto address = b.register_memory(0, *memory, {.get = true});
    ASSERT_TRUE(address);
    std::vector<std::byte> destination(64);
    int ended = 0;
    for (int i = 1; i <= 3; ++i) {
        ASSERT_EQ(a.get_async(1, *address, destination, [&](Status) { ++ended; }), Status::ok);
        EXPECT_FALSE(a.arm());
        EXPECT_EQ(a.next_timeout(), nanoseconds::zero());
        Loop loop({&a, &b});
        ASSERT_TRUE(loop.run([&] { return ended == i; }));
    }
}

TEST_P(AmEndpointLoop, AWakeMakesTheDescriptorReadableUntilThePoll) {
    const Options options = options_on(GetParam());
    Endpoint a = open(options, 0);
    const int handle = a.event_fd();
    EXPECT_EQ(a.event_fd(), handle);
    EXPECT_FALSE(is_readable(handle));
    for (int i = 0; i < 3; ++i) {
        std::thread([&a] { a.wake(); }).join();
        EXPECT_TRUE(is_readable(handle));
        a.poll();
        EXPECT_FALSE(is_readable(handle));
    }
}

/// Whether the thread sleeps, as the kernel says.
bool is_asleep(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_ends = text.rfind(')');
    return name_ends != std::string::npos && text.substr(name_ends, 3) == ") S";
}

TEST_P(AmEndpointLoop, AWaitSleepsUntilItIsWoken) {
    Endpoint a = open(options_on(GetParam()), 0);
    std::atomic<pid_t> waiting = 0;
    std::atomic<bool> over = false;
    std::thread waits([&] {
        waiting = ::gettid();
        EXPECT_TRUE(a.wait([&] { return over.load(); }, 2 * patience));
    });
    bool slept = false;
    for (const auto end = Clock::now() + patience; !slept && Clock::now() < end;) {
        std::this_thread::yield();
        slept = waiting != 0 && is_asleep(waiting);
    }
    EXPECT_TRUE(slept);
    over = true;
    a.wake();
    waits.join();
}

TEST_P(AmEndpointLoop, AWakeHasAWaitAskAgain) {
    const Options options = options_on(GetParam());
    Endpoint a = open(options, 0);
    std::atomic<int> told{0};
    std::thread other([&] {
        for (int i = 1; i <= 3; ++i) {
            std::this_thread::sleep_for(milliseconds(20));
            told = i;
            a.wake();
        }
    });
    const auto begin = Clock::now();
    EXPECT_TRUE(a.wait([&] { return told == 3; }, 2 * patience));
    EXPECT_LT(Clock::now() - begin, patience) << "without a wake, the wait lasts to its limit";
    other.join();
}

TEST_P(AmEndpointLoop, AWakeIsNotLostInAConditionThatPolls) {
    Endpoint a = open(options_on(GetParam()), 0);
    int calls = 0;
    const auto begin = Clock::now();
    EXPECT_TRUE(a.wait(
        [&] {
            // Longer than wait() polls before it sleeps.
            std::this_thread::sleep_for(milliseconds(1));
            a.wake();
            a.poll();
            return ++calls == 5;
        },
        2 * patience));
    EXPECT_LT(Clock::now() - begin, patience) << "without a wake, the wait lasts to its limit";
}

// With limits from no descriptor to as many as an Endpoint needs.
TEST_P(AmEndpointLoop, NeedsDescriptorsOrIsNotOpened) {
    const Options options = options_on(GetParam());
    const int without_loop = host::test::in_child([&] {
        int count = 0;
        for (rlim_t most = 0; most < 100; ++most) {
            const rlimit limit{.rlim_cur = most, .rlim_max = 100};
            if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 100;
            const auto opened = Endpoint::open(options);
            if (opened) return opened->event_fd() >= 0 ? count : 101;
            count += opened.error() == "no descriptor for event loops: Too many open files" ? 1 : 0;
        }
        return 102;
    });
    EXPECT_EQ(without_loop, 2);
}

}  // namespace
}  // namespace wireproof::am
