// The last events on a wire, as a bounded list. Failed tests, ladders and captures use it.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/instant.hpp"
#include "wireproof/base/ring.hpp"
#include "wireproof/core/engine.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/core/frame_info.hpp"

namespace wireproof {

/// `timer`: no frame; a timer of node `from` expired.
enum class Direction : std::uint8_t { sent, received, timer };

struct TraceEvent {
    Instant time;
    Direction direction = Direction::sent;
    std::uint16_t from = 0;  // node
    std::uint16_t to = 0;
    FrameInfo frame;
    bool resent = false;
    Fate fate;                         // of a sent frame
    std::optional<RxVerdict> verdict;  // of a received one
};

/// Keeps the newest `capacity` events, which may be none.
class Trace {
public:
    explicit Trace(std::size_t capacity) : events_(capacity) {}

    void record(const TraceEvent& event) {
        ++recorded_;
        if (events_.capacity() == 0) return;
        if (events_.full()) events_.pop();
        events_.push(event);
    }

    const Ring<TraceEvent>& events() const { return events_; }
    std::uint64_t recorded() const { return recorded_; }

private:
    Ring<TraceEvent> events_;
    std::uint64_t recorded_ = 0;
};

}  // namespace wireproof
