// Big-endian fields of any width at constant offsets. InfiniBand has many fields of three bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wireproof::proto::ib {

template <std::size_t Offset, std::size_t Width, std::size_t Extent>
constexpr std::uint64_t load_be_at(std::span<const std::byte, Extent> from) {
    const auto field = from.template subspan<Offset, Width>();
    std::uint64_t value = 0;
    for (const std::byte byte : field) value = value << 8 | std::to_integer<std::uint64_t>(byte);
    return value;
}

/// Drops the high bits of a value that does not fit.
template <std::size_t Offset, std::size_t Width, std::size_t Extent>
constexpr void store_be_at(std::span<std::byte, Extent> to, std::uint64_t value) {
    const auto field = to.template subspan<Offset, Width>();
    for (std::size_t i = Width; i-- > 0; value >>= 8) field[i] = static_cast<std::byte>(value);
}

}  // namespace wireproof::proto::ib
