// The numbers of handlers that the tests of this folder use, and the address of the memory that
// they share.
#pragma once

#include <cstdint>

namespace wireproof::am::test {

inline constexpr std::uint16_t ask = 1;
inline constexpr std::uint16_t answer = 2;
inline constexpr std::uint16_t stored = 3;
inline constexpr std::uint16_t tell = 4;
inline constexpr std::uint16_t missing = 9;  // nobody registers it
inline constexpr std::uint64_t base = 0x1000;

}  // namespace wireproof::am::test
