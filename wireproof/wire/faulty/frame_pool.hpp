// Copies of frames that must outlive the flush in which they were sent. Their number is fixed, and
// the constructor allocates their memory.
#pragma once

#include <vector>

#include "wireproof/core/frame.hpp"

namespace wireproof {

/// A copy in a FramePool. A small value; its holder must give it back.
struct KeptFrame {
    std::size_t slot = 0;
    std::size_t size = 0;
    bool resent = false;
    std::uint32_t copies = 1;  // how often it is still to be sent
};

class FramePool {
public:
    FramePool(std::size_t frames, std::size_t frame_max)
        : frame_max_(frame_max), bytes_(frames * frame_max) {
        free_.reserve(frames);
        for (std::size_t slot = frames; slot-- > 0;) free_.push_back(slot);
    }

    bool has_room() const { return !free_.empty(); }

    KeptFrame keep(const TxFrame& frame) {
        WIREPROOF_CHECK(has_room());
        KeptFrame kept{.slot = free_.back(), .size = frame.size(), .resent = frame.resent()};
        free_.pop_back();
        frame.gather(bytes(kept));
        return kept;
    }

    Bytes bytes(const KeptFrame& kept) {
        return Bytes(bytes_).subspan(kept.slot * frame_max_, kept.size);
    }

    void give_back(const KeptFrame& kept) { free_.push_back(kept.slot); }

private:
    std::size_t frame_max_;
    std::vector<std::size_t> free_;
    std::vector<std::byte> bytes_;
};

}  // namespace wireproof
