// Cyclic redundancy checks of 16 and 32 bits with reflected polynomials. Register and result are
// inverted. The caller may pass the bytes in several pieces. Long pieces are folded by carry-less
// multiplication if the processor has it. Short pieces go through slice-by-8 tables, or for CRC-32C
// through the processor's own instruction. All ways give the same result. The program
// bench/crc_rate measures them.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "wireproof/base/bytes.hpp"

namespace wireproof {

/// `polynomial` without its highest term, lowest term first (reflected).
template <std::unsigned_integral Word, Word polynomial>
class Crc {
public:
    void add(ConstBytes piece);
    /// The same, and copies the piece to `to`, which must not overlap it. If the processor has wide
    /// blocks, one pass does both.
    void add_copying(ConstBytes piece, std::byte* to);
    Word value() const { return static_cast<Word>(~state_); }

    /// The CRC of one whole piece.
    static Word of(ConstBytes bytes) {
        Crc crc;
        crc.add(bytes);
        return crc.value();
    }
    /// The definition, bit by bit. Tests compare the fast ways with it.
    static Word bitwise(ConstBytes bytes);
    /// Uses the tables, even if the processor has a faster way.
    static Word by_tables(ConstBytes bytes);
    /// Folds in blocks of `block` bytes: 16, 32 or 64. `bytes` must have at least four blocks, and
    /// the processor must have a multiplication of that width. Otherwise the result is empty.
    static std::optional<Word> by_folding(ConstBytes bytes, std::size_t block);

private:
    Word state_ = static_cast<Word>(~Word{0});
};

/// Castagnoli, as in iSCSI. This project's own packets use it.
using Crc32c = Crc<std::uint32_t, 0x82F63B78>;
/// IEEE 802.3, 0x04C11DB7: zlib, the LCRC and ECRC of PCI Express, the ICRC of InfiniBand.
using Crc32 = Crc<std::uint32_t, 0xEDB88320>;
/// x^16 + x^12 + x^3 + x + 1, 0x100B: DLLPs of PCI Express, VCRC of InfiniBand, LCRC of HIPPI-6400.
using Crc16Iba = Crc<std::uint16_t, 0xD008>;
/// x^16 + x^12 + x^5 + 1, 0x1021: ECRC of HIPPI-6400.
using Crc16Ccitt = Crc<std::uint16_t, 0x8408>;

extern template class Crc<std::uint32_t, 0x82F63B78>;
extern template class Crc<std::uint32_t, 0xEDB88320>;
extern template class Crc<std::uint16_t, 0xD008>;
extern template class Crc<std::uint16_t, 0x8408>;

}  // namespace wireproof
