#include "wireproof/base/crc.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "wireproof/base/random.hpp"

namespace wireproof {
namespace {

std::uint32_t fast(ConstBytes bytes) {
    Crc32c crc;
    crc.add(bytes);
    return crc.value();
}

TEST(Crc32c, GivesThePublishedCheckValues) {
    const std::string_view digits = "123456789";
    EXPECT_EQ(fast(std::as_bytes(std::span(digits))), 0xE3069283U);  // the catalogue's check value
    const std::vector<std::byte> zeros(32);
    EXPECT_EQ(fast(zeros), 0x8A9136AAU);  // RFC 3720, B.4
    const std::vector<std::byte> ones(32, std::byte{0xFF});
    EXPECT_EQ(fast(ones), 0x62A8AB43U);  // RFC 3720, B.4
}

TEST(Crc32c, EveryWayAgreesWithTheDefinitionAtEveryLengthAndSplit) {
    Random random(3);
    std::vector<std::byte> bytes(200);
    std::generate(bytes.begin(), bytes.end(), [&] { return std::byte(random.next() & 0xFF); });
    for (std::size_t length = 0; length <= bytes.size(); ++length) {
        const ConstBytes part = ConstBytes(bytes).first(length);
        const std::uint32_t wanted = Crc32c::bitwise(part);
        EXPECT_EQ(fast(part), wanted) << length;
        EXPECT_EQ(Crc32c::by_tables(part), wanted) << length;
        Crc32c split;
        split.add(part.first(length / 3));
        split.add(part.subspan(length / 3));
        EXPECT_EQ(split.value(), wanted) << length;
    }
}

}  // namespace
}  // namespace wireproof
