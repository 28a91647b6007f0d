// The memory calls of Node: stores and gets, in packets or through a wire that reaches the peer's
// memory; the callbacks of transfers; and the memory that peers may reach here.
#include "wireproof/base/overlap.hpp"
#include "wireproof/front/am/node.hpp"
#include "wireproof/front/am/status_of.hpp"

namespace wireproof::am {
namespace {

// The tag of a transfer without a callback.
constexpr std::uint64_t nobody_waits = ~std::uint64_t{0};

}  // namespace

Status Node::store_async(std::size_t peer, std::uint64_t address, ConstBytes source,
                         std::uint16_t handler, std::uint32_t argument, Done done) {
    if (in_handler_) return Status::not_allowed;
    if (!can_ask(peer)) return Status::no_such_peer;
    if (!costs_less_in_a_packet(peer, address, source.size())) {
        if (const auto status = put_at_once(peer, address, source, handler, argument, done)) {
            return *status;
        }
    }
    ++asked_since_poll_;
    if (!may_ask(peer)) return refuse(peer);
    const std::uint64_t tag = transfers_.add({std::move(done), handler, notice_of(peer)});
    const bool first = peers_[peer].connection.no_opens_with_bytes_out();
    const Status status = status_of(
        mark_ready(peer).store({address, source, static_cast<HandlerId>(handler), argument, tag}));
    if (status != Status::ok) {
        transfers_.take(tag);
    } else if (source.size() <= peers_[peer].connection.config().open_bytes) {
        peers_[peer].in_packets.add(address, source.size(), first);
    }
    more_asked_ = more_asked_ || status == Status::ok;
    return status;
}

// True for each address while chunks are in flight. While OPENs with bytes are in flight, true for
// addresses within the range of their targets.
bool Node::bytes_are_out_to(std::size_t peer, std::uint64_t address, std::size_t size) const {
    const Connection& connection = peers_[peer].connection;
    if (!connection.no_chunks_out()) return true;
    return !connection.no_opens_with_bytes_out() && peers_[peer].in_packets.meets(address, size);
}

// A peer that polls receives the bytes of an OPEN before the kernel could have copied them.
bool Node::costs_less_in_a_packet(std::size_t peer, std::uint64_t address, std::size_t size) {
    if (!is_on_shm(peer) || size == 0) return false;
    return size <= peers_[peer].connection.config().open_bytes &&
           !shm_->maps_memory(PeerId(peer), address, size);
}

std::optional<Status> Node::put_at_once(std::size_t peer, std::uint64_t address, ConstBytes source,
                                        std::uint16_t handler, std::uint32_t argument, Done done) {
    if (in_handler_ || !can_ask(peer) || handler == 0) return std::nullopt;
    const Connection& connection = peers_[peer].connection;
    if (!connection.established() || bytes_are_out_to(peer, address, source.size())) {
        return std::nullopt;
    }
    if (!may_ask(peer)) return refuse(peer);
    if (!connection.can_note()) return Status::would_block;
    if (!wire_.write_memory(PeerId(peer), address, source)) return std::nullopt;
    const bool awaited = static_cast<bool>(done);
    const std::uint64_t tag =
        awaited ? transfers_.add({std::move(done), handler, notice_of(peer)}) : nobody_waits;
    const auto posted = mark_ready(peer).note(
        {address, source.size(), static_cast<HandlerId>(handler), argument, tag, awaited});
    WIREPROOF_CHECK(posted == PostStatus::accepted);
    ++stores_at_once_;
    ++asked_since_poll_;
    return Status::ok;
}

Status Node::get(std::size_t peer, std::uint64_t address, Bytes destination, Done done) {
    if (in_handler_) return Status::not_allowed;
    if (!can_ask(peer)) return Status::no_such_peer;
    // A read at once is allowed only if no message of this node can still change the bytes.
    const Connection& connection = peers_[peer].connection;
    if (connection.can_read_at_once() && wire_.read_memory(PeerId(peer), address, destination)) {
        finished_.push_back(std::move(done));
        ++gets_at_once_;
        return Status::ok;
    }
    ++asked_since_poll_;
    if (!may_ask(peer)) return refuse(peer);
    const std::uint64_t tag = transfers_.add({.done = std::move(done)});
    const Status status = status_of(mark_ready(peer).get({address, destination, tag}));
    if (status != Status::ok) transfers_.take(tag);
    more_asked_ = more_asked_ || status == Status::ok;
    return status;
}

bool Node::may_register(std::size_t peer, std::uint64_t address, Bytes memory) const {
    return !is_withdrawn(peer, address) && memory_[peer].fits(address, memory);
}

bool Node::register_memory(std::size_t peer, std::uint64_t address, Bytes memory, Rights rights) {
    if (!is_peer(peer) || !may_register(peer, address, memory)) return false;
    const bool added = memory_[peer].add(address, memory, Access{rights.get, rights.store});
    WIREPROOF_CHECK(added);
    wire_.share(PeerId(peer), address, memory, rights.get, rights.store);
    return true;
}

Status Node::unregister_memory(std::size_t peer, std::uint64_t address) {
    if (!is_peer(peer)) return Status::no_such_peer;
    if (!is_withdrawn(peer, address)) {
        const auto memory = memory_[peer].region(address);
        if (!memory) return Status::not_allowed;
        if (peers_[peer].connection.touches(*memory)) return Status::would_block;
        memory_[peer].remove(address);
        wire_.unshare(PeerId(peer), address);
        withdrawn_.insert({{peer, address}, *memory});
    }
    // If the peer reaches the memory directly, it must first confirm the withdrawal.
    if (!wire_.unshared(PeerId(peer), address)) return Status::would_block;
    withdrawn_.erase({peer, address});
    return Status::ok;
}

bool Node::register_for_all(std::uint64_t address, Bytes memory, Rights rights) {
    for (std::size_t peer = 0; peer < nodes_; ++peer) {
        if (peer != self_ && !may_register(peer, address, memory)) return false;
    }
    for (std::size_t peer = 0; peer < nodes_; ++peer) {
        if (peer != self_) WIREPROOF_CHECK(register_memory(peer, address, memory, rights));
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
    for (std::size_t peer = 0; peer < nodes_; ++peer) {
        if (peer == self_) continue;
        if (memory_[peer].overlaps(memory) || peers_[peer].connection.touches(memory)) return true;
    }
    return std::any_of(withdrawn_.begin(), withdrawn_.end(), [&](const auto& withdrawn) {
        const auto& [where, region] = withdrawn;
        return overlap(region, memory) && !wire_.unshared(PeerId(where.first), where.second);
    });
}

// Callbacks.

std::uint64_t Node::Transfers::add(Transfer transfer) {
    if (free.empty()) {
        free.push_back(waiting.size());
        waiting.emplace_back();
    }
    const std::uint64_t tag = free.back();
    free.pop_back();
    waiting[tag] = std::move(transfer);
    return tag;
}

Node::Transfers::Transfer Node::Transfers::take(std::uint64_t tag) {
    free.push_back(tag);
    return std::exchange(waiting[tag], {});
}

void Node::end_transfer(std::size_t peer, std::uint64_t tag, Status status) {
    if (tag == nobody_waits) return;
    const Transfers::Transfer ended = transfers_.take(tag);
    if (ended.handler != 0 && (status == Status::ok || status == Status::no_handler)) {
        note_handler(peer, ended, status == Status::ok);
    }
    if (ended.done) ended.done(status);
    if (status == Status::no_handler) report_refused(peer, ended.handler);
}

// A store that found its handler proves nothing if the peer has removed handlers since the store
// was posted.
void Node::note_handler(std::size_t peer, const Transfers::Transfer& store, bool there) {
    Peer& of = peers_[peer];
    const auto handler = static_cast<HandlerId>(store.handler);
    if (!there) return of.handlers.set(handler, false);
    const auto notice = notice_of(peer);
    if (!notice || notice != store.notice) return;
    if (of.handlers_as_of != *notice) of.handlers = {};
    of.handlers_as_of = *notice;
    of.handlers.set(handler, true);
}

void Node::end_transfers(Status status) {
    const While polling(polling_);  // callbacks must post nothing
    while (!finished_.empty()) end_finished();
    for (Transfers::Transfer& waiting : transfers_.waiting) {
        if (const Done done = std::exchange(waiting, {}).done) done(status);
    }
}

std::size_t Node::end_finished() {
    const std::size_t count = finished_.size();
    for (std::size_t i = 0; i < count; ++i) {
        const Done done = std::move(finished_.front());
        finished_.pop_front();
        if (done) done(Status::ok);
    }
    return count;
}

}  // namespace wireproof::am
