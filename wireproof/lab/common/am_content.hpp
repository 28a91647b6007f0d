// The content of messages in a simulated world: bytes that are computed from a key. The receiver
// computes the same bytes and so detects any other content.
#pragma once

#include <cstdint>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/random.hpp"

namespace wireproof::lab {

class Content {
public:
    constexpr explicit Content(std::uint64_t key) : key_(key) {}

    void write(Bytes to) const {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] = at(i);
    }

    bool is(ConstBytes bytes) const {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            if (bytes[i] != at(i)) return false;
        }
        return true;
    }

private:
    constexpr std::byte at(std::size_t i) const {
        const std::uint64_t word = (key_ + i / 8) * 0x9E3779B97F4A7C15;
        return static_cast<std::byte>((word ^ (word >> 32)) >> (8 * (i % 8)));
    }

    std::uint64_t key_;
};

}  // namespace wireproof::lab
