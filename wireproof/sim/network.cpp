// A wire visits all cables of its node. For few nodes this takes few comparisons and needs no event
// queue.
#include "wireproof/sim/network.hpp"

#include <algorithm>

namespace wireproof::sim {

Cable& NodeWire::lane(PeerId peer) {
    Cable& cable = network_->cable(node_, static_cast<std::size_t>(peer));
    cable.look(now_);
    return cable;
}

std::optional<RxFrame> NodeWire::receive(Instant now) {
    now_ = now;
    const std::size_t nodes = network_->nodes();
    Cable* earliest = nullptr;
    for (std::size_t from = 0; from < nodes; ++from) {
        if (from == node_) continue;
        network_->cable(node_, from).look(now);  // for callers that keep the lane
        Cable& cable = network_->cables_[node_ * nodes + from];
        if (earliest == nullptr || cable.next_arrival() < earliest->next_arrival()) {
            earliest = &cable;
        }
    }
    return earliest == nullptr ? std::nullopt : earliest->take(now);
}

void NodeWire::flush(Instant now) {
    for (std::size_t to = 0; to < network_->nodes(); ++to) {
        if (to != node_) network_->cable(node_, to).flush(now);
    }
}

Instant NodeWire::next_deadline() const {
    Instant earliest = never;
    for (std::size_t peer = 0; peer < network_->nodes(); ++peer) {
        if (peer == node_) continue;
        earliest = std::min({earliest, network_->cable(peer, node_).next_arrival(),
                             network_->cable(node_, peer).room_since()});
    }
    return earliest;
}

Network::Network(const Config& config) {
    const CableConfig cable{.frame_max = config.frame_max,
                            .bytes_per_second = config.bytes_per_second,
                            .latency = config.latency,
                            .jitter = config.jitter,
                            .hold_limit = config.hold_limit,
                            .queue_max = config.queue_max,
                            .mark_above = config.mark_above,
                            .in_flight_max = config.in_flight_max,
                            .flip_bits = config.flip_bits,
                            .lend_payload = config.lend_payload,
                            .one_at_a_time = config.one_at_a_time,
                            .prefers_equal_sizes = config.prefers_equal_sizes,
                            .faults = config.faults};
    for (std::size_t to = 0; to < config.nodes; ++to) {
        for (std::size_t from = 0; from < config.nodes; ++from) {
            const std::uint64_t seed = mix64(config.seed) + from * config.nodes + to;
            cables_.emplace_back(cable, seed, static_cast<std::uint16_t>(from),
                                 static_cast<std::uint16_t>(to));
            cables_.back().describe_with(config.describe);
        }
        wires_.emplace_back(this, to);
    }
}

Network::Network(const Network& other) : cables_(other.cables_), wires_(other.wires_) {
    adopt_wires();
}

Network& Network::operator=(const Network& other) {
    cables_ = other.cables_;
    wires_ = other.wires_;
    adopt_wires();
    return *this;
}

void Network::adopt_wires() {
    for (NodeWire& wire : wires_) wire.network_ = this;
}

CableCounts Network::totals() const {
    CableCounts sum;
    for (const Cable& cable : cables_) sum += cable.counts();
    return sum;
}

void Network::record(Trace* trace) {
    for (Cable& cable : cables_) cable.record(trace);
}

}  // namespace wireproof::sim
