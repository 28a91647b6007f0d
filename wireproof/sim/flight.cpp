// The list through the pool. enter() searches from the end, because most frames belong there.
#include "wireproof/sim/flight.hpp"

namespace wireproof::sim {

Flight::Slot Flight::acquire() {
    if (free_.empty()) {
        frames_.emplace_back().buffer.resize(frame_max_);
        // give_back then never allocates.
        free_.reserve(frames_.capacity());
        return static_cast<Slot>(frames_.size() - 1);
    }
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
}

void Flight::enter(Slot slot, Instant arrival) {
    Slot before = last_;
    while (before != none && frames_[before].arrival > arrival) before = frames_[before].before;
    const Slot after = before == none ? first_ : frames_[before].after;
    Frame& frame = frames_[slot];
    frame.arrival = arrival;
    frame.before = before;
    frame.after = after;
    (before == none ? first_ : frames_[before].after) = slot;
    (after == none ? last_ : frames_[after].before) = slot;
    if (before == none) next_arrival_ = arrival;
    ++size_;
}

void Flight::unlink(Slot slot) {
    WIREPROOF_CHECK(size_ > 0);
    const Frame& frame = frames_[slot];
    (frame.before == none ? first_ : frames_[frame.before].after) = frame.after;
    (frame.after == none ? last_ : frames_[frame.after].before) = frame.before;
    next_arrival_ = first_ == none ? never : frames_[first_].arrival;
    --size_;
}

}  // namespace wireproof::sim
