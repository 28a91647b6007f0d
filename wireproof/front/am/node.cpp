// The calls of Node that send no frames, except those for memory (node_memory.cpp).
#include "wireproof/front/am/node.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/front/am/status_of.hpp"

namespace wireproof::am {

Node::Node(host::AnyWire wire, const Config& config, std::size_t nodes)
    : Node(std::move(wire), config, std::vector<Congestion>(nodes, config.congestion)) {}

Node::Node(host::AnyWire wire, const Config& config, const std::vector<Congestion>& congestion,
           std::size_t active_peers, const NearPeers& near)
    : wire_(std::move(wire)),
      self_(config.node),
      nodes_(congestion.size()),
      waiting_(config),
      arguments_(wire_.lends_ring() ? std::max(config.message_max, near.config.message_max) : 0),
      memory_(wire_.any(), nodes_),
      near_(wire_.any(), wire_.shm(), nodes_),
      ready_(nodes_),
      met_(nodes_),
      seen_(nodes_),
      deadlines_(nodes_ + 2) {
    pools_.reserve(2);
    pools_.emplace_back(config, nodes_, active_peers);
    const bool some_are_near = !near.are_near.empty();
    if (some_are_near) pools_.emplace_back(near.config, nodes_, active_peers);
    peers_.reserve(nodes_);
    for (std::size_t i = 0; i < nodes_; ++i) {
        const bool is_near = some_are_near && near.are_near[i];
        Config with_peer = is_near ? near.config : config;
        with_peer.peer = static_cast<std::uint16_t>(i);
        with_peer.congestion = is_near ? Congestion::off : congestion[i];
        Peer& peer = peers_.emplace_back(with_peer, memory_.table(i), wire_.any().lane(PeerId(i)));
        peer.connection.bind_handlers(handlers_.table());
        // The launcher may have agreed on the session.
        if (peer.connection.established()) meet(i);
        peer.pool = is_near ? &pools_.back() : &pools_.front();
        if (wire_.is_shm() || (is_near && wire_.shm() != nullptr)) {
            near_.add(i);
            peer.shm_lane = &wire_.shm()->lane(PeerId(i));
            // The node checks neither the peer's number nor the frame's length when it sends a
            // message by itself.
            WIREPROOF_CHECK(wire_.shm()->nodes() == nodes_ &&
                            wire_.shm()->frame_max() >= with_peer.packet_max);
        }
    }
}

void Node::handle(std::uint16_t handler, Handler run) {
    WIREPROOF_CHECK(handler != 0);
    handlers_.set(handler, std::move(run));
    if (!turn_.in_handler()) change_handlers();
}

void Node::change_handlers() {
    handlers_.change();
    if (wire_.shm() != nullptr) wire_.shm()->set_notice(handlers_.removed());
}

// AM-23: a handler sends only a reply.
Status Node::post(std::size_t peer, std::uint16_t handler, ConstBytes words) {
    if (turn_.in_handler()) return Status::not_allowed;
    if (!can_ask(peer)) return Status::no_such_peer;
    waiting_.asked();
    if (!may_ask(peer)) return refuse(peer);
    return queued(status_of(mark_ready(peer).request(static_cast<HandlerId>(handler), words)));
}

Status Node::reply(std::uint16_t handler, ConstBytes words) {
    if (!turn_.in_handler()) return Status::not_allowed;
    const std::size_t peer = turn_.peer();
    const auto now = [this] { return await_next(turn_.time()); };
    if (turn_.in_lone_handler() && leave_at_once<Channel::reply>(peer, handler, words, now)) {
        return Status::ok;
    }
    return status_of(mark_ready(peer).reply(static_cast<HandlerId>(handler), words));
}

/// Called after a single message left at `now`. With only one peer, the next frame usually answers
/// it.
Instant Node::await_next(Instant now) {
    if (nodes_ == 2) delay_.begin(now);
    return now;
}

bool Node::lend(Instant now, std::size_t peer, BufferPool::Use use) {
    BufferPool& pool = *peers_[peer].pool;
    const bool lent = pool.lend(now, peer, peers_[peer].connection, use);
    if (lent) meet(peer);
    deadlines_.bring_forward(entry_of(pool), pool.next_look());
    return lent;
}

void Node::tend_pool(Instant now, BufferPool& pool) {
    pool.look(now);
    while (const auto peer = pool.serve_next(now)) {
        meet(*peer);
        mark_ready(*peer);
    }
    deadlines_.set(entry_of(pool), pool.next_look());
}

Instant Node::next_deadline() const {
    if (keeps_back()) return turn_.time();
    while (deadlines_.size() > 0 && deadlines_.first() < nodes_) {
        const std::size_t peer = deadlines_.first();
        const Instant deadline = peers_[peer].connection.next_deadline();
        if (deadline == deadlines_.earliest()) break;
        deadlines_.set(peer, deadline);
    }
    return earliest(wire_.any().next_deadline(), deadlines_.earliest());
}

PeerCounters Node::counters(std::size_t peer) const {
    if (!is_peer(peer)) return {};
    const Stats& stats = connection(peer).stats();
    PeerCounters counters;
    counters.received = stats.received;
    counters.mismatched = stats.hellos_mismatched;
    for (const std::uint64_t count : stats.sent) counters.sent += count;
    counters.resent = stats.resent;
    counters.acks = stats.sent_of(Kind::ack);
    counters.nacks = stats.sent_of(Kind::nack);
    counters.overruns = stats.overruns;
    counters.marked = stats.marked;
    counters.marked_at_peer = stats.marked_at_peer;
    counters.keepalives = stats.sent_of(Kind::keepalive);
    counters.hellos = stats.sent_of(Kind::hello);
    counters.timeouts = stats.keepalive_timeouts;
    counters.sessions = stats.sessions;
    counters.unhandled_replies = peers_[peer].unhandled_replies;
    counters.unsent = wire_.any().trouble(PeerId(peer)).frames_refused;
    counters.refused = peers_[peer].refused;
    return counters;
}

static_assert(verdict_names == rx_verdict_names);

}  // namespace wireproof::am
