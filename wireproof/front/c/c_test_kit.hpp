// For tests: two endpoints of the interface for C, in one thread.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "wireproof/wireproof.h"

namespace wireproof::c::test {

/// It only ends a test that hangs.
constexpr int patience_ms = 120'000;

constexpr std::uint16_t ask = 1;
constexpr std::uint16_t answer = 2;
constexpr std::uint16_t stored = 3;

inline wireproof_options options() {
    wireproof_options made;
    EXPECT_EQ(wireproof_options_init(&made, sizeof made), WIREPROOF_OK);
    return made;
}

/// Two nodes on UDP, or on shared memory.
class Pair {
public:
    /// By default no node is lost because its thread had no processor.
    explicit Pair(bool shm = false, std::uint64_t peer_timeout_ms = 86'400'000) {
        static int count = 0;
        const std::string name =
            "shm:test-c-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
        for (std::size_t self = 0; self < 2; ++self) {
            std::array<const char*, 2> peers = {nullptr, ""};
            peers[self] = "127.0.0.1:0";
            if (shm) peers = {name.c_str(), name.c_str()};
            wireproof_options made = options();
            made.peers = peers.data();
            made.nodes = peers.size();
            made.self = self;
            made.seed = 1 + self;
            made.peer_timeout_ms = peer_timeout_ms;
            std::array<char, 256> why{};
            EXPECT_EQ(wireproof_endpoint_open(&made, &ends_[self], why.data(), why.size()),
                      WIREPROOF_OK)
                << why.data();
        }
        for (std::size_t self = 0; self < 2 && !shm; ++self) {
            const char* const there = wireproof_endpoint_address(ends_[1 - self]);
            EXPECT_EQ(wireproof_endpoint_set_peer_address(ends_[self], 1 - self, there),
                      WIREPROOF_OK);
        }
    }
    ~Pair() {
        for (wireproof_endpoint* end : ends_) EXPECT_EQ(wireproof_endpoint_free(end), WIREPROOF_OK);
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;

    wireproof_endpoint* a() const { return ends_[0]; }
    wireproof_endpoint* b() const { return ends_[1]; }
    void free_b() {
        EXPECT_EQ(wireproof_endpoint_free(ends_[1]), WIREPROOF_OK);
        ends_[1] = nullptr;
    }

    /// Polls both until `done`. False: it took too long. The results of the polls must be OK.
    template <class Done>
    [[nodiscard]] bool run(Done&& done) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
        while (!done()) {
            if (std::chrono::steady_clock::now() > end) return false;
            for (wireproof_endpoint* one : ends_) {
                if (one == nullptr) continue;
                const wireproof_status status = wireproof_endpoint_poll(one, nullptr);
                if (status != WIREPROOF_OK) {
                    ADD_FAILURE() << wireproof_endpoint_error(one);
                    return false;
                }
            }
        }
        return true;
    }
    [[nodiscard]] bool settle() const {
        return run(
            [&] { return wireproof_endpoint_idle(a()) == 1 && wireproof_endpoint_idle(b()) == 1; });
    }

private:
    std::array<wireproof_endpoint*, 2> ends_{};
};

/// What the last handler of a node got.
struct Got {
    int count = 0;
    wireproof_message message{};
    std::string bytes;
};
inline void keep(wireproof_endpoint* /*end*/, const wireproof_message* message, void* user) {
    Got& got = *static_cast<Got*>(user);
    ++got.count;
    got.message = *message;
    got.bytes.assign(static_cast<const char*>(message->bytes), message->length);
}
inline void ended(wireproof_endpoint* /*end*/, wireproof_status status, void* user) {
    *static_cast<wireproof_status*>(user) = status;
}
constexpr wireproof_status not_ended = -1;

}  // namespace wireproof::c::test
