// Two ends in one process and one thread, joined by a ring of frames in each direction, for tests
// and benchmarks. Frames that one end flushes arrive at the other at once and in order. A full ring
// lends no room, so no frame is lost. The two ends share their rings, so an end may be moved out of
// its link and outlive it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/core/wire.hpp"
#include "wireproof/wire/memory/frame_ring.hpp"

namespace wireproof {

/// One end. It knows one peer and is itself the lane to it.
class MemoryWire {
public:
    MemoryWire(MemoryWire&&) = default;
    MemoryWire& operator=(MemoryWire&&) = default;

    MemoryWire& lane(PeerId peer) {
        WIREPROOF_CHECK(peer == peer_);
        return *this;
    }

    LaneCapabilities capabilities() const { return capabilities_; }

    TxFrame* claim() {
        if (out_->full()) return nullptr;
        frame_.open(room_, capabilities_);
        return &frame_;
    }

    void commit() { out_->push(frame_); }

    std::optional<RxFrame> receive(Instant) {
        const auto bytes = in_->next();
        if (!bytes) return std::nullopt;
        return RxFrame{*bytes, peer_,
                       capabilities_.carries_intact ? Integrity::intact : Integrity::check};
    }

    void flush(Instant) { out_->publish(); }

    std::optional<std::pair<PeerId, WireEvent>> next_event() { return std::nullopt; }
    Instant next_deadline() const { return never; }

    /// False: frames wait, so the caller must not sleep. There is no handle to wait on: one thread
    /// runs both ends.
    bool prepare_to_sleep() const { return !in_->has_frame(); }
    int wait_handle() const { return -1; }

private:
    friend class MemoryLink;

    MemoryWire(LaneCapabilities capabilities, PeerId peer, std::shared_ptr<FrameRing> out,
               std::shared_ptr<FrameRing> in)
        : capabilities_(capabilities),
          peer_(peer),
          out_(std::move(out)),
          in_(std::move(in)),
          room_(capabilities.frame_max) {}

    LaneCapabilities capabilities_;
    PeerId peer_;
    std::shared_ptr<FrameRing> out_;
    std::shared_ptr<FrameRing> in_;
    std::vector<std::byte> room_;
    TxFrame frame_;
};

static_assert(Lane<MemoryWire>);
static_assert(Wire<MemoryWire>);

/// Both ends.
class MemoryLink {
public:
    struct Config {
        std::size_t frame_max = 2048;  // bytes
        std::size_t capacity = 256;    // frames each way
        bool carries_intact = false;   // the capabilities to promise; the link has both in any case
        bool carries_all = false;
        bool numbered = false;  // the ends know each other as 0 and 1; else each as PeerId 0
    };

    explicit MemoryLink(const Config& config)
        : MemoryLink(config, std::make_shared<FrameRing>(config.capacity, config.frame_max),
                     std::make_shared<FrameRing>(config.capacity, config.frame_max)) {}

    MemoryWire& end(std::size_t which) {
        WIREPROOF_CHECK(which < 2);
        return ends_[which];
    }

private:
    MemoryLink(const Config& config, const std::shared_ptr<FrameRing>& there,
               const std::shared_ptr<FrameRing>& back)
        : ends_{MemoryWire(capabilities_of(config), PeerId(config.numbered ? 1 : 0), there, back),
                MemoryWire(capabilities_of(config), PeerId{0}, back, there)} {}

    static LaneCapabilities capabilities_of(const Config& config) {
        return {.frame_max = config.frame_max,
                .carries_intact = config.carries_intact,
                .carries_all = config.carries_all};
    }

    std::array<MemoryWire, 2> ends_;
};

}  // namespace wireproof
