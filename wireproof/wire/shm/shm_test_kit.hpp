// Nodes in one process for the tests of the shared-memory wire. The tests move the time by hand.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>

#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof::shm_test {

constexpr PeerId zero{0};
constexpr PeerId one{1};

inline ConstBytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

inline std::string text_of(ConstBytes bytes) {
    std::string text;
    for (const std::byte byte : bytes) text.push_back(static_cast<char>(byte));
    return text;
}

inline std::string unique_name() {
    static int count = 0;
    return "test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

inline ShmWire open(const ShmWire::Config& config) {
    auto wire = ShmWire::open(config);
    EXPECT_TRUE(wire.has_value()) << wire.error().message;
    return std::move(*wire);
}

inline std::string error_of(const ShmWire::Config& config) {
    const auto wire = ShmWire::open(config);
    return wire ? "none" : wire.error().message;
}

inline std::pair<ShmWire, ShmWire> pair(const ShmWire::Config& config = {}) {
    auto wires = ShmWire::pair(config);
    WIREPROOF_CHECK(wires.has_value());
    return std::move(*wires);
}

/// Writes the first letter in place and points to the rest.
inline bool commit(ShmWire& wire, PeerId to, std::string_view text) {
    TxFrame* const frame = wire.lane(to).claim();
    if (frame == nullptr) return false;
    if (!text.empty()) {
        frame->add_header<1>()[0] = static_cast<std::byte>(text.front());
        frame->add_payload(bytes_of(text.substr(1)));
    }
    wire.lane(to).commit();
    return true;
}

class Time {
public:
    Instant now() const { return now_; }
    Instant pass() { return now_ = now_ + Duration::milliseconds(2); }

private:
    Instant now_{Duration::milliseconds(5)};
};

inline bool send(ShmWire& wire, PeerId to, std::string_view text) {
    if (!commit(wire, to, text)) return false;
    wire.flush(Instant());
    return true;
}

/// "<peer>:<text>" of the next frame, "nothing" without one.
inline std::string next(ShmWire& wire, Instant now = Instant()) {
    const auto frame = wire.receive(now);
    if (!frame) return "nothing";
    EXPECT_EQ(frame->integrity, Integrity::intact);
    return std::to_string(static_cast<int>(frame->from)) + ":" + text_of(frame->bytes);
}

inline std::string event(ShmWire& wire) {
    const auto event = wire.next_event();
    if (!event) return "none";
    return std::to_string(static_cast<int>(event->first)) +
           (event->second == WireEvent::peer_gone ? " gone" : " anew");
}

/// Lets time pass until both are connected. False: they never connect.
inline bool meet(ShmWire& a, PeerId of_a, ShmWire& b, PeerId of_b, Time& time) {
    for (int i = 0; i < 500; ++i) {
        if (a.connected(of_a) && b.connected(of_b)) return true;
        a.receive(time.pass());
        b.receive(time.now());
    }
    return false;
}

/// Whether the kernel forbids copies out of this process: a filter of a container does, and Yama
/// does between processes. Only EPERM says so; any other error is a defect. A reason to skip.
inline bool copies_are_forbidden(pid_t process = ::getpid()) {
    static char byte = 0;  // has the same address in a forked child
    char copy = 0;
    const iovec here{&copy, 1};
    const iovec there{&byte, 1};
    return ::process_vm_readv(process, &here, 1, &there, 1, 0) < 0 && errno == EPERM;
}
inline constexpr const char* copies_forbidden = "process_vm_readv: Operation not permitted";

inline std::size_t open_descriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

inline bool rings(const ShmWire& wire) {
    pollfd wanted{wire.wait_handle(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 1;
}

/// Node 1 by hand: a peer that this test steers word by word.
struct PeerByHand {
    PeerByHand() {
        auto sockets = ControlSocket::pair();
        WIREPROOF_CHECK(sockets.has_value());
        auto adopted = ShmWire::adopt({.node = 0}, std::move(sockets->first));
        WIREPROOF_CHECK(adopted.has_value());
        wire.emplace(std::move(*adopted));
        socket = std::move(sockets->second);
        std::array<std::byte, Greeting::size> hello{};
        Greeting{.node = 1, .nodes = 2, .frame_max = frame_max, .lines = 8192}.encode(hello);
        EXPECT_TRUE(socket.send(hello, segment.memory().handle()));
        EXPECT_EQ(next(*wire, Instant(Duration::milliseconds(2))), "nothing");
        EXPECT_TRUE(wire->connected(one));
    }
    void set_copying(bool copying) { segment.copying(1).store(copying ? 1 : 0); }
    RingProducer producer() { return RingProducer(segment.ring_filled_by(1), frame_max); }
    RingConsumer consumer() { return RingConsumer(segment.ring_filled_by(0), frame_max); }

    static constexpr std::size_t frame_max = 16 * 1024 - 8;

    ControlSocket socket;
    Segment segment = std::move(*Segment::create(8192));
    std::optional<ShmWire> wire;
};

}  // namespace wireproof::shm_test
