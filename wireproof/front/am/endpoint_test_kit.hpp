// For tests: endpoints on UDP sockets of this machine. One thread polls them, or each has its own
// thread.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "wireproof/am.hpp"
#include "wireproof/base/bytes.hpp"
#include "wireproof/base/check.hpp"
#include "wireproof/core/engine.hpp"
#include "wireproof/front/am/handlers_test_kit.hpp"

namespace wireproof::am::test {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// It only ends a test that hangs.
constexpr milliseconds patience{120'000};

/// A UDP socket on a port that the kernel chooses.
class RawSocket {
public:
    RawSocket() : handle_(::socket(AF_INET, SOCK_DGRAM, 0)) {
        sockaddr_in local = loopback(0);
        socklen_t length = sizeof local;
        sockaddr& any = reinterpret_cast<sockaddr&>(local);
        WIREPROOF_CHECK(::bind(handle_, &any, length) == 0);
        WIREPROOF_CHECK(::getsockname(handle_, &any, &length) == 0);
        port_ = ntohs(local.sin_port);
    }
    RawSocket(const RawSocket&) = delete;
    RawSocket& operator=(const RawSocket&) = delete;
    ~RawSocket() { ::close(handle_); }

    std::uint16_t port() const { return port_; }
    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    void send(const RawSocket& to, ConstBytes bytes) const { send(to.port(), bytes); }
    void send(std::uint16_t to, ConstBytes bytes) const {
        sockaddr_in there = loopback(to);
        const auto sent = ::sendto(handle_, bytes.data(), bytes.size(), 0,
                                   reinterpret_cast<sockaddr*>(&there), sizeof there);
        ASSERT_EQ(sent, static_cast<ssize_t>(bytes.size()));
    }

private:
    static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return address;
    }

    int handle_;
    std::uint16_t port_ = 0;
};

/// Different addresses that were free a moment ago.
inline std::vector<std::string> free_addresses(std::size_t count) {
    std::vector<RawSocket> sockets(count);
    std::vector<std::string> addresses;
    for (const RawSocket& socket : sockets) addresses.push_back(socket.address());
    return addresses;
}

/// No peer is lost because its thread had no processor.
inline Options options_for(std::size_t nodes) {
    Options options;
    options.peer_timeout = std::chrono::hours(24);
    options.peers = free_addresses(nodes);
    options.seed = 1;
    return options;
}

/// "shm:" and a name that no other job uses.
inline std::string shm_name() {
    static int count = 0;
    return "shm:test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

/// Options for shared memory, or for UDP.
inline Options options_on(bool shm, std::size_t nodes = 2) {
    Options options = options_for(nodes);
    if (shm) options.peers.assign(nodes, shm_name());
    return options;
}

inline Endpoint open(Options options, std::size_t self, std::uint64_t seed = 0) {
    options.self = self;
    options.seed = seed != 0 ? seed : options.seed + self;
    auto opened = Endpoint::open(options);
    if (!opened) ADD_FAILURE() << opened.error();
    WIREPROOF_CHECK(static_cast<bool>(opened));
    return std::move(*opened);
}

/// Polls endpoints in this thread until `done`. False: the patience has ended first.
template <class Done>
[[nodiscard]] bool run(std::initializer_list<Endpoint*> endpoints, Done&& done) {
    const auto end = Clock::now() + patience;
    while (!done()) {
        if (Clock::now() > end) return false;
        std::size_t handled = 0;
        for (Endpoint* endpoint : endpoints) handled += endpoint->poll();
        if (handled == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
}

[[nodiscard]] inline bool settle(Endpoint& a, Endpoint& b) {
    return run({&a, &b}, [&] { return a.idle() && b.idle(); });
}

/// An endpoint that its own thread polls. Only that thread may use it until stop().
class Served {
public:
    explicit Served(Endpoint served) : endpoint(std::move(served)) {}
    ~Served() { stop(); }

    void start() {
        thread_ = std::thread([this] {
            while (!stop_) endpoint.wait([this] { return stop_.load(); }, milliseconds(20));
        });
    }
    void stop() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }

    Endpoint endpoint;

private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

inline Handler echo() {
    return [](const Message& m) { EXPECT_EQ(m.reply(answer, {m.words()[0]}), Status::ok); };
}

inline std::uint64_t received(const Endpoint& endpoint, RxVerdict verdict, std::size_t peer = 1) {
    return endpoint.counters(peer).received[static_cast<std::size_t>(verdict)];
}

}  // namespace wireproof::am::test
