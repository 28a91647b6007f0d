// A program in which each thread has an Endpoint of its own, under the thread sanitizer.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "wireproof/front/am/endpoint_test_kit.hpp"

namespace wireproof::am::test {
namespace {

constexpr std::uint32_t messages = 300;
constexpr std::size_t stored_bytes = 20'000;

struct Received {
    std::uint32_t answers = 0;
    std::uint32_t stores = 0;
};

/// Asks the other endpoint, stores into its memory, and waits until the other has done the same.
/// Then it serves the other until that has all its answers, too: `finished` counts both.
void converse(Endpoint& own, std::size_t peer, std::span<std::byte> memory,
              std::atomic<int>& finished) {
    Received received;
    own.handle(ask, echo());
    own.handle(answer, [&](const Message&) { ++received.answers; });
    own.handle(stored, [&](const Message&) { ++received.stores; });
    const auto address = own.register_memory(peer, memory, {.store = true});
    ASSERT_TRUE(address);
    std::uint64_t there = 0;
    constexpr std::uint16_t tell = 4;
    own.handle(tell, [&](const Message& m) {
        there = m.words()[0] | (std::uint64_t{m.words()[1]} << 32);
    });
    const auto low = static_cast<std::uint32_t>(*address);
    const auto high = static_cast<std::uint32_t>(*address >> 32);
    ASSERT_EQ(own.request(peer, tell, {low, high}), Status::ok);
    ASSERT_TRUE(own.wait([&] { return there != 0; }, patience));
    const std::vector<std::byte> source(stored_bytes, std::byte{7});
    for (std::uint32_t i = 0; i < messages; ++i) {
        while (own.request(peer, ask, {i}) == Status::would_block) own.poll();
        if (i % 50 != 0) continue;
        ASSERT_EQ(own.store(peer, there, source, stored), Status::ok);
    }
    ASSERT_TRUE(
        own.wait([&] { return received.answers == messages && received.stores == messages / 50; },
                 patience));
    EXPECT_EQ(memory.back(), std::byte{7});
    EXPECT_TRUE(own.wait([&] { return own.idle(); }, patience));
    ++finished;
    const auto end = Clock::now() + patience;
    while (finished < 2 && Clock::now() < end) own.wait({}, milliseconds(1));
    EXPECT_EQ(finished, 2);
}

class AmThreads : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(On, AmThreads, testing::Bool(), [](const auto& param) {
    return std::string(param.param ? "SharedMemory" : "Udp");
});

TEST_P(AmThreads, EachHasItsOwnEndpoint) {
    const Options options = options_on(GetParam());
    std::array<std::vector<std::byte>, 2> memory;
    std::array<Endpoint, 2> nodes = {open(options, 0), open(options, 1)};
    std::array<std::thread, 2> threads;
    std::atomic<int> finished = 0;
    for (std::size_t i = 0; i < 2; ++i) {
        memory[i].resize(stored_bytes);
        threads[i] = std::thread([&, i] { converse(nodes[i], 1 - i, memory[i], finished); });
    }
    for (std::thread& thread : threads) thread.join();
}

// The threads use the Endpoint one after the other. Only the caller orders their calls.
TEST_P(AmThreads, HandAnEndpointOn) {
    const Options options = options_on(GetParam());
    Served other(open(options, 1));
    other.endpoint.handle(ask, echo());
    other.start();
    Endpoint handed = open(options, 0);
    std::uint32_t answers = 0;
    handed.handle(answer, [&](const Message&) { ++answers; });
    for (std::uint32_t turn = 1; turn <= 4; ++turn) {
        std::thread([&handed, &answers, turn] {
            Endpoint mine = std::move(handed);
            for (std::uint32_t i = 0; i < messages; ++i) {
                while (mine.request(1, ask, {i}) == Status::would_block) mine.poll();
            }
            ASSERT_TRUE(mine.wait([&] { return answers == turn * messages; }, patience));
            handed = std::move(mine);
        }).join();
    }
    EXPECT_EQ(handed.counters(1).sessions, 1U);
    other.stop();
}

// wake() is the one call that another thread may make at any time.
TEST_P(AmThreads, WakeAnotherThreadThatWaits) {
    const Options options = options_on(GetParam());
    Endpoint sleeper = open(options, 0);
    std::atomic<bool> waits = false;
    std::atomic<bool> woken = false;
    std::thread waker([&] {
        while (!waits) std::this_thread::yield();
        std::this_thread::sleep_for(milliseconds(50));  // the other now sleeps
        woken = true;
        sleeper.wake();
    });
    const auto begun = Clock::now();
    EXPECT_TRUE(sleeper.wait(
        [&] {
            waits = true;
            return woken.load();
        },
        2 * patience));
    EXPECT_LT(Clock::now() - begun, patience) << "without the wake, the wait lasts to its limit";
    waker.join();
}

}  // namespace
}  // namespace wireproof::am::test
