// Cyclic redundancy checks of 16 and 32 bits with reflected polynomials, register and result
// inverted, fed in pieces. Long pieces are folded by carry-less multiplication where the processor
// has it, short ones go through slice-by-8 tables (CRC-32C: through its own instruction); all ways
// give the same. bench/crc_rate has the figures.
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
    /// The same, and copies the piece to `to`, which it does not overlap, in one pass.
    void add_copying(ConstBytes piece, std::byte* to);
    Word value() const { return static_cast<Word>(~state_); }

    /// Of one whole piece.
    static Word of(ConstBytes bytes) {
        Crc crc;
        crc.add(bytes);
        return crc.value();
    }
    /// The definition, a bit at a time; tests hold the fast ways against it.
    static Word bitwise(ConstBytes bytes);
    /// Tables, whatever the processor has.
    static Word by_tables(ConstBytes bytes);
    /// Folded in blocks of 16, 32 or 64 bytes, of which there must be four, by a processor that has
    /// products of that size; nothing otherwise.
    static std::optional<Word> by_folding(ConstBytes bytes, std::size_t block);

private:
    Word state_ = static_cast<Word>(~Word{0});
};

/// Castagnoli: iSCSI, and this library's own packets.
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
