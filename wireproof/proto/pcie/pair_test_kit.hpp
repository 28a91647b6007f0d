// For tests: two ends of a link, and the frames between them, which the test carries by hand.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "wireproof/proto/pcie/link.hpp"

namespace wireproof::pcie {

struct Frame {
    std::vector<std::byte> bytes;
    bool resent = false;

    /// For example "TLP 5", "Ack 4" or "InitFC1-P".
    std::string name() const {
        const FrameInfo info = describe(bytes);
        const std::string kind(info.kind);
        return info.number ? kind + " " + std::to_string(*info.number) : kind;
    }
};

using Names = std::vector<std::string>;

inline std::vector<std::byte> message(std::size_t size, std::uint32_t seed = 1) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed + i * 7);
    return bytes;
}

class End {
public:
    explicit End(const Config& config) : link(config) {}

    /// The next frame that leaves, if any.
    std::optional<Frame> poll(Instant now, bool wants_check = true) {
        std::array<std::byte, longest_frame> room;
        TxFrame out;
        out.open(room, {.frame_max = room.size(), .carries_intact = !wants_check});
        const bool quiet = link.quiet();
        if (!link.poll_transmit(now, out)) return std::nullopt;
        EXPECT_FALSE(quiet);
        Frame frame;
        frame.bytes.resize(out.size());
        out.gather(frame.bytes);
        frame.resent = out.resent();
        return frame;
    }

    RxVerdict give(Instant now, const Frame& frame, Integrity integrity = Integrity::check) {
        const RxVerdict verdict =
            link.on_frame(now, RxFrame{.bytes = frame.bytes, .integrity = integrity});
        draw();
        return verdict;
    }

    void draw() {
        while (const auto delivery = link.next_delivery()) {
            if (delivery->what == LinkDelivery::What::up) ups++;
            if (delivery->what == LinkDelivery::What::down) downs++;
            if (delivery->what != LinkDelivery::What::message) continue;
            got.emplace_back(delivery->bytes.begin(), delivery->bytes.end());
        }
    }

    void on_deadline(Instant now) {
        link.on_deadline(now);
        draw();
    }

    Link link;
    std::vector<std::vector<std::byte>> got;
    int ups = 0;
    int downs = 0;
};

inline Config test_config() {
    Config config;
    config.payload_max = 64;
    config.first_number = 4090;  // so the numbers wrap early
    config.ack_latency = Duration::microseconds(1);
    config.replay_after = Duration::microseconds(10);
    config.retrain_time = Duration::microseconds(50);
    return config;
}

/// The calls work from `a` to `b` unless they name an end.
class Pair {
public:
    explicit Pair(const Config& config = test_config()) : a(config), b(config) { start(); }

    /// Carries all frames in both directions until both ends are quiet.
    void settle() {
        for (bool moved = true; moved;) {
            moved = false;
            while (const auto frame = a.poll(now)) {
                b.give(now, *frame);
                moved = true;
            }
            while (const auto frame = b.poll(now)) {
                a.give(now, *frame);
                moved = true;
            }
        }
    }

    void start() {
        settle();
        EXPECT_EQ(a.link.state(), Link::State::active);
        EXPECT_EQ(b.link.state(), Link::State::active);
    }

    void submit(std::size_t count, std::size_t size = 8) {
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(a.link.submit(message(size, submitted++)), SubmitStatus::accepted);
        }
    }

    /// The names of all frames that leave an end now. The frames are dropped.
    Names leaving(End& end) {
        Names names;
        while (const auto frame = end.poll(now)) names.push_back(frame->name());
        return names;
    }
    std::vector<Frame> frames(End& end) {
        std::vector<Frame> all;
        while (auto frame = end.poll(now)) all.push_back(std::move(*frame));
        return all;
    }

    /// Passes to the next deadline of either end.
    void wait() {
        const Instant next = std::min(a.link.next_deadline(), b.link.next_deadline());
        ASSERT_NE(next, never);
        pass_to(next);
    }
    void pass_to(Instant then) {
        now = std::max(now, then);
        if (a.link.next_deadline() <= now) a.on_deadline(now);
        if (b.link.next_deadline() <= now) b.on_deadline(now);
    }
    void pass(Duration time) { pass_to(now + time); }

    /// Each submitted message has arrived once and in order.
    void expect_all() const {
        ASSERT_EQ(b.got.size(), submitted);
        for (std::uint32_t i = 0; i < submitted; ++i) {
            EXPECT_EQ(b.got[i], message(b.got[i].size(), i)) << i;
        }
    }

    Instant now;
    End a;
    End b;
    std::uint32_t submitted = 0;
};

}  // namespace wireproof::pcie
