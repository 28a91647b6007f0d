// Devices in the event loop of a program, and threads that wake them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "wireproof/front/ib/device_test_kit.hpp"

namespace wireproof::ib::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

bool is_readable(int handle) {
    pollfd wanted{.fd = handle, .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, 0) == 1;
}

class DeviceLoop : public Devices {
protected:
    /// Polls both devices in one loop. Calls `each` after each poll, until it returns true.
    template <class Each>
    void run(Each&& each) {
        const auto end = Clock::now() + patience;
        while (true) {
            a->device.poll();
            b->device.poll();
            if (each()) return;
            const nanoseconds left = end - Clock::now();
            if (left <= 0ns) return;
            if (!a->device.arm() || !b->device.arm()) continue;
            sleep(std::min({left, a->device.next_timeout(), b->device.next_timeout()}));
        }
    }
    void sleep(nanoseconds longest) {
        ++sleeps;
        std::array<pollfd, 2> wanted{
            pollfd{.fd = a->device.event_fd(), .events = POLLIN, .revents = 0},
            pollfd{.fd = b->device.event_fd(), .events = POLLIN, .revents = 0}};
        timespec limit{};
        limit.tv_sec = longest / 1s;
        limit.tv_nsec = (longest % 1s).count();
        ::ppoll(wanted.data(), wanted.size(), &limit, nullptr);
    }
    /// Polls until the device may sleep: a packet of a peer may have come. False: it never may.
    [[nodiscard]] static bool comes_to_rest(Device& device) {
        const auto end = Clock::now() + patience;
        while (!device.arm()) {
            if (Clock::now() > end) return false;
            device.poll();
        }
        return true;
    }
    static void expect_due(Device& device, const char* why) {
        EXPECT_FALSE(device.arm()) << why;
        EXPECT_EQ(device.next_timeout(), 0ns) << why;
        EXPECT_TRUE(comes_to_rest(device)) << why;
    }

    int sleeps = 0;
};

// How often the loop wakes is shown in modelled time (DeviceAtRest).
TEST_F(DeviceLoop, CarriesAPingPongThatItSleepsFor) {
    open();
    constexpr int rounds = 100;
    int begun = 0;
    int ended = 0;
    const auto begin = [&](End& end) {
        ASSERT_EQ(end.pair.post_receive(7, end.region->piece(100, 50)), Status::ok);
    };
    const auto send = [&](End& end) {
        ASSERT_EQ(end.pair.send(1, end.region->piece(0, 8)), Status::ok);
    };
    begin(*a);
    begin(*b);
    run([&] {
        while (const auto one = b->completions.poll()) {
            EXPECT_EQ(one->status, WorkStatus::success);
            if (one->id != 7) continue;
            begin(*b);
            send(*b);
        }
        while (const auto one = a->completions.poll()) {
            EXPECT_EQ(one->status, WorkStatus::success);
            if (one->id != 7) continue;
            begin(*a);
            ++ended;
        }
        if (begun == ended && ended < rounds) {
            ++begun;
            send(*a);
        }
        return ended == rounds;
    });
    EXPECT_EQ(ended, rounds);
    EXPECT_GT(sleeps, 0);
}

TEST_F(DeviceLoop, EndsWhatItWaitsForWhenAPeerIsSilent) {
    open();
    b.reset();
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 8), {0, 0}), Status::ok);
    a->device.poll();
    const nanoseconds left = a->device.next_timeout();
    EXPECT_LE(left, 268ms) << "four times the acknowledgement timeout";
    std::this_thread::sleep_for(left + 1ms);
    EXPECT_EQ(a->device.next_timeout(), 0ns);
    EXPECT_FALSE(a->device.arm());
    EXPECT_GT(a->device.poll(), 0U) << "it is sent again";
}

TEST_F(DeviceLoop, PollsAgainWhereWorkWasPosted) {
    open({.ack_timeout = 0ns});  // no deadline comes while the test is slow
    a->device.poll();
    EXPECT_TRUE(a->device.arm());
    EXPECT_EQ(a->device.next_timeout(), nanoseconds::max());
    ASSERT_EQ(a->pair.send(1, a->region->piece(0, 8)), Status::ok);
    expect_due(a->device, "a Send");
    a->pair.disconnect();
    expect_due(a->device, "the Send has ended");
    ASSERT_EQ(a->pair.post_receive(2, a->region->all()), Status::ok);
    expect_due(a->device, "the receive has ended at once");
}

TEST_F(DeviceLoop, PollsAgainWhereAConnectionIsAnswered) {
    open();
    constexpr std::uint64_t service = service_of_port(7175);
    auto listener = Listener::open(a->device, service);
    ASSERT_TRUE(listener);
    std::thread other([] {
        End asker(3, 1024, {});
        EXPECT_FALSE(asker.pair.connect(host(1), service, {}, patience));
    });
    {
        auto asked = listener->wait(patience);
        ASSERT_TRUE(asked);
        // The asker may ask again at any time.
        EXPECT_TRUE(comes_to_rest(a->device));
        asked->reject();
        expect_due(a->device, "a refusal");
    }
    other.join();
}

TEST_F(DeviceLoop, IsWokenByAnotherThread) {
    open();
    const int handle = a->device.event_fd();
    ASSERT_GE(handle, 0);
    a->device.poll();
    EXPECT_FALSE(is_readable(handle));
    std::thread([this] {
        a->device.wake();
        a->device.wake();
    }).join();
    EXPECT_TRUE(is_readable(handle));
    a->device.poll();
    EXPECT_FALSE(is_readable(handle));
    const Device moved = std::move(a->device);
    EXPECT_EQ(moved.event_fd(), handle);
}

TEST_F(DeviceLoop, AWakeEndsTheSleepOfAWait) {
    open();
    std::atomic<bool> told = false;
    std::thread other([&] {
        std::this_thread::sleep_for(20ms);
        told = true;
        a->device.wake();
    });
    const auto start = Clock::now();
    EXPECT_TRUE(a->device.wait([&] { return told.load(); }, 2 * patience));
    EXPECT_LT(Clock::now() - start, patience) << "without the wake, the wait lasts to its limit";
    other.join();
}

TEST_F(DeviceLoop, AWakeIsNotLostInAConditionThatPolls) {
    open();
    int calls = 0;
    const auto start = Clock::now();
    EXPECT_TRUE(a->device.wait(
        [&] {
            std::this_thread::sleep_for(1ms);  // longer than wait() polls before it sleeps
            a->device.wake();
            a->device.poll();
            return ++calls == 5;
        },
        2 * patience));
    EXPECT_LT(Clock::now() - start, patience) << "without a wake, the wait lasts to its limit";
}

TEST_F(DeviceLoop, HasNoDescriptorInAForkedChild) {
    open();
    const int handle = a->device.event_fd();
    EXPECT_EQ(in_child([&] {
                  a->device.wake();
                  const bool closed = ::fcntl(handle, F_GETFD) == -1;
                  return closed && a->device.event_fd() == -1 ? 7 : 1;
              }),
              7);
    EXPECT_FALSE(is_readable(handle));
    a->device.wake();
    EXPECT_TRUE(is_readable(handle));
}

// With limits from no descriptor to as many as a device needs.
TEST_F(DeviceLoop, NeedsDescriptorsOrIsNotOpened) {
    const int needed = in_child([] {
        int without_loop = 0;
        for (rlim_t most = 0; most < 100; ++most) {
            const rlimit limit{.rlim_cur = most, .rlim_max = 100};
            if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 100;
            const auto device = Device::open({.address = host(4), .path_mtu = 1024});
            if (device) return device->event_fd() >= 0 ? without_loop : 101;
            const bool of_loop =
                device.error() == "no descriptor for event loops: Too many open files";
            without_loop += of_loop ? 1 : 0;
        }
        return 102;
    });
    EXPECT_EQ(needed, 2);
}

}  // namespace
}  // namespace wireproof::ib::test
