#include "wireproof/host/loop_handle.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

namespace wireproof::host {
namespace {

bool is_readable(int handle, int milliseconds = 0) {
    pollfd wanted{.fd = handle, .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, milliseconds) == 1;
}

TEST(LoopHandle, IsReadableFromAWakeUntilItIsTaken) {
    LoopHandle loop(-1);
    const int handle = loop.handle();
    EXPECT_FALSE(is_readable(handle));
    EXPECT_FALSE(loop.take_wakes());
    for (std::uint64_t i = 1; i <= 3; ++i) {
        loop.wake();
        loop.wake();
        EXPECT_TRUE(is_readable(handle));
        EXPECT_TRUE(is_readable(loop.bell()));
        EXPECT_TRUE(loop.take_wakes());
        EXPECT_FALSE(is_readable(handle));
        EXPECT_FALSE(loop.take_wakes());
        EXPECT_EQ(loop.wakes_taken(), i);
    }
}

TEST(LoopHandle, IsReadableWhileFramesAre) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    LoopHandle loop(pipe[0]);
    const int handle = loop.handle();
    EXPECT_FALSE(is_readable(handle));
    ASSERT_EQ(::write(pipe[1], "x", 1), 1);
    EXPECT_TRUE(is_readable(handle));
    EXPECT_FALSE(loop.take_wakes());
    char byte = 0;
    ASSERT_EQ(::read(pipe[0], &byte, 1), 1);
    EXPECT_FALSE(is_readable(handle));
    ::close(pipe[0]);
    ::close(pipe[1]);
}

// One thread passes numbers one by one, and wakes the other thread for each. The other thread
// sleeps until it is woken. If a wake is lost, its sleep does not end.
TEST(LoopHandle, LosesNoWakeOfAnotherThread) {
    constexpr int last = 20'000;
    LoopHandle loop(-1);
    std::atomic<int> handed{0};
    std::thread other([&] {
        for (int i = 1; i <= last; ++i) {
            handed.store(i, std::memory_order_relaxed);
            loop.wake();
        }
    });
    int seen = 0;
    while (seen < last) {
        constexpr int patience = 120'000;  // ms; it only ends a test that hangs
        ASSERT_TRUE(is_readable(loop.handle(), patience)) << seen;
        if (loop.take_wakes()) seen = handed.load(std::memory_order_relaxed);
    }
    other.join();
    EXPECT_EQ(seen, last);
}

}  // namespace
}  // namespace wireproof::host
