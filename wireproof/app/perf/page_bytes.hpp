// Memory for measurements, as source and destination of copies.
#pragma once

#include <cstdint>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/random.hpp"

namespace wireproof::app {

/// Zeroed bytes that begin at the start of a page. The place of a copy within its page changes its
/// duration by a fifth, and the heap puts a vector at a different place each time.
class PageBytes {
public:
    PageBytes() = default;
    explicit PageBytes(std::size_t size) : room_(size + page), size_(size) {}

    Bytes bytes() {
        if (size_ == 0) return {};
        const auto at = reinterpret_cast<std::uintptr_t>(room_.data());
        return Bytes(room_).subspan((page - at % page) % page, size_);
    }

private:
    static constexpr std::size_t page = 4096;

    std::vector<std::byte> room_;
    std::size_t size_ = 0;
};

/// Fills `bytes` with random numbers from `seed`, eight bytes of each number.
inline void fill_random(Bytes bytes, std::uint64_t seed) {
    Random random(seed);
    while (bytes.size() >= sizeof(std::uint64_t)) {
        store_le(bytes.first<sizeof(std::uint64_t)>(), random.next());
        bytes = bytes.subspan(sizeof(std::uint64_t));
    }
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
}

}  // namespace wireproof::app
