// The hosts that the device knows: those that the program names, and those that sent it a packet.
#include <mutex>
#include <optional>
#include <utility>

#include "wireproof/front/rdma/turns.hpp"
#include "wireproof/front/verbs/device/addressing.hpp"
#include "wireproof/front/verbs/device/device.hpp"
#include "wireproof/front/verbs/device/limits.hpp"

namespace wireproof::verbs {

std::optional<PeerId> Device::hold(const Address& address) {
    const std::lock_guard guard(lock_);
    const auto peer = find_peer(address);
    if (peer) ++held_[*peer];
    return peer;
}

void Device::release(PeerId peer) {
    const std::lock_guard guard(lock_);
    const auto found = held_.find(peer);
    if (--found->second == 0) held_.erase(found);
}

std::optional<PeerId> Device::find_peer(const Address& address) {
    auto peer = peers_.find(address, limits::hosts);
    if (!peer && forget_hosts()) peer = peers_.find(address, limits::hosts);
    if (!peer) return std::nullopt;
    learn_address(*peer);
    peers_.call(*peer);
    return peer;
}

/// Frees the numbers of hosts that nothing uses. Returns false if each host is in use.
bool Device::forget_hosts() {
    PeerSet used;
    peers_.add_used_peers(used);
    if (faults_) faults_->add_used_peers(used);
    for (const auto& [peer, times] : held_) used.add(peer);
    const PeerSet gone = rdma::forget_unused_hosts(
        port_, connections_.management(), std::move(used),
        [this](const PeerSet& kept) { return peers_.forget_all_but(kept); });
    if (faults_) faults_->forget(gone);
    return !gone.empty();
}

Address Device::address_of(PeerId peer) {
    const std::lock_guard guard(lock_);
    return peers_.udp().lane(peer).address();
}

// The program sees the host's address in completions of datagrams.
void Device::learn_address(PeerId peer) {
    Rocev2Lane& lane = peers_.udp().lane(peer);
    if (lane.take_new()) port_.neighbours().set_gid(peer, gid_of(lane.address()));
}

}  // namespace wireproof::verbs
