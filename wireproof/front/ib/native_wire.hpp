// A native InfiniBand link around any wire. The inner wire carries frames with route headers and
// both CRCs; engines see packets. A host's local identifier is its peer number plus one.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/core/around_wire.hpp"
#include "wireproof/core/peer_trouble.hpp"
#include "wireproof/core/wire.hpp"
#include "wireproof/proto/ib/packet/native_frame.hpp"

namespace wireproof::proto::ib {

struct NativeCounters {
    std::array<std::uint64_t, native_fault_names.size()>
        faults{};  // frames dropped, by NativeFault
    std::uint64_t other_destination = 0;
    std::uint64_t other_source = 0;  // than the peer whose frame it is

    std::uint64_t of(NativeFault fault) const { return faults[static_cast<std::size_t>(fault)]; }
};

template <class InnerLane>
class NativeLane {
public:
    /// Received packets are intact: the wire drops a frame with a wrong CRC.
    LaneCapabilities capabilities() const {
        const std::size_t inner = lane_->capabilities().frame_max;
        return {.frame_max = inner > overhead_ ? (inner - overhead_) / 4 * 4 : 0,
                .carries_intact = true,
                .carries_all = lane_->capabilities().carries_all};
    }
    TxFrame* claim() {
        inner_ = lane_->claim();
        if (inner_ == nullptr) return nullptr;
        room_.resize(capabilities().frame_max);
        frame_.open(room_, capabilities());
        return &frame_;
    }
    /// The frame must be a packet of whole words with the base header in its first piece.
    void commit() {
        encode(route_, frame_.pieces(), room_, *inner_);
        if (frame_.resent()) inner_->mark_resent();
        lane_->commit();
    }

private:
    template <Wire W>
    friend class NativeWire;

    NativeLane(InnerLane* lane, const NativeRoute& route)
        : lane_(lane),
          route_(route),
          overhead_(Lrh::size + (route.global ? Grh::size : 0) + native_tail) {}

    InnerLane* lane_;
    NativeRoute route_;
    std::size_t overhead_;
    TxFrame* inner_ = nullptr;
    std::vector<std::byte> room_;
    TxFrame frame_;
};

template <Wire W>
class NativeWire : public AroundWire<NativeWire<W>, W> {
    using InnerLane = std::remove_reference_t<decltype(std::declval<W&>().lane(PeerId{}))>;

public:
    struct Config {
        PeerId local = {};               // the number by which the others know this host
        std::optional<Grh> global = {};  // sent in each frame, as between subnets
    };

    NativeWire(W inner, const Config& config)
        : inner_(std::make_unique<W>(std::move(inner))), config_(config) {}

    NativeLane<InnerLane>& lane(PeerId peer) {
        const auto number = static_cast<std::size_t>(peer);
        while (lanes_.size() <= number) lanes_.emplace_back();
        if (!lanes_[number]) {
            const NativeRoute route{
                .local = {.dest = identifier(peer), .source = identifier(config_.local)},
                .global = config_.global};
            lanes_[number] = NativeLane<InnerLane>(&inner_->lane(peer), route);
        }
        return *lanes_[number];
    }

    std::optional<RxFrame> receive(Instant now) {
        while (const auto frame = inner_->receive(now)) {
            if (const auto packet = unwrapped(*frame)) return packet;
        }
        return std::nullopt;
    }
    void flush(Instant now) { inner_->flush(now); }
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return inner_->next_event(); }
    Instant next_deadline() const { return inner_->next_deadline(); }

    W& inner() { return *inner_; }
    const W& inner() const { return *inner_; }

    const NativeCounters& counters() const { return counters_; }

private:
    static std::uint16_t identifier(PeerId peer) {
        return static_cast<std::uint16_t>(static_cast<std::uint16_t>(peer) + 1);
    }

    std::optional<RxFrame> unwrapped(const RxFrame& frame) {
        // A simulated cable may mark a frame as damaged without changing its bytes. It counts as a
        // wrong VCRC.
        if (frame.integrity == Integrity::damaged) return dropped(NativeFault::variant_crc);
        const auto native = NativeFrame::decode(whole(frame));
        if (!native) return dropped(native.error());
        if (native->local.dest != identifier(config_.local)) {
            ++counters_.other_destination;
            return std::nullopt;
        }
        if (native->local.source != identifier(frame.from)) {
            ++counters_.other_source;
            return std::nullopt;
        }
        return RxFrame{.bytes = native->packet,
                       .from = frame.from,
                       .integrity = Integrity::intact,
                       .marked = frame.marked};
    }
    std::optional<RxFrame> dropped(NativeFault fault) {
        ++counters_.faults[static_cast<std::size_t>(fault)];
        return std::nullopt;
    }
    /// The frame as one piece, because the CRCs cover all of it.
    ConstBytes whole(const RxFrame& frame) {
        if (frame.lent.empty()) return frame.bytes;
        const auto behind = frame.bytes.begin() + static_cast<std::ptrdiff_t>(frame.lent_at);
        together_.assign(frame.bytes.begin(), behind);
        together_.insert(together_.end(), frame.lent.begin(), frame.lent.end());
        together_.insert(together_.end(), behind, frame.bytes.end());
        return together_;
    }

    std::unique_ptr<W> inner_;  // lanes point at it
    Config config_;
    std::deque<std::optional<NativeLane<InnerLane>>> lanes_;
    std::vector<std::byte> together_;
    NativeCounters counters_;
};

}  // namespace wireproof::proto::ib
