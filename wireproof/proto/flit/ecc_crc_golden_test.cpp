// The published and re-derived vectors of CRC and ECC, and what the two together find and correct.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/flit/crc.hpp"
#include "wireproof/proto/flit/ecc.hpp"

namespace wireproof::flit {
namespace {

using enum CrcOrder;

std::vector<std::byte> zeros(std::size_t size) {
    return std::vector<std::byte>(size);
}
std::vector<std::byte> ramp(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
    return bytes;
}

std::string hex(ConstBytes bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        const auto value = std::to_integer<unsigned>(byte);
        text += digits[value >> 4];
        text += digits[value & 15];
    }
    return text;
}

using Ecc = std::span<const std::byte, ecc_covers>;

std::string ecc_hex(const std::vector<std::byte>& data) {
    return hex(flit_ecc(Ecc(data)));
}

// A whole flit with CRC and ECC over pseudo-random bytes.
std::vector<std::byte> whole_flit(std::vector<std::byte> data) {
    const std::uint64_t crc = flit_crc(data, last_byte_first);
    for (int shift = 56; shift >= 0; shift -= 8)
        data.push_back(static_cast<std::byte>(crc >> shift));
    const auto ecc = flit_ecc(Ecc(data));
    data.insert(data.end(), ecc.begin(), ecc.end());
    return data;
}
std::vector<std::byte> random_flit(std::uint64_t seed) {
    Random random(seed);
    auto data = zeros(242);
    for (std::byte& byte : data) byte = static_cast<std::byte>(random.below(256));
    return whole_flit(std::move(data));
}

struct Decoded {
    EccResult result;
    std::vector<std::byte> bytes;
    bool crc_right;
};
Decoded decode(std::vector<std::byte> flit) {
    const EccFinding found = ecc_find(std::span<const std::byte, 256>(flit));
    if (found.result != EccResult::uncorrectable) {
        found.apply(Bytes(flit).first<ecc_covers>());
    }
    std::uint64_t stored = 0;
    for (std::size_t i = 242; i < 250; ++i) {
        stored = stored << 8 | std::to_integer<std::uint64_t>(flit[i]);
    }
    const bool right = stored == flit_crc(ConstBytes(flit).first(242), last_byte_first);
    return {found.result, std::move(flit), right};
}

// FLIT-1
TEST(FlitCrc, HasThePublishedValues) {
    auto one = zeros(242);
    one[0] = std::byte{1};
    EXPECT_EQ(flit_crc(zeros(242), last_byte_first), 0U);
    EXPECT_EQ(flit_crc(one, last_byte_first), 0xD568FED533414D69U);
    EXPECT_EQ(flit_crc(one, first_byte_first), 0x61B9A7E91AC33B0BU);
    EXPECT_EQ(flit_crc(ramp(242), last_byte_first), 0xB6364F9013A68FC4U);
    EXPECT_EQ(flit_crc(ramp(242), first_byte_first), 0x5650BA1B432CE5BCU);
}

// FLIT-1
TEST(FlitCrc, IsTheSameByTablesOfEightBytesAndByteByByte) {
    Random random(3);
    for (std::size_t size = 0; size < 60; ++size) {
        auto data = zeros(size);
        for (std::byte& byte : data) byte = static_cast<std::byte>(random.below(256));
        for (const CrcOrder order : {last_byte_first, first_byte_first}) {
            EXPECT_EQ(flit_crc(data, order), flit_crc_bytewise(data, order)) << size;
        }
    }
}

// FLIT-1
TEST(FlitEcc, HasThePublishedValues) {
    const auto with = [](std::size_t at, unsigned value) {
        auto data = zeros(250);
        data[at] = static_cast<std::byte>(value);
        return ecc_hex(data);
    };
    EXPECT_EQ(with(0, 0x01), "00006b000001");
    EXPECT_EQ(with(1, 0x80), "a30000800000");
    EXPECT_EQ(with(249, 0x01), "000002000001");
    EXPECT_EQ(ecc_hex(ramp(250)), "b2775d52affc");
    EXPECT_EQ(ecc_hex(std::vector<std::byte>(250, std::byte{0xFF})), "a2a241ffff00");
    const auto flit = whole_flit(ramp(242));
    EXPECT_EQ(hex(ConstBytes(flit).last(6)), "5a8df2b8f9e1");
}

// FLIT-1
TEST(FlitEcc, CorrectsEverySingleWrongByte) {
    const auto flit = random_flit(1);
    for (std::size_t at = 0; at < 256; ++at) {
        for (unsigned error = 1; error < 256; ++error) {
            auto damaged = flit;
            damaged[at] ^= static_cast<std::byte>(error);
            const Decoded decoded = decode(std::move(damaged));
            ASSERT_EQ(decoded.result, EccResult::corrected) << at;
            ASSERT_TRUE(std::equal(flit.begin(), flit.begin() + 250, decoded.bytes.begin())) << at;
        }
    }
    EXPECT_EQ(decode(flit).result, EccResult::clean);
}

// FLIT-1
TEST(FlitEcc, CorrectsAnyThreeNeighbours) {
    const auto flit = random_flit(2);
    Random random(2);
    for (std::size_t at = 0; at + 3 <= 256; ++at) {
        for (int round = 0; round < 30; ++round) {
            auto damaged = flit;
            for (std::size_t i = at; i < at + 3; ++i) {
                damaged[i] ^= static_cast<std::byte>(1 + random.below(255));
            }
            const Decoded decoded = decode(std::move(damaged));
            ASSERT_EQ(decoded.result, EccResult::corrected) << at;
            ASSERT_TRUE(std::equal(flit.begin(), flit.begin() + 250, decoded.bytes.begin())) << at;
        }
    }
}

// FLIT-1: 85 of 255 pairs of errors look like one error elsewhere; the CRC finds each of them.
TEST(FlitEcc, TwoWrongBytesOfAGroupAreFlaggedInTwoOfThreeCasesAndTheCrcFindsTheRest) {
    const auto flit = random_flit(4);
    Random random(4);
    constexpr int pairs = 30'000;
    int flagged = 0;
    for (int i = 0; i < pairs; ++i) {
        const std::size_t group = random.below(3);
        const std::size_t members = group == 0 ? 84 : 83;  // data bytes
        const std::size_t first = random.below(members);
        const std::size_t second = (first + 1 + random.below(members - 1)) % members;
        auto damaged = flit;
        damaged[3 * first + group] ^= static_cast<std::byte>(1 + random.below(255));
        damaged[3 * second + group] ^= static_cast<std::byte>(1 + random.below(255));
        const Decoded decoded = decode(std::move(damaged));
        if (decoded.result == EccResult::uncorrectable) {
            ++flagged;
        } else {
            ASSERT_FALSE(decoded.crc_right);
        }
    }
    EXPECT_NEAR(static_cast<double>(flagged) / pairs, 2.0 / 3, 0.015);
}

// FLIT-1: the distance of the code is 9.
TEST(FlitCrc, FindsUpToEightWrongBytes) {
    const auto flit = random_flit(5);
    Random random(5);
    for (int i = 0; i < 20'000; ++i) {
        auto damaged = flit;
        const std::size_t wrong = 1 + random.below(8);
        for (std::size_t k = 0; k < wrong; ++k) {
            damaged[random.below(250)] ^= static_cast<std::byte>(1 + random.below(255));
        }
        if (std::equal(flit.begin(), flit.end(), damaged.begin())) continue;
        std::uint64_t stored = 0;
        for (std::size_t at = 242; at < 250; ++at) {
            stored = stored << 8 | std::to_integer<std::uint64_t>(damaged[at]);
        }
        ASSERT_NE(stored, flit_crc(ConstBytes(damaged).first(242), last_byte_first));
    }
}

// UCIE-8
TEST(UcieCrc, HasTheDerivedValues) {
    const std::vector<std::byte> one = {std::byte{1}};
    EXPECT_EQ(ucie_crc(one, last_byte_first), 0x8005);
    EXPECT_EQ(ucie_crc(ramp(66), last_byte_first), 0x0281);
    EXPECT_EQ(ucie_crc(one, first_byte_first), 0x1600);
    EXPECT_EQ(ucie_crc(ramp(66), first_byte_first), 0x9A76);
}

// UCIE-8: zeros behind the data, up to 128 bytes, change nothing.
TEST(UcieCrc, IsAlwaysThatOf128Bytes) {
    auto longer = ramp(66);
    longer.resize(128);
    for (const CrcOrder order : {last_byte_first, first_byte_first}) {
        EXPECT_EQ(ucie_crc(longer, order), ucie_crc(ramp(66), order));
    }
}

}  // namespace
}  // namespace wireproof::flit
