// Limits the packets in flight with each peer, over all queue pairs: requests without an
// acknowledgement, and the responses that Reads have asked for. Without a limit, many queue pairs
// or one long Read fill the receive buffer of the destination host. The host then drops packets,
// and the sender sends each dropped packet again with all packets after it.
//
// The window begins with the number of packets that fit into the default buffer of a socket. A loss
// halves the window, once for all packets in flight. Below its first size, the window grows by one
// after each full window of packets that arrive. Above that, it grows by one after each sixteen
// windows: a loss costs a retransmission of all packets after it, which is more than a larger
// window gains.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/core/peer_set.hpp"

namespace wireproof::proto::ib {

class PeerWindows {
public:
    /// All in packets.
    struct Config {
        std::uint32_t start = 0;  // 0: no limit, and no counting
        std::uint32_t least = 8;
        std::uint32_t most = 256;
    };

    explicit PeerWindows(const Config& config) : config_(config) {}

    bool limited() const { return config_.start > 0; }
    /// How many packets the sender may send to this peer, or request from it. At least 1 if nothing
    /// is in flight.
    std::uint32_t room(PeerId peer) const {
        if (!limited()) return ~std::uint32_t{0};
        const auto found = flows_.find(peer);
        if (found == flows_.end()) return config_.start;
        const Flow& flow = found->second;
        if (flow.near) return ~std::uint32_t{0};
        return flow.packets > flow.under_way ? flow.packets - flow.under_way : 0;
    }
    /// The lower limit of each window, and of each part of a longer Read.
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

    /// A near peer has no limit. The mark is kept even if there are no limits.
    void set_near(PeerId peer, bool near) {
        if (near != is_near(peer)) flow(peer).near = near;
    }
    bool is_near(PeerId peer) const {
        const auto found = flows_.find(peer);
        return found != flows_.end() && found->second.near;
    }
    /// The packets in flight of one queue pair were `before` and are `after`.
    void change(PeerId peer, std::uint32_t before, std::uint32_t after) {
        if (limited() && before != after) flow(peer).under_way += after - before;
    }
    void on_arrived(PeerId peer, std::uint32_t packets);
    /// Whose packet was lost. A queue pair with congestion control knows random losses. They do not
    /// shrink the window below its first size, which every receive buffer has room for.
    enum class Loss : std::uint8_t { any, controlled };
    void on_lost(PeerId peer, Loss loss = Loss::any);

    /// A queue pair found no room for so many packets, at most `least()`: `wake` reports it when
    /// there is room for them.
    void wait(PeerId peer, std::uint32_t queue_pair, std::uint32_t packets) {
        wait_no_more(peer, queue_pair);
        flow(peer).waiting[packets].insert(queue_pair);
    }
    void wait_no_more(PeerId peer, std::uint32_t queue_pair) {
        const auto found = flows_.find(peer);
        if (found == flows_.end()) return;
        for (auto& [packets, waiting] : found->second.waiting) waiting.erase(queue_pair);
        std::erase_if(found->second.waiting, [](const auto& one) { return one.second.empty(); });
    }
    /// Calls `wake` with queue pairs that wait, as many as find the room that they need: first with
    /// those after `last`, and then with the others. A queue pair that was woken and sends nothing
    /// leaves its room to the next one, so the caller must then call this again.
    template <class Wake>
    void wake(PeerId peer, std::uint32_t last, Wake&& wake) {
        const auto found = flows_.find(peer);
        if (found == flows_.end()) return;
        Waiting& waiting = found->second.waiting;
        if (waiting.empty()) return;
        // If nothing is in flight, one queue pair may send whatever it needs.
        bool any = found->second.under_way == 0;
        for (std::uint32_t left = room(peer); left > 0; any = false) {
            const auto next = next_waiting(waiting, last, any ? ~std::uint32_t{0} : left);
            if (next.queue_pair == 0) return;
            last = next.queue_pair;
            left -= std::min(left, next.packets);
            const auto of = waiting.find(next.packets);
            of->second.erase(last);
            if (of->second.empty()) waiting.erase(of);
            wake(last);
        }
    }

    /// No queue pair has these peers, and their numbers may become those of other hosts.
    void forget(const PeerSet& gone) {
        std::erase_if(flows_, [&gone](const auto& one) { return gone.contains(one.first); });
    }

    void fingerprint(Fingerprint& sink) const;

private:
    /// Queue pairs by the number of packets that they need room for. A queue pair is here once.
    using Waiting = std::map<std::uint32_t, std::set<std::uint32_t>>;
    struct Next {
        std::uint32_t queue_pair = 0;  // 0: none
        std::uint32_t packets = 0;
    };
    struct Flow {
        std::uint32_t packets = 0;
        std::uint32_t under_way = 0;
        std::uint32_t credit = 0;      // packets that arrived since the window last grew
        std::uint32_t recovering = 0;  // packets in flight at the last loss that have not arrived
        bool near = false;
        Waiting waiting = {};
    };
    /// The next one after `last`, or else the first one, of those that need at most `room`.
    static Next next_waiting(const Waiting& waiting, std::uint32_t last, std::uint32_t room);
    Flow& flow(PeerId peer) { return flows_.try_emplace(peer, Flow{config_.start}).first->second; }

    Config config_;
    std::map<PeerId, Flow> flows_;
};

}  // namespace wireproof::proto::ib
