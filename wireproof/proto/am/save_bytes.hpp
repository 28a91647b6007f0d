// The arguments of unacknowledged messages: a ring of bytes freed in the order it was filled.
// Emptied, it starts again at its front, so that light traffic stays in a few cache lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/base/bytes.hpp"

namespace wireproof::am {

class SaveBytes {
public:
    /// Where a copy lies, and the mark that frees it and all before it.
    struct Place {
        std::size_t at = 0;
        std::size_t size = 0;
        std::uint64_t mark = 0;
    };

    explicit SaveBytes(std::size_t capacity) : bytes_(capacity) {}

    /// Copies `data` in one piece; nothing when it does not fit now.
    std::optional<Place> save(ConstBytes data) {
        if (filled_ == freed_) filled_ = freed_ = 0;
        const std::uint64_t capacity = bytes_.size();
        std::uint64_t begin = filled_;
        if (begin % capacity + data.size() > capacity) begin += capacity - begin % capacity;
        if (begin + data.size() - freed_ > capacity) return std::nullopt;
        filled_ = begin + data.size();
        const auto at = static_cast<std::size_t>(begin % capacity);
        std::copy(data.begin(), data.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at));
        return Place{at, data.size(), filled_};
    }

    /// Frees it and all before it. What has no bytes holds none: its mark may be of a round of the
    /// ring that is over.
    void free_up_to(const Place& place) {
        if (place.size > 0) freed_ = place.mark;
    }
    void clear() { filled_ = freed_ = 0; }

    ConstBytes view(const Place& place) const {
        return ConstBytes(bytes_).subspan(place.at, place.size);
    }

private:
    std::vector<std::byte> bytes_;
    std::uint64_t filled_ = 0;  // counted without wrapping
    std::uint64_t freed_ = 0;
};

}  // namespace wireproof::am
