// Devices that were moved from, that are destroyed or moved inside their own calls, that two
// threads use at once, or that a forked child uses.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "wireproof/front/ib/device_test_kit.hpp"

namespace wireproof::ib::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t closed_service = service_of_port(7471);

/// The names of the calls that do not answer as those of a closed Device.
std::string not_closed(Device& device) {
    std::string wrong;
    const auto check = [&](const char* call, bool closed) {
        if (!closed) wrong += std::string(call) + " ";
    };
    check("is_open", !device.is_open());
    check("poll", device.poll() == 0);
    check("wait", !device.wait([] { return true; }));
    check("event_fd", device.event_fd() == -1);
    check("arm", device.arm());
    check("next_timeout", device.next_timeout() == std::chrono::nanoseconds::max());
    device.wake();
    check("idle", device.idle());
    check("reads_identifications", !device.reads_identifications());
    check("damaged", device.damaged() == 0);
    check("identification_jumps", device.identification_jumps() == 0);
    check("foreign", device.foreign() == 0);
    check("packets_refused", device.packets_refused() == 0);
    check("send_errors", device.send_errors().empty());
    return wrong;
}

/// The names of the calls of one end that do not answer as the objects of a closed Device.
std::string takes_work(End& end) {
    std::string wrong = not_closed(end.device);
    const auto check = [&](const char* call, bool refused) {
        if (!refused) wrong += std::string(call) + " ";
    };
    const Piece piece = end.region->piece(0, 8);
    const Remote there = end.remote(0);
    check("post_receive", end.pair.post_receive(1, piece) == Status::closed);
    check("send", end.pair.send(2, piece) == Status::closed);
    check("send_inline", end.pair.send_inline(3, {}) == Status::closed);
    check("write", end.pair.write(4, piece, there) == Status::closed);
    check("read", end.pair.read(5, piece, there) == Status::closed);
    check("fetch_add", end.pair.fetch_add(6, piece, there, 1) == Status::closed);
    MemoryWindow window = end.domain.create_window(WindowType::type_1);
    check("create_window", window.key() == 0);
    check("bind", end.pair.bind(7, window, *end.region, {}) == Status::closed);
    check("connect", end.pair.connect(end.pair.contact()) == Status::closed);
    check("connect to a service", !end.pair.connect(host(1), closed_service));
    check("failed", end.pair.failed());
    end.pair.disconnect();
    check("completions", !end.completions.poll() && !end.completions.wait());
    check("notified", !end.completions.notified());
    check("wait_notified", !end.completions.wait_notified());
    end.completions.request_notify();
    check("overrun", !end.completions.overrun());
    CompletionQueue queue(end.device, 1);
    check("a new completion queue", !queue.wait());
    const ProtectionDomain domain(end.device);
    check("a new domain", !domain.register_memory(end.memory, all));
    check("register_memory", !end.domain.register_memory(end.memory, all));
    check("create", !QueuePair::create(end.domain, end.completions, end.completions));
    check("shared receives", !SharedReceiveQueue::create(end.domain));
    const auto listener = Listener::open(end.device, closed_service);
    check("listen", !listener && listener.error() ==
                                     "the Device is closed: it belongs to the parent of this "
                                     "process");
    return wrong;
}

class DeviceClosed : public Devices {
protected:
    void exchange() {
        a->put(0, "goes on");
        ASSERT_EQ(b->pair.post_receive(7, b->region->piece(100, 50)), Status::ok);
        ASSERT_EQ(a->pair.send(1, a->region->piece(0, 7)), Status::ok);
        EXPECT_EQ(next(*b).status, WorkStatus::success);
        EXPECT_EQ(next(*a).status, WorkStatus::success);
        EXPECT_EQ(b->text(100, 7), "goes on");
    }
};

TEST_F(DeviceClosed, IsWhatAMovedFromDeviceIs) {
    open();
    EXPECT_TRUE(a->device.is_open());
    Device moved = std::move(a->device);
    EXPECT_EQ(not_closed(a->device), "");
    EXPECT_TRUE(moved.is_open());
    Device again = std::move(a->device);
    EXPECT_EQ(not_closed(again), "");
    a->device = std::move(moved);
    EXPECT_EQ(not_closed(moved), "");
    exchange();
}

using DeviceClosedDeathTest = DeviceClosed;

TEST_F(DeviceClosedDeathTest, OtherThingsThatWereMovedFromEndTheProgramByName) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    open();
    constexpr const char* line = "wireproof: something of wireproof/ib.hpp is used after";
    Device device = std::move(a->device);
    EXPECT_DEATH(ProtectionDomain{a->device}, line);
    EXPECT_DEATH(CompletionQueue(a->device, 1), line);
    EXPECT_DEATH((void)Listener::open(a->device, closed_service), line);
    const QueuePair pair = std::move(a->pair);
    EXPECT_DEATH((void)a->pair.send(1, Piece()), line);
    EXPECT_DEATH(a->pair.number(), line);
    const CompletionQueue completions = std::move(a->completions);
    EXPECT_DEATH((void)a->completions.poll(), line);
    EXPECT_DEATH((void)QueuePair::create(a->domain, a->completions, a->completions), line);
    const MemoryRegion region = std::move(*a->region);
    EXPECT_DEATH(a->region->key(), line);
    MemoryWindow window = a->domain.create_window(WindowType::type_1);
    const MemoryWindow moved = std::move(window);
    EXPECT_DEATH(window.key(), line);
    const ProtectionDomain domain = std::move(a->domain);
    EXPECT_DEATH((void)a->domain.create_window(WindowType::type_1), line);
}

TEST_F(DeviceClosed, MayBeMovedAndDestroyedByTheConditionOfAWait) {
    std::optional<Device> device = *Device::open({.address = host(1)});
    std::optional<Device> moved;
    int calls = 0;
    const auto condition = [&] {
        if (++calls == 1) {
            moved = std::move(*device);
            EXPECT_EQ(not_closed(*device), "");
            EXPECT_EQ(moved->poll(), 0U);
            EXPECT_FALSE(moved->wait([] { return false; }, 0ms));
            device.reset();
            return false;
        }
        moved.reset();
        return true;
    };
    // Nothing arrives, so wait() asks the condition again at the limit.
    EXPECT_TRUE(device->wait(condition, 50ms));
    EXPECT_EQ(calls, 2);
    EXPECT_TRUE(Device::open({.address = host(1)})) << "nothing keeps its port";
}

TEST_F(DeviceClosed, IsWhatAForkedChildFindsAndTheParentGoesOn) {
    open();
    ASSERT_EQ(b->pair.post_receive(6, b->region->piece(0, 50)), Status::ok);
    ASSERT_EQ(a->pair.send(2, a->region->piece(0, 8)), Status::ok);
    EXPECT_EQ(in_child([this] {
                  const std::string wrong = takes_work(*a) + takes_work(*b);
                  if (!wrong.empty()) std::fprintf(stderr, "in the child: %s\n", wrong.c_str());
                  a.reset();
                  b.reset();
                  const auto own = Device::open({.address = host(3)});
                  return wrong.empty() && own && own->is_open() ? 7 : 1;
              }),
              7);
    EXPECT_EQ(next(*b).id, 6U);
    EXPECT_EQ(next(*a).id, 2U);
    exchange();
    EXPECT_EQ(a->device.damaged() + b->device.damaged(), 0U);
}

// A forked child that lives on must not keep the ports of its parent.
TEST_F(DeviceClosed, HoldsNoSocketInAForkedChild) {
    open();
    std::array<int, 2> pipe{};  // the child says that it runs, and ends when it is told to
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pipe.data()), 0);
    const pid_t child = ::fork();
    char word = 'r';
    if (child == 0) {
        ::alarm(120);
        ::close(pipe[0]);
        ::_exit(::write(pipe[1], &word, 1) == 1 && ::read(pipe[1], &word, 1) == 0 ? 0 : 1);
    }
    ::close(pipe[1]);
    EXPECT_EQ(::read(pipe[0], &word, 1), 1);
    a.reset();
    const auto again = Device::open({.address = host(1)});
    EXPECT_TRUE(again) << again.error();
    ::close(pipe[0]);
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

#ifndef NDEBUG
TEST_F(DeviceClosedDeathTest, TwoThreadsAtOnceEndTheProgram) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    open();
    const auto beside = [this](const auto& use) {
        a->device.wait([&] {
            std::thread(use).join();
            return true;
        });
    };
    constexpr const char* line = "wireproof: a Device is used by two threads at once";
    EXPECT_DEATH(beside([this] { a->device.poll(); }), line);
    EXPECT_DEATH(beside([this] { (void)a->completions.poll(); }), line);
    EXPECT_DEATH(beside([this] { (void)a->pair.send(1, Piece()); }), line);
    EXPECT_DEATH(beside([this] { (void)a->pair.post_receive(1, Piece()); }), line);
    EXPECT_DEATH(beside([this] { a->pair.disconnect(); }), line);
    EXPECT_DEATH(beside([this] { a.reset(); }), line);
    MemoryWindow window = a->domain.create_window(WindowType::type_1);
    std::optional<CompletionQueue> queue(std::in_place, a->device, 1);
    auto receives = SharedReceiveQueue::create(a->domain);
    const std::vector<std::function<void()>> others = {
        [&] { (void)a->completions.wait(0ms); },
        [&] { (void)a->completions.overrun(); },
        [&] { (void)a->completions.notified(); },
        [&] { a->completions.request_notify(); },
        [&] { (void)a->device.next_timeout(); },
        [&] { (void)a->device.idle(); },
        [&] { (void)a->pair.failed(); },
        [&] { const ProtectionDomain one(a->device); },
        [&] { const CompletionQueue one(a->device, 1); },
        [&] { (void)a->domain.create_window(WindowType::type_1); },
        [&] { (void)SharedReceiveQueue::create(a->domain); },
        [&] { queue.reset(); },
        [&] { const MemoryWindow last = std::move(window); },
        [&] { const SharedReceiveQueue last = std::move(*receives); },
        [&] { a->region.reset(); },
    };
    for (const auto& use : others) EXPECT_DEATH(beside(use), line);
}

TEST_F(DeviceClosed, ThreadsMayTakeTurns) {
    open();
    std::thread([this] { exchange(); }).join();
    exchange();
}
#endif

}  // namespace
}  // namespace wireproof::ib::test
