// One direction between two nodes: frames leave one after another at the cable's rate, fly for its
// latency, and meet its fault plan. A cable is also the lane its sender writes to. Time is whatever
// the callers say it is; there is no clock and no thread in a cable.
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
    Duration latency = Duration::microseconds(1);    // from the last byte's leaving to its arrival
    Duration jitter{};                               // up to this much more, uniform per frame
    // A frame held back arrives this much late at the latest, however few overtake it.
    Duration hold_limit = Duration::microseconds(100);
    // Bytes that may wait to leave, as in a switch's port: what comes beyond is lost. 0: any.
    std::size_t queue_max = 0;
    std::size_t in_flight_max = 4096;  // frames; the lane lends no room beyond
    // Off: the cable vouches for what it did not touch, and a damaged frame says that it is.
    // On: bits really flip, and nobody vouches for anything.
    bool flip_bits = false;
    // On: payload is carried by reference (RxFrame::lent), so nothing of it is copied. Whoever sent
    // it keeps it until no frame that shows it can be in flight. Not with flip_bits.
    bool lend_payload = false;
    // On: room is lent for one frame, once the one before has left: the sender decides at the last
    // moment what leaves next, as a link layer does.
    bool one_at_a_time = false;
    bool prefers_equal_sizes = false;  // LaneCapabilities'
    FaultRates faults{};
};

/// What happened to frames, each at the moment it was sent.
struct CableCounts {
    std::uint64_t frames = 0;  // sent, whatever became of them
    std::uint64_t bytes = 0;
    std::uint64_t resent = 0;      // of the frames: had left before in the same meaning
    std::uint64_t lost = 0;        // by the fault plan
    std::uint64_t overflowed = 0;  // lost because the queue was full
    std::uint64_t cut = 0;         // lost because the cable was cut
    std::uint64_t damaged = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t held = 0;

    CableCounts& operator+=(const CableCounts& other);
    friend bool operator==(const CableCounts&, const CableCounts&) = default;
};

/// What a frame sent without the lane brings along.
struct Journey {
    Duration detour{};    // further time in flight
    bool resent = false;  // for the trace
};

/// A regular value: a copy meets the same future. Room claimed before copying is claimed again in
/// the copy.
class Cable {
public:
    Cable(const CableConfig& config, std::uint64_t seed, std::uint16_t from, std::uint16_t to);

    // The sender's side, a Lane.
    /// What time it is for a claim; only a cable that carries one frame at a time asks. A refused
    /// claim is forgotten.
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
    /// What was committed leaves now. Where frames leave one at a time it has left already.
    void flush(Instant now) {
        room_since_ = never;
        if (!committed_.empty()) depart_all(now);
    }

    /// One whole frame without the lane, for switches that keep their own queues.
    void send(Instant now, ConstBytes bytes, Journey journey = {});

    // The receiver's side.
    Instant next_arrival() const { return flight_.next_arrival(); }
    /// The frame that arrives next, still in flight; nullptr: none.
    const Flight::Frame* front() const {
        return flight_.front() == Flight::none ? nullptr : &flight_.frame(flight_.front());
    }
    /// The next frame, if it has arrived; lent until the next take.
    std::optional<RxFrame> take(Instant now) {
        if (flight_.next_arrival() > now) return std::nullopt;
        return take_next(now);
    }

    /// When a lane that was full gets room again, or got it; `never` unless a claim was refused,
    /// and the sender has neither flushed nor looked again since.
    Instant room_since() const { return waits_to_leave_ ? free_at_ : room_since_; }

    /// While cut, whatever is sent is lost without meeting the fault plan; what flies arrives.
    void cut() { cut_ = true; }
    void mend() { cut_ = false; }

    /// What is sent from now on is recorded with its fate. A copy records to the same trace.
    void record(Trace* trace) { trace_ = trace; }
    void describe_with(Describe describe) { describe_ = describe; }

    FaultPlan& faults() { return plan_; }
    const FaultPlan& faults() const { return plan_; }
    const CableCounts& counts() const { return counts_; }
    std::size_t in_flight() const { return flight_.size(); }

private:
    RxFrame take_next(Instant now);
    void depart(Instant now, Flight::Slot slot, Duration detour);
    void depart_all(Instant now);
    Fate decide(Instant now, const Flight::Frame& frame);
    bool queue_takes(Instant now, std::size_t bytes) const;
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
    Instant free_at_;  // the last frame has left
    std::size_t timed_bytes_ = 0;
    Duration timed_;  // of so many bytes: most frames are as long as the one before
    Instant now_;
    bool refused_ = false;         // too many are in flight
    bool waits_to_leave_ = false;  // the one before has not left
    Instant room_since_ = never;
    CableCounts counts_;
};

static_assert(Lane<Cable>);

}  // namespace wireproof::sim
