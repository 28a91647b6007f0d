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

// tables[k][b]: how byte b changes the register when k more bytes follow it.
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

// The factors that move 128 bits by `distance` bits towards the end of the message: one factor for
// the leading half, one for the trailing half. A carry-less product of reflected numbers has one
// factor x too many; the exponents correct for it.
template <class Word, Word polynomial>
struct Fold {
    std::uint64_t leading;
    std::uint64_t trailing;
    constexpr explicit Fold(unsigned distance)
        : leading(power_of_x<Word, polynomial>(distance + 63)),
          trailing(power_of_x<Word, polynomial>(distance - 1)) {}
};

__attribute__((target("pclmul,sse2"))) inline __m128i folded_lane(__m128i bits, __m128i factors,
                                                                  __m128i next) {
    const __m128i leading = _mm_clmulepi64_si128(bits, factors, 0x00);
    const __m128i trailing = _mm_clmulepi64_si128(bits, factors, 0x11);
    return _mm_xor_si128(_mm_xor_si128(leading, trailing), next);
}

inline __m128i load_lane(const std::byte* from) {
    __m128i block;
    std::memcpy(&block, from, sizeof block);
    return block;
}

using Lane = std::array<std::byte, 16>;

inline Lane stored(__m128i bits) {
    Lane lane;
    std::memcpy(lane.data(), &bits, lane.size());
    return lane;
}

constexpr std::size_t fold_least = 128;  // bytes; below this, tables are as fast

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
const bool multiplies_two =
    __builtin_cpu_supports("vpclmulqdq") != 0 && __builtin_cpu_supports("avx2") != 0;
const bool multiplies_four = multiplies_two && __builtin_cpu_supports("avx512f") != 0;
const bool has_crc32c = __builtin_cpu_supports("sse4.2") != 0;

constexpr std::uint32_t castagnoli = 0x82F63B78;  // processors have an instruction for this one

template <class Word, Word polynomial>
Word add_short(Word crc, ConstBytes bytes) {
    if constexpr (polynomial == castagnoli) {
        if (has_crc32c) return add_by_instruction(crc, bytes);
    }
    return add_by_tables<Word, polynomial>(crc, bytes);
}

// Completes a message that was folded into 16 bytes. `behind` has the bytes that follow: at most
// 15, or for CRC-32C in wide blocks less than a block.
template <class Word, Word polynomial>
Word finish(const Lane& bits, ConstBytes behind) {
    return add_short<Word, polynomial>(add_short<Word, polynomial>(0, bits), behind);
}

// Folds four blocks of 16 bytes in parallel, then one block at a time.
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
    __m128i a = _mm_xor_si128(load_lane(at), _mm_set_epi64x(0, crc));
    __m128i b = load_lane(at + 16);
    __m128i c = load_lane(at + 32);
    __m128i d = load_lane(at + 48);
    for (at += 64, left -= 64; left >= 64; at += 64, left -= 64) {
        a = folded_lane(a, far, load_lane(at));
        b = folded_lane(b, far, load_lane(at + 16));
        c = folded_lane(c, far, load_lane(at + 32));
        d = folded_lane(d, far, load_lane(at + 48));
    }
    a = folded_lane(folded_lane(folded_lane(a, near, b), near, c), near, d);
    for (; left >= 16; at += 16, left -= 16) a = folded_lane(a, near, load_lane(at));
    return finish<Word, polynomial>(stored(a), ConstBytes(at, left));
}

// The same in blocks of several lanes. One instruction multiplies all lanes of a block.
namespace blocks_of_64 {
#define WIREPROOF_TARGET "avx512f,vpclmulqdq,pclmul,sse2"
using Block = __m512i;

__attribute__((target("avx512f"))) inline Block load(const std::byte* from) {
    return _mm512_loadu_si512(from);
}
__attribute__((target("avx512f"))) inline Block factors_at(const std::array<std::uint64_t, 8>& at) {
    return _mm512_loadu_si512(at.data());
}
__attribute__((target("avx512f"))) inline void store(std::byte* to, Block block) {
    _mm512_storeu_si512(to, block);
}
__attribute__((target("avx512f"))) inline Block zero() {
    return _mm512_setzero_si512();
}
// A block that is zero, except for the register in its first bytes.
__attribute__((target("avx512f"))) inline Block begun(std::uint32_t crc) {
    return _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc)));
}
__attribute__((target("avx512f"))) inline Block exclusive_or(Block a, Block b) {
    return _mm512_xor_si512(a, b);
}
__attribute__((target("avx512f,vpclmulqdq"))) inline Block folded(Block bits, Block factors,
                                                                  Block next) {
    constexpr int of_three = 0x96;  // the exclusive or of three operands
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(bits, factors, 0x00),
                                     _mm512_clmulepi64_epi128(bits, factors, 0x11), next, of_three);
}

#include "wireproof/base/crc_wide.inc"
#undef WIREPROOF_TARGET
}  // namespace blocks_of_64

namespace blocks_of_32 {
#define WIREPROOF_TARGET "avx2,vpclmulqdq,pclmul,sse2"
using Block = __m256i;

__attribute__((target("avx2"))) inline Block load(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(from));
}
__attribute__((target("avx2"))) inline Block factors_at(const std::array<std::uint64_t, 4>& at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(at.data()));
}
__attribute__((target("avx2"))) inline void store(std::byte* to, Block block) {
    _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(to), block);
}
__attribute__((target("avx2"))) inline Block zero() {
    return _mm256_setzero_si256();
}
__attribute__((target("avx2"))) inline Block begun(std::uint32_t crc) {
    return _mm256_zextsi128_si256(_mm_cvtsi32_si128(static_cast<int>(crc)));
}
__attribute__((target("avx2"))) inline Block exclusive_or(Block a, Block b) {
    return _mm256_xor_si256(a, b);
}
__attribute__((target("avx2,vpclmulqdq"))) inline Block folded(Block bits, Block factors,
                                                               Block next) {
    return exclusive_or(exclusive_or(_mm256_clmulepi64_epi128(bits, factors, 0x00),
                                     _mm256_clmulepi64_epi128(bits, factors, 0x11)),
                        next);
}

#include "wireproof/base/crc_wide.inc"
#undef WIREPROOF_TARGET
}  // namespace blocks_of_32

// Below this many bytes, the CRC-32C instruction is as fast, although each of its results depends
// on the one before.
constexpr std::size_t instruction_most = 256;

// Uses the widest blocks that the processor has and the piece is long enough for. It also copies to
// `to` if `copies` is set. False: the piece is too short or the processor too old, and nothing is
// done.
template <class Word, Word polynomial, bool copies>
bool add_wide(Word& crc, ConstBytes piece, std::byte* to) {
    constexpr std::size_t least = polynomial == castagnoli ? instruction_most : fold_least;
    if (piece.size() < least) return false;
    if (multiplies_four && piece.size() >= blocks_of_64::least) {
        crc = blocks_of_64::add<Word, polynomial, copies>(crc, piece, to);
        return true;
    }
    if (multiplies_two && piece.size() >= blocks_of_32::least) {
        crc = blocks_of_32::add<Word, polynomial, copies>(crc, piece, to);
        return true;
    }
    return false;
}
#endif

}  // namespace

template <std::unsigned_integral Word, Word polynomial>
void Crc<Word, polynomial>::add(ConstBytes piece) {
#if defined(__x86_64__)
    if (add_wide<Word, polynomial, false>(state_, piece, nullptr)) return;
    constexpr bool own_instruction = polynomial == castagnoli;
    constexpr std::size_t least = own_instruction ? 512 : fold_least;
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
    if (add_wide<Word, polynomial, true>(state_, piece, to)) return;
#endif
    add(piece);
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
}

template <std::unsigned_integral Word, Word polynomial>
std::optional<Word> Crc<Word, polynomial>::by_folding(ConstBytes bytes, std::size_t block) {
#if defined(__x86_64__)
    constexpr auto start = static_cast<Word>(~Word{0});
    if (bytes.size() < 4 * block) return std::nullopt;
    if (block == 16 && multiplies) {
        return static_cast<Word>(~add_by_folding<Word, polynomial>(start, bytes));
    }
    if (block == 32 && multiplies_two) {
        return static_cast<Word>(
            ~blocks_of_32::add<Word, polynomial, false>(start, bytes, nullptr));
    }
    if (block == 64 && multiplies_four) {
        return static_cast<Word>(
            ~blocks_of_64::add<Word, polynomial, false>(start, bytes, nullptr));
    }
#else
    static_cast<void>(bytes);
    static_cast<void>(block);
#endif
    return std::nullopt;
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
