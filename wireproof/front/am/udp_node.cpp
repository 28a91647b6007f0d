#include "wireproof/front/am/udp_node.hpp"

#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

Expected<UdpNode> UdpNode::open(const Options& options) {
    UdpWire::Config config;
    config.local = options.local;
    config.peers = options.peers;
    config.frame_max = options.frame_max;
    auto socket = UdpWire::open(config);
    if (!socket) return tl::unexpected(socket.error());
    FaultyWire<UdpWire>::Config faults;
    faults.rates = options.faults;
    faults.seed = options.seed;
    faults.describe = describe_ethernet;
    return UdpNode(std::make_unique<FaultyWire<UdpWire>>(std::move(*socket), std::move(faults)));
}

UdpNode::Counts UdpNode::counts() const {
    const SentCounts sent = wire_->total_sent();
    const FaultCounts faults = wire_->total_counts();
    const UdpCounters& socket = wire_->inner().counters();
    Counts counts;
    counts.frames_sent = sent.frames;
    counts.bytes_sent = sent.bytes;
    counts.frames_resent = sent.resent;
    counts.lost = faults.lost + socket.kernel_dropped + socket.send_dropped;
    counts.damaged = faults.damaged;
    counts.duplicated = faults.duplicated;
    counts.unknown_source = socket.unknown_source;
    return counts;
}

}  // namespace wireproof::am
