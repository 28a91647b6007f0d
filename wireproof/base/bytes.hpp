// Spans of bytes, and integers in them. A field is a span of fixed extent, so the compiler rejects
// a field of the wrong size. Code that gets a length from the network checks it before it makes
// such a span.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace wireproof {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

// g++ 12 does not turn the loops below into one load or one store.
constexpr bool is_one_move() {
    return std::endian::native == std::endian::little && !std::is_constant_evaluated();
}

/// The little-endian integer in `from`.
template <std::unsigned_integral T>
constexpr T load_le(std::span<const std::byte, sizeof(T)> from) {
    if (is_one_move()) {
        T value;
        std::memcpy(&value, from.data(), sizeof(T));
        return value;
    }
    std::uint64_t value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) {
        value = (value << 8) | std::to_integer<std::uint64_t>(from[i]);
    }
    return static_cast<T>(value);
}

template <std::unsigned_integral T>
constexpr void store_le(std::span<std::byte, sizeof(T)> to, T value) {
    if (is_one_move()) {
        std::memcpy(to.data(), &value, sizeof(T));
        return;
    }
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        to[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
}

/// The little-endian integer at a constant offset of a fixed-extent span.
template <std::unsigned_integral T, std::size_t Offset, std::size_t Extent>
constexpr T load_le_at(std::span<const std::byte, Extent> from) {
    return load_le<T>(from.template subspan<Offset, sizeof(T)>());
}

template <std::unsigned_integral T, std::size_t Offset, std::size_t Extent>
constexpr void store_le_at(std::span<std::byte, Extent> to, T value) {
    store_le<T>(to.template subspan<Offset, sizeof(T)>(), value);
}

/// For short copies: most messages have few bytes, and a call of memcpy would cost more than the
/// copy.
[[gnu::always_inline]] inline void copy_short(std::byte* to, const std::byte* from,
                                              std::size_t size) {
    if (size > 32) {
        std::memcpy(to, from, size);
    } else if (size > 16) {  // two copies that overlap
        std::array<std::byte, 16> first;
        std::array<std::byte, 16> last;
        std::memcpy(first.data(), from, 16);
        std::memcpy(last.data(), from + size - 16, 16);
        std::memcpy(to, first.data(), 16);
        std::memcpy(to + size - 16, last.data(), 16);
    } else if (size >= 8) {  // also two copies that overlap
        std::uint64_t first;
        std::uint64_t last;
        std::memcpy(&first, from, 8);
        std::memcpy(&last, from + size - 8, 8);
        std::memcpy(to, &first, 8);
        std::memcpy(to + size - 8, &last, 8);
    } else {
        for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
    }
}

/// The same for bytes that the caller wrote as words of 4 bytes just before, for example the
/// arguments of a message. A load of 8 bytes would have to wait until both stores are in the cache.
[[gnu::always_inline]] inline void copy_words(std::byte* to, const std::byte* from,
                                              std::size_t size) {
    if (size > 16 || size % 4 != 0) return copy_short(to, from, size);
    for (std::size_t i = 0; i < size; i += 4) {
        std::uint32_t word;
        std::memcpy(&word, from + i, 4);
        std::memcpy(to + i, &word, 4);
    }
}

}  // namespace wireproof
