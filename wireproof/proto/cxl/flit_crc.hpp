// The CRC of a 68-byte flit: x^16 times the 64 data bytes modulo 1F053, bit 511 first. It begins
// with zero and is not inverted.
#pragma once

#include <cstdint>

#include "wireproof/base/bytes.hpp"

namespace wireproof::cxl {

inline constexpr std::size_t data_size = 64;  // bytes of a flit that the CRC covers

using FlitData = std::span<const std::byte, data_size>;

std::uint16_t flit_crc(FlitData data);

}  // namespace wireproof::cxl
