// A wire of RoCEv2 packets around any wire of datagrams. Engines see packets without ICRC, from
// base header to pad; on the inner wire, each ends with its ICRC. Unlike Rocev2Wire, it has no
// socket of its own. So a faulty wire can come between, and damage packets that the ICRC already
// covers. Both hosts must send with IPv4 identification 0, because this wire does not compute the
// identification.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/core/around_wire.hpp"
#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::proto::ib {

template <class InnerLane>
class IcrcLane {
public:
    /// Received packets are intact: the wire drops a packet with a wrong ICRC.
    LaneCapabilities capabilities() const {
        LaneCapabilities capabilities = lane_->capabilities();
        capabilities.frame_max -= std::min(capabilities.frame_max, IcrcCover::icrc_size);
        capabilities.carries_intact = true;
        return capabilities;
    }
    /// The frame has four bytes more than the capabilities say. Only the ICRC may use them.
    TxFrame* claim() { return frame_ = lane_->claim(); }
    /// The first piece of the frame must contain at least the base header.
    void commit() {
        const IcrcCover cover({.from = from_, .to = to_, .packet = frame_->size()});
        const std::uint32_t icrc = cover.icrc(frame_->pieces());
        store_le<std::uint32_t>(frame_->template add_header<IcrcCover::icrc_size>(), icrc);
        lane_->commit();
    }

private:
    template <Wire W>
    friend class IcrcWire;

    IcrcLane(InnerLane* lane, const Address& from, const Address& to)
        : lane_(lane), from_(from), to_(to) {}

    InnerLane* lane_;
    Address from_;
    Address to_;
    TxFrame* frame_ = nullptr;
};

template <Wire W>
class IcrcWire : public AroundWire<IcrcWire<W>, W> {
    using InnerLane = std::remove_reference_t<decltype(std::declval<W&>().lane(PeerId{}))>;

public:
    /// The addresses must include the ports, because the ICRC covers them.
    struct Config {
        Address local = {};
        std::vector<Address> peers = {};  // by PeerId, as in the inner wire
    };

    IcrcWire(W inner, Config config)
        : inner_(std::make_unique<W>(std::move(inner))), config_(std::move(config)) {
        for (std::size_t peer = 0; peer < config_.peers.size(); ++peer) lanes_.emplace_back();
    }

    IcrcLane<InnerLane>& lane(PeerId peer) {
        const auto number = static_cast<std::size_t>(peer);
        WIREPROOF_CHECK(number < lanes_.size());
        if (!lanes_[number]) {
            lanes_[number] =
                IcrcLane<InnerLane>(&inner_->lane(peer), config_.local, config_.peers[number]);
        }
        return *lanes_[number];
    }

    std::optional<RxFrame> receive(Instant now) {
        while (const auto frame = inner_->receive(now)) {
            if (!holds(*frame)) {
                ++icrc_wrong_;
                continue;
            }
            const std::size_t packet = frame->bytes.size() - IcrcCover::icrc_size;
            return RxFrame{.bytes = frame->bytes.first(packet),
                           .from = frame->from,
                           .integrity = Integrity::intact,
                           .marked = frame->marked};
        }
        return std::nullopt;
    }
    void flush(Instant now) { inner_->flush(now); }
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return inner_->next_event(); }
    Instant next_deadline() const { return inner_->next_deadline(); }

    W& inner() { return *inner_; }
    const W& inner() const { return *inner_; }

    /// Datagrams that were dropped because they were damaged or too short for a packet.
    std::uint64_t icrc_wrong() const { return icrc_wrong_; }

private:
    bool holds(const RxFrame& frame) const {
        const ConstBytes bytes = frame.bytes;
        const auto from = static_cast<std::size_t>(frame.from);
        if (bytes.size() < IcrcCover::packet_least + IcrcCover::icrc_size) return false;
        if (from >= config_.peers.size()) return false;
        const std::size_t packet = bytes.size() - IcrcCover::icrc_size;
        const IcrcCover cover({.from = config_.peers[from], .to = config_.local, .packet = packet});
        return cover.icrc(bytes.first(packet)) ==
               load_le<std::uint32_t>(bytes.template last<IcrcCover::icrc_size>());
    }

    std::unique_ptr<W> inner_;  // lanes point at it
    Config config_;
    std::deque<std::optional<IcrcLane<InnerLane>>> lanes_;
    std::uint64_t icrc_wrong_ = 0;
};

}  // namespace wireproof::proto::ib
