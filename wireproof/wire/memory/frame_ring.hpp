// Frames on their way from one end to the other, copied into slots that the constructor allocates.
// A slot stays in use until the receiver asks for the next frame, because receivers read it in
// place.
#pragma once

#include <optional>
#include <vector>

#include "wireproof/core/frame.hpp"

namespace wireproof {

//       first_
//         │ lent_ │   visible_   │   pending_    │ room
//         └───────┴──────────────┴───────────────┴──────
class FrameRing {
public:
    FrameRing(std::size_t capacity, std::size_t frame_max)
        : frame_max_(frame_max), lengths_(capacity), bytes_(capacity * frame_max) {
        WIREPROOF_CHECK(capacity > 0 && frame_max > 0);
    }

    bool full() const { return lent_ + visible_ + pending_ == lengths_.size(); }
    bool has_frame() const { return visible_ > 0; }

    /// Copies the frame; next() does not see it before publish().
    void push(const TxFrame& frame) {
        WIREPROOF_CHECK(!full());
        const std::size_t slot = wrapped(first_ + lent_ + visible_ + pending_);
        lengths_[slot] = frame.gather(slot_bytes(slot)).size();
        ++pending_;
    }

    void publish() {
        visible_ += pending_;
        pending_ = 0;
    }

    /// Lends the oldest frame and takes back the one lent before.
    std::optional<ConstBytes> next() {
        first_ = wrapped(first_ + lent_);
        lent_ = 0;
        if (visible_ == 0) return std::nullopt;
        --visible_;
        lent_ = 1;
        return slot_bytes(first_).first(lengths_[first_]);
    }

private:
    std::size_t wrapped(std::size_t slot) const {
        return slot < lengths_.size() ? slot : slot - lengths_.size();  // % is slow
    }
    Bytes slot_bytes(std::size_t slot) {
        return Bytes(bytes_).subspan(slot * frame_max_, frame_max_);
    }

    std::size_t frame_max_;
    std::size_t first_ = 0;
    std::size_t lent_ = 0;  // 0 or 1
    std::size_t visible_ = 0;
    std::size_t pending_ = 0;
    std::vector<std::size_t> lengths_;
    std::vector<std::byte> bytes_;
};

}  // namespace wireproof
