#include "wireproof/base/crc.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "wireproof/base/random.hpp"

namespace wireproof {
namespace {

ConstBytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

TEST(Crc, GivesThePublishedCheckValues) {
    const ConstBytes digits = bytes_of("123456789");
    EXPECT_EQ(Crc32c::of(digits), 0xE3069283U);  // CRC-32/ISCSI
    EXPECT_EQ(Crc32::of(digits), 0xCBF43926U);   // CRC-32/ISO-HDLC
    EXPECT_EQ(Crc16Ccitt::of(digits), 0x906EU);  // CRC-16/IBM-SDLC
    const std::vector<std::byte> zeros(32);
    EXPECT_EQ(Crc32c::of(zeros), 0x8A9136AAU);  // RFC 3720, B.4
    const std::vector<std::byte> ones(32, std::byte{0xFF});
    EXPECT_EQ(Crc32c::of(ones), 0x62A8AB43U);  // RFC 3720, B.4
}

template <class C>
class EveryCrc : public testing::Test {};
using All = testing::Types<Crc32c, Crc32, Crc16Iba, Crc16Ccitt>;
TYPED_TEST_SUITE(EveryCrc, All);

TYPED_TEST(EveryCrc, EveryWayAgreesWithTheDefinitionAtEveryLengthAndSplit) {
    Random random(3);
    std::vector<std::byte> bytes(1100);
    std::generate(bytes.begin(), bytes.end(), [&] { return std::byte(random.next() & 0xFF); });
    for (std::size_t length = 0; length <= bytes.size(); length += length < 600 ? 1 : 37) {
        const ConstBytes part = ConstBytes(bytes).first(length);
        const auto wanted = TypeParam::bitwise(part);
        EXPECT_EQ(TypeParam::of(part), wanted) << length;
        EXPECT_EQ(TypeParam::by_tables(part), wanted) << length;
        for (const std::size_t block : {16U, 32U, 64U}) {
            EXPECT_EQ(TypeParam::by_folding(part, block).value_or(wanted), wanted)
                << length << " in blocks of " << block;
        }
        TypeParam split;
        split.add(part.first(length / 3));
        split.add(part.subspan(length / 3));
        EXPECT_EQ(split.value(), wanted) << length;
    }
}

// The processor decides which block sizes the test covers. If it has a wide block, it also has the
// narrower ones.
TYPED_TEST(EveryCrc, FoldsInBlocksAsWideAsTheProcessorHas) {
    const std::vector<std::byte> bytes(256);
    bool wider_seen = false;
    for (const std::size_t block : {64U, 32U, 16U}) {
        const bool can = TypeParam::by_folding(bytes, block).has_value();
        EXPECT_TRUE(can || !wider_seen) << block;
        EXPECT_FALSE(TypeParam::by_folding(ConstBytes(bytes).first(4 * block - 1), block));
        wider_seen = wider_seen || can;
    }
}

TYPED_TEST(EveryCrc, CopiesAPieceInTheSamePassAndNothingBesideIt) {
    Random random(5);
    std::vector<std::byte> bytes(1100);
    std::generate(bytes.begin(), bytes.end(), [&] { return std::byte(random.next() & 0xFF); });
    constexpr std::byte untouched{0xA5};
    for (std::size_t length = 0; length <= bytes.size(); length += length < 600 ? 1 : 37) {
        const ConstBytes part = ConstBytes(bytes).first(length);
        std::vector<std::byte> copy(length + 128, untouched);
        TypeParam crc;
        crc.add_copying(part.first(length / 3), &copy[64]);
        crc.add_copying(part.subspan(length / 3), &copy[64 + length / 3]);
        EXPECT_EQ(crc.value(), TypeParam::of(part)) << length;
        std::vector<std::byte> wanted(64, untouched);
        wanted.insert(wanted.end(), part.begin(), part.end());
        wanted.insert(wanted.end(), 64, untouched);
        EXPECT_EQ(copy, wanted) << length;
    }
}

TYPED_TEST(EveryCrc, NoticesEveryFlipOfOneBitInALongPiece) {
    std::vector<std::byte> bytes(600, std::byte{0x5A});
    const auto whole = TypeParam::of(bytes);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        bytes[bit / 8] ^= std::byte(1U << (bit % 8));
        EXPECT_NE(TypeParam::of(bytes), whole) << bit;
        bytes[bit / 8] ^= std::byte(1U << (bit % 8));
    }
}

}  // namespace
}  // namespace wireproof
