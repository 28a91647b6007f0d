// Bits for the positions [base, base + size) of a stream; base only grows. They say, for example,
// which packets of a window have arrived.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "wireproof/core/fingerprint.hpp"

namespace wireproof::am {

class BitWindow {
public:
    explicit BitWindow(std::uint32_t size)
        : size_(size), mask_(std::bit_ceil(std::uint64_t{size}) - 1), words_(mask_ / 64 + 1) {}

    bool test(std::uint64_t position) const { return (word(position) >> (position % 64) & 1) != 0; }
    void set(std::uint64_t position) { word(position) |= bit(position); }

    void clear(std::uint64_t position) { word(position) &= ~bit(position); }
    void clear(std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t at = first; at < end; ++at) clear(at);
    }

    void clear_all() { std::fill(words_.begin(), words_.end(), 0); }

    void fingerprint(std::uint64_t base, Fingerprint& sink) const {
        for (std::uint64_t i = 0; i < size_; ++i) sink.add(test(base + i));
    }

private:
    static std::uint64_t bit(std::uint64_t position) { return std::uint64_t{1} << position % 64; }
    std::uint64_t& word(std::uint64_t position) { return words_[(position & mask_) / 64]; }
    std::uint64_t word(std::uint64_t position) const { return words_[(position & mask_) / 64]; }

    std::uint32_t size_;
    std::uint64_t mask_;  // the size, rounded up to a power of two, less one
    std::vector<std::uint64_t> words_;
};

}  // namespace wireproof::am
