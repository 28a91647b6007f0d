// Frames between the processes of one host through shared memory: SP AM's FIFOs, a ring for every
// pair and direction. While the peer lives, nothing is lost, repeated or reordered.
//
// Nodes meet at unix sockets. The one with the greater number makes the memory and calls the other,
// again from time to time until it is there; afterwards the socket only wakes sleepers, passes
// descriptors, and by its end tells that the peer died. No call but open() enters the kernel per
// frame, and none blocks: receive looks at the sockets when a millisecond of `now` has gone.
//
// One thread uses a wire. A forked child must not use its parent's: see adopt.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "wireproof/wire/shm/shm_peer.hpp"

namespace wireproof {

class ShmWire {
public:
    struct Config {
        /// Where the nodes of the job meet, alike for all of them. Without '/': in the abstract
        /// namespace, so no file is made. With '/': sockets NAME.0, NAME.1 … which are removed at
        /// the end, for containers that share a folder.
        std::string name = {};
        std::uint64_t job = 0;  // others of another job are refused
        std::size_t node = 0;   // of `nodes`; peers are numbered as nodes are
        std::size_t nodes = 2;
        std::size_t frame_max = 16 * 1024 - 8;  // bytes; at most a quarter of a ring
        std::size_t lines = 8192;  // of 64 bytes, per peer and direction; a power of two
        std::size_t batch = 256;   // frames received until "nothing" is said once, so that the
                                   // caller's loop comes round though a peer never stops sending
        /// Where the kernel restricts who may reach another's memory (Yama), let peers do so once
        /// private memory is shared. A process can name only one other: with more peers than one it
        /// must be any process of this user, as it is where there is no Yama.
        bool open_private_memory = true;
        /// For a node that sleeps often and briefly. It makes no system call before it sleeps; in
        /// return every producer fences each time it publishes.
        bool sleeps_often = false;
    };

    /// Listens and calls the others. Errors are one line naming the place.
    static Expected<ShmWire> open(const Config& config);

    /// A wire of two nodes over an inherited end of ControlSocket::pair, for a process and the one
    /// it forks: each adopts its end after the fork, with its own `node`. `name` is not used.
    static Expected<ShmWire> adopt(const Config& config, ControlSocket socket);

    /// Two nodes in this process, connected.
    static Expected<std::pair<ShmWire, ShmWire>> pair(Config config);

    const ShmCounters& counters() const { return lanes_->counters; }
    bool connected(PeerId peer) const;
    std::size_t nodes() const { return config_.nodes; }
    std::size_t frame_max() const { return config_.frame_max; }

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
    /// True: the three above would bring and do nothing now. The frame that comes after that is
    /// mostly alone, a request or its answer, so receive then says "nothing" after it without a
    /// look: that would fetch the line which the peer writes next, before what the frame causes has
    /// left.
    bool still(Instant now) {
        if (now >= look_at_ || !events_.empty() || lanes_->first_unflushed != nullptr) return false;
        for (const ShmPeer* const peer : receiving_) {
            if (!peer->rests()) return false;
        }
        taken_ = 0;
        taken_max_ = 1;
        return true;
    }
    /// Takes the next frame for such a one without still(), which would look at the ring.
    void expect_single() {
        taken_ = 0;
        taken_max_ = 1;
    }
    /// The frame received last is such a one.
    bool is_alone() const { return taken_max_ == 1; }
    /// When a peer that is not there is called again.
    Instant next_deadline() const { return next_call_; }

    /// In a forked child: closes the parent's sockets, so that peers notice when the parent dies,
    /// and leaves its rings. Nothing is said to anybody. Memory that was allocated stays where it
    /// is, and shared with the parent and its peers.
    void abandon();

    /// Readable when a bell rang, since frames came or room that was lacking; when a peer died or
    /// one called.
    int wait_handle() const { return watch_.handle(); }
    /// False: something came meanwhile. After true, peers ring the bell until the next receive.
    bool prepare_to_sleep();
    /// The handle was readable: the next receive looks at the sockets, whenever it did last.
    void look_soon() { look_at_ = looked_at_by_ = Instant(); }

    /// A number of the user's, 0 at first, that every peer can read at any time, however seldom it
    /// receives: it says that something which peers rely on has changed.
    void set_notice(std::uint32_t value);
    /// That of a peer, as of now. Nothing: the peer is not there.
    std::optional<std::uint32_t> notice_of(PeerId peer) const {
        const ShmPeer& of = peer_of(peer);
        if (of.state != ShmPeer::State::living) return std::nullopt;
        const std::size_t its_side = of.number < config_.node ? 0 : 1;
        return of.segment.notice(its_side).load(std::memory_order_acquire);
    }

    /// Zeroed memory of this wire, until its end, that peers can map: what is shared of it is
    /// reached without the kernel.
    Expected<Bytes> allocate_shared(std::size_t bytes);
    /// Frees it, here and at every peer. False: allocate_shared() did not return that, or a region
    /// lies in it that is shared, or that a peer may still reach.
    bool free_shared(Bytes memory);

    /// Lets the peer, whether it is there or still to come, reach `memory` under an address of the
    /// user's choice. False: that address is still in use. Told with the next flush, before all
    /// later frames. Every life of the peer is told.
    bool share(PeerId peer, std::uint64_t address, Bytes memory, bool readable, bool writable);
    /// Takes it back. The memory may go once unshared() is true: the peer has said that it will not
    /// touch it any more, or is gone.
    void unshare(PeerId peer, std::uint64_t address);
    bool unshared(PeerId peer, std::uint64_t address) const;

    /// True: done, with one copy. Reaches the peer before any frame committed afterwards. False:
    /// not shared with that right in one piece, or out of reach; then part of the bytes may be
    /// written.
    bool write_memory(PeerId peer, std::uint64_t address, ConstBytes source);
    bool read_memory(PeerId peer, std::uint64_t address, Bytes destination);
    /// Whether write_memory would do it through a mapping, without the kernel.
    bool maps_memory(PeerId peer, std::uint64_t address, std::size_t size);

private:
    struct OwnAllocation {
        Descriptor memory;
        Descriptor read_only;
        Mapping mapping;       // closed, where it was freed: its number is never used again
        std::size_t lent = 0;  // bytes
    };
    struct Nonce {
        std::uint64_t value = 0;
    };

    /// "Nothing" was said, or the next frame is no lone one.
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
    [[gnu::always_inline]] RxFrame handed_over(ShmPeer& peer, ConstBytes bytes) {
        ++taken_in_turn_;
        ++taken_;
        ++lanes_->counters.frames_received;
        lanes_->counters.bytes_received += bytes.size();
        return RxFrame{bytes, static_cast<PeerId>(peer.number), Integrity::intact};
    }
    std::optional<ConstBytes> take_unusual(ShmPeer& peer, std::optional<RingConsumer::Frame> frame);
    bool take_note(ShmPeer& peer, ConstBytes bytes);
    bool something_came();
    void wake_up();
    bool was_rung() const;
    void set_asleep(bool asleep);

    // Meeting: shm_wire_meet.cpp.
    void look();
    void look_at(std::uint64_t tag);
    void watch(int handle, std::uint64_t tag);
    void unwatch(const ControlSocket& socket);
    void accept_callers();
    void hear_caller(int handle);
    bool matches(const Greeting& greeting) const;
    Greeting greeting(ShmMessage kind) const;
    void call_the_absent(Instant now);
    void call_later(ShmPeer& peer);
    bool call(ShmPeer& peer);
    bool greet(ShmPeer& peer, ControlSocket socket);
    bool hear(ShmPeer& peer);
    bool hear_message(ShmPeer& peer, ControlSocket::Message& message);
    void welcome(ShmPeer& peer);
    void begin_life(ShmPeer& peer, const Greeting& theirs, pid_t pid);
    void lose(ShmPeer& peer);
    void condemn(ShmPeer& peer);
    void finish(ShmPeer& peer);
    void list_receiving();

    // Memory: shm_wire_memory.cpp.
    void announce(ShmPeer& peer, std::uint64_t address, const SharedRegion& region);
    std::uint32_t tell_allocation(ShmPeer& peer, std::size_t index, bool writable);
    void open_to_peers(const ShmPeer& peer);

    Config config_;
    bool barrier_ = false;
    bool meeting_ = true;  // adopted wires have nobody to call
    std::unique_ptr<ShmLanes> lanes_;
    std::unique_ptr<Nonce> nonce_;
    std::vector<ShmPeer> peers_;       // by number, this node's own place among them
    std::vector<ShmPeer*> receiving_;  // living or ending
    std::size_t taken_in_turn_ = 0;
    // Between the counts: side by side they are read as one, which waits for their last writes.
    std::size_t turn_ = 0;   // whose frames are taken now, of receiving_
    std::size_t taken_ = 0;  // since "nothing" was last said
    std::size_t taken_max_ = config_.batch;
    std::uint32_t notice_ = 0;
    bool slept_ = false;
    Instant look_at_{};
    Instant looked_at_by_{};  // what look_at_ was before a sleep
    Instant now_{};
    Instant next_call_ = never;
    std::list<std::pair<PeerId, WireEvent>> events_;

    Descriptor watch_;  // epoll
    Listener listener_;
    std::vector<ControlSocket> callers_;  // have not said yet who they are
    std::vector<OwnAllocation> allocations_;
    bool opened_ = false;
};

static_assert(Wire<ShmWire>);
// tl::expected ends the program where a move throws.
static_assert(std::is_nothrow_move_constructible_v<ShmWire>);

}  // namespace wireproof
