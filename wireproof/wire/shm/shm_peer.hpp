// One peer of a shared-memory wire: the lane that users see, and all that the wire knows of it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
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

/// What all lanes of a wire use.
struct ShmLanes {
    ShmCounters counters;
    ShmLane* first_unflushed = nullptr;  // the others follow by ShmLane::next_unflushed_
};

/// The way to one peer. Claimed room lies in the ring itself and is lent until the next receive. A
/// peer that is not there yet, or no more, lends none.
class ShmLane {
public:
    LaneCapabilities capabilities() const { return capabilities_; }

    TxFrame* claim() {
        if (claimed_ && frame_.room_used() > 0) out_.distrust_room();
        if (!owed_.empty()) send_notes();
        // Notes that found no room keep frames back, though the peer gave some meanwhile.
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
        if (!claimed_) return;  // room of a former life
        const std::size_t size = frame_.gather_in_place().size();
        // Not before: a copy that is left because a piece's memory is gone must still hold the
        // room.
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

    /// Publishes what was committed, unless notes are owed that must go with the flush. Mostly the
    /// flush has nothing left to do for this lane then.
    void publish() {
        if (!owed_.empty()) return;
        out_.publish();
        wake(frames_wake);
        if (lanes_->first_unflushed != this) return;
        lanes_->first_unflushed = std::exchange(next_unflushed_, nullptr);
        listed_ = false;
    }

    /// Room for a frame that is to be shown by itself, by publish_single and nothing else in
    /// between. Empty: there is none, or something is to leave before it.
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

    /// The room that claim lends next is brought here meanwhile: its peer has it, as it waits
    /// there.
    void fetch_room() { out_.fetch_room(); }
    /// The peer cannot be trusted with the ring any more.
    bool broken() const { return out_.broken(); }

private:
    friend class ShmWire;

    // Frames become visible when they are shown, at the flush, or once so many lines have gathered:
    // the consumer then reads behind the producer and not on its heels, yet both work at the same
    // time.
    static constexpr std::uint64_t lines_at_once = 32;

    // What a sleeper wants to be woken for, in its flag: frames always, room if it lacked some.
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
    bool listed_ = false;  // among those to be flushed
    ShmLane* next_unflushed_ = nullptr;
    bool starved_ = false;                                  // room was wanted and not there
    bool light_ = false;                                    // see barrier.hpp
    std::optional<std::atomic_ref<std::uint32_t>> asleep_;  // the peer's flag
    const ControlSocket* bell_ = nullptr;
    std::deque<ShareNote> owed_;  // must go before any further frame
};

static_assert(PromptLane<ShmLane> && SingleLane<ShmLane>);

/// Memory of this node, as one peer was told of it.
struct SharedRegion {
    Bytes memory;
    bool readable = false;
    bool writable = false;
    bool withdrawn = false;  // until the peer has said that it heard
};

struct ShmPeer {
    enum class State : std::uint8_t {
        absent,
        greeting,  // we called and wait for the answer
        living,
        ending,  // no more, but its last frames are still in the ring
    };

    /// A later life that waits until the frames of this one have been received.
    struct Successor {
        ControlSocket socket;
        Greeting hello;
        pid_t pid = 0;
        Segment segment;
    };

    /// It lives, and has nothing for us.
    bool rests() const { return !in.has_frame() && lives_in_order(); }
    bool lives_in_order() const { return state == State::living && !in.broken() && !lane.broken(); }

    std::size_t number = 0;
    State state = State::absent;
    bool lived = false;        // at least once
    bool unannounced = false;  // its frames wait until the event of its new life is drawn
    RingConsumer in;
    ShmLane lane;
    Segment segment;
    Segment former;  // room may still be claimed there
    ControlSocket socket;
    std::optional<Successor> successor;
    std::uint64_t frames_left = 0;  // of an ending peer: a ring holds no more

    bool we_call = false;  // the greater number calls
    Instant call_at{};
    Duration patience{};  // until the next call

    PeerMemory memory;
    std::map<std::uint64_t, SharedRegion> ours;  // by the user's address
    std::set<std::uint32_t> told_allocations;
};

}  // namespace wireproof
