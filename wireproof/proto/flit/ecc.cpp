#include "wireproof/proto/flit/ecc.hpp"

#include "wireproof/proto/flit/galois.hpp"

namespace wireproof::flit {
namespace {

using EccField = Galois<0x11D>;

constexpr std::size_t groups = 3;
constexpr std::size_t rows = 84;  // of group 0; the others have no byte in the last one

// The bytes of the three groups side by side, group g in bits 8g to 8g + 7.
struct Sums {
    std::uint32_t check = 0;
    std::uint32_t parity = 0;
};

// Each of the three bytes times 2.
std::uint32_t doubled(std::uint32_t three) {
    return (three & 0x7F7F7F) << 1 ^ (three >> 7 & 0x010101) * 0x1D;
}

std::uint32_t three_bytes(const std::byte* from) {
    return std::to_integer<std::uint32_t>(from[0]) | std::to_integer<std::uint32_t>(from[1]) << 8 |
           std::to_integer<std::uint32_t>(from[2]) << 16;
}

// Row r counts with the factor 2^(84-r) in the check.
Sums sums_of(const std::byte* data) {
    Sums sums;
    for (std::size_t row = 0; row + 1 < rows; ++row) {
        const std::uint32_t three = three_bytes(data + groups * row);
        sums.check = doubled(sums.check) ^ three;
        sums.parity ^= three;
    }
    const auto last = std::to_integer<std::uint32_t>(data[groups * (rows - 1)]);
    sums.check = doubled(doubled(sums.check) ^ last);
    sums.parity ^= last;
    return sums;
}

// The place of a group's byte among three bytes from 250 or 253 on.
constexpr std::size_t slot_of(std::size_t group) {
    return (group + 2) % 3;
}

std::uint8_t part(std::uint32_t three, std::size_t group) {
    return static_cast<std::uint8_t>(three >> (8 * group));
}

}  // namespace

// FLIT-1
std::array<std::byte, ecc_size> flit_ecc(std::span<const std::byte, ecc_covers> data) {
    const Sums sums = sums_of(data.data());
    std::array<std::byte, ecc_size> ecc;
    for (std::size_t group = 0; group < groups; ++group) {
        ecc[slot_of(group)] = static_cast<std::byte>(part(sums.check, group));
        ecc[groups + slot_of(group)] = static_cast<std::byte>(part(sums.parity, group));
    }
    return ecc;
}

EccFinding ecc_find(std::span<const std::byte, ecc_covers + ecc_size> flit) {
    const Sums sums = sums_of(flit.data());
    EccFinding found;
    for (std::size_t group = 0; group < groups; ++group) {
        const std::byte* const stored = flit.data() + ecc_covers + slot_of(group);
        const auto check =
            static_cast<std::uint8_t>(part(sums.check, group) ^ std::to_integer<unsigned>(*stored));
        const auto parity = static_cast<std::uint8_t>(part(sums.parity, group) ^
                                                      std::to_integer<unsigned>(stored[groups]));
        if (check == 0 && parity == 0) continue;
        if (found.result == EccResult::clean) found.result = EccResult::corrected;
        if (check == 0 || parity == 0) continue;  // a byte of the ECC itself is wrong
        const std::size_t exponent =
            (std::size_t{EccField::log(check)} + 255 - EccField::log(parity)) % 255;
        const std::size_t place = groups * (rows - exponent) + group;
        if (exponent < 1 || exponent > rows || place >= ecc_covers) {
            found.result = EccResult::uncorrectable;
            return found;
        }
        found.place[group] = place;
        found.error[group] = static_cast<std::byte>(parity);
    }
    return found;
}

}  // namespace wireproof::flit
