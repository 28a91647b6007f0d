// Arithmetic in a field of 256 elements, for the CRC and the ECC of flits. The compiler makes the
// tables.
#pragma once

#include <array>
#include <cstdint>

namespace wireproof::flit {

/// `polynomial` has degree 8, with its highest term, and 2 generates all elements except 0.
template <unsigned polynomial>
class Galois {
public:
    /// 2 to the power of `exponent`, which may be 0 to 508.
    static constexpr std::uint8_t power(std::size_t exponent) { return tables.powers[exponent]; }
    /// The exponent, 0 to 254, with which 2 gives `value`. The value must not be 0.
    static constexpr std::uint8_t log(std::uint8_t value) { return tables.logs[value]; }

    static constexpr std::uint8_t times(std::uint8_t a, std::uint8_t b) {
        if (a == 0 || b == 0) return 0;
        return power(std::size_t{log(a)} + log(b));
    }

private:
    struct Tables {
        std::array<std::uint8_t, 509> powers{};
        std::array<std::uint8_t, 256> logs{};
    };
    static constexpr Tables make() {
        Tables made;
        unsigned value = 1;
        for (std::size_t i = 0; i < 255; ++i) {
            made.powers[i] = static_cast<std::uint8_t>(value);
            if (i < 254) made.powers[i + 255] = static_cast<std::uint8_t>(value);
            made.logs[value] = static_cast<std::uint8_t>(i);
            value <<= 1;
            if (value > 255) value ^= polynomial;
        }
        return made;
    }
    static constexpr Tables tables = make();
};

}  // namespace wireproof::flit
