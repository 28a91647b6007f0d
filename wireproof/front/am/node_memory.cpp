// The memory calls of Node: stores and gets, in packets or through a wire that reaches the peer's
// memory, and the memory that peers may reach here.
#include <algorithm>
#include <utility>

#include "wireproof/front/am/node.hpp"
#include "wireproof/front/am/status_of.hpp"

namespace wireproof::am {

Status Node::store_async(std::size_t peer, std::uint64_t address, ConstBytes source,
                         std::uint16_t handler, std::uint32_t argument, Done done) {
    if (turn_.in_handler()) return Status::not_allowed;
    if (!can_ask(peer)) return Status::no_such_peer;
    const Connection& connection = peers_[peer].connection;
    if (!near_.costs_less_in_a_packet(peer, connection, address, source.size())) {
        if (const auto status = put_at_once(peer, address, source, handler, argument, done)) {
            return *status;
        }
    }
    waiting_.asked();
    if (!may_ask(peer)) return refuse(peer);
    const std::uint64_t tag = transfers_.add({std::move(done), handler, near_.notice_of(peer)});
    const bool first = connection.no_opens_with_bytes_out();
    const Status status = status_of(
        mark_ready(peer).store({address, source, static_cast<HandlerId>(handler), argument, tag}));
    if (status != Status::ok) {
        transfers_.take(tag);
    } else if (source.size() <= connection.config().open_bytes) {
        near_.left_in_packet(peer, address, source.size(), first);
    }
    return queued(status);
}

std::optional<Status> Node::put_at_once(std::size_t peer, std::uint64_t address, ConstBytes source,
                                        std::uint16_t handler, std::uint32_t argument, Done done) {
    if (turn_.in_handler() || !can_ask(peer) || handler == 0) return std::nullopt;
    const Connection& connection = peers_[peer].connection;
    if (!near_.may_write(peer, connection, address, source.size())) return std::nullopt;
    if (!may_ask(peer)) return refuse(peer);
    if (!connection.can_note()) return Status::would_block;
    if (!near_.write(peer, address, source)) return std::nullopt;
    const bool awaited = static_cast<bool>(done);
    const std::uint64_t tag =
        awaited ? transfers_.add({std::move(done), handler, near_.notice_of(peer)})
                : Transfers::nobody_waits;
    const auto posted = mark_ready(peer).note(
        {address, source.size(), static_cast<HandlerId>(handler), argument, tag, awaited});
    WIREPROOF_CHECK(posted == PostStatus::accepted);
    waiting_.asked();
    return Status::ok;
}

Status Node::get(std::size_t peer, std::uint64_t address, Bytes destination, Done done) {
    if (turn_.in_handler()) return Status::not_allowed;
    if (!can_ask(peer)) return Status::no_such_peer;
    if (transfers_.owes_most()) return Status::would_block;
    if (near_.read(peer, peers_[peer].connection, address, destination)) {
        transfers_.end_later(std::move(done));
        return Status::ok;
    }
    waiting_.asked();
    if (!may_ask(peer)) return refuse(peer);
    const std::uint64_t tag = transfers_.add({.done = std::move(done)});
    const Status status = status_of(mark_ready(peer).get({address, destination, tag}));
    if (status != Status::ok) transfers_.take(tag);
    return queued(status);
}

void Node::end_transfer(std::size_t peer, std::uint64_t tag, Status status) {
    const Transfers::Transfer ended = transfers_.take(tag);
    const bool is_store = ended.handler != 0;
    if (is_store && status == Status::ok) near_.found(peer, ended.handler, ended.notice);
    if (is_store && status == Status::no_handler) near_.missed(peer, ended.handler);
    if (ended.done) ended.done(status);
    if (is_store && status == Status::no_handler) handlers_.on_refused(peer, ended.handler);
}

void Node::end_transfers(Status status) {
    const Turn::Running running(turn_);  // callbacks must post nothing
    transfers_.end_all(status);
}

bool Node::register_memory(std::size_t peer, std::uint64_t address, Bytes memory, Rights rights) {
    if (!is_peer(peer) || !memory_.may_lend(peer, address, memory)) return false;
    memory_.lend(peer, address, memory, rights);
    return true;
}

Status Node::unregister_memory(std::size_t peer, std::uint64_t address) {
    if (!is_peer(peer)) return Status::no_such_peer;
    return memory_.take_back(peer, address, peers_[peer].connection);
}

bool Node::register_for_all(std::uint64_t address, Bytes memory, Rights rights) {
    for (std::size_t peer = 0; peer < nodes_; ++peer) {
        if (peer != self_ && !memory_.may_lend(peer, address, memory)) return false;
    }
    for (std::size_t peer = 0; peer < nodes_; ++peer) {
        if (peer != self_) memory_.lend(peer, address, memory, rights);
    }
    return true;
}

// A caller that gets would_block calls again. Then the peers that are done return not_allowed and
// are ignored.
Status Node::unregister_for_all(std::uint64_t address) {
    Status all = nodes_ > 1 ? Status::not_allowed : Status::ok;  // a node without peers
    for (std::size_t peer = 0; peer < nodes_; ++peer) {
        if (peer == self_) continue;
        const Status one = unregister_memory(peer, address);
        if (one == Status::would_block || all == Status::not_allowed) all = one;
    }
    return all;
}

bool Node::is_in_use(Bytes memory) const {
    return memory_.reaches(memory) ||
           std::any_of(peers_.begin(), peers_.end(),
                       [memory](const Peer& peer) { return peer.connection.touches(memory); });
}

}  // namespace wireproof::am
