// How a device that reaches many peers takes turns, for both doors to RDMA: wireproof/ib.hpp and
// the library for verbs programs.
#pragma once

#include <cstddef>
#include <vector>

#include "wireproof/core/peer_set.hpp"
#include "wireproof/proto/ib/cm/connection_management.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::rdma {

// With these limits, a peer that sends or asks for much delays neither other peers nor the caller.
inline constexpr std::size_t packets_a_turn = 256;  // in each direction
inline constexpr std::size_t packets_a_visit = 32;  // to one peer, before the next peer is served
/// Forgetting hosts takes up to 0.1 ms, and it may free no place.
inline constexpr Duration between_forgetting = Duration::milliseconds(2);

struct Sent {
    std::size_t packets = 0;
    bool unfinished = false;  // the turn ended at its limit
};

/// Sends the packets that are due; peers take turns. `wires.visit(peer)` gives what leads to the
/// peer now: `packets()` (which packets may leave), `claim()` (room for one; null: there is none)
/// and `commit(frame)` (false: the packet is lost). `wires.flush()` follows each round. `ready` is
/// the caller's, so that its memory is used again.
template <class Wires>
Sent send_in_turns(Instant now, proto::ib::Port& port, std::vector<PeerId>& ready, Wires&& wires) {
    Sent sent;
    do {
        sent.unfinished = false;
        port.ready_peers(ready);
        for (const PeerId peer : ready) {
            auto visit = wires.visit(peer);
            for (std::size_t n = 0; n < packets_a_visit; ++n) {
                TxFrame* const room = visit.claim();
                if (room == nullptr) break;
                if (!port.poll_transmit_to(now, peer, *room, visit.packets())) break;
                if (visit.commit(*room)) ++sent.packets;
                sent.unfinished = true;
            }
        }
        wires.flush();
    } while (sent.unfinished && sent.packets < packets_a_turn);
    return sent;
}

/// Frees the numbers of hosts that nothing uses, and returns the hosts. `used` are those that the
/// device itself uses; `forget_all_but` forgets the others on its wires and returns them. Hosts
/// whose connections ended a short time ago lose their numbers only if no others did: repeated
/// datagrams of theirs may come.
template <class ForgetAllBut>
PeerSet forget_unused_hosts(proto::ib::Port& port, proto::ib::ConnectionManagement& management,
                            PeerSet used, ForgetAllBut&& forget_all_but) {
    port.add_used_peers(used);
    management.add_used_peers(used);
    PeerSet recent = used;
    management.add_ended_peers(recent);
    PeerSet gone = forget_all_but(recent);
    if (gone.empty()) gone = forget_all_but(used);
    port.forget_peers(gone);
    management.forget_peers(gone);
    return gone;
}

}  // namespace wireproof::rdma
