// The frames in flight on a cable, in order of arrival. It is a linked list through a pool of
// buffers, not an event queue. Almost every frame arrives after all earlier ones; then enter() and
// leave() cost the same for any number of frames. The pool grows to the largest number of frames
// that was ever in flight, and does not shrink.
#pragma once

#include <cstdint>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/core/frame.hpp"

namespace wireproof::sim {

/// A regular value. Buffers keep their address while frames come and go.
class Flight {
public:
    using Slot = std::uint32_t;
    static constexpr Slot none = 0xFFFFFFFF;

    struct Frame {
        std::vector<std::byte> buffer;
        std::size_t size = 0;     // bytes of the buffer
        ConstBytes lent{};        // payload by reference, if any
        std::size_t lent_at = 0;  // its place in the frame
        Instant arrival;
        Integrity integrity = Integrity::intact;
        std::size_t intact_front = 0;  // see RxFrame
        bool resent = false;
        bool marked = false;  // as by a router (ECN)

        ConstBytes bytes() const { return ConstBytes(buffer).first(size); }
        std::size_t length() const { return size + lent.size(); }

    private:
        friend class Flight;
        Slot before = none;
        Slot after = none;
    };

    explicit Flight(std::size_t frame_max) : frame_max_(frame_max) {}

    /// Returns a slot that is not in flight. The caller gives it back with give_back.
    Slot acquire();
    void give_back(Slot slot) { free_.push_back(slot); }
    Frame& frame(Slot slot) { return frames_[slot]; }
    const Frame& frame(Slot slot) const { return frames_[slot]; }

    /// Inserts the slot after all frames that do not arrive later.
    void enter(Slot slot, Instant arrival);
    /// The same for a slot that is in flight already.
    void move(Slot slot, Instant arrival) {
        unlink(slot);
        enter(slot, arrival);
    }

    /// The slot that arrives next, or `none`.
    Slot front() const { return first_; }
    Instant next_arrival() const { return next_arrival_; }
    /// Takes the front out of flight. The slot then belongs to the caller.
    Slot leave() {
        const Slot slot = first_;
        unlink(slot);
        return slot;
    }

    std::size_t size() const { return size_; }

private:
    void unlink(Slot slot);

    std::size_t frame_max_;
    std::vector<Frame> frames_;
    std::vector<Slot> free_;
    Slot first_ = none;
    Slot last_ = none;
    std::size_t size_ = 0;
    Instant next_arrival_ = never;
};

}  // namespace wireproof::sim
