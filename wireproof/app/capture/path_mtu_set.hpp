// The possible path MTUs of a connection. No packet names the path MTU, but each packet may exclude
// some values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wireproof/proto/ib/packet/packet.hpp"

namespace wireproof::capture {

class PathMtuSet {
public:
    /// A packet that begins or continues a message is as long as the path MTU; no packet is longer.
    void learn(const proto::ib::Packet& packet) {
        const std::size_t size = packet.payload.size();
        if (packet.opcode->payload == proto::ib::PayloadRule::whole) {
            if (proto::ib::is_path_mtu(size)) learn_exactly(size);
        } else {
            keep_if([size](std::size_t path_mtu) { return path_mtu >= size; });
        }
    }

    /// `path_mtu` is a valid value. It replaces all earlier conclusions.
    void learn_exactly(std::size_t path_mtu) {
        possible_ = all;
        keep_if([path_mtu](std::size_t one) { return one == path_mtu; });
    }

    /// Removes the values for which `condition` is false, unless none would be left.
    template <class Condition>
    void keep_if(Condition&& condition) {
        std::uint8_t kept = 0;
        each([&](std::size_t path_mtu, std::uint8_t bit) {
            if (condition(path_mtu)) kept |= bit;
        });
        if (kept != 0) possible_ = kept;
    }

    template <class Condition>
    bool any(Condition&& condition) const {
        bool found = false;
        each([&](std::size_t path_mtu, std::uint8_t) { found = found || condition(path_mtu); });
        return found;
    }

    std::size_t least() const {
        std::size_t least = proto::ib::path_mtus.back();
        each([&](std::size_t path_mtu, std::uint8_t) { least = std::min(least, path_mtu); });
        return least;
    }
    std::size_t largest() const {
        std::size_t largest = 0;
        each([&](std::size_t path_mtu, std::uint8_t) { largest = std::max(largest, path_mtu); });
        return largest;
    }

private:
    static constexpr std::uint8_t all = (1U << proto::ib::path_mtus.size()) - 1;

    template <class Function>
    void each(Function&& function) const {
        for (std::size_t i = 0; i < proto::ib::path_mtus.size(); ++i) {
            const auto bit = static_cast<std::uint8_t>(1U << i);
            if ((possible_ & bit) != 0) function(proto::ib::path_mtus[i], bit);
        }
    }

    std::uint8_t possible_ = all;
};

/// The PSN after a request. A Read uses the PSNs of its responses, so without a known path MTU
/// several PSNs are possible.
class PsnBehind {
public:
    explicit PsnBehind(const proto::ib::Packet& request) : psn_(request.bth().psn) {
        if (request.opcode->verb == proto::ib::Verb::read_request) {
            read_length_ = request.headers.reth.length;
        } else {
            psn_ = proto::ib::wire_circle.advance(psn_, 1);
        }
    }
    /// Exactly this PSN.
    explicit PsnBehind(proto::ib::Psn psn) : psn_(psn) {}

    proto::ib::Psn first(const PathMtuSet& path_mtus) const { return with(path_mtus.largest()); }
    proto::ib::Psn last(const PathMtuSet& path_mtus) const { return with(path_mtus.least()); }
    bool may_be(proto::ib::Psn psn, const PathMtuSet& path_mtus) const {
        return path_mtus.any([&](std::size_t path_mtu) { return with(path_mtu) == psn; });
    }
    /// Call it when this PSN was seen to be the next one.
    void teach(proto::ib::Psn psn, PathMtuSet& path_mtus) const {
        path_mtus.keep_if([&](std::size_t path_mtu) { return with(path_mtu) == psn; });
    }

private:
    proto::ib::Psn with(std::size_t path_mtu) const {
        if (!read_length_) return psn_;
        return proto::ib::wire_circle.advance(psn_, proto::ib::packets_of(*read_length_, path_mtu));
    }

    proto::ib::Psn psn_;
    std::optional<std::uint32_t> read_length_ = {};
};

}  // namespace wireproof::capture
