// Tests when a sleep ends. Upper limits on time are generous, because machines are busy.
#include "wireproof/host/wait.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace wireproof::host {
namespace {

/// Both ends of a pipe. To wait on a pipe is the same as to wait on a socket.
class Pipe {
public:
    Pipe() { WIREPROOF_CHECK(::pipe(ends_.data()) == 0); }
    ~Pipe() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    int handle() const { return ends_[0]; }
    void write() { WIREPROOF_CHECK(::write(ends_[1], "x", 1) == 1); }

private:
    std::array<int, 2> ends_{};
};

class Lane {
public:
    LaneCapabilities capabilities() const { return {}; }
    TxFrame* claim() { return nullptr; }
    void commit() {}
};

struct SleepyWire {
    Lane& lane(PeerId) { return only; }
    std::optional<RxFrame> receive(Instant) { return std::nullopt; }
    void flush(Instant) {}
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return std::nullopt; }
    Instant next_deadline() const { return deadline; }
    int wait_handle() const { return handle; }
    bool prepare_to_sleep() const { return may_sleep; }

    Lane only;
    int handle = -1;
    bool may_sleep = true;
    Instant deadline = never;
};

constexpr Duration short_time = Duration::milliseconds(5);
constexpr Duration long_time = Duration::milliseconds(600'000);

TEST(SteadyClock, CountsForwardFromItsConstruction) {
    const SteadyClock clock;
    const Instant first = clock.now();
    EXPECT_GE(first, Instant());
    EXPECT_LT(first, Instant(long_time));
    EXPECT_GE(clock.now(), first);
}

TEST(WaitUntil, SleepsToTheDeadlineWithNothingToWaitFor) {
    const SteadyClock clock;
    const Instant deadline = clock.now() + short_time;
    EXPECT_FALSE(wait_until(-1, clock, deadline));
    EXPECT_GE(clock.now(), deadline);
}

TEST(WaitUntil, SleepsToTheDeadlineOfAQuietHandle) {
    const SteadyClock clock;
    const Pipe pipe;
    const Instant deadline = clock.now() + short_time;
    EXPECT_FALSE(wait_until(pipe.handle(), clock, deadline));
    EXPECT_GE(clock.now(), deadline);
}

TEST(WaitUntil, ReturnsAtOnceWhenReadable) {
    const SteadyClock clock;
    Pipe pipe;
    pipe.write();
    EXPECT_TRUE(wait_until(pipe.handle(), clock, never));
    EXPECT_TRUE(wait_until(pipe.handle(), clock, Instant()));
    EXPECT_LT(clock.now(), Instant(long_time));
}

TEST(WaitUntil, ADeadlineGoneByIsNoSleep) {
    const SteadyClock clock;
    const Pipe pipe;
    EXPECT_FALSE(wait_until(pipe.handle(), clock, Instant()));
    EXPECT_LT(clock.now(), Instant(long_time));
}

TEST(WaitUntil, ReturnsWhenTheBellRings) {
    const SteadyClock clock;
    const Pipe quiet;
    Pipe bell;
    EXPECT_FALSE(wait_until(quiet.handle(), clock, Instant(), bell.handle()));
    bell.write();
    EXPECT_TRUE(wait_until(quiet.handle(), clock, never, bell.handle()));
    SleepyWire inside;
    AnyWire wire{std::ref(inside)};
    EXPECT_TRUE(wait_until(wire, clock, never, bell.handle()));
}

TEST(TimeoutUntil, IsWhatAnEventLoopWaits) {
    const SteadyClock clock;
    EXPECT_EQ(timeout_until(never, clock), std::chrono::nanoseconds::max());
    EXPECT_EQ(timeout_until(Instant(), clock), std::chrono::nanoseconds::zero());
    const auto left = timeout_until(clock.now() + long_time, clock);
    EXPECT_LE(left, std::chrono::minutes(10));
    EXPECT_GT(left, std::chrono::seconds(1));
}

TEST(WaitUntil, AnyOfSeveralHandlesEndsTheSleep) {
    const SteadyClock clock;
    std::array<Pipe, 3> pipes;
    const std::array handles{-1, pipes[0].handle(), pipes[1].handle(), pipes[2].handle()};
    EXPECT_FALSE(wait_until(handles, clock, clock.now() + short_time));
    pipes[2].write();
    EXPECT_FALSE(wait_until(std::span(handles).first(3), clock, clock.now() + short_time));
    EXPECT_TRUE(wait_until(handles, clock, never));
}

TEST(WaitUntil, MindsTheWiresOwnDeadlineAndHandle) {
    const SteadyClock clock;
    Pipe pipe;
    SleepyWire inside;
    inside.handle = pipe.handle();
    inside.deadline = clock.now() + short_time;
    AnyWire wire{std::ref(inside)};
    EXPECT_FALSE(wait_until(wire, clock, Instant(long_time)));
    EXPECT_GE(clock.now(), inside.deadline);
    EXPECT_LT(clock.now(), Instant(long_time));

    inside.deadline = never;
    EXPECT_FALSE(wait_until(wire, clock, clock.now() + short_time));
    pipe.write();
    EXPECT_TRUE(wait_until(wire, clock, never));
}

TEST(WaitUntil, DoesNotSleepOnAWireThatSaysNo) {
    const SteadyClock clock;
    SleepyWire inside;
    inside.may_sleep = false;
    AnyWire wire{std::ref(inside)};
    EXPECT_TRUE(wait_until(wire, clock, never));
    EXPECT_LT(clock.now(), Instant(long_time));
}

}  // namespace
}  // namespace wireproof::host
