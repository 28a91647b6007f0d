// For tests: two ends of a link, and the frames between them, which the test carries by hand.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "wireproof/core/link_pair_test_kit.hpp"
#include "wireproof/proto/cxl/link.hpp"

namespace wireproof::cxl {

struct Frame {
    std::vector<std::byte> bytes;
    bool resent = false;

    /// For example "data", "LLCRD +3" or "RETRY.Req 5".
    std::string name() const {
        const FrameInfo info = describe(bytes);
        std::string name(info.kind);
        if (info.number) name += " " + std::to_string(*info.number);
        if (info.ack) name += " +" + std::to_string(*info.ack);
        return name;
    }
};

using Names = std::vector<std::string>;

/// What the line hands over in place of a flit that it spoilt.
inline const RxFrame damaged_frame{.bytes = {}, .integrity = Integrity::damaged};

/// Five RETRY.Frames and the name of the flit that follows them.
inline Names sequence(const std::string& last) {
    Names names(5, "RETRY.Frame");
    names.push_back(last);
    return names;
}

class End {
public:
    explicit End(const Config& config) : link(config) {}

    /// The next frame that leaves, if any.
    std::optional<Frame> poll(Instant now, bool wants_check = true) {
        std::array<std::byte, flit_size> room;
        TxFrame out;
        out.open(room, {.frame_max = room.size(), .carries_intact = !wants_check});
        const bool quiet = link.quiet();
        const bool left = link.poll_transmit(now, out);
        EXPECT_EQ(quiet, !left);
        draw();
        if (!left) return std::nullopt;
        Frame frame;
        frame.bytes.resize(out.size());
        out.gather(frame.bytes);
        frame.resent = out.resent();
        return frame;
    }

    RxVerdict give(Instant now, const Frame& frame, Integrity integrity = Integrity::check) {
        return give(now, RxFrame{.bytes = frame.bytes, .integrity = integrity});
    }
    RxVerdict give(Instant now, const RxFrame& frame) {
        const RxVerdict verdict = link.on_frame(now, frame);
        draw();
        return verdict;
    }
    RxVerdict damage(Instant now) { return give(now, damaged_frame); }

    /// A flit that the peer's engine would not send.
    RxVerdict give(Instant now, const FlitBytes& flit) {
        Frame frame{std::vector<std::byte>(flit_size)};
        write_flit(flit, true, std::span(frame.bytes).first<flit_size>());
        return give(now, frame);
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

    Fingerprint::Value fingerprint(Instant now) const {
        Fingerprint sink;
        link.fingerprint(now, sink);
        return sink.value();
    }

    Link link;
    std::vector<std::vector<std::byte>> got;
    int ups = 0;
    int downs = 0;
};

inline Config test_config() {
    Config config;
    config.modulus = 24;
    config.first_number = 21;  // so the numbers wrap early
    config.flit_time = Duration::nanoseconds(2);
    config.timeout = 1000;
    config.ack_flush = 50;
    config.probe_after = 200;
    config.train_every = 100;
    return config;
}

/// Ends on demand.
class Pair : public LinkPair<End, Frame> {
public:
    explicit Pair(const Config& config = test_config(), bool starts = true)
        : LinkPair(config, config) {
        if (starts) start();
    }

    /// As settle(), and lets time pass until no timer runs.
    void finish() {
        settle();
        for (int i = 0; i < 1000 && next() != never; ++i) {
            pass_to(next());
            settle();
        }
        EXPECT_EQ(next(), never);
    }

    /// Both ends come up, and exchange the acknowledgements of INIT.Param.
    void start() {
        finish();
        EXPECT_EQ(a.link.state(), Link::State::up);
        EXPECT_EQ(b.link.state(), Link::State::up);
    }
};

inline std::vector<std::byte> message(std::size_t size, std::uint32_t seed = 1) {
    return Pair::message(size, seed);
}

}  // namespace wireproof::cxl
