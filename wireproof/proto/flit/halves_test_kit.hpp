// For tests: flits of two halves whose ECC leads its reader astray.
#pragma once

#include <algorithm>
#include <array>

#include "wireproof/proto/flit/ecc.hpp"
#include "wireproof/proto/flit/wire_format.hpp"

namespace wireproof::flit {

/// The check bytes of the group of `place` tell of an error there that does not exist: the ECC is
/// that of a flit with another byte in this place, which is before the ECC.
inline void forge_an_error_at(std::span<std::byte, flit_max> flit, std::size_t place) {
    constexpr std::size_t ecc_at = 244;
    constexpr std::size_t behind_ecc = ecc_at + ecc_size;
    std::array<std::byte, ecc_covers> covered;
    const auto to = std::copy_n(flit.begin(), ecc_at, covered.begin());
    std::copy(flit.begin() + behind_ecc, flit.end(), to);
    covered[place] ^= std::byte{1};
    const auto ecc = flit_ecc(covered);
    std::copy(ecc.begin(), ecc.end(), flit.begin() + ecc_at);
}

}  // namespace wireproof::flit
