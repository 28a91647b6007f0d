// What the host tells the port about the port itself and about its peers. No packet carries this
// information.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/proto/ib/gid.hpp"

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

    /// The process of the peer is known to be alive, though it may be stopped. A timeout then uses
    /// up no retry.
    void set_alive(PeerId peer, bool alive) {
        if (alive) {
            alive_.insert(peer);
        } else {
            alive_.erase(peer);
        }
    }
    bool is_alive(PeerId peer) const { return alive_.contains(peer); }

    void fingerprint(Fingerprint& sink) const {
        sink.add(alive_.size());
        for (const PeerId peer : alive_) sink.add(peer);
    }

private:
    std::optional<Gid> own_;
    std::map<PeerId, Gid> gids_;
    std::set<PeerId> alive_;
};

}  // namespace wireproof::proto::ib
