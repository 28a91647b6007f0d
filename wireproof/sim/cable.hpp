// One direction between two nodes. Frames leave one after another at the cable's rate, fly for its
// latency, and are subject to its fault plan. A cable is also the lane of its sender. The callers
// say what time it is; a cable has no clock and no thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/base/instant.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/core/hold_back.hpp"
#include "wireproof/core/trace.hpp"
#include "wireproof/core/wire.hpp"
#include "wireproof/sim/flight.hpp"

namespace wireproof::sim {

struct CableConfig {
    std::size_t frame_max = 2048;                    // bytes, at most 2^23
    std::uint64_t bytes_per_second = 1'000'000'000;  // 0: a frame takes no time to leave
    Duration latency = Duration::microseconds(1);  // from the last byte's departure to its arrival
    Duration jitter{};  // in addition, up to this much, uniform per frame
    // A frame that is held back arrives at most this much late, even if few frames overtake it.
    Duration hold_limit = Duration::microseconds(100);
    // Bytes that may wait to leave, as in the port of a switch. A frame beyond this is lost. 0: no
    // limit.
    std::size_t queue_max = 0;
    // A frame that finds more bytes than this in the queue is marked (RxFrame::marked), as by a
    // router (ECN). 0: no frame is.
    std::size_t mark_above = 0;
    std::size_t in_flight_max = 4096;  // frames; beyond this, the lane lends no room
    // Off: the cable marks each frame as intact or damaged (RxFrame::integrity). On: the cable
    // really flips bits, and the receiver must check each frame.
    bool flip_bits = false;
    // On: the cable carries payload by reference (RxFrame::lent) and does not copy it. The sender
    // keeps the payload until no frame that refers to it can be in flight. Not with flip_bits.
    bool lend_payload = false;
    // On: the lane lends room for one frame, after the frame before has left. The sender then
    // decides at the last moment what leaves next, as a link layer does.
    bool one_at_a_time = false;
    bool prefers_equal_sizes = false;  // see LaneCapabilities
    FaultRates faults{};
};

/// Counts of frames. Each frame counts at the moment when it is sent.
struct CableCounts {
    std::uint64_t frames = 0;  // sent, with any fate
    std::uint64_t bytes = 0;
    std::uint64_t resent = 0;      // of the frames: retransmissions
    std::uint64_t lost = 0;        // by the fault plan
    std::uint64_t overflowed = 0;  // lost because the queue was full
    std::uint64_t cut = 0;         // lost because the cable was cut
    std::uint64_t damaged = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t held = 0;
    std::uint64_t marked = 0;  // by the fault plan or the queue

    CableCounts& operator+=(const CableCounts& other);
    friend bool operator==(const CableCounts&, const CableCounts&) = default;
};

/// Further properties of a frame that is sent without the lane.
struct Journey {
    Duration detour{};    // further time in flight
    bool resent = false;  // for the trace
};

/// A regular value: a copy behaves the same from then on. If the sender claimed room before the
/// copy, it must claim again in the copy.
class Cable {
public:
    Cable(const CableConfig& config, std::uint64_t seed, std::uint16_t from, std::uint16_t to);

    // The sender's side, a Lane.
    /// Sets the time for a claim; only a cable with one_at_a_time uses it. Forgets a claim that was
    /// refused because the frame before had not left.
    void look(Instant now) {
        now_ = now;
        waits_to_leave_ = false;
    }
    LaneCapabilities capabilities() const {
        return {.frame_max = config_.frame_max,
                .carries_intact = !config_.flip_bits,
                .prefers_equal_sizes = config_.prefers_equal_sizes};
    }
    TxFrame* claim();
    void commit();
    /// All committed frames leave now. With one_at_a_time, they have left already.
    void flush(Instant now) {
        room_since_ = never;
        if (!committed_.empty()) depart_all(now);
    }

    /// Sends one whole frame without the lane, for switches that have their own queues.
    void send(Instant now, ConstBytes bytes, Journey journey = {});

    // The receiver's side.
    Instant next_arrival() const { return flight_.next_arrival(); }
    /// The frame that arrives next and is still in flight; nullptr: none.
    const Flight::Frame* front() const {
        return flight_.front() == Flight::none ? nullptr : &flight_.frame(flight_.front());
    }
    /// The next frame, if it has arrived; valid until the next take.
    std::optional<RxFrame> take(Instant now) {
        if (flight_.next_arrival() > now) return std::nullopt;
        return take_next(now);
    }

    /// The time at which a lane that refused a claim has room again. `never`: no claim was refused,
    /// the time is not known yet, or the sender has flushed or looked since.
    Instant room_since() const { return waits_to_leave_ ? free_at_ : room_since_; }

    /// While the cable is cut, each frame that is sent is lost, and the fault plan does not see it.
    /// Frames in flight arrive.
    void cut() { cut_ = true; }
    void mend() { cut_ = false; }

    /// Records each frame that is sent from now on, with its fate. A copy of the cable records to
    /// the same trace.
    void record(Trace* trace) { trace_ = trace; }
    void describe_with(Describe describe) { describe_ = describe; }

    FaultPlan& faults() { return plan_; }
    const FaultPlan& faults() const { return plan_; }
    const CableCounts& counts() const { return counts_; }
    std::size_t in_flight() const { return flight_.size(); }
    /// Bytes that wait for the line, with the rest of the frame that is on it.
    double queued(Instant now) const;

private:
    RxFrame take_next(Instant now);
    void depart(Instant now, Flight::Slot slot, Duration detour);
    void depart_all(Instant now);
    Fate decide(Instant now, const Flight::Frame& frame);
    bool queue_takes(Instant now, std::size_t bytes) const;
    bool queue_marks(Instant now) const;
    void count(const Fate& fate);
    Flight::Slot copy_of(Flight::Slot slot);
    void fly(Flight::Slot slot, Instant arrival, std::uint32_t held_behind);
    Duration time_on_cable(std::size_t bytes);

    CableConfig config_;
    std::uint16_t from_;
    std::uint16_t to_;
    FaultPlan plan_;
    Random jitter_;
    Trace* trace_ = nullptr;
    Describe describe_ = describe_nothing;
    bool cut_ = false;

    Flight flight_;
    HoldBack<Flight::Slot> held_;  // these are in flight too, with their latest arrival
    std::vector<Flight::Slot> committed_;
    TxFrame lent_frame_;
    Flight::Slot claimed_ = Flight::none;
    Flight::Slot taken_ = Flight::none;
    Instant free_at_;  // when the last frame has left
    std::size_t timed_bytes_ = 0;
    Duration timed_;  // of timed_bytes_; most frames are as long as the one before
    Instant now_;
    bool refused_ = false;         // a claim, because too many frames are in flight
    bool waits_to_leave_ = false;  // a claim was refused: the frame before has not left
    Instant room_since_ = never;
    CableCounts counts_;
};

static_assert(Lane<Cable>);

}  // namespace wireproof::sim
