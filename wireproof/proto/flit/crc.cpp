#include "wireproof/proto/flit/crc.hpp"

#include <array>

#include "wireproof/base/check.hpp"
#include "wireproof/proto/flit/galois.hpp"

namespace wireproof::flit {
namespace {

using CrcField = Galois<0x12B>;

constexpr std::size_t check_bytes = 8;

// The coefficients of the generator with so many roots, without its highest term; that of the
// highest power comes first.
template <std::size_t roots>
constexpr std::uint64_t make_generator() {
    std::array<std::uint8_t, roots + 1> g{1};  // g[i]: coefficient of x^i
    for (std::size_t root = 1; root <= roots; ++root) {
        for (std::size_t i = root; i > 0; --i) {
            g[i] =
                static_cast<std::uint8_t>(g[i - 1] ^ CrcField::times(g[i], CrcField::power(root)));
        }
        g[0] = CrcField::times(g[0], CrcField::power(root));
    }
    std::uint64_t packed = 0;
    for (std::size_t i = roots; i-- > 0;) packed = packed << 8 | g[i];
    return packed;
}
constexpr std::uint64_t generator = make_generator<check_bytes>();
static_assert(generator == 0xD568FED533414D69);
constexpr std::uint64_t half_generator = make_generator<half_crc_size>();
static_assert(half_generator == 0x7E47AB1AA832);

constexpr std::uint64_t times(std::uint64_t coefficients, std::uint8_t factor) {
    std::uint64_t product = 0;
    for (unsigned shift = 64; shift > 0; shift -= 8) {
        const auto g = static_cast<std::uint8_t>(coefficients >> (shift - 8));
        product = product << 8 | CrcField::times(g, factor);
    }
    return product;
}

// steps[k][b]: what byte b contributes to the register when k more bytes follow it.
using Steps = std::array<std::array<std::uint64_t, 256>, check_bytes>;

constexpr Steps make_steps() {
    Steps steps{};
    for (std::size_t b = 0; b < 256; ++b) {
        steps[0][b] = times(generator, static_cast<std::uint8_t>(b));
    }
    for (std::size_t k = 1; k < check_bytes; ++k) {
        for (std::size_t b = 0; b < 256; ++b) {
            const std::uint64_t before = steps[k - 1][b];
            steps[k][b] = before << 8 ^ steps[0][before >> 56];
        }
    }
    return steps;
}
constexpr Steps steps = make_steps();

std::uint64_t feed(std::uint64_t state, std::byte byte) {
    return state << 8 ^ steps[0][(state >> 56) ^ std::to_integer<std::uint64_t>(byte)];
}

// Eight bytes at once, the one that enters first in the highest place.
std::uint64_t feed(std::uint64_t state, std::uint64_t bytes) {
    const std::uint64_t in = state ^ bytes;
    std::uint64_t out = 0;
    for (std::size_t k = 0; k < check_bytes; ++k) out ^= steps[k][in >> (8 * k) & 0xFF];
    return out;
}

std::uint64_t turned(std::uint64_t value) {
    return __builtin_bswap64(value);
}

constexpr std::array<std::uint64_t, 256> make_half_steps() {
    std::array<std::uint64_t, 256> table{};
    for (std::size_t b = 0; b < 256; ++b) {
        table[b] = times(half_generator, static_cast<std::uint8_t>(b));
    }
    return table;
}
constexpr std::array<std::uint64_t, 256> half_steps = make_half_steps();

std::uint64_t feed_half(std::uint64_t state, std::byte byte) {
    constexpr std::uint64_t mask = (std::uint64_t{1} << (8 * half_crc_size)) - 1;
    return (state << 8 & mask) ^ half_steps[(state >> 40) ^ std::to_integer<std::uint64_t>(byte)];
}

constexpr std::uint16_t ucie_polynomial = 0x8005;

constexpr std::array<std::uint16_t, 256> make_ucie_table() {
    std::array<std::uint16_t, 256> table{};
    for (std::size_t b = 0; b < 256; ++b) {
        auto state = static_cast<std::uint32_t>(b << 8);
        for (int bit = 0; bit < 8; ++bit) {
            state = (state & 0x8000) != 0 ? state << 1 ^ ucie_polynomial : state << 1;
        }
        table[b] = static_cast<std::uint16_t>(state);
    }
    return table;
}
constexpr std::array<std::uint16_t, 256> ucie_table = make_ucie_table();

std::uint16_t feed_ucie(std::uint16_t state, std::byte byte) {
    const std::size_t at = static_cast<std::size_t>(state >> 8) ^ std::to_integer<unsigned>(byte);
    return static_cast<std::uint16_t>((state << 8) ^ ucie_table[at]);
}

}  // namespace

// FLIT-1. Zeros that enter first change nothing, so the bytes before a multiple of 8 go in singly.
std::uint64_t flit_crc(ConstBytes data, CrcOrder order) {
    std::uint64_t state = 0;
    if (order == CrcOrder::last_byte_first) {
        for (; data.size() % 8 != 0; data = data.first(data.size() - 1)) {
            state = feed(state, data.back());
        }
        for (; !data.empty(); data = data.first(data.size() - 8)) {
            state = feed(state, load_le<std::uint64_t>(data.last<8>()));
        }
        return state;
    }
    for (; data.size() % 8 != 0; data = data.subspan(1)) state = feed(state, data.front());
    for (; !data.empty(); data = data.subspan(8)) {
        state = feed(state, turned(load_le<std::uint64_t>(data.first<8>())));
    }
    return state;
}

std::uint64_t flit_crc_bytewise(ConstBytes data, CrcOrder order) {
    std::uint64_t state = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
        const std::size_t at = order == CrcOrder::last_byte_first ? data.size() - 1 - i : i;
        const auto in =
            static_cast<std::uint8_t>((state >> 56) ^ std::to_integer<unsigned>(data[at]));
        state = state << 8 ^ times(generator, in);
    }
    return state;
}

// CXL-29
std::array<std::byte, half_crc_size> half_crc(ConstBytes data, CrcOrder order) {
    constexpr std::size_t covered = 130;
    WIREPROOF_CHECK(data.size() <= covered);
    std::uint64_t state = 0;
    if (order == CrcOrder::last_byte_first) {
        for (std::size_t i = data.size(); i-- > 0;) state = feed_half(state, data[i]);
    } else {
        for (const std::byte byte : data) state = feed_half(state, byte);
        for (std::size_t i = data.size(); i < covered; ++i) state = feed_half(state, std::byte{0});
    }
    std::array<std::byte, half_crc_size> crc;
    for (std::size_t i = 0; i < crc.size(); ++i) {
        crc[i] = static_cast<std::byte>(state >> (8 * (crc.size() - 1 - i)));
    }
    return crc;
}

// UCIE-8
std::uint16_t ucie_crc(ConstBytes data, CrcOrder order) {
    constexpr std::size_t covered = 128;
    WIREPROOF_CHECK(data.size() <= covered);
    std::uint16_t state = 0;
    if (order == CrcOrder::last_byte_first) {
        for (std::size_t i = data.size(); i-- > 0;) state = feed_ucie(state, data[i]);
        return state;
    }
    for (const std::byte byte : data) state = feed_ucie(state, byte);
    for (std::size_t i = data.size(); i < covered; ++i) state = feed_ucie(state, std::byte{0});
    return state;
}

}  // namespace wireproof::flit
