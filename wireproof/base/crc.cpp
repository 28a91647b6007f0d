#include "wireproof/base/crc.hpp"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wireproof {
namespace {

template <class Word>
constexpr Word one_bit(Word crc, Word polynomial) {
    return static_cast<Word>((crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0));
}

// tables[k][b]: what byte b does to the register when k more bytes follow it.
template <class Word, Word polynomial>
constexpr auto make_tables() {
    std::array<std::array<Word, 256>, 8> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        auto crc = static_cast<Word>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = one_bit(crc, polynomial);
        tables[0][byte] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const Word before = tables[k - 1][byte];
            tables[k][byte] = static_cast<Word>((before >> 8) ^ tables[0][before & 0xFF]);
        }
    }
    return tables;
}

template <class Word, Word polynomial>
constexpr auto tables = make_tables<Word, polynomial>();

std::uint64_t load_word(const std::byte* from) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

template <class Word, Word polynomial>
Word add_by_tables(Word crc, ConstBytes bytes) {
    constexpr auto& table = tables<Word, polynomial>;
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
        const std::uint64_t word = load_word(at) ^ crc;
        crc = 0;
        for (std::size_t k = 0; k < 8; ++k) crc ^= table[7 - k][(word >> (8 * k)) & 0xFF];
    }
    for (; left > 0; --left, ++at) {
        crc = static_cast<Word>((crc >> 8) ^
                                table[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xFF]);
    }
    return crc;
}

#if defined(__x86_64__)

// x^power modulo the polynomial, as a reflected number of 64 bits: x^0 is the highest bit.
template <class Word, Word polynomial>
constexpr std::uint64_t power_of_x(unsigned power) {
    constexpr unsigned width = 8 * sizeof(Word);
    auto remainder = static_cast<Word>(Word{1} << (width - 1));
    for (unsigned i = 0; i < power; ++i) remainder = one_bit(remainder, polynomial);
    return std::uint64_t{remainder} << (64 - width);
}

// The factors that move 128 bits `distance` bits towards the end of the message: one for the half
// that leads, one for the other. A carry-less product of reflected numbers has a factor x too many.
template <class Word, Word polynomial>
struct Fold {
    std::uint64_t leading;
    std::uint64_t trailing;
    constexpr explicit Fold(unsigned distance)
        : leading(power_of_x<Word, polynomial>(distance + 63)),
          trailing(power_of_x<Word, polynomial>(distance - 1)) {}
};

__attribute__((target("pclmul,sse2"))) inline __m128i folded(__m128i bits, __m128i factors,
                                                             __m128i next) {
    const __m128i leading = _mm_clmulepi64_si128(bits, factors, 0x00);
    const __m128i trailing = _mm_clmulepi64_si128(bits, factors, 0x11);
    return _mm_xor_si128(_mm_xor_si128(leading, trailing), next);
}

inline __m128i load_block(const std::byte* from) {
    __m128i block;
    std::memcpy(&block, from, sizeof block);
    return block;
}

constexpr std::size_t fold_least = 128;  // bytes; below, tables are as fast

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

const bool multiplies = __builtin_cpu_supports("pclmul") != 0;
const bool multiplies_wide =
    __builtin_cpu_supports("vpclmulqdq") != 0 && __builtin_cpu_supports("avx512f") != 0;
const bool has_crc32c = __builtin_cpu_supports("sse4.2") != 0;

constexpr std::uint32_t castagnoli = 0x82F63B78;  // whose processors have an instruction

template <class Word, Word polynomial>
Word add_short(Word crc, ConstBytes bytes) {
    if constexpr (polynomial == castagnoli) {
        if (has_crc32c) return add_by_instruction(crc, bytes);
    }
    return add_by_tables<Word, polynomial>(crc, bytes);
}

// What is left when a message has been folded into 16 bytes, and up to 15 behind them.
template <class Word, Word polynomial>
Word finish(__m128i folded_bits, ConstBytes behind) {
    std::array<std::byte, 16> rest;
    std::memcpy(rest.data(), &folded_bits, rest.size());
    return add_short<Word, polynomial>(add_short<Word, polynomial>(0, rest), behind);
}

// Four blocks of 16 bytes side by side, then one.
template <class Word, Word polynomial>
__attribute__((target("pclmul,sse2"))) Word add_by_folding(Word crc, ConstBytes bytes) {
    constexpr Fold<Word, polynomial> by_four(512);
    constexpr Fold<Word, polynomial> by_one(128);
    const __m128i far = _mm_set_epi64x(static_cast<long long>(by_four.trailing),
                                       static_cast<long long>(by_four.leading));
    const __m128i near = _mm_set_epi64x(static_cast<long long>(by_one.trailing),
                                        static_cast<long long>(by_one.leading));
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    __m128i a = _mm_xor_si128(load_block(at), _mm_set_epi64x(0, crc));
    __m128i b = load_block(at + 16);
    __m128i c = load_block(at + 32);
    __m128i d = load_block(at + 48);
    for (at += 64, left -= 64; left >= 64; at += 64, left -= 64) {
        a = folded(a, far, load_block(at));
        b = folded(b, far, load_block(at + 16));
        c = folded(c, far, load_block(at + 32));
        d = folded(d, far, load_block(at + 48));
    }
    a = folded(folded(folded(a, near, b), near, c), near, d);
    for (; left >= 16; at += 16, left -= 16) a = folded(a, near, load_block(at));
    return finish<Word, polynomial>(a, ConstBytes(at, left));
}

// The same in blocks of 64 bytes, four products at once in each.
constexpr std::size_t wide_least = 256;

__attribute__((target("avx512f,vpclmulqdq"))) inline __m512i folded_wide(__m512i bits,
                                                                         __m512i factors,
                                                                         __m512i next) {
    constexpr int exclusive_or = 0x96;  // of three
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(bits, factors, 0x00),
                                     _mm512_clmulepi64_epi128(bits, factors, 0x11), next,
                                     exclusive_or);
}

/// The next 64 bytes, which go to `to` as well.
template <bool copies>
__attribute__((target("avx512f"))) inline __m512i next_wide(const std::byte*& at, std::byte*& to) {
    const __m512i block = _mm512_loadu_si512(at);
    at += 64;
    if constexpr (copies) {
        _mm512_storeu_si512(to, block);
        to += 64;
    }
    return block;
}

__attribute__((target("avx512f"))) inline __m512i four_times(std::uint64_t low,
                                                             std::uint64_t high) {
    const auto a = static_cast<long long>(low);
    const auto b = static_cast<long long>(high);
    return _mm512_set_epi64(b, a, b, a, b, a, b, a);
}

// Factors that bring a block of 64 bytes with so many behind it to the last 16 of them all, each 16
// of it by its own distance. The last 16 are there already: nothing is made of them.
template <class Word, Word polynomial>
constexpr auto make_ends() {
    std::array<std::array<std::uint64_t, 8>, 7> ends{};
    for (unsigned behind = 0; behind < ends.size(); ++behind) {
        for (unsigned lane = 0; lane < 4; ++lane) {
            const unsigned distance = behind * 512 + (3 - lane) * 128;
            if (distance == 0) continue;
            const Fold<Word, polynomial> fold(distance);
            ends[behind][2 * lane] = fold.leading;
            ends[behind][2 * lane + 1] = fold.trailing;
        }
    }
    return ends;
}

template <class Word, Word polynomial>
constexpr auto ends = make_ends<Word, polynomial>();

__attribute__((target("avx512f,vpclmulqdq"))) inline __m512i brought(
    __m512i block, const std::array<std::uint64_t, 8>& by, __m512i beside) {
    constexpr int exclusive_or = 0x96;
    const __m512i factors = _mm512_loadu_si512(by.data());
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(block, factors, 0x00),
                                     _mm512_clmulepi64_epi128(block, factors, 0x11), beside,
                                     exclusive_or);
}

// Four blocks go side by side; what they leave is brought together in one step, not one behind the
// other: in a packet of 1 500 bytes that would take as long as the folding.
template <class Word, Word polynomial, bool copies>
__attribute__((target("avx512f,vpclmulqdq,pclmul,sse2"))) Word add_by_wide_folding(Word crc,
                                                                                   ConstBytes bytes,
                                                                                   std::byte* to) {
    constexpr Fold<Word, polynomial> by_four(4 * 512);
    const __m512i far = four_times(by_four.leading, by_four.trailing);
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    __m512i a =
        _mm512_xor_si512(next_wide<copies>(at, to), _mm512_set_epi64(0, 0, 0, 0, 0, 0, 0, crc));
    __m512i b = next_wide<copies>(at, to);
    __m512i c = next_wide<copies>(at, to);
    __m512i d = next_wide<copies>(at, to);
    for (left -= 256; left >= 256; left -= 256) {
        a = folded_wide(a, far, next_wide<copies>(at, to));
        b = folded_wide(b, far, next_wide<copies>(at, to));
        c = folded_wide(c, far, next_wide<copies>(at, to));
        d = folded_wide(d, far, next_wide<copies>(at, to));
    }
    const auto& to_end = ends<Word, polynomial>;
    std::size_t behind = left / 64;
    __m512i sum = brought(d, to_end[behind], _mm512_setzero_si512());
    sum = brought(c, to_end[behind + 1], sum);
    sum = brought(b, to_end[behind + 2], sum);
    sum = brought(a, to_end[behind + 3], sum);
    std::array<std::byte, 64> block;  // this compiler's extractions of a lane draw warnings
    std::memcpy(block.data(), &d, block.size());
    __m128i last = load_block(&block[48]);
    for (; behind > 0; left -= 64) {
        last = load_block(at + 48);
        sum = brought(next_wide<copies>(at, to), to_end[--behind], sum);
    }
    if constexpr (copies) std::memcpy(to, at, left);
    std::memcpy(block.data(), &sum, block.size());
    __m128i bits = last;
    for (std::size_t i = 0; i < block.size(); i += 16) {
        bits = _mm_xor_si128(bits, load_block(&block[i]));
    }
    if constexpr (polynomial != castagnoli) {  // whose own instruction is as fast here
        constexpr Fold<Word, polynomial> by_lane(128);
        const __m128i lane = _mm_set_epi64x(static_cast<long long>(by_lane.trailing),
                                            static_cast<long long>(by_lane.leading));
        for (; left >= 16; at += 16, left -= 16) bits = folded(bits, lane, load_block(at));
    }
    return finish<Word, polynomial>(bits, ConstBytes(at, left));
}
#endif

}  // namespace

template <std::unsigned_integral Word, Word polynomial>
void Crc<Word, polynomial>::add(ConstBytes piece) {
#if defined(__x86_64__)
    // The instruction's results come one after another, so folding passes it in long pieces.
    constexpr bool own_instruction = polynomial == castagnoli;
    constexpr std::size_t least = own_instruction ? 512 : fold_least;
    if (multiplies_wide && piece.size() >= wide_least) {
        state_ = add_by_wide_folding<Word, polynomial, false>(state_, piece, nullptr);
        return;
    }
    if (multiplies && piece.size() >= least) {
        state_ = add_by_folding<Word, polynomial>(state_, piece);
        return;
    }
    state_ = add_short<Word, polynomial>(state_, piece);
#else
    state_ = add_by_tables<Word, polynomial>(state_, piece);
#endif
}

template <std::unsigned_integral Word, Word polynomial>
void Crc<Word, polynomial>::add_copying(ConstBytes piece, std::byte* to) {
#if defined(__x86_64__)
    if (multiplies_wide && piece.size() >= wide_least) {
        state_ = add_by_wide_folding<Word, polynomial, true>(state_, piece, to);
        return;
    }
#endif
    add(piece);
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
}

template <std::unsigned_integral Word, Word polynomial>
Word Crc<Word, polynomial>::by_tables(ConstBytes bytes) {
    return static_cast<Word>(~add_by_tables<Word, polynomial>(static_cast<Word>(~Word{0}), bytes));
}

template <std::unsigned_integral Word, Word polynomial>
Word Crc<Word, polynomial>::bitwise(ConstBytes bytes) {
    auto crc = static_cast<Word>(~Word{0});
    for (const std::byte byte : bytes) {
        crc = static_cast<Word>(crc ^ std::to_integer<Word>(byte));
        for (int bit = 0; bit < 8; ++bit) crc = one_bit(crc, polynomial);
    }
    return static_cast<Word>(~crc);
}

template class Crc<std::uint32_t, 0x82F63B78>;
template class Crc<std::uint32_t, 0xEDB88320>;
template class Crc<std::uint16_t, 0xD008>;
template class Crc<std::uint16_t, 0x8408>;

}  // namespace wireproof
