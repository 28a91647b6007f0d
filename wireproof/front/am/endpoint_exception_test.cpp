// Handlers, callbacks and conditions that throw, and what an Endpoint does afterwards, over UDP and
// on shared memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "wireproof/am.hpp"
#include "wireproof/front/am/endpoint_test_kit.hpp"
#include "wireproof/front/am/node_test_kit.hpp"

namespace wireproof::am {
namespace {

using namespace test;

struct Thrown : std::runtime_error {
    Thrown() : std::runtime_error("thrown by a handler") {}
};

/// The parameter is true for shared memory.
class AmEndpointException : public testing::TestWithParam<bool> {
protected:
    AmEndpointException() { reopen({}); }

    /// With faults of any kind, shared memory carries only packets.
    void reopen(const Faults& faults) {
        ends.clear();
        Options options = options_on(GetParam());
        options.faults = faults;
        for (std::size_t i = 0; i < 2; ++i) ends.push_back(open(options, i));
    }
    Endpoint& a() { return ends[0]; }
    Endpoint& b() { return ends[1]; }

    /// Sends a message whose handler at b throws. Returns how many polls threw until the message
    /// was handled.
    int throws_in_polls() {
        int thrown = 0;
        const bool settled = run({&a()}, [&] {
            try {
                b().poll();
            } catch (const Thrown&) {
                ++thrown;
            }
            return a().idle() && b().idle();
        });
        EXPECT_TRUE(settled);
        return thrown;
    }

    std::vector<Endpoint> ends;
};

TEST_P(AmEndpointException, AHandlersLeavesPollAndWhatFollowsIsHandled) {
    std::vector<std::uint32_t> heard;
    b().handle(ask, [&](const Message& m) {
        heard.push_back(m.words()[0]);
        if (m.words()[0] == 1) throw Thrown();
    });
    for (std::uint32_t i = 0; i < 4; ++i) ASSERT_EQ(a().request(1, ask, {i}), Status::ok);
    EXPECT_EQ(throws_in_polls(), 1);
    EXPECT_EQ(heard, (std::vector<std::uint32_t>{0, 1, 2, 3})) << "each once";
}

TEST_P(AmEndpointException, AReplyMadeBeforeItIsSent) {
    b().handle(ask, [&](const Message& m) {
        EXPECT_EQ(m.reply(answer, {m.words()[0]}), Status::ok);
        throw Thrown();
    });
    std::vector<std::uint32_t> answers;
    a().handle(answer, [&](const Message& m) { answers.push_back(m.words()[0]); });
    for (std::uint32_t i = 0; i < 3; ++i) ASSERT_EQ(a().request(1, ask, {i}), Status::ok);
    EXPECT_EQ(throws_in_polls(), 3);
    EXPECT_EQ(answers, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST_P(AmEndpointException, ADoneCallbacksLeavesPollAndTheOthersAreCalled) {
    std::vector<std::byte> memory(100);
    const auto address = b().register_memory(0, memory, {.get = true, .store = true});
    ASSERT_TRUE(address);
    b().handle(stored, [](const Message&) {});
    const auto source = pattern(100);
    std::vector<std::byte> destination(100);
    int ended = 0;
    const auto throwing = [&](Status status) {
        EXPECT_EQ(status, Status::ok);
        if (++ended == 1) throw Thrown();
    };
    ASSERT_EQ(a().store_async(1, *address, source, stored, 0, throwing), Status::ok);
    ASSERT_EQ(a().store_async(1, *address, source, stored, 0, throwing), Status::ok);
    ASSERT_EQ(a().get_async(1, *address, destination, throwing), Status::ok);
    int thrown = 0;
    ASSERT_TRUE(run({&b()}, [&] {
        try {
            a().poll();
        } catch (const Thrown&) {
            ++thrown;
        }
        return ended == 3;
    }));
    EXPECT_EQ(thrown, 1);
    EXPECT_EQ(destination, source);
}

// A request() that ends with an exception has not posted the request. One request in 32 polls.
TEST_P(AmEndpointException, ARequestThatItLeavesWasNotPosted) {
    std::uint32_t heard = 0;
    b().handle(ask, [&](const Message& m) { EXPECT_EQ(m.words()[0], heard++); });
    b().handle(tell, [](const Message&) {});
    int left = 3;
    a().handle(tell, [&](const Message&) {
        if (left-- > 0) throw Thrown();
    });
    ASSERT_EQ(b().request(0, tell), Status::ok);
    ASSERT_EQ(b().request(0, tell), Status::ok);
    ASSERT_EQ(b().request(0, tell), Status::ok);
    std::uint32_t posted = 0;
    int thrown = 0;
    ASSERT_TRUE(run({&b()}, [&] {
        try {
            for (int i = 0; i < 40 && posted < 2000; ++i) {
                if (a().request(1, ask, {posted}) != Status::ok) break;
                ++posted;
            }
            if (posted == 2000 || thrown == 3) a().poll();
        } catch (const Thrown&) {
            ++thrown;
        }
        return posted == 2000 && heard == posted;
    }));
    EXPECT_EQ(thrown, 3);
}

// The engine continues the store after the stack frame of its caller is gone.
TEST_P(AmEndpointException, AStoreThatItLeavesGoesOnWithoutItsCaller) {
    reopen({.loss = 1e-9});
    std::vector<std::byte> memory(1 << 20);
    const auto address = b().register_memory(0, memory, {.store = true});
    ASSERT_TRUE(address);
    std::uint32_t stores = 0;
    b().handle(stored, [&](const Message&) { ++stores; });
    a().handle(tell, [](const Message&) { throw Thrown(); });
    ASSERT_EQ(b().request(0, tell), Status::ok);
    for (int i = 0; i < 10; ++i) {  // the frame has left, and a has not polled
        b().poll();
        std::this_thread::sleep_for(milliseconds(2));
    }
    const auto source = pattern(memory.size());
    std::size_t polls = 0;
    Served other(std::move(ends[1]));
    other.start();
    EXPECT_THROW((void)a().store(1, *address, source, stored), Thrown);
    const auto stays_as_it_is = [&] {
        std::array<volatile unsigned char, 4096> frame{};
        for (auto& byte : frame) byte = 0xA5;
        const auto end = Clock::now() + patience;
        while (!a().idle() && Clock::now() < end) {
            a().poll();
            ++polls;
        }
        return std::all_of(frame.begin(), frame.end(), [](unsigned char b) { return b == 0xA5; });
    };
    EXPECT_TRUE(stays_as_it_is());
    EXPECT_TRUE(a().idle()) << polls;
    other.stop();
    EXPECT_EQ(stores, 1U);
    EXPECT_EQ(memory, source);
}

// No caller waits any more, so the node does not ask a peer that owes nothing for signs of life.
TEST_P(AmEndpointException, AWaitThatItLeavesAsksForNoMoreSignsOfLife) {
    b().handle(ask, echo());
    a().handle(answer, [](const Message&) { throw Thrown(); });
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(a().request(1, ask, {1}), Status::ok);
        a().poll();
        while (b().poll() == 0) a().poll();
        EXPECT_THROW((void)a().wait([] { return false; }, patience), Thrown);
        EXPECT_THROW((void)a().wait([]() -> bool { throw Thrown(); }, patience), Thrown);
        ASSERT_TRUE(settle(a(), b()));
        const std::uint64_t before = a().counters(1).keepalives;
        const auto end = Clock::now() + milliseconds(100);
        while (Clock::now() < end) {
            a().poll();
            b().poll();
            std::this_thread::sleep_for(std::chrono::microseconds(500));
        }
        EXPECT_LE(a().counters(1).keepalives - before, 1U);
    }
}

INSTANTIATE_TEST_SUITE_P(On, AmEndpointException, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& on) {
                             return on.param ? "SharedMemory" : "Udp";
                         });

}  // namespace
}  // namespace wireproof::am
