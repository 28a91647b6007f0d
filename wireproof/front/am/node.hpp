// Active messages among N nodes over any wire. The caller passes the time: an Endpoint passes that
// of a real clock, a simulation passes its own. A node has one connection to each peer. It runs
// handlers itself, never inside an engine.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "wireproof/am.hpp"
#include "wireproof/base/deadline_heap.hpp"
#include "wireproof/core/pump.hpp"
#include "wireproof/front/am/buffer_pool.hpp"
#include "wireproof/front/am/peer_set.hpp"
#include "wireproof/host/any_wire.hpp"
#include "wireproof/host/poll_delay.hpp"
#include "wireproof/proto/am/connection.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof::am {

/// Sets a flag for the lifetime of the object, and clears it even if a handler or callback throws.
class While {
public:
    explicit While(bool& flag) : flag_(flag) { flag_ = true; }
    ~While() { flag_ = false; }
    While(const While&) = delete;
    While& operator=(const While&) = delete;

private:
    bool& flag_;
};

/// The peers that share memory with this node, if other peers do not. The wire is then a SplitWire,
/// and its near one is a ShmWire or has one inside (faults).
struct NearPeers {
    Config config = {};               // of the connections to them
    std::vector<bool> are_near = {};  // by number. Empty: all peers are alike
};

/// Numbers its peers as the wire does. `config.node` is the node's own number.
class Node {
public:
    /// Each connection gets `config` with its own peer number. The caller has checked the config
    /// with check().
    Node(host::AnyWire wire, const Config& config, std::size_t nodes);
    /// `congestion` has an entry for each node: whether the path to it is shared. At most
    /// `active_peers` peers are active at once, and as many near peers.
    Node(host::AnyWire wire, const Config& config, const std::vector<Congestion>& congestion,
         std::size_t active_peers = Options().active_peers, const NearPeers& near = {});

    // Connections point at the memory tables.
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    std::size_t self() const { return self_; }
    std::size_t nodes() const { return nodes_; }
    bool is_peer(std::size_t peer) const { return peer < nodes_ && peer != self_; }
    /// False: the address of the peer is not known yet, and each call that names the peer returns
    /// no_such_peer.
    void set_reachable(std::size_t peer, bool reachable) { peers_[peer].reachable = reachable; }

    /// `handler` must not be 0.
    void handle(std::uint16_t handler, Handler run);
    void on_peer_lost(std::function<void(const PeerLost&)> report) {
        report_ = std::make_shared<std::function<void(const PeerLost&)>>(std::move(report));
    }

    /// `report` is called for each request and store that names a handler that the peer does not
    /// have.
    void on_refused(std::function<void(std::size_t peer, std::uint16_t handler)> report) {
        refused_ =
            std::make_shared<std::function<void(std::size_t, std::uint16_t)>>(std::move(report));
    }

    // The calls below are those of Endpoint; the caller passes the time as `now`.

    /// Posts a request that leaves with the next turn. `wants_turn` is true after
    /// `Config::poll_every` requests: then a turn is due (AM-21).
    Status post(std::size_t peer, std::uint16_t handler, ConstBytes words);
    bool wants_turn() const { return asked_since_poll_ >= poll_every_; }
    /// Like post(). But if no reply waits to that peer, no request to it is unacknowledged, and the
    /// wire can show the request at once, it leaves at once: waiting for more requests would only
    /// delay it. `now` is called for the time after the request has left.
    template <class Now>
    Status ask(std::size_t peer, std::uint16_t handler, ConstBytes words, Now&& now) {
        const bool at_once = shm_ != nullptr && !polling_ && is_peer(peer) && is_on_shm(peer) &&
                             may_ask(peer) && peers_[peer].connection.would_leave_single();
        if (!at_once) return post(peer, handler, words);
        peers_[peer].shm_lane->fetch_room();
        const auto left = [&] { return await_next(now()); };
        if (!leave_at_once<Channel::request>(peer, handler, words, left)) {
            return post(peer, handler, words);
        }
        ++asked_since_poll_;
        deadlines_.bring_forward(peer, peers_[peer].connection.take_soonest_set());
        return Status::ok;
    }
    /// Like ask(), and does the turn if it is due.
    Status request(Instant now, std::size_t peer, std::uint16_t handler, ConstBytes words) {
        const Status status = ask(peer, handler, words, [now] { return now; });
        if (wants_turn()) poll(now);
        return status;
    }
    Status store_async(std::size_t peer, std::uint64_t address, ConstBytes source,
                       std::uint16_t handler, std::uint32_t argument, Done done);
    /// For a caller that waits until a store is in place. Status::ok: the bytes are in place,
    /// because the wire reaches that memory of the peer; the peer is known to have the handler, and
    /// a note tells it. Nothing: the caller must use store_async and wait for its end.
    std::optional<Status> store_at_once(std::size_t peer, std::uint64_t address, ConstBytes source,
                                        std::uint16_t handler, std::uint32_t argument) {
        if (!is_known_handler(peer, handler)) return std::nullopt;
        return put_at_once(peer, address, source, handler, argument, {});
    }
    /// Sends what was posted, without receiving.
    void push(Instant now);
    Status get(std::size_t peer, std::uint64_t address, Bytes destination, Done done);
    /// Ends each transfer that has not ended: its callback gets `status`. A get whose bytes have
    /// arrived ends with ok. The caller must not call poll() afterwards.
    void end_transfers(Status status);
    /// In a forked child: releases what the parent shares with its peers.
    void abandon() { wire_.abandon(); }
    /// False: the peer does not exist, the region overlaps another, or is_withdrawn().
    [[nodiscard]] bool register_memory(std::size_t peer, std::uint64_t address, Bytes memory,
                                       Rights rights);
    Status unregister_memory(std::size_t peer, std::uint64_t address);
    /// True: unregister_memory() returned would_block, and nobody has called it again since the
    /// peer lost its access. Until then nothing can be registered at this address for the peer.
    bool is_withdrawn(std::size_t peer, std::uint64_t address) const {
        return withdrawn_.contains({peer, address});
    }
    /// Registers for every peer or for none. False: register_memory() would return false for one.
    [[nodiscard]] bool register_for_all(std::uint64_t address, Bytes memory, Rights rights);
    Status unregister_for_all(std::uint64_t address);
    /// True: a peer may reach some of these bytes, or a transfer of this node uses them.
    bool is_in_use(Bytes memory) const;
    Status reply(std::uint16_t handler, ConstBytes words);

    /// One turn: receives, runs handlers, checks timers, sends. Returns the number of messages
    /// handled.
    std::size_t poll(Instant now);
    /// True: requests, stores or gets wait for more to leave with them, or for their first turn.
    /// The next turn is due now.
    bool keeps_back() const { return held_ || more_asked_; }
    /// A turn is due before the caller sleeps: something was posted since the last turn, or the
    /// callback of a get that has ended has not run yet, or an exception ended the last turn.
    bool turn_is_due() const {
        return keeps_back() || asked_since_poll_ > 0 || !finished_.empty() || mid_turn_;
    }
    /// When the next turn is due if nothing arrives before.
    Instant next_deadline() const;

    /// While true, a peer with a session that falls silent is reported even if it owes this node
    /// nothing.
    void set_awaiting(bool awaiting) { awaiting_ = awaiting; }
    bool awaiting() const { return awaiting_; }
    /// True inside a handler or another callback. Code that runs there must not wait for a turn.
    bool polling() const { return polling_; }
    bool in_handler() const { return in_handler_; }
    bool idle() const;
    /// Idle with respect to this peer only.
    bool idle(std::size_t peer) const {
        return finished_.empty() && peers_[peer].connection.idle();
    }
    /// The next turn sends all acknowledgements that this node owes.
    void acknowledge_all();
    /// This node is idle() and ends soon. From the next turn on, it asks the peers whether they
    /// have its acknowledgements. True: none needs to be asked any more. A lane that loses nothing
    /// needs no question.
    bool leave();
    /// Sessions with the peer that have ended.
    std::uint64_t losses(std::size_t peer) const { return peers_[peer].losses; }
    /// Sessions that ended with messages or transfers whose fate is unknown.
    std::uint64_t sessions_cut() const { return sessions_cut_; }
    /// The peers that ever had buffers or a session, or of which a frame came, even one that this
    /// node does not accept. In the order in which they came.
    const PeerSet& seen() const { return seen_; }
    bool connected(std::size_t peer) const {
        return is_peer(peer) && peers_[peer].connection.established();
    }

    /// Transfers of this node that the wire did with one copy.
    std::uint64_t stores_at_once() const { return stores_at_once_; }
    std::uint64_t gets_at_once() const { return gets_at_once_; }

    const Connection& connection(std::size_t peer) const { return peers_[peer].connection; }
    PeerCounters counters(std::size_t peer) const;
    host::AnyWire& wire() { return wire_; }

private:
    /// The smallest range of addresses that contains all ranges that were added.
    struct Range {
        std::uint64_t first = 0;
        std::uint64_t last = 0;

        static std::uint64_t last_of(std::uint64_t address, std::size_t size) {
            const std::uint64_t more = size > 0 ? size - 1 : 0;
            return address + std::min(more, ~address);  // the range ends at the highest address
        }
        void add(std::uint64_t address, std::size_t size, bool anew) {
            first = anew ? address : std::min(first, address);
            last = anew ? last_of(address, size) : std::max(last, last_of(address, size));
        }
        bool meets(std::uint64_t address, std::size_t size) const {
            return address <= last && last_of(address, size) >= first;
        }
    };
    struct Peer {
        Peer(const Config& config, const MemoryTable& memory, host::AnyLane to_peer)
            : connection(config, memory, ConnectionBuffers::none(config)), lane(to_peer) {}
        Connection connection;
        host::AnyLane lane;
        ShmLane* shm_lane = nullptr;  // the ShmLane inside `lane`, if there is one
        BufferPool* pool = nullptr;
        // The targets of the stores in flight whose bytes are in their OPENs.
        Range in_packets;
        bool reachable = true;
        std::uint64_t losses = 0;
        std::uint64_t unhandled_replies = 0;
        std::uint64_t refused = 0;  // calls that found no buffers
        std::vector<Undelivered> undelivered;
        // The handlers that the peer had when stores to them ended, while its notice was
        // `handlers_as_of`.
        HandlerTable handlers;
        std::uint32_t handlers_as_of = 0;
    };
    /// Callbacks of transfers that have not ended, by tag.
    struct Transfers {
        struct Transfer {
            Done done;
            std::uint16_t handler = 0;                 // of a store
            std::optional<std::uint32_t> notice = {};  // the peer's, when the store was posted
        };
        std::uint64_t add(Transfer transfer);
        Transfer take(std::uint64_t tag);
        std::vector<Transfer> waiting;
        std::vector<std::uint64_t> free;
    };

    /// Sends one message in its own packet, on shared memory. False: it cannot leave now.
    template <Channel channel, class Now>
    bool leave_at_once(std::size_t peer, std::uint16_t handler, ConstBytes words, Now&& now) {
        Peer& to = peers_[peer];
        const Connection::Single<channel> message{static_cast<HandlerId>(handler), words};
        return transmit_single(to.connection, *to.shm_lane, message, now);
    }
    bool can_ask(std::size_t peer) const { return is_peer(peer) && peers_[peer].reachable; }
    /// The peer has buffers or a session.
    void meet(std::size_t peer) {
        met_.add(peer);
        seen_.add(peer);
    }
    /// Each call that changes a connection uses this, except a single message that leaves at once.
    Connection& mark_ready(std::size_t peer) {
        ready_.add(peer);
        return peers_[peer].connection;
    }
    /// Called before anything is posted to the peer. False: there are no buffers, and the call
    /// returns would_block.
    bool may_ask(std::size_t peer) {
        return peers_[peer].pool->may_ask(peer) || lend(last_turn_, peer, BufferPool::Use::ask);
    }
    Status refuse(std::size_t peer) {
        ++peers_[peer].refused;
        return Status::would_block;
    }
    Instant await_next(Instant now);
    void note_frames(std::size_t peer);
    bool lend(Instant now, std::size_t peer, BufferPool::Use use);
    /// A store of this session that named the handler ended with ok, and the peer has removed no
    /// handler since.
    bool is_known_handler(std::size_t peer, std::uint16_t handler) const {
        return is_peer(peer) && peers_[peer].handlers.has(static_cast<HandlerId>(handler)) &&
               notice_of(peer) == peers_[peer].handlers_as_of;
    }
    void note_handler(std::size_t peer, const Transfers::Transfer& store, bool there);
    /// The number of handlers that the peer has removed. A wire that reaches the peer's memory
    /// shows it.
    std::optional<std::uint32_t> notice_of(std::size_t peer) const {
        return is_on_shm(peer) ? shm_->notice_of(PeerId(peer)) : std::nullopt;
    }
    bool is_on_shm(std::size_t peer) const { return peers_[peer].shm_lane != nullptr; }
    /// If the wire reaches that memory of the peer: copies the bytes and notifies the handler.
    /// Nothing: the wire does not reach it, or a store in flight must come first. Such a store is
    /// in chunks, or it is whole in its OPEN and its target is within the range of the targets of
    /// such stores.
    std::optional<Status> put_at_once(std::size_t peer, std::uint64_t address, ConstBytes source,
                                      std::uint16_t handler, std::uint32_t argument, Done done);
    bool may_register(std::size_t peer, std::uint64_t address, Bytes memory) const;
    bool bytes_are_out_to(std::size_t peer, std::uint64_t address, std::size_t size) const;
    bool costs_less_in_a_packet(std::size_t peer, std::uint64_t address, std::size_t size);
    inline std::size_t deliver_all(std::size_t peer);
    std::size_t deliver_more(std::size_t peer);
    std::size_t deliver_rest();
    void deliver(std::size_t peer, const Delivery& delivery);
    inline void run(std::size_t peer, HandlerId handler, const Message& message, bool may_refuse);
    void miss_handler(std::size_t peer, HandlerId handler, bool may_refuse);
    void take_handlers_to_be();
    void end_transfer(std::size_t peer, std::uint64_t tag, Status status);
    void report_refused(std::size_t peer, std::uint16_t handler);
    std::size_t end_finished();
    void note_undelivered(std::size_t peer, const FateUnknown& fate);
    void report_lost(std::size_t peer, const SessionEnded& ended);
    void tell_awaiting();
    std::size_t run_timers(Instant now);
    template <class W>
    inline std::size_t turn(W& wire, Instant now);
    template <class W>
    std::size_t turn_for_something(W& wire, Instant now);
    template <class W>
    std::size_t rest_of_turn(W& wire, Instant now);
    template <class W>
    std::size_t take_events(W& wire, Instant now);
    template <class W>
    void send(W& wire, Instant now);
    static host::AnyLane& lane_of(host::AnyWire&, Peer& peer) { return peer.lane; }
    static ShmLane& lane_of(ShmWire&, Peer& peer) { return *peer.shm_lane; }
    template <class F>
    auto on_wire(F&& use) {
        return only_shm_ ? use(*shm_) : use(wire_);
    }
    std::size_t pool_entry(const BufferPool& pool) const {
        return nodes_ + (&pool == &pool_ ? 0 : 1);
    }
    void tend_pool(Instant now, BufferPool& pool);

    host::AnyWire wire_;
    // The ShmWire inside `wire_`, if there is one.
    ShmWire* shm_;
    // All peers are on it. A turn then makes no virtual calls, which would add a seventh to the
    // time of a single message. Over UDP this gain would be negligible beside the system calls.
    bool only_shm_;
    std::size_t self_;
    std::size_t nodes_;
    std::uint32_t poll_every_;
    Duration coalesce_for_;
    std::vector<MemoryTable> memory_;  // sized at construction; neither it nor peers_ moves
    std::vector<Peer> peers_;
    HandlerTable handlers_here_;  // connections point at it, so it does not move
    std::uint32_t handlers_taken_away_ = 0;
    std::vector<Handler> handlers_;                                  // by id
    std::vector<std::pair<std::uint16_t, Handler>> handlers_to_be_;  // set inside a handler
    // A call of a report shares the function, because the report may set another. Null: none.
    std::shared_ptr<std::function<void(const PeerLost&)>> report_;
    std::shared_ptr<std::function<void(std::size_t, std::uint16_t)>> refused_;
    Transfers transfers_;
    // Callbacks of gets that the wire did at once; the next turn runs them.
    std::deque<Done> finished_;
    // Peers may still touch these regions, by peer and address.
    std::map<std::pair<std::size_t, std::uint64_t>, Bytes> withdrawn_;
    std::uint64_t stores_at_once_ = 0;
    std::uint64_t sessions_cut_ = 0;
    std::uint64_t gets_at_once_ = 0;
    std::uint32_t asked_since_poll_ = 0;
    BufferPool pool_;
    std::optional<BufferPool> near_pool_;  // of the near peers, if only some are near
    PeerSet ready_;                        // peers to which frames may have to be sent
    PeerSet met_;   // all peers that ever had buffers or a session; the others have nothing to end
    PeerSet seen_;  // those, and all of which a frame came
    // By peer: none is later than the deadline of its connection. The entries from `nodes_` on are
    // those of the pools. next_deadline() and run_timers() make the earliest entry exact.
    mutable DeadlineHeap deadlines_;
    host::PollDelay delay_;  // on shared memory with one peer
    std::size_t current_peer_ = 0;
    bool more_asked_ = false;  // since the last turn
    bool coalescing_ = false;  // in this turn requests may wait for more
    bool held_ = false;        // some requests wait, since held_since_
    Instant held_since_;
    Instant last_turn_;
    bool in_handler_ = false;
    bool answers_at_once_ = false;  // the frame being handled came alone
    bool polling_ = false;
    // A turn is running, or an exception of a handler or callback ended the last one.
    bool mid_turn_ = false;
    bool awaiting_ = false;
    bool awaiting_told_ = false;  // the value that the connections were given
};

}  // namespace wireproof::am
