// The figures are those of PCI Express flits: 256 bytes, three groups, 16 lanes.
#include "wireproof/lab/line/unit_line.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <vector>

namespace wireproof::lab {
namespace {

constexpr UnitLineTerms flit{};

void expect_share(double shown, double digits, double actual) {
    EXPECT_NEAR(actual / shown, 1, digits);
}

TEST(UnitLine, FailuresBehindTheCodeAreThePublishedOnes) {
    constexpr double rounding = 1e-3;  // four digits
    for (const auto& [bit_error, with, without] :
         {std::tuple{1e-8, 6.909e-11, 2.048e-5}, std::tuple{1e-7, 6.908e-9, 2.0478e-4},
          std::tuple{1e-6, 6.906e-7, 2.0459e-3}, std::tuple{4e-6, 1.1034e-5, 8.159e-3},
          std::tuple{1e-5, 6.878e-5, 2.027e-2}, std::tuple{1e-4, 6.590e-3, 0.1852}}) {
        expect_share(with, rounding, unit_failure(flit, bit_error));
        UnitLineTerms off = flit;
        off.corrects = false;
        expect_share(without, rounding, unit_failure(off, bit_error));
    }
    EXPECT_EQ(unit_failure(flit, 0), 0);
    expect_share(6.909e-27, 2e-3, unit_failure(flit, 1e-16));  // keeps its digits
}

double coefficient(UnitLineTerms terms, double bit_error) {
    const double events = 2048 * bit_error;
    return unit_failure(terms, bit_error) / (events * events / 2);
}

TEST(UnitLine, TwoBurstsFailAsOftenAsWasSampled) {
    for (const auto& [bits, sampled] :
         {std::pair{1U, 0.332}, std::pair{2U, 0.405}, std::pair{4U, 0.564}, std::pair{8U, 0.870},
          std::pair{16U, 0.984}}) {
        UnitLineTerms terms = flit;
        terms.burst_bits = bits;
        EXPECT_NEAR(coefficient(terms, 1e-9), sampled, 0.006) << bits;
    }
}

// A burst that touches up to three bytes of a lane hits three groups.
TEST(UnitLine, ABurstOfUpTo17BitsAloneNeverFails) {
    for (const std::uint32_t lanes : {1U, 2U, 4U, 8U, 16U}) {
        for (std::uint32_t bits = 1; bits <= 25; ++bits) {
            std::uint32_t failing = 0;
            for (std::uint32_t offset = 0; offset < 8; ++offset) {
                const UnitEvent event{.byte = 5, .touched = (offset + bits - 1) / 8 + 1};
                UnitLineTerms terms = flit;
                terms.lanes = lanes;
                failing += unrepaired_groups(terms, {&event, 1}) > 0 ? 1U : 0U;
            }
            const std::uint32_t expected = bits <= 17 ? 0 : bits - 17;
            EXPECT_EQ(failing, std::min(expected, 8U)) << bits << " bits, x" << lanes;
        }
    }
}

TEST(UnitLine, TheEndOfTheUnitEndsABurst) {
    const UnitEvent last{.byte = 255, .touched = 4};
    EXPECT_EQ(unrepaired_groups(flit, {&last, 1}), 0U);
    const UnitEvent last_symbol{.byte = 245, .touched = 4};  // the next byte of its lane is 261
    EXPECT_EQ(unrepaired_groups(flit, {&last_symbol, 1}), 0U);
    const UnitEvent early{.byte = 0, .touched = 4};
    EXPECT_EQ(unrepaired_groups(flit, {&early, 1}), 1U);
}

TEST(UnitLine, TheSameByteTwiceIsOneWrongByte) {
    const std::vector<UnitEvent> same{{.byte = 7}, {.byte = 7}};
    EXPECT_EQ(unrepaired_groups(flit, same), 0U);
    const std::vector<UnitEvent> group{{.byte = 7}, {.byte = 10}};
    EXPECT_EQ(unrepaired_groups(flit, group), 1U);
    const std::vector<UnitEvent> both{{.byte = 7}, {.byte = 10}, {.byte = 0}, {.byte = 3}};
    EXPECT_EQ(unrepaired_groups(flit, both), 2U);
}

// P_f grows by L r g, with g by the lanes whose numbers are equal modulo 3.
TEST(UnitLine, CorrelatedLanesFailWhereTheyShareAGroup) {
    constexpr double bit_error = 1e-6;
    constexpr double correlation = 0.01;
    for (const auto& [lanes, share] :
         {std::pair{16U, 35.0 / 120}, std::pair{8U, 7.0 / 28}, std::pair{4U, 1.0 / 6},
          std::pair{2U, 0.0}, std::pair{1U, 0.0}}) {
        UnitLineTerms terms = flit;
        terms.lanes = lanes;
        const double alone = unit_failure(terms, bit_error);
        terms.correlation = correlation;
        const double more = unit_failure(terms, bit_error) - alone;
        EXPECT_NEAR(more, 2048 * bit_error * correlation * share, 2e-8) << lanes;
    }
    UnitLineTerms terms = flit;
    terms.correlation = 0.005;
    expect_share(5e-6, 0.4, unit_failure(terms, 1e-6));  // the published retry probability
    terms.correlation = 0.047;
    expect_share(3e-5, 0.1, unit_failure(terms, 1e-6));
}

TEST(UnitLine, UndetectedUnitsAreARate) {
    // x16 at 64 GT/s, 5e-6 bad units. If the CRC found none for sure, 4.9e-4 in 10^9 hours.
    UnitLineTerms terms = flit;
    double bit_error = 2.7e-6;  // makes about 5e-6
    bit_error *= std::sqrt(5e-6 / unit_failure(terms, bit_error));
    expect_share(5e-6, 0.001, unit_failure(terms, bit_error));
    constexpr double units = 128e9 / 256 * 3600e9;
    expect_share(4.9e-4, 0.01, unit_failure(terms, bit_error) * 0x1p-64 * units);
    const double rate = failures_in_time(terms, bit_error, 128e9);
    EXPECT_DOUBLE_EQ(rate, unit_undetected(terms, bit_error) * units);
    EXPECT_LT(rate, 1e-14);
}

struct Measured {
    double bad = 0;
    double share = 0;
    double error = 0;  // one standard error of the share
    UnitLineCounts counts;
};

Measured measure(const UnitLineTerms& terms, double bit_error, std::uint64_t bad,
                 std::uint64_t seed) {
    UnitLine line(terms, bit_error, seed);
    double units = 0;
    for (std::uint64_t seen = 0; seen < bad;) {
        const std::uint64_t clean = line.clean_units();
        line.skip(clean);
        units += static_cast<double>(clean) + 1;
        seen += line.next_is_bad() ? 1U : 0U;
    }
    const auto count = static_cast<double>(bad);
    const double share = count / units;
    return {count, share, share / std::sqrt(count), line.counts()};
}

TEST(UnitLine, DrawsAsManyBadUnitsAsTheClosedFormSays) {
    std::uint64_t seed = 1;
    for (const double bit_error : {1e-11, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3}) {
        const Measured measured = measure(flit, bit_error, 40'000, seed++);
        EXPECT_NEAR(measured.share, unit_failure(flit, bit_error), 4 * measured.error) << bit_error;
        UnitLineTerms off = flit;
        off.corrects = false;
        const Measured without = measure(off, bit_error, 40'000, seed++);
        EXPECT_NEAR(without.share, unit_failure(off, bit_error), 4 * without.error) << bit_error;
        EXPECT_EQ(without.counts.detected, 40'000U);
    }
}

TEST(UnitLine, DrawsBurstsAndCorrelatedLanesAsTheClosedFormSays) {
    std::uint64_t seed = 100;
    for (const std::uint32_t bits : {2U, 4U, 8U, 16U, 18U, 25U}) {
        for (const std::uint32_t lanes : {1U, 4U, 16U}) {
            for (const double correlation : {0.0, 0.02}) {
                UnitLineTerms terms = flit;
                terms.burst_bits = bits;
                terms.lanes = lanes;
                terms.correlation = correlation;
                for (const double bit_error : {1e-8, 1e-6, 1e-5}) {
                    const Measured measured = measure(terms, bit_error, 20'000, seed++);
                    EXPECT_NEAR(measured.share, unit_failure(terms, bit_error), 4 * measured.error)
                        << bits << " bits, x" << lanes << ", " << correlation << ", " << bit_error;
                }
            }
        }
    }
}

TEST(UnitLine, AThirdOfTheSpoiltGroupsIsMiscorrected) {
    const Measured measured = measure(flit, 1e-6, 40'000, 3);
    EXPECT_EQ(measured.counts.detected + measured.counts.miscorrected, 40'000U);
    const auto third = static_cast<double>(measured.counts.miscorrected) / 40'000;
    EXPECT_NEAR(third, 1.0 / 3, 4 * std::sqrt(2.0 / 9 / 40'000));
}

// The probabilities of k errors in n bits, k from `least` on, computed in another way.
double at_least(double bits, double least, double bit_error) {
    double sum = 0;
    for (double k = least; k < least + 40; ++k) {
        sum += std::exp(std::lgamma(bits + 1) - std::lgamma(k + 1) - std::lgamma(bits - k + 1) +
                        k * std::log(bit_error) + (bits - k) * std::log1p(-bit_error));
    }
    return sum;
}

TEST(UnitLine, WhatTheCheckMissesHasMoreWrongBytesThanItAlwaysFinds) {
    for (const double bit_error : {1e-15, 1e-9, 1e-6, 1e-4}) {
        const auto expect = [&](const UnitLineTerms& terms, double bad) {
            EXPECT_NEAR(unit_undetected(terms, bit_error) / bad, 1, 1e-6) << bit_error;
        };
        // With a code, six: it may make one of each group wrong.
        expect(flit, at_least(2048, 6, bit_error) * 0x1p-64);
        UnitLineTerms off = flit;
        off.corrects = false;
        expect(off, at_least(2048, 9, bit_error) * 0x1p-64);
        off.burst_bits = 2;  // two bytes each
        expect(off, at_least(2048, 5, bit_error) * 0x1p-64);
        off.correlation = 0.1;
        expect(off, at_least(2048, 3, bit_error) * 0x1p-64);
        UnitLineTerms ucie = off;
        ucie.burst_bits = 1;
        ucie.correlation = 0;
        ucie.check_bits = 16;
        ucie.check_symbol = 1;
        ucie.check_finds = 3;
        ucie.check_parts = 2;
        expect(ucie, 2 * at_least(1024, 4, bit_error) * 0x1p-15);
        ucie.unit = 68;
        ucie.check_parts = 1;
        expect(ucie, at_least(544, 4, bit_error) * 0x1p-15);
    }
    // A bound is at most what fails at all.
    UnitLineTerms long_bursts = flit;
    long_bursts.burst_bits = 256;
    EXPECT_EQ(unit_undetected(long_bursts, 1e-9), unit_failure(long_bursts, 1e-9) * 0x1p-64);
    EXPECT_EQ(unit_undetected(flit, 0), 0);
}

// UCIE-8: x^16 + x^15 + x^2 + 1. Two wrong bits in a word of 128 bytes and the check have different
// remainders, and so have one and three, because the polynomial has the factor x + 1.
TEST(UnitLine, TheCheckOfUcieFindsEachThreeWrongBits) {
    std::set<unsigned> remainders;
    unsigned remainder = 1;
    constexpr unsigned bits = 128 * 8 + 16;
    for (unsigned i = 0; i < bits; ++i) {
        EXPECT_TRUE(remainders.insert(remainder).second);
        EXPECT_EQ(std::popcount(remainder) % 2, 1);
        remainder = remainder << 1 ^ (remainder >> 15) * 0x18005U;
    }
}

TEST(UnitLine, SkippedUnitsChangeNothingThatFollows) {
    UnitLine skipping(flit, 3e-5, 7);
    UnitLine passing = skipping;
    std::uint64_t bad = 0;
    while (bad < 1'000) {
        const std::uint64_t clean = skipping.clean_units();
        skipping.skip(clean / 2);
        for (std::uint64_t i = 0; i < clean / 2; ++i) EXPECT_FALSE(passing.next_is_bad());
        const bool is_bad = skipping.next_is_bad();
        EXPECT_EQ(passing.next_is_bad(), is_bad);
        bad += is_bad ? 1U : 0U;
    }
    EXPECT_EQ(skipping.counts().detected, passing.counts().detected);
    EXPECT_EQ(skipping.counts().miscorrected, passing.counts().miscorrected);
}

TEST(UnitLine, WithoutErrorsNothingIsBad) {
    UnitLine line(flit, 0, 1);
    for (int i = 0; i < 10; ++i) {
        EXPECT_GT(line.clean_units(), 1'000'000'000U);
        line.skip(line.clean_units());
        EXPECT_FALSE(line.next_is_bad());
    }
}

}  // namespace
}  // namespace wireproof::lab
