// What a poll that finds nothing does before it returns: how often it sleeps and yields.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "wireproof/front/verbs/device/quiet_process_test_kit.hpp"
#include "wireproof/front/verbs/objects/context.hpp"
#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"
#include "wireproof/host/steady_clock.hpp"

namespace {

/// What the calls of this thread did.
struct Waits {
    int sleeps = 0;
    int yields = 0;
};
thread_local Waits waits;

}  // namespace

// In this program, the library calls these functions instead of those of the C library.
int sched_yield() noexcept {
    ++waits.yields;
    return static_cast<int>(::syscall(SYS_sched_yield));
}

int ppoll(pollfd* wanted, nfds_t count, const timespec* limit, const sigset_t*) {
    ++waits.sleeps;
    timespec left = limit != nullptr ? *limit : timespec{};
    return static_cast<int>(
        ::syscall(SYS_ppoll, wanted, count, limit != nullptr ? &left : nullptr, nullptr, 0));
}

namespace wireproof::verbs::idle_polls_test {
namespace {

/// A setting while this object exists.
class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { ::unsetenv(name_); }

private:
    const char* name_;
};

/// After a Write of this end has reached it, the process never sends.
void meet(test::QuietProcess& peer, test::End& end) {
    const test::Contact there = peer.meet(end.contact());
    end.connect(there, test::never_again);
    ASSERT_EQ(end.post(IBV_WR_RDMA_WRITE, 1, end.piece(0, 8), there), 0);
    ASSERT_EQ(end.wait().status, IBV_WC_SUCCESS);
}

bool shares_memory() {
    std::ifstream maps("/proc/self/maps");
    const std::string all{std::istreambuf_iterator<char>(maps), {}};
    return all.find("/memfd:wireproof (deleted)") != std::string::npos;
}

/// What this thread did in so many polls of the empty queue.
Waits waits_in(ibv_cq* queue, int polls) {
    const Waits before = waits;
    ibv_wc completion{};
    for (int i = 0; i < polls; ++i) EXPECT_EQ(ibv_poll_cq(queue, 1, &completion), 0);
    return {waits.sleeps - before.sleeps, waits.yields - before.yields};
}

TEST(IdlePolls, YieldTheProcessorBeforeTheySleep) {
    test::End end;
    Waits done;
    while (done.sleeps == 0) {
        const Waits some = waits_in(end.completions, 100);
        done.sleeps += some.sleeps;
        done.yields += some.yields;
    }
    EXPECT_GT(done.yields, 0);
}

TEST(IdlePolls, OfQueuesOfTwoDevicesSleepOnlyOnceUntilAllWerePolled) {
    constexpr std::size_t queues_of_each = 8;
    const std::array devices = {test::open_device(), test::open_device()};
    std::vector<ibv_cq*> queues;
    for (ibv_context* const device : devices) {
        for (std::size_t i = 0; i < queues_of_each; ++i) {
            queues.push_back(ibv_create_cq(device, 1, nullptr, nullptr, 0));
        }
    }
    for (ibv_cq* const queue : queues) waits_in(queue, 1);
    // Each is polled twice in a row, because a poll after that of another queue never sleeps.
    std::set<ibv_cq*> polled;
    for (int slept = 0; slept < 20;) {
        for (ibv_cq* const queue : queues) {
            for (int twice = 0; twice < 2; ++twice) {
                polled.insert(queue);
                const int sleeps = waits_in(queue, 1).sleeps;
                ASSERT_LE(sleeps, 1);
                if (sleeps == 0) continue;
                if (slept++ > 0) {  // before the first, the thread did not poll all
                    ASSERT_EQ(polled.size(), queues.size()) << slept;
                }
                polled.clear();
            }
        }
    }
    for (ibv_cq* const queue : queues) EXPECT_EQ(ibv_destroy_cq(queue), 0);
    for (ibv_context* const device : devices) EXPECT_EQ(ibv_close_device(device), 0);
}

class IdlePollsThatSpin : public ::testing::TestWithParam<const char*> {};

TEST_P(IdlePollsThatSpin, NeitherSleepNorYield) {
    const Variable wire("WIREPROOF_VERBS_NO_SHM", GetParam());
    test::QuietProcess peer;
    const Variable spin("WIREPROOF_VERBS_POLL", "spin");
    test::End end;
    const Waits alone = waits_in(end.completions, 100'000);
    EXPECT_EQ(alone.sleeps, 0);
    EXPECT_EQ(alone.yields, 0);
    ASSERT_NO_FATAL_FAILURE(meet(peer, end));
    EXPECT_EQ(shares_memory(), std::string_view(GetParam()) == "0");
    const Waits connected = waits_in(end.completions, 100'000);
    EXPECT_EQ(connected.sleeps, 0);
    EXPECT_EQ(connected.yields, 0);
}

/// The state that the kernel shows for a thread: R runs or is ready to run, S sleeps.
char state_of(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(file, text);
    return text.at(text.rfind(')') + 2);
}

TEST(IdlePolls, ThatSpinDoNotSleepWhileAnotherThreadHoldsTheLock) {
    const Variable spin("WIREPROOF_VERBS_POLL", "spin");
    const auto device = *shared_device();
    Device::PolledQueue queue;
    std::atomic<pid_t> polls = 0;
    std::thread poller;
    device->locked([&](proto::ib::Port&) {
        poller = std::thread([&] {
            polls = ::gettid();
            device->polling(queue, [](proto::ib::Port&) { return 1; });
        });
        while (polls == 0) ::sched_yield();
        for (int i = 0; i < 1000; ++i) {
            const char state = state_of(polls);
            EXPECT_NE(state, 'S');
            if (state == 'S') break;
            ::sched_yield();
        }
        return 0;
    });
    poller.join();
}

INSTANTIATE_TEST_SUITE_P(OverSharedMemoryAndUdp, IdlePollsThatSpin, testing::Values("0", "1"));

}  // namespace
}  // namespace wireproof::verbs::idle_polls_test
