// The end of sessions: a node that leaves its peers, and peers that are lost.
#include <utility>

#include "wireproof/front/am/node.hpp"

namespace wireproof::am {
bool Node::idle() const {
    if (transfers_.any_ended()) return false;
    for (std::size_t i = 0; i < met_.size(); ++i) {
        if (!peers_[met_[i]].connection.idle()) return false;
    }
    return true;
}

void Node::acknowledge_all() {
    for (std::size_t i = 0; i < met_.size(); ++i) mark_ready(met_[i]).acknowledge();
}

bool Node::leave() {
    bool left = true;
    for (std::size_t i = 0; i < met_.size(); ++i) {
        const Peer& peer = peers_[met_[i]];
        if (peer.lane.capabilities().carries_all || peer.connection.has_left()) continue;
        left = false;
        if (peer.connection.leaving()) continue;
        mark_ready(met_[i]).leave();
        waiting_.asked();  // a turn is due, which sends the question
    }
    return left;
}

void Node::tell_awaiting() {
    awaiting_told_ = awaiting_;
    for (std::size_t i = 0; i < met_.size(); ++i) {
        const Connection& connection = peers_[met_[i]].connection;
        const bool awaiting = awaiting_told_ && connection.established();
        if (awaiting != connection.awaiting()) mark_ready(met_[i]).set_awaiting(awaiting);
    }
}

void Node::note_undelivered(std::size_t peer, const FateUnknown& fate) {
    Undelivered message;
    switch (fate.what) {
        case FateUnknown::What::request: message.kind = Undelivered::Kind::request; break;
        case FateUnknown::What::reply: message.kind = Undelivered::Kind::reply; break;
        case FateUnknown::What::store: message.kind = Undelivered::Kind::store; break;
        case FateUnknown::What::get: message.kind = Undelivered::Kind::get; break;
    }
    message.handler = static_cast<std::uint16_t>(fate.handler);
    message.bytes.assign(fate.arguments.begin(), fate.arguments.end());
    peers_[peer].undelivered.push_back(std::move(message));
    const bool transfer =
        fate.what == FateUnknown::What::store || fate.what == FateUnknown::What::get;
    if (transfer) end_transfer(peer, fate.tag, Status::peer_lost);
}

void Node::report_lost(std::size_t peer, const SessionEnded& ended) {
    wire_.any().unsettle(PeerId(peer));
    ++peers_[peer].losses;
    near_.session_ended(peer);
    PeerLost lost;
    lost.peer = peer;
    lost.cause = wire_.any().trouble(PeerId(peer)).cause;
    lost.undelivered = std::exchange(peers_[peer].undelivered, {});
    if (!lost.undelivered.empty()) ++sessions_cut_;
    switch (ended.why) {
        case SessionEnded::Why::silent: lost.why = PeerLost::Why::silent; break;
        case SessionEnded::Why::restarted: lost.why = PeerLost::Why::restarted; break;
        case SessionEnded::Why::gone: lost.why = PeerLost::Why::gone; break;
        case SessionEnded::Why::unanswered: lost.why = PeerLost::Why::unanswered; break;
    }
    lost.packet_bytes = ended.packet_bytes;
    lost.packet_times = ended.packet_times;
    lost.by_peer = ended.by_peer;
    if (peers_[peer].connection.established()) mark_ready(peer).set_awaiting(awaiting_told_);
    handlers_.on_peer_lost(lost);
}

}  // namespace wireproof::am
