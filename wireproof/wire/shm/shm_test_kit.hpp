// Nodes in one process for the tests of the shared-memory wire. The tests move the time by hand.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
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

inline std::size_t open_descriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

inline bool rings(const ShmWire& wire) {
    pollfd wanted{wire.wait_handle(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 1;
}

}  // namespace wireproof::shm_test
