// The bytes of the flit of two halves: its layout, the published form of its CRC, and which halves
// may be used before and after the correction (CXL-14, CXL-29).
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/flit/galois.hpp"
#include "wireproof/proto/flit/halves.hpp"
#include "wireproof/proto/flit/halves_test_kit.hpp"

namespace wireproof::flit {
namespace {

using enum CrcOrder;
using Even = HalvesFinding::Even;
using Flit = std::array<std::byte, flit_max>;
using Bytes6 = std::array<std::byte, half_crc_size>;

std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
    return bytes;
}

constexpr Header payload_header{true, true, Command::explicit_number, 1023};

Flit flit_with(ConstBytes message) {
    Flit flit;
    TxFrame out;
    out.open(flit, {.frame_max = flit_max});
    write_halves(first_byte_first, payload_header, message, out);
    return flit;
}
Flit random_halves(std::uint64_t seed) {
    return flit_with(random_bytes(235, seed));
}

void spoil(Flit& flit, std::size_t at, unsigned by = 1) {
    flit[at] ^= static_cast<std::byte>(by);
}
HalvesFinding find(Flit& flit) {
    return find_halves(first_byte_first, true, flit);
}

// The conversion of the 8-byte CRC of PCI Express that the CXL specification prints. Its bytes 0 to
// 113 and 236 to 241 are zeros; the factors are powers of a.
Bytes6 published_crc(ConstBytes half) {
    using Field = Galois<0x12B>;
    std::vector<std::byte> input(242);
    std::copy(half.begin(), half.end(), input.begin() + 114);
    const std::uint64_t wide = flit_crc(input, first_byte_first);
    const auto r = [wide](unsigned i) { return static_cast<std::uint8_t>(wide >> (8 * i)); };
    constexpr std::array<std::array<std::size_t, 2>, 6> powers = {
        {{21, 168}, {161, 147}, {114, 63}, {250, 41}, {107, 202}, {147, 90}}};
    Bytes6 crc;
    for (unsigned i = 0; i < 6; ++i) {
        const auto value =
            static_cast<std::uint8_t>(r(i) ^ Field::times(Field::power(powers[i][0]), r(6)) ^
                                      Field::times(Field::power(powers[i][1]), r(7)));
        crc[5 - i] = static_cast<std::byte>(value);
    }
    return crc;
}

// CXL-29
TEST(FlitHalves, TheCrcIsTheRemainderOfTheCrcOfPciExpress) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        for (const std::size_t size : {122U, 116U}) {
            const auto half = random_bytes(size, seed);
            EXPECT_EQ(half_crc(half, first_byte_first), published_crc(half)) << seed;
        }
    }
}

// CXL-29: the generator itself, as the last of 130 bytes, or as the first one in the other order.
TEST(FlitHalves, TheCrcHasThePublishedGenerator) {
    const Bytes6 generator = {std::byte{0x7E}, std::byte{0x47}, std::byte{0xAB},
                              std::byte{0x1A}, std::byte{0xA8}, std::byte{0x32}};
    std::vector<std::byte> data(130);
    data.back() = std::byte{1};
    EXPECT_EQ(half_crc(data, first_byte_first), generator);
    std::reverse(data.begin(), data.end());
    EXPECT_EQ(half_crc(data, last_byte_first), generator);
    data.resize(116);  // zeros that enter first change nothing
    EXPECT_EQ(half_crc(data, last_byte_first), generator);
}

// CXL-29: up to 6 wrong bytes in a half are found.
TEST(FlitHalves, TheCrcFindsSixWrongBytes) {
    Random random(7);
    const Flit good = random_halves(7);
    for (int round = 0; round < 2000; ++round) {
        Flit flit = good;
        const bool odd = round % 2 == 1;
        for (int i = 0; i < 1 + round % 6; ++i) {
            spoil(flit, odd ? half_size + random.below(odd_message_max) : random.below(half_size),
                  static_cast<unsigned>(1 + random.below(255)));
        }
        if (flit == good) continue;
        const HalvesFinding found = find_halves(first_byte_first, false, flit);
        EXPECT_FALSE(found.valid);
        EXPECT_EQ(found.even, odd ? Even::as_received : Even::none);
        EXPECT_FALSE(found.changed || found.suspect);
    }
}

// CXL-29
TEST(FlitHalves, TheLayoutIsThatOfTheSpecification) {
    const auto message = random_bytes(235, 3);
    const Flit flit = flit_with(message);
    EXPECT_EQ(Header::decode(Format::cxl_halves, flit.data()), payload_header);
    EXPECT_TRUE(std::equal(message.begin(), message.begin() + 119, flit.begin() + 2));
    EXPECT_EQ(flit[121], std::byte{235});
    EXPECT_TRUE(std::equal(message.begin() + 119, message.end(), flit.begin() + 128));
    const ConstBytes bytes(flit);
    const auto even = half_crc(bytes.first(122), first_byte_first);
    EXPECT_TRUE(std::equal(even.begin(), even.end(), flit.begin() + 122));
    const auto odd = half_crc(bytes.subspan(128, 116), first_byte_first);
    EXPECT_TRUE(std::equal(odd.begin(), odd.end(), flit.begin() + 250));
}

TEST(FlitHalves, AMessageOfAnyLengthComesBack) {
    for (std::size_t size = 0; size <= 235; ++size) {
        const auto message = random_bytes(size, size);
        Flit flit = flit_with(message);
        ASSERT_TRUE(find(flit).valid) << size;
        const auto half = EvenHalf::of(ConstBytes(flit).first(half_size));
        ASSERT_TRUE(half);
        EXPECT_EQ(half->length, size);
        EXPECT_EQ(half->message.size(), std::min(size, even_message_max));
        const auto joined = join_halves(flit);
        ASSERT_TRUE(joined);
        EXPECT_TRUE(std::equal(joined->begin(), joined->end(), message.begin(), message.end()));
    }
    Flit flit = flit_with({});
    flit[121] = std::byte{236};
    EXPECT_FALSE(EvenHalf::of(flit));
    EXPECT_FALSE(join_halves(flit));
}

// FLIT-1 for halves: each byte belongs to the group of its place, so three neighbours are corrected
// everywhere, also at the borders of the ECC.
TEST(FlitHalves, AnyThreeNeighboursAreCorrected) {
    const Flit good = random_halves(11);
    for (std::size_t at = 0; at < flit_max; ++at) {
        for (std::size_t length = 1; length <= std::min<std::size_t>(3, flit_max - at); ++length) {
            Flit flit = good;
            for (std::size_t i = 0; i < length; ++i) spoil(flit, at + i, 0x5A);
            const HalvesFinding found = find(flit);
            EXPECT_TRUE(found.valid) << at << ' ' << length;
            EXPECT_FALSE(found.suspect);
            // Errors of the ECC alone change no other byte.
            const auto is_ecc = [](std::size_t i) { return i >= 244 && i < 250; };
            EXPECT_EQ(found.changed, !(is_ecc(at) && is_ecc(at + length - 1))) << at;
            for (std::size_t i = 0; i < flit_max; ++i) {
                if (is_ecc(i)) continue;
                EXPECT_EQ(flit[i], good[i]) << at << ' ' << i;
            }
        }
    }
}

/// Two wrong bytes of group 0, both in the half, that the ECC does not accept as one.
void spoil_beyond_repair(Flit& flit, std::size_t half_begin) {
    const std::size_t first = half_begin + (3 - half_begin % 3) % 3 + 3;
    for (unsigned by = 1; by < 256; ++by) {
        Flit tried = flit;
        spoil(tried, first, 1);
        spoil(tried, first + 30, by);
        Flit copy = tried;
        if (find(copy).changed) continue;
        flit = tried;
        return;
    }
    FAIL() << "each pair of errors looks like one";
}

TEST(FlitHalves, TheEvenHalfOfAFlitThatCannotBeRepairedMayBeUsed) {
    Flit flit = random_halves(1);
    spoil_beyond_repair(flit, half_size);
    HalvesFinding found = find(flit);
    EXPECT_FALSE(found.valid || found.changed || found.suspect);
    EXPECT_EQ(found.even, Even::as_received);

    flit = random_halves(1);
    spoil_beyond_repair(flit, 0);
    found = find(flit);
    EXPECT_FALSE(found.valid || found.changed || found.suspect);
    EXPECT_EQ(found.even, Even::none);
}

// CXL-14: the specification's own example.
TEST(FlitHalves, ACorrectionThatSpoilsTheEvenHalfIsSuspect) {
    Flit flit = random_halves(2);
    const Flit good = flit;
    forge_an_error_at(flit, 4);  // group 1
    spoil(flit, half_size + 1);  // group 0, which the ECC repairs
    ASSERT_EQ((half_size + 1) % 3, 0U);
    const HalvesFinding found = find(flit);
    EXPECT_TRUE(found.suspect);
    EXPECT_FALSE(found.valid);
    EXPECT_EQ(found.even, Even::as_received);  // as it came, not as the ECC left it
    EXPECT_NE(flit[4], good[4]);
    EXPECT_EQ(flit[half_size + 1], good[half_size + 1]);
}

// CXL-14
TEST(FlitHalves, ACorrectionThatSpoilsTheOddHalfIsSuspect) {
    Flit flit = random_halves(4);
    forge_an_error_at(flit, half_size + 2);  // group 1
    spoil(flit, 3);                          // group 0
    const HalvesFinding found = find(flit);
    EXPECT_TRUE(found.suspect);
    EXPECT_FALSE(found.valid);
    EXPECT_EQ(found.even, Even::none);  // the ECC repaired it, but nothing of such a flit is used
}

// Both halves are wrong. The ECC repairs the even half. It takes away a part of the error in the
// odd half, because its own bytes are wrong, too.
TEST(FlitHalves, AnEvenHalfThatTheCorrectionRepairsMayBeUsedAlone) {
    Flit flit = random_halves(5);
    const Flit good = flit;
    forge_an_error_at(flit, half_size + 2);  // group 1
    spoil(flit, half_size + 2, 3);
    spoil(flit, 3);  // group 0
    const HalvesFinding found = find(flit);
    EXPECT_TRUE(found.changed);
    EXPECT_FALSE(found.valid || found.suspect);
    EXPECT_EQ(found.even, Even::corrected);
    EXPECT_TRUE(std::equal(good.begin(), good.begin() + half_size, flit.begin()));
}

}  // namespace
}  // namespace wireproof::flit
