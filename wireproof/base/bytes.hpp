// Spans of bytes, and integers in them. The fixed-extent spans let the compiler refuse a field that
// does not fit; what has a length from the network is checked before a fixed span is made of it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wireproof {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

/// The little-endian integer in `from`.
template <std::unsigned_integral T>
constexpr T load_le(std::span<const std::byte, sizeof(T)> from) {
    std::uint64_t value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) {
        value = (value << 8) | std::to_integer<std::uint64_t>(from[i]);
    }
    return static_cast<T>(value);
}

template <std::unsigned_integral T>
constexpr void store_le(std::span<std::byte, sizeof(T)> to, T value) {
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

}  // namespace wireproof
