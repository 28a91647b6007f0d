// Waiting, waking, event loops, and handlers that throw.
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "wireproof/front/c/c_test_kit.hpp"

namespace wireproof::c {
namespace {

using namespace test;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

TEST(CProgress, AWaitEndsWhenAHandlerHasRun) {
    const Pair pair;
    Got got;
    ASSERT_EQ(wireproof_endpoint_handle(pair.b(), ask, keep, &got), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "x", 1), WIREPROOF_OK);
    std::atomic<bool> stop{false};
    std::thread sender([&] {
        while (!stop) wireproof_endpoint_wait(pair.a(), 5);
    });
    EXPECT_EQ(wireproof_endpoint_wait(pair.b(), patience_ms), WIREPROOF_OK);
    EXPECT_EQ(got.count, 1);
    stop = true;
    sender.join();
}

TEST(CProgress, AWaitEndsAtTheEndOfATransferWithoutACallback) {
    const Pair pair;
    char byte = 0;
    std::uint64_t address = 0;
    ASSERT_EQ(
        wireproof_endpoint_register_memory(pair.b(), 0, &byte, 1, WIREPROOF_MAY_GET, &address),
        WIREPROOF_OK);
    char here = 1;
    ASSERT_EQ(wireproof_endpoint_get_async(pair.a(), 1, address, &here, 1, nullptr, nullptr),
              WIREPROOF_OK);
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) wireproof_endpoint_wait(pair.b(), 5);
    });
    EXPECT_EQ(wireproof_endpoint_wait(pair.a(), patience_ms), WIREPROOF_OK);
    EXPECT_EQ(here, 0);
    stop = true;
    other.join();
}

TEST(CProgress, AWaitKeepsItsLimit) {
    const Pair pair;
    const auto start = Clock::now();
    EXPECT_EQ(wireproof_endpoint_wait(pair.a(), 50), WIREPROOF_TIMED_OUT);
    EXPECT_GE(Clock::now() - start, milliseconds(50));
    EXPECT_STREQ(wireproof_endpoint_error(pair.a()), "the limit passed first");
    EXPECT_EQ(wireproof_endpoint_wait(pair.a(), 0), WIREPROOF_TIMED_OUT);
}

TEST(CProgress, AWakeEndsAWaitThatBeganBeforeOrBeginsLater) {
    const Pair pair;
    std::thread other([&] {
        std::this_thread::sleep_for(milliseconds(30));
        wireproof_endpoint_wake(pair.a());
    });
    EXPECT_EQ(wireproof_endpoint_wait(pair.a(), -1), WIREPROOF_OK) << "no limit";
    other.join();
    wireproof_endpoint_wake(pair.a());
    EXPECT_EQ(wireproof_endpoint_poll(pair.a(), nullptr), WIREPROOF_OK);
    EXPECT_EQ(wireproof_endpoint_wait(pair.a(), patience_ms), WIREPROOF_OK) << "a poll keeps it";
    EXPECT_EQ(wireproof_endpoint_wait(pair.a(), 1), WIREPROOF_TIMED_OUT) << "a wait takes it";
}

TEST(CProgress, AnEventLoopSleepsUntilARequestComes) {
    const Pair pair;
    Got got;
    ASSERT_EQ(wireproof_endpoint_handle(pair.b(), ask, keep, &got), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "x", 1), WIREPROOF_OK);
    const auto end = Clock::now() + milliseconds(patience_ms);
    int sleeps = 0;
    while (got.count == 0 && Clock::now() < end) {
        EXPECT_EQ(wireproof_endpoint_poll(pair.a(), nullptr), WIREPROOF_OK);
        EXPECT_EQ(wireproof_endpoint_poll(pair.b(), nullptr), WIREPROOF_OK);
        if (wireproof_endpoint_arm(pair.a()) == 0 || wireproof_endpoint_arm(pair.b()) == 0) {
            continue;
        }
        ++sleeps;
        std::array<pollfd, 2> waits = {
            {{.fd = wireproof_endpoint_event_fd(pair.a()), .events = POLLIN, .revents = 0},
             {.fd = wireproof_endpoint_event_fd(pair.b()), .events = POLLIN, .revents = 0}}};
        std::int64_t limit = 1'000'000'000;
        for (wireproof_endpoint* one : {pair.a(), pair.b()}) {
            const std::int64_t due = wireproof_endpoint_next_timeout(one);
            if (due >= 0) limit = std::min(limit, due);
        }
        ::poll(waits.data(), waits.size(), static_cast<int>(limit / 1'000'000) + 1);
    }
    EXPECT_EQ(got.count, 1);
    EXPECT_LT(sleeps, 100);
}

TEST(CProgress, WithoutADeadlineTheTimeoutIsNegative) {
    const Pair pair;
    EXPECT_EQ(wireproof_endpoint_next_timeout(pair.a()), -1);
}

TEST(CProgress, FlushAndCloseTellWhatTheyWaitedFor) {
    const Pair pair;
    EXPECT_EQ(wireproof_endpoint_flush(pair.a(), 1, 0), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "x", 1), WIREPROOF_OK);
    EXPECT_EQ(wireproof_endpoint_flush(pair.a(), 1, 20), WIREPROOF_TIMED_OUT);
    EXPECT_EQ(wireproof_endpoint_flush(pair.a(), 9, 20), WIREPROOF_NO_SUCH_PEER);
    EXPECT_EQ(wireproof_endpoint_close(pair.a(), 20), WIREPROOF_TIMED_OUT);
    EXPECT_EQ(wireproof_endpoint_is_open(pair.a()), 0);
}

// AM-55
TEST(CProgress, LeaveWaitsForThePeers) {
    const Pair pair;
    int count = 0;
    ASSERT_EQ(wireproof_endpoint_handle(
                  pair.b(), ask,
                  [](wireproof_endpoint* end, const wireproof_message*, void* user) {
                      EXPECT_EQ(wireproof_endpoint_leave(end, 0), WIREPROOF_NOT_ALLOWED);
                      ++*static_cast<int*>(user);
                  },
                  &count),
              WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "x", 1), WIREPROOF_OK);
    EXPECT_EQ(wireproof_endpoint_leave(pair.a(), 20), WIREPROOF_TIMED_OUT) << "the peer is away";
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) wireproof_endpoint_wait(pair.b(), 5);
    });
    EXPECT_EQ(wireproof_endpoint_leave(pair.a(), patience_ms), WIREPROOF_OK);
    EXPECT_EQ(wireproof_endpoint_is_open(pair.a()), 1);
    stop = true;
    other.join();
    EXPECT_EQ(count, 1);
    EXPECT_EQ(wireproof_endpoint_leave(pair.b(), 0), WIREPROOF_OK);
}

void throw_it(wireproof_endpoint* /*end*/, const wireproof_message* message, void* user) {
    ++*static_cast<int*>(user);
    const std::string text(static_cast<const char*>(message->bytes), message->length);
    if (text.empty()) throw 7;
    throw std::runtime_error(text);
}

/// Polls until `count` handlers have run, and returns the statuses and texts of polls that failed.
std::string failures(const Pair& pair, const int& count, int until) {
    std::string all;
    const auto end = Clock::now() + milliseconds(patience_ms);
    while (count < until && Clock::now() < end) {
        EXPECT_EQ(wireproof_endpoint_poll(pair.a(), nullptr), WIREPROOF_OK);
        const wireproof_status status = wireproof_endpoint_poll(pair.b(), nullptr);
        if (status == WIREPROOF_OK) continue;
        all += std::string(wireproof_status_name(status)) + ": " +
               wireproof_endpoint_error(pair.b()) + "\n";
    }
    return all;
}

TEST(CThrow, AnExceptionOfAHandlerIsAnErrorOfThePollOnce) {
    const Pair pair;
    int count = 0;
    ASSERT_EQ(wireproof_endpoint_handle(pair.b(), ask, throw_it, &count), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "first", 5), WIREPROOF_OK);
    EXPECT_EQ(failures(pair, count, 1), "handler_threw: first\n");
    EXPECT_EQ(wireproof_endpoint_poll(pair.b(), nullptr), WIREPROOF_OK) << "once";
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "", 0), WIREPROOF_OK);
    EXPECT_EQ(failures(pair, count, 2), "handler_threw: an exception that has no text\n");
    EXPECT_TRUE(pair.settle()) << "each message was handled";
}

TEST(CThrow, ThePollGoesOnAndHasTheFirstText) {
    const Pair pair;
    int count = 0;
    ASSERT_EQ(wireproof_endpoint_handle(pair.b(), ask, throw_it, &count), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "one", 3), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "two", 3), WIREPROOF_OK);
    // Both messages wait at b before it polls.
    const auto end = Clock::now() + std::chrono::seconds(1);
    while (Clock::now() < end && wireproof_endpoint_arm(pair.b()) == 1) {
        EXPECT_EQ(wireproof_endpoint_poll(pair.a(), nullptr), WIREPROOF_OK);
    }
    EXPECT_EQ(failures(pair, count, 2).substr(0, 19), "handler_threw: one\n");
    EXPECT_EQ(count, 2);
}

TEST(CThrow, ACallThatOnlyReportsItsOwnStatusKeepsItForTheNextPoll) {
    const Pair pair;
    int count = 0;
    ASSERT_EQ(wireproof_endpoint_handle(pair.b(), ask, throw_it, &count), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "in a flush", 10), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.b(), 0, ask, "x", 1), WIREPROOF_OK);
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) wireproof_endpoint_wait(pair.a(), 5);
    });
    EXPECT_EQ(wireproof_endpoint_flush(pair.b(), 0, patience_ms), WIREPROOF_OK);
    const auto end = Clock::now() + milliseconds(patience_ms);
    while (count == 0 && Clock::now() < end) {
        EXPECT_EQ(wireproof_endpoint_flush(pair.b(), 0, patience_ms), WIREPROOF_OK);
        ASSERT_EQ(wireproof_endpoint_request(pair.b(), 0, ask, "x", 1), WIREPROOF_OK);
    }
    EXPECT_EQ(wireproof_endpoint_wait(pair.b(), 0), WIREPROOF_HANDLER_THREW);
    EXPECT_STREQ(wireproof_endpoint_error(pair.b()), "in a flush");
    stop = true;
    other.join();
}

TEST(CThrow, ACallbackAtTheEndOfTheEndpointMayThrowToo) {
    Pair pair;
    char byte = 0;
    const auto throws = [](wireproof_endpoint*, wireproof_status, void*) {
        throw std::runtime_error("too late");
    };
    ASSERT_EQ(wireproof_endpoint_get_async(pair.b(), 0, 0, &byte, 1, throws, nullptr),
              WIREPROOF_OK);
    EXPECT_EQ(wireproof_endpoint_close(pair.b(), 0), WIREPROOF_TIMED_OUT);
    EXPECT_EQ(wireproof_endpoint_wait(pair.b(), 0), WIREPROOF_HANDLER_THREW);
    EXPECT_STREQ(wireproof_endpoint_error(pair.b()), "too late");
    EXPECT_EQ(wireproof_endpoint_wait(pair.b(), 0), WIREPROOF_CLOSED);
    ASSERT_EQ(wireproof_endpoint_get_async(pair.a(), 1, 0, &byte, 1, throws, nullptr),
              WIREPROOF_OK);
}

TEST(CThrow, ACancelledThreadEndsAsItMust) {
    const Pair pair;
    pthread_t thread{};
    ASSERT_EQ(pthread_create(
                  &thread, nullptr,
                  [](void* end) -> void* {
                      wireproof_endpoint_wait(static_cast<wireproof_endpoint*>(end), patience_ms);
                      return nullptr;
                  },
                  pair.a()),
              0);
    std::this_thread::sleep_for(milliseconds(20));
    ASSERT_EQ(pthread_cancel(thread), 0);
    void* result = nullptr;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
}

}  // namespace
}  // namespace wireproof::c
