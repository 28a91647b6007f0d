// The checks of flits. PCI Express and CXL: 8 bytes, the remainder of a Reed-Solomon code over
// bytes (field polynomial 12B, generator (x + a)(x + a^2) ... (x + a^8), a = 02). The register
// begins with zeros, and the result is not inverted. Any 8 wrong bytes in 250 are found. A half of
// a flit of CXL: 6 bytes of the same kind, with roots up to a^6. UCIe: 2 bytes, polynomial 8005.
#pragma once

#include <array>
#include <cstdint>

#include "wireproof/base/bytes.hpp"

namespace wireproof::flit {

/// Which byte enters the register first. The sources do not agree.
enum class CrcOrder : std::uint8_t { last_byte_first, first_byte_first };

/// The 8 bytes of the check, the first one highest: store_be order. `data` has any length.
std::uint64_t flit_crc(ConstBytes data, CrcOrder order);

/// The same, byte by byte. Tests compare it with the fast way.
std::uint64_t flit_crc_bytewise(ConstBytes data, CrcOrder order);

inline constexpr std::size_t half_crc_size = 6;

/// The check of a half of a flit, up to 130 bytes, as of 130 bytes that end with zeros. In the
/// order of the flit.
std::array<std::byte, half_crc_size> half_crc(ConstBytes data, CrcOrder order);

/// The check of up to 128 bytes, as of 128 bytes that end with zeros. last_byte_first: the highest
/// bit of byte 127 enters first. first_byte_first: the highest bit of byte 0.
std::uint16_t ucie_crc(ConstBytes data, CrcOrder order);

}  // namespace wireproof::flit
