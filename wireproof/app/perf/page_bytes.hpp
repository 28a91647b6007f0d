// Memory to copy from and to, for who measures.
#pragma once

#include <cstdint>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/random.hpp"

namespace wireproof::cli {

/// Zeroed bytes that begin with a page: where a copy begins in its page changes what it takes by a
/// fifth, and the heap puts a vector now here, now there.
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

/// The bytes that `seed` stands for, eight of each random number.
inline void fill_random(Bytes bytes, std::uint64_t seed) {
    Random random(seed);
    while (bytes.size() >= sizeof(std::uint64_t)) {
        store_le(bytes.first<sizeof(std::uint64_t)>(), random.next());
        bytes = bytes.subspan(sizeof(std::uint64_t));
    }
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
}

}  // namespace wireproof::cli
