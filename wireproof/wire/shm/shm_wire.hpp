// Frames between the processes of one host through shared memory: SP AM's FIFOs, with a ring for
// each pair of nodes and direction. While the peer lives, no frame is lost, duplicated or
// reordered.
//
// Nodes meet at unix sockets. The node with the greater number makes the memory and calls the other
// one, again from time to time until it is there. After that, the socket only wakes sleepers and
// passes descriptors; when it ends, the peer has died. A frame needs no call of the kernel, except
// a doorbell for a sleeper. receive() looks at the sockets when a millisecond of `now` has passed.
//
// No call blocks, with one exception: the destructor waits for a copy of a peer into or out of the
// memory of this process. A receive() does not wait: it reports peer_gone when the copy is over.
//
// Each call does a bounded amount of work, whatever peers write: README.md has the bounds.
//
// A peer can write to its ring at any time. So each frame is copied once, and callers read only the
// copy, unless they can read the ring itself (Config::lends_ring).
//
// Only one thread may use a wire. A forked child must not use its parent's wire: see adopt.
#pragma once

#include <atomic>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "wireproof/core/peer_trouble.hpp"
#include "wireproof/wire/shm/shm_peer.hpp"

namespace wireproof {

class ShmWire {
public:
    struct Config {
        /// Where the nodes of the job meet, the same for all of them. Without '/': in the abstract
        /// namespace, without a file. With '/': sockets NAME.0, NAME.1 …, which are removed at the
        /// end, for containers that share a folder.
        std::string name = {};
        std::uint64_t job = 0;  // nodes of another job are refused
        std::size_t node = 0;   // of `nodes`; a PeerId is the number of a node
        std::size_t nodes = 2;
        /// Which of the nodes may be on this wire, by number. Empty: all. A lane to another node
        /// never has room.
        std::vector<bool> members = {};
        std::size_t frame_max = 16 * 1024 - 8;  // bytes; at most a quarter of a ring
        std::size_t lines = 8192;  // of 64 bytes, per peer and direction; a power of two
        std::size_t batch = 256;   // after this many frames receive() returns nothing once, so
                                   // that the caller's loop goes on if a peer never stops sending
        /// If the kernel restricts who may reach another process's memory (Yama), permit it to
        /// peers once private memory is shared. A process can name only one other. So with several
        /// peers it must permit all processes of this user, as on a machine without Yama.
        bool open_private_memory = true;
        /// False: the caller never reaches memory of peers, so the wire maps none.
        bool maps_peers = true;
        /// For a node that sleeps often and briefly. It makes no system call before it sleeps; in
        /// return, each producer executes a fence each time that it publishes.
        bool sleeps_often = false;
        /// True: a frame is lent where it lies in the ring, and its sender can still change it.
        /// Only for a caller that reads each control byte once, and copies payload before it or its
        /// user relies on it.
        bool lends_ring = false;
    };

    /// Listens and calls the others. An error is one line that names the place.
    static Expected<ShmWire> open(const Config& config);

    /// A wire of two nodes over an inherited end of ControlSocket::pair, for a process and its
    /// forked child: after the fork each adopts its end, with its own `node`. `name` is not used.
    static Expected<ShmWire> adopt(const Config& config, ControlSocket socket);

    /// Two nodes in this process, connected.
    static Expected<std::pair<ShmWire, ShmWire>> pair(Config config);

    const ShmCounters& counters() const { return lanes_->counters; }
    bool connected(PeerId peer) const;
    /// Looks at the sockets, and returns true if the peer is connected, or was and may have left
    /// frames. What a process sent before it ended is in its socket when the process is gone.
    bool look_for(PeerId peer);
    /// Why this node and the peer have not met: the error of the system in the last attempt. No
    /// cause: the peer is there, or nobody has come.
    PeerTrouble trouble(PeerId peer) const;
    std::size_t nodes() const { return config_.nodes; }
    std::size_t frame_max() const { return config_.frame_max; }
    bool lends_ring() const { return config_.lends_ring; }

    ShmLane& lane(PeerId peer) { return peer_of(peer).lane; }
    [[gnu::always_inline]] std::optional<RxFrame> receive(Instant now) {
        if (taken_ == taken_max_) {
            expect_any();
            return std::nullopt;
        }
        const bool one = is_alone() && receiving_.size() == 1 && now < look_at_;
        if (!one) return receive_any(now);
        now_ = now;
        ShmPeer& peer = *receiving_.front();
        const auto frame = peer.in.next();
        if (frame && is_usual(peer, *frame)) [[likely]]
            return handed_over(peer, frame->bytes);
        return receive_unusual(peer, frame);
    }
    void flush(Instant now) {
        now_ = now;
        if (lanes_->first_unflushed != nullptr) flush_lanes();
    }
    std::optional<std::pair<PeerId, WireEvent>> next_event();
    bool has_event() const { return !events_.empty(); }
    /// True: receive(), flush() and next_event() would do nothing now.
    bool is_still(Instant now) const {
        if (now >= look_at_ || !events_.empty() || lanes_->first_unflushed != nullptr) return false;
        for (const ShmPeer* const peer : receiving_) {
            if (!peer->rests()) return false;
        }
        return true;
    }
    /// The frame that comes next is usually alone, a request or its answer. So after that frame
    /// receive() returns nothing without a look at the ring. Such a look would fetch the line that
    /// the peer writes next, before the answer to the frame has left.
    void expect_single() {
        taken_ = 0;
        taken_max_ = 1;
    }
    /// The last received frame is such a single frame.
    bool is_alone() const { return taken_max_ == 1; }
    /// When the wire calls an absent peer again, accepts callers again, or looks whether the copy
    /// of a lost peer is over.
    Instant next_deadline() const {
        const Instant next = std::min(next_call_, accept_at_);
        return copying_ == 0 ? next : std::min(next, now_ + between_socket_looks);
    }

    /// For a forked child: closes the parent's sockets, so that peers notice when the parent dies,
    /// and leaves the parent's rings. Sends nothing to any peer. Allocated memory stays where it
    /// is, and stays shared with the parent and its peers.
    void abandon();

    /// Readable after a doorbell (for frames, or for room that was missing), and when a peer died
    /// or called.
    int wait_handle() const { return watch_.handle(); }
    /// False: something has arrived meanwhile. After true, peers ring the doorbell until the next
    /// receive.
    bool prepare_to_sleep();
    /// The handle was readable: the next receive looks at the sockets, even if it did so a moment
    /// ago.
    void look_soon() { look_at_ = looked_at_by_ = Instant(); }

    /// Sets this node's notice: a number, 0 at first, that each peer can read at any time, even if
    /// it seldom receives. It tells peers that something on which they rely has changed.
    void set_notice(std::uint32_t value);
    /// The present notice of a peer. Nothing: the peer is not there.
    std::optional<std::uint32_t> notice_of(PeerId peer) const {
        const ShmPeer& of = peer_of(peer);
        if (of.state != ShmPeer::State::living) return std::nullopt;
        return of.segment.notice(1 - of.side).load(std::memory_order_acquire);
    }

    /// Zeroed memory that peers can map, until the wire ends. Peers reach what is shared of it
    /// without the kernel.
    Expected<Bytes> allocate_shared(std::size_t bytes);
    /// Frees it, here and at each peer. False: allocate_shared() did not return this memory, or a
    /// region in it is still shared, or a peer may still reach it.
    bool free_shared(Bytes memory);

    /// Lets the peer, present or future, reach `memory` under an address that the user chooses.
    /// False: that address is still in use. The peer is told with the next flush, before all later
    /// frames. Each new life of the peer is told, too.
    bool share(PeerId peer, std::uint64_t address, Bytes memory, bool readable, bool writable);
    /// Takes it back. The memory may be freed once unshared() is true: then the peer has confirmed
    /// that it will not touch the memory any more, or is gone.
    void unshare(PeerId peer, std::uint64_t address);
    bool unshared(PeerId peer, std::uint64_t address) const;

    /// True: done, with one copy, which is complete before any frame committed afterwards arrives.
    /// False: the range is not in one region with that right, or is out of reach; then a part of
    /// the bytes may be written.
    bool write_memory(PeerId peer, std::uint64_t address, ConstBytes source);
    bool read_memory(PeerId peer, std::uint64_t address, Bytes destination);
    /// Whether write_memory() would copy through a mapping, without the kernel.
    bool maps_memory(PeerId peer, std::uint64_t address, std::size_t size);

private:
    struct OwnAllocation {
        Descriptor memory;
        Descriptor read_only;
        Mapping mapping;       // closed if freed: its number is never used again
        std::size_t lent = 0;  // bytes
    };
    struct Nonce {
        std::uint64_t value = 0;
    };

    /// After receive() has returned nothing, or if the next frame need not be a single one.
    void expect_any() {
        taken_ = 0;
        taken_max_ = config_.batch;
    }

    explicit ShmWire(const Config& config);
    static Expected<ShmWire> make(const Config& config);

    ShmPeer& peer_of(PeerId peer) {
        WIREPROOF_CHECK(static_cast<std::size_t>(peer) < config_.nodes);
        return peers_[static_cast<std::size_t>(peer)];
    }
    const ShmPeer& peer_of(PeerId peer) const {
        WIREPROOF_CHECK(static_cast<std::size_t>(peer) < config_.nodes);
        return peers_[static_cast<std::size_t>(peer)];
    }

    void flush_lanes();
    void next_turn();
    void look_around();
    std::optional<RxFrame> receive_any(Instant now);
    std::optional<RxFrame> receive_unusual(ShmPeer& peer, std::optional<RingConsumer::Frame> frame);
    static bool is_usual(const ShmPeer& peer, const RingConsumer::Frame& frame) {
        return peer.state == ShmPeer::State::living && !peer.in.gives_back() && !frame.control;
    }
    /// Copies a frame out of its sender's reach. The copy is valid until the next call.
    [[gnu::always_inline]] ConstBytes copied(ConstBytes in_ring) {
        std::memcpy(frame_.data(), in_ring.data(), in_ring.size());
        // The compiler must not read the ring again in place of the copy.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return {frame_.data(), in_ring.size()};
    }
    [[gnu::always_inline]] RxFrame handed_over(ShmPeer& peer, ConstBytes in_ring) {
        ++taken_in_turn_;
        ++taken_;
        ++lanes_->counters.frames_received;
        lanes_->counters.bytes_received += in_ring.size();
        const ConstBytes bytes = config_.lends_ring ? in_ring : copied(in_ring);
        return RxFrame{bytes, static_cast<PeerId>(peer.number), Integrity::intact};
    }
    std::optional<ConstBytes> take_unusual(ShmPeer& peer, std::optional<RingConsumer::Frame> frame);
    bool take_note(ShmPeer& peer, ConstBytes bytes);
    bool something_came();
    void wake_up();
    bool was_rung() const;
    void set_asleep(bool asleep);

    // Meeting: shm_wire_meet.cpp. Lives of peers: shm_wire_lives.cpp.
    static bool is_member(const Config& config, std::size_t node) {
        return config.members.empty() || config.members[node];
    }
    void look();
    void look_at(std::uint64_t tag);
    [[nodiscard]] bool watch(int handle, std::uint64_t tag);
    void unwatch(const ControlSocket& socket);
    void unwatch(int handle);
    void accept_callers();
    void hear_caller(int handle);
    bool matches(const Greeting& greeting) const;
    Greeting greeting(ShmMessage kind) const;
    void accept_again(Instant now);
    void accept_later(const char* what);
    void call_the_absent(Instant now);
    void call_later(ShmPeer& peer);
    bool call(ShmPeer& peer);
    bool greet(ShmPeer& peer, ControlSocket socket);
    bool hear(ShmPeer& peer);
    bool hear_message(ShmPeer& peer, ControlSocket::Message& message);
    void welcome(ShmPeer& peer);
    void begin_life(ShmPeer& peer, const Greeting& theirs, pid_t pid);
    static void forget_withdrawn(ShmPeer& peer);
    void lose(ShmPeer& peer);
    void condemn(ShmPeer& peer);
    void finish_if_over(ShmPeer& peer);
    void finish(ShmPeer& peer);
    bool still_copies(const ShmPeer& peer) const {
        return peer.state == ShmPeer::State::ending && now_ < peer.copies_until && peer.copies();
    }
    void list_receiving();

    // Memory: shm_wire_memory.cpp.
    void announce(ShmPeer& peer, std::uint64_t address, const SharedRegion& region);
    std::uint32_t tell_allocation(ShmPeer& peer, std::size_t index, bool writable);
    void open_to_peers(const ShmPeer& peer);

    Config config_;
    bool barrier_ = false;
    bool meeting_ = true;  // an adopted wire calls nobody
    std::unique_ptr<ShmLanes> lanes_;
    std::unique_ptr<Nonce> nonce_;
    std::vector<std::byte> frame_;     // copy of the last frame
    std::vector<ShmPeer> peers_;       // by number; one place is this node's own
    std::vector<std::size_t> called_;  // the members that this node calls
    std::size_t members_ = 0;          // this node included
    std::vector<ShmPeer*> receiving_;  // living or ending
    std::size_t taken_in_turn_ = 0;
    // turn_ is between the two counts. If they were side by side, both would be read with one load,
    // which waits for their last stores.
    std::size_t turn_ = 0;   // index in receiving_: whose frames are taken now
    std::size_t taken_ = 0;  // since receive() last returned nothing
    std::size_t taken_max_ = config_.batch;
    std::uint32_t notice_ = 0;
    bool slept_ = false;
    Instant look_at_{};
    Instant looked_at_by_{};  // what look_at_ was before a sleep
    Instant now_{};
    Instant next_call_ = never;
    Instant accept_at_ = never;   // the process had no free descriptor for a caller
    std::string accept_trouble_;  // the error of the system then
    std::size_t copying_ = 0;     // lost peers that the wire waits for, because they copied
    std::list<std::pair<PeerId, WireEvent>> events_;

    Descriptor watch_;  // epoll
    Listener listener_;
    std::vector<ControlSocket> callers_;  // have not sent a hello yet
    std::vector<OwnAllocation> allocations_;
    bool opened_ = false;
};

static_assert(Wire<ShmWire>);
// tl::expected ends the program if a move throws.
static_assert(std::is_nothrow_move_constructible_v<ShmWire>);

}  // namespace wireproof
