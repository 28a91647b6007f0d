#include "wireproof/proto/ib/packet/aeth_codes.hpp"

#include <gtest/gtest.h>

namespace wireproof::proto::ib {
namespace {

TEST(Syndrome, HasItsKindInTheUpperBitsAndItsCodeInTheLowerFive) {
    EXPECT_EQ(Syndrome::ack(0x1F).byte, 0x1F);
    EXPECT_EQ(Syndrome::rnr_nak(18).byte, 0x32);
    EXPECT_EQ(Syndrome::nak(NakCode::sequence_error).byte, 0x60);
    EXPECT_EQ(Syndrome::nak(NakCode::invalid_request).byte, 0x61);
    EXPECT_EQ(Syndrome::nak(NakCode::remote_access).byte, 0x62);
    EXPECT_EQ(Syndrome::nak(NakCode::remote_operational).byte, 0x63);
    EXPECT_EQ(Syndrome::nak(NakCode::invalid_rd_request).byte, 0x64);
    for (std::uint8_t code = 0; code < 32; ++code) {
        EXPECT_EQ(Syndrome::ack(code).kind(), SyndromeKind::ack);
        EXPECT_EQ(Syndrome::rnr_nak(code).kind(), SyndromeKind::rnr_nak);
        EXPECT_EQ(Syndrome::rnr_nak(code).code(), code);
    }
}

TEST(Syndrome, WhatIsReservedMeansNothing) {
    for (unsigned byte = 0x65; byte < 0x80; ++byte) {
        const Syndrome syndrome{static_cast<std::uint8_t>(byte)};
        EXPECT_EQ(syndrome.kind(), SyndromeKind::nak);
        EXPECT_EQ(syndrome.nak_code(), std::nullopt);
        EXPECT_EQ(name_of(syndrome), "NAK reserved");
    }
    for (unsigned byte : {0x40U, 0x5FU, 0x80U, 0x9FU, 0xA0U, 0xE0U, 0xFFU}) {
        const Syndrome syndrome{static_cast<std::uint8_t>(byte)};
        EXPECT_EQ(syndrome.kind(), SyndromeKind::reserved) << byte;
        EXPECT_EQ(syndrome.nak_code(), std::nullopt);
    }
    EXPECT_EQ(Syndrome::rnr_nak(1).nak_code(), std::nullopt);
}

// RC-15: the whole table, and the code 0x1F.
TEST(Credits, EachCodeGrantsWhatTheTableSays) {
    constexpr std::array<std::uint32_t, 31> expected = {
        0,    1,    2,    3,    4,    6,     8,     12,    16,   24,   32,
        48,   64,   96,   128,  192,  256,   384,   512,   768,  1024, 1536,
        2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
    for (std::uint8_t code = 0; code < 31; ++code) EXPECT_EQ(credits_of(code), expected[code]);
    EXPECT_EQ(credits_of(unlimited_credits), std::nullopt);
}

// RC-15
TEST(Credits, ACountIsRoundedDownToTheNextCode) {
    for (std::uint8_t code = 0; code < 31; ++code) {
        const std::uint32_t exact = credits_of(code).value();
        EXPECT_EQ(credit_code_of(exact), code);
        EXPECT_EQ(credit_code_of(exact - (code > 0 ? 1 : 0)), code - (code > 0 ? 1 : 0));
    }
    EXPECT_EQ(credit_code_of(5), 4);
    EXPECT_EQ(credit_code_of(7), 5);
    EXPECT_EQ(credit_code_of(100'000), 30);
    EXPECT_EQ(credit_code_of(~std::uint32_t{0}), 30);
}

// RC-7: the time of each code.
TEST(RnrTimer, CodesAreTheTimesOfTheTable) {
    const auto microseconds = [](std::uint8_t code) {
        return rnr_wait(code).picoseconds() / 1'000'000;
    };
    EXPECT_EQ(microseconds(0), 655'360);
    EXPECT_EQ(microseconds(1), 10);
    EXPECT_EQ(microseconds(18), 5'120);
    EXPECT_EQ(microseconds(25), 61'440);  // Linux has 61,410, a typing error
    EXPECT_EQ(microseconds(31), 491'520);
    // From code 6 on, each time is twice the time of the code two before it.
    EXPECT_EQ(microseconds(5), 60);
    for (std::uint8_t code = 6; code < 32; ++code) {
        EXPECT_EQ(microseconds(code), 2 * microseconds(static_cast<std::uint8_t>(code - 2)))
            << +code;
    }
}

}  // namespace
}  // namespace wireproof::proto::ib
