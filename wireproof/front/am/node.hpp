// Active messages among N nodes over any wire, in any time: what Endpoint is on a real clock, and
// what a simulation turns by hand. One connection a peer; handlers run here, never inside an
// engine.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <set>
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

/// True for a while, however that ends: handlers and callbacks may throw.
class While {
public:
    explicit While(bool& flag) : flag_(flag) { flag_ = true; }
    ~While() { flag_ = false; }
    While(const While&) = delete;
    While& operator=(const While&) = delete;

private:
    bool& flag_;
};

/// Has the peers numbered as the wire numbers them; `config.node` is the own number.
class Node {
public:
    /// Every connection gets `config` with its own peer number. The config has passed check().
    Node(host::AnyWire wire, const Config& config, std::size_t nodes);
    /// By peer, whether its path is shared; as many as there are nodes. No more than `active_peers`
    /// are asked for something at once.
    Node(host::AnyWire wire, const Config& config, const std::vector<Congestion>& congestion,
         std::size_t active_peers = Options().active_peers);

    // Connections point at the memory tables.
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    std::size_t self() const { return self_; }
    std::size_t nodes() const { return nodes_; }
    bool is_peer(std::size_t peer) const { return peer < nodes_ && peer != self_; }
    /// False: its address is not known yet, and what is asked of it is answered no_such_peer.
    void set_reachable(std::size_t peer, bool reachable) { peers_[peer].reachable = reachable; }

    /// Not handler 0.
    void handle(std::uint16_t handler, Handler run);
    void on_peer_lost(std::function<void(const PeerLost&)> report) { report_ = std::move(report); }

    /// Hears of requests and stores that name a handler the peer does not have.
    void on_refused(std::function<void(std::size_t peer, std::uint16_t handler)> report) {
        refused_ = std::move(report);
    }

    // As Endpoint's; `now` is the caller's.

    /// A request that leaves with the next turn. `wants_turn` says when that should be: after so
    /// many requests (AM-21).
    Status post(std::size_t peer, std::uint16_t handler, ConstBytes words);
    bool wants_turn() const { return asked_since_poll_ >= poll_every_; }
    /// The same; and where no reply waits and no request is unacknowledged to that peer, it leaves
    /// at once if the wire can show it: to wait for more would only keep it. `now` is called for
    /// the time once it has left.
    template <class Now>
    Status ask(std::size_t peer, std::uint16_t handler, ConstBytes words, Now&& now) {
        const bool at_once = shm_ != nullptr && !polling_ && is_peer(peer) && may_ask(peer) &&
                             peers_[peer].connection.would_leave_single();
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
    /// The same, with the turn if it is due.
    Status request(Instant now, std::size_t peer, std::uint16_t handler, ConstBytes words) {
        const Status status = ask(peer, handler, words, [now] { return now; });
        if (wants_turn()) poll(now);
        return status;
    }
    Status store_async(std::size_t peer, std::uint64_t address, ConstBytes source,
                       std::uint16_t handler, std::uint32_t argument, Done done);
    /// For a caller that waits until a store is in place. ok: it is, because the wire reaches that
    /// memory of the peer; the peer is known to have the handler, and is told. Nothing: use
    /// store_async, and wait for its end.
    std::optional<Status> store_at_once(std::size_t peer, std::uint64_t address, ConstBytes source,
                                        std::uint16_t handler, std::uint32_t argument) {
        if (!is_known_handler(peer, handler)) return std::nullopt;
        return put_at_once(peer, address, source, handler, argument, {});
    }
    /// What was asked for leaves, without a look at what came.
    void push(Instant now);
    Status get(std::size_t peer, std::uint64_t address, Bytes destination, Done done);
    /// Every transfer that has not ended ends with the status for its callback, a get whose bytes
    /// are there with ok. No turn may follow.
    void end_transfers(Status status);
    /// In a forked child: gives up what the parent shares with its peers.
    void abandon() { wire_.abandon(); }
    /// False: no such peer, or the region overlaps another.
    [[nodiscard]] bool register_memory(std::size_t peer, std::uint64_t address, Bytes memory,
                                       Rights rights);
    Status unregister_memory(std::size_t peer, std::uint64_t address);
    /// For every peer, or for none: false if it overlaps a region of one of them.
    [[nodiscard]] bool register_for_all(std::uint64_t address, Bytes memory, Rights rights);
    Status unregister_for_all(std::uint64_t address);
    /// A peer may reach some of these bytes, or a transfer of ours uses them.
    bool is_in_use(Bytes memory) const;
    Status reply(std::uint16_t handler, ConstBytes words);

    /// One turn: receive, run handlers, timers, send. Returns the messages handled.
    std::size_t poll(Instant now);
    /// Requests, stores or gets wait for more to leave with, or for their first turn: the next is
    /// due now.
    bool keeps_back() const { return held_ || more_asked_; }
    /// A turn is due before the caller sleeps: since the last turn something was asked for, or the
    /// callback of a get that has ended is still to run, or an exception ended the last turn.
    bool turn_is_due() const {
        return keeps_back() || asked_since_poll_ > 0 || !finished_.empty() || mid_turn_;
    }
    /// When the next turn is due, if nothing arrives before.
    Instant next_deadline() const;

    /// While true, a peer with a session that falls silent is reported even if it owes nothing.
    void set_awaiting(bool awaiting) { awaiting_ = awaiting; }
    bool awaiting() const { return awaiting_; }
    /// From inside a handler or another callback, where nothing may wait for a turn.
    bool polling() const { return polling_; }
    bool in_handler() const { return in_handler_; }
    bool idle() const;
    /// As far as that peer is concerned.
    bool idle(std::size_t peer) const {
        return finished_.empty() && peers_[peer].connection.idle();
    }
    /// Sessions with the peer that have ended.
    std::uint64_t losses(std::size_t peer) const { return peers_[peer].losses; }
    std::uint64_t losses() const;
    bool connected(std::size_t peer) const {
        return is_peer(peer) && peers_[peer].connection.established();
    }

    /// Transfers of ours that the wire did with one copy.
    std::uint64_t stores_at_once() const { return stores_at_once_; }
    std::uint64_t gets_at_once() const { return gets_at_once_; }

    const Connection& connection(std::size_t peer) const { return peers_[peer].connection; }
    PeerCounters counters(std::size_t peer) const;
    host::AnyWire& wire() { return wire_; }

private:
    /// Addresses that hold all it was given.
    struct Range {
        std::uint64_t first = 0;
        std::uint64_t last = 0;

        static std::uint64_t last_of(std::uint64_t address, std::size_t size) {
            const std::uint64_t more = size > 0 ? size - 1 : 0;
            return address + std::min(more, ~address);  // no further than there are addresses
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
        ShmLane* shm_lane = nullptr;  // inside it
        Range in_packets;             // where stores go that are out whole with their OPENs
        bool reachable = true;
        std::uint64_t losses = 0;
        std::uint64_t unhandled_replies = 0;
        std::uint64_t refused = 0;  // asks that found no buffers
        std::vector<Undelivered> undelivered;
        HandlerTable handlers;             // of the peer, as far as stores found them there
        std::uint32_t handlers_as_of = 0;  // by its notice
    };
    /// Callbacks of transfers under way, by tag.
    struct Transfers {
        struct Transfer {
            Done done;
            std::uint16_t handler = 0;                 // of a store
            std::optional<std::uint32_t> notice = {};  // of the peer, when it was asked for
        };
        std::uint64_t add(Transfer transfer);
        Transfer take(std::uint64_t tag);
        std::vector<Transfer> waiting;
        std::vector<std::uint64_t> free;
    };

    /// By itself, on shared memory. False: it cannot now.
    template <Channel channel, class Now>
    bool leave_at_once(std::size_t peer, std::uint16_t handler, ConstBytes words, Now&& now) {
        Peer& to = peers_[peer];
        const Connection::Single<channel> message{static_cast<HandlerId>(handler), words};
        return transmit_single(to.connection, *to.shm_lane, message, now);
    }
    bool can_ask(std::size_t peer) const { return is_peer(peer) && peers_[peer].reachable; }
    /// For all that changes a connection, but a single message that leaves at once.
    Connection& mark_ready(std::size_t peer) {
        ready_.add(peer);
        return peers_[peer].connection;
    }
    /// Before anything is asked of the peer. False: it would block for want of buffers.
    bool may_ask(std::size_t peer) {
        return pool_.may_ask(peer) || lend(last_turn_, peer, BufferPool::Use::ask);
    }
    Status refuse(std::size_t peer) {
        ++peers_[peer].refused;
        return Status::would_block;
    }
    Instant await_next(Instant now);
    void note_frames(std::size_t peer);
    bool lend(Instant now, std::size_t peer, BufferPool::Use use);
    void tend_pool(Instant now);
    /// A store of this session ended well that named the handler, and the peer has taken none away
    /// since.
    bool is_known_handler(std::size_t peer, std::uint16_t handler) const {
        return is_peer(peer) && peers_[peer].handlers.has(static_cast<HandlerId>(handler)) &&
               notice_of(peer) == peers_[peer].handlers_as_of;
    }
    void note_handler(std::size_t peer, const Transfers::Transfer& store, bool there);
    /// How many handlers the peer has taken away: what a wire that reaches its memory shows.
    std::optional<std::uint32_t> notice_of(std::size_t peer) const {
        return shm_ != nullptr ? shm_->notice_of(PeerId(peer)) : std::nullopt;
    }
    /// If the wire reaches that memory of the peer: puts the bytes in place and tells the handler.
    /// Nothing: it does not, or a store under way in packets must come first: one in chunks, or one
    /// that is whole in its packet and goes between the same first and last address.
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
        return shm_ != nullptr ? use(*shm_) : use(wire_);
    }

    host::AnyWire wire_;
    // What is inside, if it is that: a turn on it makes no calls through tables, which cost a lone
    // message a seventh of its time. Over UDP it would be nothing beside the system's calls.
    ShmWire* shm_;
    std::size_t self_;
    std::size_t nodes_;
    std::uint32_t poll_every_;
    Duration coalesce_for_;
    std::vector<MemoryTable> memory_;  // of all peers at construction, and never moved, as peers_
    std::vector<Peer> peers_;
    HandlerTable handlers_here_;  // as connections see them, so never moved either
    std::uint32_t handlers_taken_away_ = 0;
    std::vector<Handler> handlers_;                                  // by id
    std::vector<std::pair<std::uint16_t, Handler>> handlers_to_be_;  // given inside a handler
    std::function<void(const PeerLost&)> report_;
    std::function<void(std::size_t, std::uint16_t)> refused_;
    Transfers transfers_;
    std::deque<Done> finished_;  // gets that the wire did at once; told in the next turn
    std::set<std::pair<std::size_t, std::uint64_t>> withdrawn_;  // peers may still touch them
    std::uint64_t stores_at_once_ = 0;
    std::uint64_t gets_at_once_ = 0;
    std::uint32_t asked_since_poll_ = 0;
    BufferPool pool_;
    PeerSet ready_;  // they may have frames to send
    PeerSet met_;    // all that ever had buffers or a session: the others have nothing to end
    // By peer, none later than its connection's own; and behind them that of the pool.
    // next_deadline() and run_timers() make the earliest exact.
    mutable DeadlineHeap deadlines_;
    host::PollDelay delay_;  // on shared memory with one peer
    std::size_t current_peer_ = 0;
    bool more_asked_ = false;  // since the last turn
    bool coalescing_ = false;  // in this turn: requests may wait for more
    bool held_ = false;        // and some do, since:
    Instant held_since_;
    Instant last_turn_;
    bool in_handler_ = false;
    bool answers_at_once_ = false;  // what is handled came alone
    bool polling_ = false;
    bool mid_turn_ = false;  // in one, or the last ended with what a handler or callback threw
    bool awaiting_ = false;
    bool awaiting_told_ = false;  // to the connections
};

}  // namespace wireproof::am
