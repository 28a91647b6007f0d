#include "wireproof/app/transfer/udp_session.hpp"

namespace wireproof::app {
UdpSession::UdpSession(am::UdpNode wire, const am::Config& config)
    : udp_(std::move(wire)), node_(udp_.wire(), config, 2) {}

SideCounts UdpSession::counts(std::size_t peer) const {
    SideCounts counts = engine_counts(node_, peer);
    add_wire_counts(udp_, counts);
    return counts;
}

void add_wire_counts(const am::UdpNode& udp, SideCounts& side) {
    const am::UdpNode::Counts wire = udp.counts();
    side.frames = wire.frames_sent;
    side.bytes = wire.bytes_sent;
    side.resent = wire.frames_resent;
    side.lost = wire.lost;
    side.damaged = wire.damaged;
    side.duplicated = wire.duplicated;
}

}  // namespace wireproof::app
