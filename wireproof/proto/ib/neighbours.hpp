// What a port is told of itself and of its peers by the host, and no packet says.
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
    /// The address of this port; received datagrams show it, and the peer's, if both are known.
    void set_own_gid(const Gid& gid) { own_ = gid; }
    void set_gid(PeerId peer, const Gid& gid) { gids_[peer] = gid; }
    const std::optional<Gid>& own_gid() const { return own_; }
    /// Null: it is not known.
    const Gid* gid(PeerId peer) const {
        const auto found = gids_.find(peer);
        return found == gids_.end() ? nullptr : &found->second;
    }

    /// The peer's process is known to live, though it may be stopped: a timeout uses up no retry.
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
