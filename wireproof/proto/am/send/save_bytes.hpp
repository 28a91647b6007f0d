// The arguments of unacknowledged messages, in a ring of bytes. They are freed in the order in
// which they were saved. An empty ring starts again at its front, so that light traffic uses little
// memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/check.hpp"
#include "wireproof/base/lazy_bytes.hpp"

namespace wireproof::am {

class SaveBytes {
public:
    /// Where a copy is, and the mark that frees it and all copies before it.
    struct Place {
        std::uint32_t at = 0;
        std::uint32_t size = 0;
        std::uint64_t mark = 0;
    };

    explicit SaveBytes(std::size_t capacity) : bytes_(capacity) {
        WIREPROOF_CHECK(capacity <= std::numeric_limits<std::uint32_t>::max());
    }

    /// Reserves `size` bytes in one piece. The caller writes them now. False: there is no room now.
    [[gnu::always_inline]] bool take(std::size_t size, Place& place) {
        if (filled_ == freed_) {
            clear();
            if (size > bytes_.size()) return false;
        } else if (!make_way(size)) {
            return false;
        }
        place.at = static_cast<std::uint32_t>(at_);
        place.size = static_cast<std::uint32_t>(size);
        at_ += size;
        filled_ += size;
        place.mark = filled_;
        return true;
    }

    /// Whether this many bytes fit now.
    bool takes(std::size_t size) const {
        if (filled_ == freed_) return size <= bytes_.size();
        const bool wraps = size > bytes_.size() - at_;
        const std::uint64_t begin = wraps ? filled_ + (bytes_.size() - at_) : filled_;
        return begin + size - freed_ <= bytes_.size();
    }

    /// The same in fewer steps. It may say false although they fit.
    bool takes_with_ease(std::size_t size) const {
        return 2 * size <= bytes_.size() - static_cast<std::size_t>(filled_ - freed_);
    }

    /// Frees this copy and all copies before it. An empty copy frees nothing: its mark may belong
    /// to an earlier round of the ring.
    void free_up_to(const Place& place) {
        if (place.size > 0) freed_ = place.mark;
    }
    void clear() { filled_ = freed_ = at_ = 0; }

    /// The bytes that take() reserved.
    Bytes room(const Place& place) { return bytes_.bytes().subspan(place.at, place.size); }
    ConstBytes view(const Place& place) const { return view(place.at, place.size); }
    ConstBytes view(std::size_t at, std::size_t size) const {
        return bytes_.bytes().subspan(at, size);
    }

private:
    /// Moves behind the last copy, or to the front if the end of the ring is too short. False:
    /// there is no room, and nothing has changed.
    bool make_way(std::size_t size) {
        const std::size_t capacity = bytes_.size();
        const bool wraps = size > capacity - at_;
        const std::uint64_t begin = wraps ? filled_ + (capacity - at_) : filled_;
        if (begin + size - freed_ > capacity) return false;
        filled_ = begin;
        if (wraps) at_ = 0;
        return true;
    }

    LazyBytes bytes_;
    std::uint64_t filled_ = 0;  // counted without wrapping
    std::uint64_t freed_ = 0;
    std::size_t at_ = 0;  // the place of filled_ in the ring
};

}  // namespace wireproof::am
