// For tests: two ends of a link, and the frames between them, which the test carries by hand.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "wireproof/core/link_pair_test_kit.hpp"
#include "wireproof/proto/ue/link.hpp"

namespace wireproof::ue {

struct Frame {
    std::vector<std::byte> bytes;
    bool resent = false;

    std::string kind() const { return std::string(describe(bytes).kind); }
    std::uint32_t number() const { return describe(bytes).number.value_or(0xFFFFFFFF); }
    bool is_ctl() const { return starts_with(bytes, ctl_byte); }
    /// For example "FRAME 5", "ACK 4" or "INIT 1".
    std::string name() const {
        const FrameInfo info = describe(bytes);
        const std::string kind(info.kind);
        return info.number ? kind + " " + std::to_string(*info.number) : kind;
    }
};

using Names = std::vector<std::string>;

inline Frame made(const CtlOs& ctl) {
    Frame frame;
    frame.bytes.resize(CtlOs::size);
    ctl.encode(Bytes(frame.bytes).first<CtlOs::size>(), NibbleOrder::number_high);
    return frame;
}
inline Frame ack(std::uint32_t number) {
    return made({CtlType::ack, number});
}
inline Frame nack(std::uint32_t number) {
    return made({CtlType::nack, number});
}

class End {
public:
    explicit End(const Config& config) : link(config) {}

    /// The next frame that leaves, if any.
    std::optional<Frame> poll(Instant now, bool wants_check = true) {
        TxFrame out;
        out.open(room_, {.frame_max = room_.size(), .carries_intact = !wants_check});
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
            poisoned += link.poisoned() ? 1 : 0;
        }
    }

    void on_deadline(Instant now) {
        if (link.next_deadline() > now) return;
        link.on_deadline(now);
        draw();
        EXPECT_GT(link.next_deadline(), now);  // otherwise a host could never sleep
    }

    const Stats& stats() const { return link.stats(); }

    Link link;
    std::vector<std::vector<std::byte>> got;
    int ups = 0;
    int downs = 0;
    int poisoned = 0;

private:
    std::array<std::byte, 2048> room_{};
};

inline Config test_config() {
    Config config;
    config.payload_max = 64;
    config.first_number = Config::numbers - 6;  // so the numbers wrap early
    config.replay_timer_max = Duration::microseconds(10);
    config.data_age_timer_max = config.pcs_lost_status_timer_max = {};
    config.replay_ct_max = 3;
    return config;
}

/// Each eligible frame is counted once by its FCS and once by its number.
inline void expect_identity(const Stats& stats) {
    EXPECT_EQ(stats.rx_ok + stats.rx_poisoned + stats.rx_bad,
              stats.rx_expected_seq_good + stats.rx_expected_seq_poisoned +
                  stats.rx_expected_seq_bad + stats.rx_missing_seq + stats.rx_duplicate_seq);
}

class Pair : public LinkPair<End, Frame> {
public:
    explicit Pair(const Config& config = test_config()) : LinkPair(config, config) { start(); }
    /// Before INIT.
    Pair(const Config& of_a, const Config& of_b) : LinkPair(of_a, of_b) {}

    void start() {
        settle();
        EXPECT_TRUE(a.link.up());
        EXPECT_TRUE(b.link.up());
        EXPECT_EQ(a.link.transmitter().state(), Transmitter::State::advance);
        EXPECT_EQ(b.link.transmitter().state(), Transmitter::State::advance);
    }
};

inline std::vector<std::byte> message(std::size_t size, std::uint32_t seed = 1) {
    return Pair::message(size, seed);
}

}  // namespace wireproof::ue
