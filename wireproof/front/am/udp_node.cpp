#include "wireproof/front/am/udp_node.hpp"

#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

Expected<UdpNode> UdpNode::open(const Options& options) {
    UdpWire::Config config;
    config.local = options.local;
    config.peers = options.peers;
    config.unset_is_open = options.unset_is_open;
    config.frame_max = options.frame_max;
    config.only_peer = options.only_peer;
    config.ecn = options.ecn;
    config.succeeds_ended = options.succeeds_ended;
    auto socket = UdpWire::open(config);
    if (!socket) return tl::unexpected(socket.error());
    UdpNode node;
    const FaultRates& rates = options.faults;
    if (rates.loss == 0 && rates.bit_error == 0 && rates.duplicate == 0 && rates.reorder == 0) {
        node.plain_ = std::make_unique<UdpWire>(std::move(*socket));
        return node;
    }
    FaultyWire<UdpWire>::Config faults;
    faults.rates = rates;
    faults.seed = options.seed;
    faults.describe = describe_ethernet;
    node.faulty_ = std::make_unique<FaultyWire<UdpWire>>(std::move(*socket), std::move(faults));
    return node;
}

UdpNode::Counts UdpNode::counts() const {
    const UdpCounters& udp = socket().counters();
    Counts counts;
    counts.lost = udp.kernel_dropped + udp.send_dropped;
    counts.unknown_source = udp.unknown_source;
    if (faulty_ == nullptr) {
        counts.frames_sent = udp.frames_sent + udp.send_dropped + udp.send_failed;
        counts.bytes_sent = udp.bytes_sent;
        counts.frames_resent = udp.frames_resent;
        return counts;
    }
    const SentCounts sent = faulty_->total_sent();
    const FaultCounts faults = faulty_->total_counts();
    counts.frames_sent = sent.frames;
    counts.bytes_sent = sent.bytes;
    counts.frames_resent = sent.resent;
    counts.lost += faults.lost;
    counts.damaged = faults.damaged;
    counts.duplicated = faults.duplicated;
    return counts;
}

}  // namespace wireproof::am
