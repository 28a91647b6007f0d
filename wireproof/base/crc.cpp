#include "wireproof/base/crc.hpp"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace wireproof {
namespace {

constexpr std::uint32_t polynomial = 0x82F63B78;

constexpr std::uint32_t one_bit(std::uint32_t crc) {
    return (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
}

// tables[k][b]: what byte b does to the register when k more bytes follow it.
constexpr auto make_tables() {
    std::array<std::array<std::uint32_t, 256>, 8> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = one_bit(crc);
        tables[0][byte] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
        }
    }
    return tables;
}

constexpr auto tables = make_tables();

std::uint64_t load_word(const std::byte* from) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

std::uint32_t add_by_tables(std::uint32_t crc, ConstBytes bytes) {
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
        const std::uint64_t word = load_word(at) ^ crc;
        crc = 0;
        for (std::size_t k = 0; k < 8; ++k) crc ^= tables[7 - k][(word >> (8 * k)) & 0xFF];
    }
    for (; left > 0; --left, ++at) {
        crc = (crc >> 8) ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xFF];
    }
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t add_by_instruction(std::uint32_t crc,
                                                                   ConstBytes bytes) {
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    std::uint64_t wide = crc;
    for (; left >= 8; left -= 8, at += 8) wide = _mm_crc32_u64(wide, load_word(at));
    crc = static_cast<std::uint32_t>(wide);
    for (; left > 0; --left, ++at) crc = _mm_crc32_u8(crc, std::to_integer<unsigned char>(*at));
    return crc;
}

const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

}  // namespace

void Crc32c::add(ConstBytes piece) {
#if defined(__x86_64__)
    if (has_instruction) {
        state_ = add_by_instruction(state_, piece);
        return;
    }
#endif
    state_ = add_by_tables(state_, piece);
}

std::uint32_t Crc32c::by_tables(ConstBytes bytes) {
    return ~add_by_tables(0xFFFFFFFF, bytes);
}

std::uint32_t Crc32c::bitwise(ConstBytes bytes) {
    std::uint32_t crc = 0xFFFFFFFF;
    for (const std::byte byte : bytes) {
        crc ^= std::to_integer<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = one_bit(crc);
    }
    return ~crc;
}

}  // namespace wireproof
