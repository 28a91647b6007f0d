// Reads the bytes of a fuzzer. After the last byte it reads zeros, so no input is too short.
#pragma once

#include <algorithm>

#include "wireproof/base/bytes.hpp"

namespace wireproof::fuzz {

class Input {
public:
    Input(const std::uint8_t* data, std::size_t size)
        : left_(std::as_bytes(std::span(data, size))) {}

    bool empty() const { return left_.empty(); }

    std::uint8_t byte() {
        const ConstBytes one = bytes(1);
        return one.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(one[0]);
    }
    std::uint16_t pair() { return static_cast<std::uint16_t>(byte() | byte() << 8); }

    /// At most `count` bytes: as many as are left.
    ConstBytes bytes(std::size_t count) {
        const ConstBytes taken = left_.first(std::min(count, left_.size()));
        left_ = left_.subspan(taken.size());
        return taken;
    }

private:
    ConstBytes left_;
};

/// Reads each byte, so the address sanitizer checks the access.
inline void touch(ConstBytes bytes) {
    unsigned sum = 0;
    for (const std::byte byte : bytes) sum += std::to_integer<unsigned>(byte);
    asm volatile("" : : "r"(sum));  // keeps the reads
}

}  // namespace wireproof::fuzz
