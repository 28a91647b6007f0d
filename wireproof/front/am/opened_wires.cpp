#include "wireproof/front/am/opened_wires.hpp"

#include <random>
#include <utility>

#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {
namespace {

// A peer whose address is not known yet is on this host if this node listens only on the loopback
// address.
Congestion congestion_to(const Address& peer, const Address& own, const Options& options) {
    const bool between = !(peer.is_set() ? peer : own).is_loopback();
    const bool on = options.congestion_control == CongestionControl::always ||
                    (options.congestion_control == CongestionControl::between_hosts && between);
    if (!on) return Congestion::off;
    return options.congestion_algorithm == CongestionAlgorithm::by_path ? Congestion::by_path
                                                                        : Congestion::by_loss;
}

Ecn ecn_to(const std::vector<Congestion>& congestion, const ReadOptions& read) {
    bool controls = false;
    for (std::size_t peer = 0; peer < congestion.size(); ++peer) {
        controls |= peer != read.config.node && congestion[peer] != Congestion::off;
    }
    return ecn_at(read.addresses[read.config.node], controls);
}

}  // namespace

std::uint64_t random_seed() {
    std::random_device system;
    return (std::uint64_t{system()} << 32) | system();
}

std::vector<Congestion> congestion_of(const ReadOptions& read, const Options& options) {
    std::vector<Congestion> congestion;
    for (const Address& peer : read.addresses) {
        congestion.push_back(congestion_to(peer, read.addresses[options.self], options));
    }
    return congestion;
}

Expected<host::AnyWire> open_shm(const ReadOptions& read, std::size_t nodes, std::size_t packet_max,
                                 std::vector<bool> members) {
    ShmWire::Config shm;
    shm.name = read.shm_name;
    shm.job = read.config.job;
    shm.node = read.config.node;
    shm.nodes = nodes;
    shm.members = std::move(members);
    shm.frame_max = packet_max;
    shm.lends_ring = read.faults == FaultRates{};
    auto wire = ShmWire::open(shm);
    if (!wire) return tl::unexpected(wire.error());
    if (read.faults == FaultRates{}) return host::AnyWire(std::move(*wire));
    FaultyWire<ShmWire>::Config faults;
    faults.rates = read.faults;
    faults.seed = read.config.seed;
    faults.describe = describe_ethernet;
    return host::AnyWire(FaultyWire<ShmWire>(std::move(*wire), std::move(faults)));
}

Expected<UdpNode> open_udp(const ReadOptions& read, const std::vector<Congestion>& congestion) {
    UdpNode::Options udp;
    udp.peers = read.addresses;
    udp.unset_is_open = false;
    udp.local = std::exchange(udp.peers[read.config.node], {});  // the node itself is not a peer
    // At 0.0.0.0 or [::], the peer may ask at any address of this host.
    if (udp.peers.size() == 2 && !udp.local.is_any()) udp.only_peer = PeerId(1 - read.config.node);
    udp.frame_max = read.config.packet_max;
    udp.ecn = ecn_to(congestion, read);
    udp.faults = read.faults;
    udp.seed = read.config.seed;
    return UdpNode::open(udp);
}

}  // namespace wireproof::am
