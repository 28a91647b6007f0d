// The error correction of flits (FEC): 6 bytes over 250 bytes. Byte i belongs to group i mod 3, and
// each group has a check byte and a parity byte. In each group, one wrong byte is corrected; so up
// to three neighbours are. Two wrong bytes of one group are noticed in two of three cases, and
// otherwise a third byte is changed: the CRC finds that.
#pragma once

#include <array>
#include <cstdint>

#include "wireproof/base/bytes.hpp"

namespace wireproof::flit {

inline constexpr std::size_t ecc_covers = 250;
inline constexpr std::size_t ecc_size = 6;

/// check1, check2, check0, parity1, parity2, parity0.
std::array<std::byte, ecc_size> flit_ecc(std::span<const std::byte, ecc_covers> data);

enum class EccResult : std::uint8_t { clean, corrected, uncorrectable };

/// What decoding finds, without a change of the flit.
struct EccFinding {
    EccResult result = EccResult::clean;
    // Of each group: the wrong byte, if it is one of the 250, and what to add to it.
    std::array<std::size_t, 3> place{};
    std::array<std::byte, 3> error{};

    /// Corrects the 250 bytes.
    void apply(std::span<std::byte, ecc_covers> data) const {
        for (std::size_t group = 0; group < 3; ++group) data[place[group]] ^= error[group];
    }
};

EccFinding ecc_find(std::span<const std::byte, ecc_covers + ecc_size> flit);

}  // namespace wireproof::flit
