// What a port is told of itself and of its peers by the host, and no packet says.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/proto/ib/gid.hpp"

namespace wireproof::ib {

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
    void set_alive(PeerId peer, bool alive) { mark(alive_, peer, alive); }
    bool is_alive(PeerId peer) const { return alive_.contains(peer); }

    /// The way to it costs so little that no acknowledgement is held (ack_hold.hpp).
    void set_near(PeerId peer, bool near) { mark(near_, peer, near); }
    bool is_near(PeerId peer) const { return near_.contains(peer); }

    void fingerprint(Fingerprint& sink) const {
        for (const auto* peers : {&alive_, &near_}) {
            sink.add(peers->size());
            for (const PeerId peer : *peers) sink.add(peer);
        }
    }

private:
    static void mark(std::set<PeerId>& peers, PeerId peer, bool marked) {
        if (marked) {
            peers.insert(peer);
        } else {
            peers.erase(peer);
        }
    }

    std::optional<Gid> own_;
    std::map<PeerId, Gid> gids_;
    std::set<PeerId> alive_;
    std::set<PeerId> near_;
};

}  // namespace wireproof::ib
