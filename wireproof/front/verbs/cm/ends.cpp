// The ends of processes of this host with which there are connections.
#include "wireproof/front/verbs/cm/core.hpp"
#include "wireproof/front/verbs/cm/events.hpp"
#include "wireproof/front/verbs/device/addressing.hpp"

namespace wireproof::verbs {
namespace {

using State = CmIdentifier::State;

constexpr Duration between_watches = Duration::milliseconds(500);

}  // namespace

// A killed process sends no message. But its socket is gone, and another process that takes the
// address has another socket.
void RdmaCm::watch(Instant now, CmIdentifier& one) {
    const auto address = address_of(one.peer_gid);
    if (!address || !is_local(*address)) return;
    one.peer_socket = SocketsOfHost().at(*address).value_or(0);
    one.peer_missed = false;
    next_watch_ = earliest(next_watch_, now + between_watches);
}

// Two looks must find the peer gone. Between them the engine reads all that has arrived (a timer
// expires only then), and so the last datagram of the peer is heard before its end.
void RdmaCm::look_after_peers(Instant now, proto::ib::ConnectionManagement& management) {
    next_watch_ = never;
    const SocketsOfHost sockets;
    for (auto& [number, one] : identifiers_) {
        if (!one.connection || !one.peer_socket) continue;
        const auto socket = sockets.at(*address_of(one.peer_gid));
        if (socket && *one.peer_socket == 0) one.peer_socket = socket;
        // A process that has taken the address since may answer a question that is sent again.
        // A peer whose socket was never seen may use none of the kernel's.
        const bool gone =
            sockets.known() &&
            (one.state == State::requesting ? !socket.has_value()
                                            : *one.peer_socket != 0 && socket != one.peer_socket);
        if (gone && one.peer_missed) {
            lose_peer(now, management, one);
            continue;
        }
        one.peer_missed = gone;
        next_watch_ =
            earliest(next_watch_, now + (gone ? between_connection_looks : between_watches));
    }
}

void RdmaCm::lose_peer(Instant now, proto::ib::ConnectionManagement& management,
                       CmIdentifier& one) {
    const proto::ib::CmId id = *one.connection;
    if (one.state != State::requesting) {
        management.lose(now, id);
        return;
    }
    if (one.is_datagram()) {
        management.give_up(id);
    } else {
        management.reject(now, id, proto::ib::CmReason::timeout);
    }
    refuse_for_nobody(one);
}

/// No process has the address that was asked. The answer is that of a host without a listener.
void RdmaCm::refuse_for_nobody(CmIdentifier& one) {
    over(one);
    if (one.is_datagram()) {
        tell(one, cm_event::unreachable, static_cast<int>(proto::ib::CmServiceStatus::unsupported));
    } else {
        tell(one, cm_event::rejected, static_cast<int>(proto::ib::CmReason::invalid_service));
    }
}

}  // namespace wireproof::verbs
