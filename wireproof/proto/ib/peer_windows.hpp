// How many packets may be under way with each peer, whatever the queue pair: requests without an
// acknowledgement, and the responses that Reads have asked for. Without a limit many queue pairs,
// or one long Read, fill the receive buffer of the host that they go to, and what it drops is sent
// again with all behind it.
//
// The window begins at what a socket's stock buffer holds. A loss halves it, once for all packets
// under way. Below its first size each window of packets that arrives makes it one larger, and
// above that only each sixteenth: what is lost is sent again with all behind it, which costs more
// than a larger window brings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/frame.hpp"

namespace wireproof::proto::ib {

class PeerWindows {
public:
    /// All in packets.
    struct Config {
        std::uint32_t start = 0;  // 0: there is no limit, and nothing is counted
        std::uint32_t least = 8;
        std::uint32_t most = 256;
    };

    explicit PeerWindows(const Config& config) : config_(config) {}

    bool limited() const { return config_.start > 0; }
    /// So many more packets may leave or be asked for: with nothing under way always one.
    std::uint32_t room(PeerId peer) const {
        if (!limited()) return ~std::uint32_t{0};
        const auto found = flows_.find(peer);
        if (found == flows_.end()) return config_.start;
        const Flow& flow = found->second;
        if (flow.near) return ~std::uint32_t{0};
        return flow.packets > flow.under_way ? flow.packets - flow.under_way : 0;
    }
    /// So small no window ever is, and no part of a Read that is longer.
    std::uint32_t least() const { return limited() ? config_.least : ~std::uint32_t{0}; }
    bool idle(PeerId peer) const {
        const auto found = flows_.find(peer);
        return found == flows_.end() || found->second.under_way == 0;
    }
    /// 0 for a near peer.
    std::uint32_t under_way(PeerId peer) const {
        const auto found = flows_.find(peer);
        return found == flows_.end() || found->second.near ? 0 : found->second.under_way;
    }
    std::uint32_t packets(PeerId peer) const {
        if (!limited()) return ~std::uint32_t{0};
        const auto found = flows_.find(peer);
        if (found == flows_.end()) return config_.start;
        return found->second.near ? ~std::uint32_t{0} : found->second.packets;
    }

    /// A near peer has no limit. That it is near is kept where there are no limits, too.
    void set_near(PeerId peer, bool near) {
        if (near != is_near(peer)) flow(peer).near = near;
    }
    bool is_near(PeerId peer) const {
        const auto found = flows_.find(peer);
        return found != flows_.end() && found->second.near;
    }
    /// A queue pair's part of what is under way was `before` and is `after`.
    void change(PeerId peer, std::uint32_t before, std::uint32_t after) {
        if (limited() && before != after) flow(peer).under_way += after - before;
    }
    void on_arrived(PeerId peer, std::uint32_t packets);
    void on_lost(PeerId peer);

    /// A queue pair found no room; it is among those that are told when there is some.
    void wait(PeerId peer, std::uint32_t queue_pair) {
        std::vector<std::uint32_t>& waiting = flow(peer).waiting;
        if (std::ranges::find(waiting, queue_pair) == waiting.end()) waiting.push_back(queue_pair);
    }
    /// Calls `wake` with each queue pair that waits and may find room now.
    template <class Wake>
    void wake(PeerId peer, Wake&& wake) {
        const auto found = flows_.find(peer);
        if (found == flows_.end() || found->second.waiting.empty() || room(peer) == 0) return;
        for (const std::uint32_t queue_pair : found->second.waiting) wake(queue_pair);
        found->second.waiting.clear();
    }

    void fingerprint(Fingerprint& sink) const;

private:
    struct Flow {
        std::uint32_t packets = 0;
        std::uint32_t under_way = 0;
        std::uint32_t credit = 0;      // arrived since it last grew
        std::uint32_t recovering = 0;  // packets under way at the last loss that have not arrived
        bool near = false;
        std::vector<std::uint32_t> waiting = {};
    };
    Flow& flow(PeerId peer) { return flows_.try_emplace(peer, Flow{config_.start}).first->second; }

    Config config_;
    std::map<PeerId, Flow> flows_;
};

}  // namespace wireproof::proto::ib
