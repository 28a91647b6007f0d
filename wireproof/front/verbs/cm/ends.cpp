// The ends of processes of this host with which there are connections.
#include "wireproof/front/verbs/cm/core.hpp"
#include "wireproof/front/verbs/cm/events.hpp"
#include "wireproof/front/verbs/device/addressing.hpp"

namespace wireproof::verbs {
namespace {

using State = CmIdentifier::State;

}  // namespace

// A question may also be answered by a process that has taken the address since, and a request may
// be that of such a process. So the kernel is asked whether there is one.
void RdmaCm::on_peer_end(Instant now, PeerId peer) {
    for (auto& [number, one] : identifiers_) {
        if (!one.connection || one.peer_number != peer) continue;
        if (one.state == State::requesting || one.state == State::requested) {
            if (!one.peer_socket) one.peer_socket = 0;  // not known
            plan_look(now);
        } else {
            one.peer_gone = true;
            next_try_ = now;
        }
    }
}

// The device reads all that has arrived before a timer expires. So the last datagram of the peer is
// heard before its end.
void RdmaCm::lose_peer(Instant now, proto::ib::ConnectionManagement& management,
                       CmIdentifier& one) {
    one.channel->make_room();
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
