// One peer of a shared-memory wire: the lane that callers use, and all that the wire knows of it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "wireproof/core/wire.hpp"
#include "wireproof/wire/shm/barrier.hpp"
#include "wireproof/wire/shm/control_socket.hpp"
#include "wireproof/wire/shm/counters.hpp"
#include "wireproof/wire/shm/messages.hpp"
#include "wireproof/wire/shm/peer_memory.hpp"
#include "wireproof/wire/shm/ring.hpp"
#include "wireproof/wire/shm/segment.hpp"

namespace wireproof {

class ShmLane;

/// What all lanes of a wire share.
struct ShmLanes {
    ShmCounters counters;
    ShmLane* first_unflushed = nullptr;  // the others follow by ShmLane::next_unflushed_
};

/// The lane to one peer. Claimed room is in the ring itself and is lent until the next receive. The
/// lane lends no room while the peer is absent.
class ShmLane {
public:
    LaneCapabilities capabilities() const { return capabilities_; }

    TxFrame* claim() {
        if (claimed_ && frame_.room_used() > 0) out_.distrust_room();
        if (!owed_.empty()) send_notes();
        // While notes wait for room, the lane sends no frame before them, even if the peer has
        // given room back.
        const Bytes room = owed_.empty() ? out_.claim() : Bytes();
        if (room.empty()) {
            if (connected_) ++lanes_->counters.full_rings;
            starved_ = true;
            return nullptr;
        }
        claimed_ = true;
        starved_ = false;
        frame_.open(room, capabilities_);
        return &frame_;
    }

    void commit() {
        if (!claimed_) return;  // the room belonged to a former life of the peer
        const std::size_t size = frame_.gather_in_place().size();
        // Only after the copy: if the memory of a piece is gone, the copy ends early, and the lane
        // must still hold the room.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        claimed_ = false;
        out_.commit(size);
        ShmCounters& counters = lanes_->counters;
        ++counters.frames_sent;
        counters.bytes_sent += size;
        if (frame_.resent()) ++counters.frames_resent;
        if (!listed_) list();
        if (out_.unpublished() >= lines_at_once) out_.publish();
    }

    /// Publishes what was committed, unless notes wait that must leave with the flush. Usually the
    /// flush then has nothing left to do for this lane.
    void publish() {
        if (!owed_.empty()) return;
        out_.publish();
        wake(frames_wake);
        if (lanes_->first_unflushed != this) return;
        lanes_->first_unflushed = std::exchange(next_unflushed_, nullptr);
        listed_ = false;
    }

    /// Room for a frame that leaves alone. The next call must be publish_single(). Empty: there is
    /// no room, or something must leave before the frame.
    [[gnu::always_inline]] Bytes claim_single() {
        if (listed_ || !owed_.empty()) return {};
        if (claimed_) give_up_claim();
        return out_.claim();
    }
    [[gnu::always_inline]] void publish_single(std::size_t size) {
        out_.publish_single(size);
        wake(frames_wake);
        starved_ = false;
        ShmCounters& counters = lanes_->counters;
        ++counters.frames_sent;
        counters.bytes_sent += size;
    }

    /// Fetches the room that claim() lends next. The line is in the peer's cache, because the peer
    /// waits there.
    void fetch_room() { out_.fetch_room(); }
    /// The peer has broken the ring: nothing in it can be trusted any more.
    bool broken() const { return out_.broken(); }
    /// Answers to the peer's "withdraw" notes that wait for room in its ring.
    std::size_t answers_owed() const { return answers_owed_; }

private:
    friend class ShmWire;

    // Frames become visible at publish(), at flush(), or after this many lines. The consumer then
    // reads some lines behind the producer and does not wait for each line, and both work at the
    // same time.
    static constexpr std::uint64_t lines_at_once = 32;

    // The bits of a sleeper's flag say when to wake it: always for frames, and for room if it
    // lacked some.
    static constexpr std::uint32_t frames_wake = 1;
    static constexpr std::uint32_t room_wakes = 2;

    void list() {
        listed_ = true;
        next_unflushed_ = std::exchange(lanes_->first_unflushed, this);
    }
    void give_up_claim() {
        if (frame_.room_used() > 0) out_.distrust_room();
        claimed_ = false;
    }
    void owe(const ShareNote& note);
    void send_notes();
    void flush();
    [[gnu::always_inline]] void wake(std::uint32_t reasons) {
        if (!connected_) return;
        order_publish_before_look(light_);
        if ((asleep_->load(std::memory_order_relaxed) & reasons) != 0) ring_bell();
    }
    void ring_bell();
    bool room_came();
    std::uint32_t wakers() const { return frames_wake | (starved_ ? room_wakes : 0); }
    void begin(RingProducer out, std::atomic_ref<std::uint32_t> asleep, const ControlSocket* bell,
               bool light);
    void end();

    RingProducer out_;
    TxFrame frame_;
    LaneCapabilities capabilities_;
    ShmLanes* lanes_ = nullptr;
    bool claimed_ = false;
    bool connected_ = false;
    bool listed_ = false;  // in the list of lanes to flush
    ShmLane* next_unflushed_ = nullptr;
    bool starved_ = false;                                  // a claim found no room
    bool light_ = false;                                    // see barrier.hpp
    std::optional<std::atomic_ref<std::uint32_t>> asleep_;  // the peer's flag
    const ControlSocket* bell_ = nullptr;
    std::deque<ShareNote> owed_;  // must leave before any further frame
    std::size_t answers_owed_ = 0;
};

static_assert(PromptLane<ShmLane> && SingleLane<ShmLane>);

/// Memory of this node that it has shared with one peer.
struct SharedRegion {
    Bytes memory;
    bool readable = false;
    bool writable = false;
    bool withdrawn = false;  // until the peer has confirmed it
};

struct ShmPeer {
    enum class State : std::uint8_t {
        absent,
        greeting,  // we called and wait for the answer
        living,
        // It is gone, but its last frames are in the ring; or it was given up while it copied, and
        // the socket is open until the copy is over.
        ending,
    };

    /// A later life of the peer. It waits until the frames of this life have been received.
    struct Successor {
        ControlSocket socket;
        Greeting hello;
        pid_t pid = 0;
        Segment segment;
    };

    ShmPeer() = default;
    /// Waits for a copy under way, at most a second: then the peer has stopped in the middle of
    /// one.
    ~ShmPeer();

    /// Ends the peer's direct access to the memory of this process, until its next life. A copy
    /// that is under way goes on.
    void close_memory() const;
    /// A copy of the peer into or out of the memory of this process is under way, as far as this
    /// process can tell. The word may be left by a process that died, so the socket is asked, too.
    /// A peer that was told of no memory has nothing to copy, whatever its word says.
    bool copies() const;
    /// The peer may touch memory of this process that it was told of: it lives, or one of its last
    /// copies is under way.
    bool may_touch() const {
        return state == State::living || (state == State::ending && socket.is_open());
    }

    /// The peer lives and has no frame for this node.
    bool rests() const { return !in.has_frame() && lives_in_order(); }
    bool lives_in_order() const { return state == State::living && !in.broken() && !lane.broken(); }

    std::size_t number = 0;
    std::size_t side = 0;      // of this node in the segment
    pid_t owner = ::getpid();  // a forked child must not speak for its parent
    State state = State::absent;
    bool lived = false;        // at least once
    bool unannounced = false;  // its frames wait until next_event() returns its new life
    RingConsumer in;
    ShmLane lane;
    Segment segment;
    Segment former;  // the caller may still hold claimed room there
    ControlSocket socket;
    std::optional<Successor> successor;
    std::uint64_t frames_left = 0;  // of an ending peer: at most what a ring holds
    Instant copies_until{};         // an ending peer is waited for no longer
    std::string trouble;            // why the last attempt to meet failed; empty: nobody was there

    bool we_call = false;  // the greater number calls
    Instant call_at{};
    Duration call_interval{};  // until the next call
    static constexpr Duration first_call_interval = Duration::milliseconds(1);

    PeerMemory memory;
    std::map<std::uint64_t, SharedRegion> ours;  // by the user's address
    bool told_memory = false;                    // of some of it, in this life
    std::set<std::uint32_t> told_allocations;
};

}  // namespace wireproof
