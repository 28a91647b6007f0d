// What the host tells the port about the port itself and about its peers. No packet carries this
// information.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/core/peer_set.hpp"
#include "wireproof/proto/ib/packet/gid.hpp"

namespace wireproof::proto::ib {

class Neighbours {
public:
    /// The address of this port. A received datagram shows this address and the peer's address if
    /// the port knows both.
    void set_own_gid(const Gid& gid) { own_ = gid; }
    void set_gid(PeerId peer, const Gid& gid) { gids_[peer] = gid; }
    const std::optional<Gid>& own_gid() const { return own_; }
    /// Null if the address is not known.
    const Gid* gid(PeerId peer) const {
        const auto found = gids_.find(peer);
        return found == gids_.end() ? nullptr : &found->second;
    }

    /// The numbers of these peers belong to no hosts any more.
    void forget(const PeerSet& gone) {
        std::erase_if(gids_, [&gone](const auto& one) { return gone.contains(one.first); });
        for (auto* const peers : {&alive_, &acks_unasked_}) {
            std::erase_if(*peers, [&gone](PeerId peer) { return gone.contains(peer); });
        }
    }

    /// The process of the peer is known to be alive, though it may be stopped. A timeout then uses
    /// up no retry.
    void set_alive(PeerId peer, bool alive) { put(peer, alive, alive_); }
    bool is_alive(PeerId peer) const { return alive_.contains(peer); }

    /// The peer also acknowledges messages that ask for no acknowledgement (RC-37).
    void set_acks_unasked(PeerId peer, bool acks) { put(peer, acks, acks_unasked_); }
    bool acks_unasked(PeerId peer) const { return acks_unasked_.contains(peer); }

    void fingerprint(Fingerprint& sink) const {
        for (const auto* const peers : {&alive_, &acks_unasked_}) {
            sink.add(peers->size());
            for (const PeerId peer : *peers) sink.add(peer);
        }
        sink.add(own_.has_value());
        if (own_) add(*own_, sink);
        sink.add(gids_.size());
        for (const auto& [peer, gid] : gids_) {
            sink.add(peer);
            add(gid, sink);
        }
    }

private:
    static void add(const Gid& gid, Fingerprint& sink) {
        for (const auto byte : gid) sink.add(byte);
    }
    static void put(PeerId peer, bool belongs, std::set<PeerId>& peers) {
        if (belongs) {
            peers.insert(peer);
        } else {
            peers.erase(peer);
        }
    }

    std::optional<Gid> own_;
    std::map<PeerId, Gid> gids_;
    std::set<PeerId> alive_;
    std::set<PeerId> acks_unasked_;
};

}  // namespace wireproof::proto::ib
