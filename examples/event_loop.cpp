// One thread and one epoll loop for active messages, InfiniBand and a timer. The thread sleeps
// while nothing happens. At each tick of the timer it sends a request and an InfiniBand message.
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <wireproof/am.hpp>
#include <wireproof/ib.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace am = wireproof::am;
namespace ib = wireproof::ib;
using std::chrono::nanoseconds;

namespace {

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "event_loop: %s\n", why.c_str());
    std::exit(1);
}

template <class T>
T opened(wireproof::Result<T> result) {
    if (!result) fail(result.error());
    return std::move(*result);
}

/// The epoll descriptor with the handles that it watches.
class Loop {
public:
    Loop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}
    ~Loop() { ::close(epoll_); }
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    void watch(int handle) {
        epoll_event event{};
        event.events = EPOLLIN;
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, handle, &event) != 0) fail("cannot watch");
    }
    void sleep(nanoseconds timeout) const {
        // epoll counts in milliseconds. Round up, so that the deadline has passed afterwards.
        constexpr nanoseconds longest = std::chrono::hours(1);
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::min(timeout, longest));
        epoll_event event{};
        ::epoll_wait(epoll_, &event, 1, static_cast<int>(left.count()));
    }

private:
    int epoll_;
};

/// A timer whose handle becomes readable every 20 ms.
class Ticks {
public:
    Ticks() : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
        constexpr timespec often{.tv_sec = 0, .tv_nsec = 20'000'000};
        const itimerspec times{.it_interval = often, .it_value = often};
        ::timerfd_settime(timer_, 0, &times, nullptr);
    }
    ~Ticks() { ::close(timer_); }
    Ticks(const Ticks&) = delete;
    Ticks& operator=(const Ticks&) = delete;

    int handle() const { return timer_; }
    bool take() const {
        std::uint64_t ticks = 0;
        return ::read(timer_, &ticks, sizeof ticks) > 0;
    }

private:
    int timer_;
};

/// One side of a reliable connection.
struct Side {
    explicit Side(const std::string& address)
        : device(opened(ib::Device::open({.address = address}))),
          domain(device),
          completions(device, 16),
          pair(opened(ib::QueuePair::create(domain, completions, completions))) {}

    ib::Device device;
    ib::ProtectionDomain domain;
    ib::CompletionQueue completions;
    ib::QueuePair pair;
};

}  // namespace

int main() {
    am::Options options;
    options.peers = {"127.0.0.1:0", ""};
    am::Endpoint asker = opened(am::Endpoint::open(options));
    options.peers = {"", "127.0.0.1:0"};
    options.self = 1;
    am::Endpoint answerer = opened(am::Endpoint::open(options));
    if (!asker.set_peer_address(1, answerer.local_address()) ||
        !answerer.set_peer_address(0, asker.local_address())) {
        fail("an address is refused");
    }
    constexpr std::uint16_t ask = 1;
    constexpr std::uint16_t answer = 2;
    unsigned answers = 0;
    answerer.handle(ask, [](const am::Message& m) { m.reply(answer, {m.words()[0] + 1}); });
    asker.handle(answer, [&](const am::Message& m) {
        std::printf("answer %u\n", m.words()[0]);
        ++answers;
    });

    Side sender("127.71.2.1");
    Side receiver("127.71.2.2");
    if (sender.pair.connect(receiver.pair.contact()) != ib::Status::ok ||
        receiver.pair.connect(sender.pair.contact()) != ib::Status::ok) {
        fail("no connection");
    }

    const Ticks ticks;
    Loop loop;
    for (const int handle : {asker.event_fd(), answerer.event_fd(), sender.device.event_fd(),
                             receiver.device.event_fd(), ticks.handle()}) {
        loop.watch(handle);
    }
    constexpr unsigned last = 3;
    unsigned tick = 0;
    unsigned received = 0;
    unsigned sleeps = 0;
    while (answers < last || received < last) {
        asker.poll();
        answerer.poll();
        sender.device.poll();
        receiver.device.poll();
        while (const auto done = receiver.completions.poll()) {
            std::printf("received %u\n", done->immediate.value_or(0));
            ++received;
        }
        while (sender.completions.poll()) {  // a send has ended
        }
        if (ticks.take() && tick < last) {
            ++tick;
            const bool sent = asker.request(1, ask, {10 * tick}) == am::Status::ok &&
                              receiver.pair.post_receive(tick, ib::Piece()) == ib::Status::ok &&
                              sender.pair.send(tick, ib::Piece(), tick) == ib::Status::ok;
            if (!sent) fail("cannot send");
        }
        const bool may_sleep =
            asker.arm() && answerer.arm() && sender.device.arm() && receiver.device.arm();
        if (!may_sleep) continue;
        ++sleeps;
        loop.sleep(std::min({asker.next_timeout(), answerer.next_timeout(),
                             sender.device.next_timeout(), receiver.device.next_timeout()}));
    }
    std::printf("slept %u times\n", sleeps);
}
