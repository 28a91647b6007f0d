// For tests: two ends of a link, and the frames between them, which the test carries by hand.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "wireproof/core/link_pair_test_kit.hpp"
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

class Pair : public LinkPair<End, Frame> {
public:
    explicit Pair(const Config& config = test_config()) : LinkPair(config, config) { start(); }

    void start() {
        settle();
        EXPECT_EQ(a.link.state(), Link::State::active);
        EXPECT_EQ(b.link.state(), Link::State::active);
    }
};

inline std::vector<std::byte> message(std::size_t size, std::uint32_t seed = 1) {
    return Pair::message(size, seed);
}

}  // namespace wireproof::pcie
