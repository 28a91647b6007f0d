// Active messages among N nodes over any wire. The caller passes the time: an Endpoint passes that
// of a real clock, a simulation passes its own. A node has one connection to each peer. It runs
// handlers itself, never inside an engine.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "wireproof/am.hpp"
#include "wireproof/base/deadline_heap.hpp"
#include "wireproof/core/pump.hpp"
#include "wireproof/front/am/argument_copy.hpp"
#include "wireproof/front/am/buffer_pool.hpp"
#include "wireproof/front/am/handlers.hpp"
#include "wireproof/front/am/lent_memory.hpp"
#include "wireproof/front/am/near_path.hpp"
#include "wireproof/front/am/node_wire.hpp"
#include "wireproof/front/am/peer_set.hpp"
#include "wireproof/front/am/transfers.hpp"
#include "wireproof/front/am/turn.hpp"
#include "wireproof/front/am/waiting.hpp"
#include "wireproof/host/poll_delay.hpp"

namespace wireproof::am {

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
        handlers_.on_peer_lost.set(std::move(report));
    }

    /// `report` is called for each request and store that names a handler that the peer does not
    /// have.
    void on_refused(std::function<void(std::size_t peer, std::uint16_t handler)> report) {
        handlers_.on_refused.set(std::move(report));
    }

    // The calls below are those of Endpoint; the caller passes the time as `now`.

    /// Posts a request that leaves with the next turn. `wants_turn` is true after
    /// `Config::poll_every` requests: then a turn is due (AM-21).
    Status post(std::size_t peer, std::uint16_t handler, ConstBytes words);
    bool wants_turn() const { return waiting_.wants_turn(); }
    /// Like post(). But if no reply waits to that peer, no request to it is unacknowledged, and the
    /// wire can show the request at once, it leaves at once: waiting for more requests would only
    /// delay it. `now` is called for the time after the request has left.
    template <class Now>
    Status ask(std::size_t peer, std::uint16_t handler, ConstBytes words, Now&& now) {
        const bool at_once = !turn_.runs() && is_peer(peer) && is_on_shm(peer) && may_ask(peer) &&
                             peers_[peer].connection.would_leave_single();
        if (!at_once) return post(peer, handler, words);
        peers_[peer].shm_lane->fetch_room();
        const auto left = [&] { return await_next(now()); };
        if (!leave_at_once<Channel::request>(peer, handler, words, left)) {
            return post(peer, handler, words);
        }
        waiting_.asked();
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
        if (!is_peer(peer) || !near_.has_handler(peer, handler)) return std::nullopt;
        return put_at_once(peer, address, source, handler, argument, {});
    }
    /// Sends what was posted, without receiving.
    void push(Instant now);
    Status get(std::size_t peer, std::uint64_t address, Bytes destination, Done done);
    /// Ends each transfer that has not ended: its callback gets `status`. A get whose bytes have
    /// arrived ends with ok. The caller must not call poll() afterwards.
    void end_transfers(Status status);
    /// In a forked child: releases what the parent shares with its peers.
    void abandon() { wire_.any().abandon(); }
    /// False: the peer does not exist, the region overlaps another, or is_withdrawn().
    [[nodiscard]] bool register_memory(std::size_t peer, std::uint64_t address, Bytes memory,
                                       Rights rights);
    Status unregister_memory(std::size_t peer, std::uint64_t address);
    /// True: unregister_memory() returned would_block, and nobody has called it again since the
    /// peer lost its access. Until then nothing can be registered at this address for the peer.
    bool is_withdrawn(std::size_t peer, std::uint64_t address) const {
        return memory_.is_withdrawn(peer, address);
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
    bool keeps_back() const { return waiting_.keeps_back(); }
    /// A turn is due before the caller sleeps: something was posted since the last turn, or the
    /// callback of a get that has ended has not run yet, or an exception ended the last turn.
    bool turn_is_due() const { return has_work() || waiting_.any_asked(); }
    /// The same, except after a call that found no room and so queued nothing: a turn in which
    /// nothing arrives makes no room.
    bool has_work() const {
        return keeps_back() || transfers_.any_ended() || turn_.was_interrupted();
    }
    /// When the next turn is due if nothing arrives before.
    Instant next_deadline() const;

    /// While true, a peer with a session that falls silent is reported even if it owes this node
    /// nothing.
    void set_awaiting(bool awaiting) { awaiting_ = awaiting; }
    bool awaiting() const { return awaiting_; }
    /// True inside a handler or another callback. Code that runs there must not wait for a turn.
    bool polling() const { return turn_.runs(); }
    bool in_handler() const { return turn_.in_handler(); }
    bool idle() const;
    /// Idle with respect to this peer only.
    bool idle(std::size_t peer) const {
        return !transfers_.any_ended() && peers_[peer].connection.idle();
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
    std::uint64_t stores_at_once() const { return near_.written(); }
    std::uint64_t gets_at_once() const { return near_.times_read(); }

    const Connection& connection(std::size_t peer) const { return peers_[peer].connection; }
    PeerCounters counters(std::size_t peer) const;
    host::AnyWire& wire() { return wire_.any(); }

private:
    struct Peer {
        Peer(const Config& config, const MemoryTable& memory, host::AnyLane to_peer)
            : connection(config, memory, ConnectionBuffers::none(config)), lane(to_peer) {}
        Connection connection;
        host::AnyLane lane;
        ShmLane* shm_lane = nullptr;  // the ShmLane inside `lane`, if there is one
        BufferPool* pool = nullptr;
        bool reachable = true;
        std::uint64_t losses = 0;
        std::uint64_t unhandled_replies = 0;
        std::uint64_t refused = 0;  // calls that found no buffers
        std::vector<Undelivered> undelivered;
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
        return peers_[peer].pool->may_ask(peer) || lend(turn_.time(), peer, BufferPool::Use::ask);
    }
    Status refuse(std::size_t peer) {
        ++peers_[peer].refused;
        return Status::would_block;
    }
    Instant await_next(Instant now);
    void change_handlers();
    void note_frames(std::size_t peer);
    bool lend(Instant now, std::size_t peer, BufferPool::Use use);
    bool is_on_shm(std::size_t peer) const { return peers_[peer].shm_lane != nullptr; }
    /// Called after a call of the user tried to queue something.
    Status queued(Status status) {
        if (status == Status::ok) waiting_.queued();
        return status;
    }
    /// If the wire reaches that memory of the peer: copies the bytes and notifies the handler.
    /// Nothing: the caller must send packets.
    std::optional<Status> put_at_once(std::size_t peer, std::uint64_t address, ConstBytes source,
                                      std::uint16_t handler, std::uint32_t argument, Done done);
    inline std::size_t deliver_all(std::size_t peer, bool alone = false);
    std::size_t deliver_more(std::size_t peer, bool alone);
    std::size_t deliver_rest();
    void deliver(std::size_t peer, const Delivery& delivery, bool alone);
    inline void run(std::size_t peer, HandlerId handler, const Message& message, bool may_refuse,
                    bool alone);
    Message message_of(std::size_t peer, ConstBytes arguments) {
        return Message(this, peer, arguments_.of(arguments));
    }
    void miss_handler(std::size_t peer, HandlerId handler, bool may_refuse);
    void end_transfer(std::size_t peer, std::uint64_t tag, Status status);
    void note_undelivered(std::size_t peer, const FateUnknown& fate);
    void report_lost(std::size_t peer, const SessionEnded& ended);
    void tell_awaiting();
    std::size_t run_timers(Instant now);
    template <class W>
    inline std::size_t turn(W& wire, Instant now);
    template <class W>
    std::size_t turn_for_something(W& wire, Instant now);
    template <class W>
    std::size_t receive(W& wire, Instant now);
    template <class W>
    std::size_t take_events(W& wire, Instant now);
    template <class W>
    void send(W& wire, Instant now, bool may_hold);
    static host::AnyLane& lane_of(host::AnyWire&, Peer& peer) { return peer.lane; }
    static ShmLane& lane_of(ShmWire&, Peer& peer) { return *peer.shm_lane; }
    /// The entry of a pool in deadlines_.
    std::size_t entry_of(const BufferPool& pool) const {
        return nodes_ + static_cast<std::size_t>(&pool - pools_.data());
    }
    void tend_pool(Instant now, BufferPool& pool);

    NodeWire wire_;
    std::size_t self_;
    std::size_t nodes_;
    Turn turn_;
    Waiting waiting_;
    ArgumentCopy arguments_;
    Handlers handlers_;
    Transfers transfers_;
    LentMemory memory_;
    NearPath near_;
    std::vector<BufferPool> pools_;  // one, and one of the near peers if only some are near
    std::vector<Peer> peers_;        // sized at construction, so that they do not move
    PeerSet ready_;                  // peers to which frames may have to be sent
    PeerSet met_;   // all peers that ever had buffers or a session; the others have nothing to end
    PeerSet seen_;  // those, and all of which a frame came
    // By peer: none is later than the deadline of its connection. The entries from `nodes_` on are
    // those of the pools. next_deadline() and run_timers() make the earliest entry exact.
    mutable DeadlineHeap deadlines_;
    host::PollDelay delay_;  // on shared memory with one peer
    std::uint64_t sessions_cut_ = 0;
    bool awaiting_ = false;
    bool awaiting_told_ = false;  // the value that the connections were given
};

}  // namespace wireproof::am
