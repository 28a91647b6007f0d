#include "wireproof/proto/pcie/flow_credit.hpp"

#include <gtest/gtest.h>

namespace wireproof::pcie {
namespace {

// PCIE-29
TEST(PcieCredit, TheGateOpensForExactlyWhatWasAdvertised) {
    CreditGate gate;
    gate.start({2, 10});
    EXPECT_TRUE(gate.allows({1, 10}));
    EXPECT_FALSE(gate.allows({1, 11}));
    gate.consume({1, 4});
    EXPECT_TRUE(gate.allows({1, 6}));
    EXPECT_FALSE(gate.allows({1, 7}));
    gate.consume({1, 0});
    EXPECT_FALSE(gate.allows({1, 0}));  // no header credit is left
    gate.update({3, 10});
    EXPECT_TRUE(gate.allows({1, 6}));
}

// PCIE-29: both fields, of 8 and of 12 bits, wrap many times.
TEST(PcieCredit, NeverLetsMoreThroughThanIsFreeAcrossTheWraps) {
    CreditGrant grant({4, 300});
    CreditGate gate;
    gate.start(grant.advertised());
    std::uint32_t headers_free = 4;
    std::uint32_t data_free = 300;
    for (int i = 0; i < 5'000; ++i) {
        const Credits need{1, static_cast<std::uint32_t>(i % 256)};
        const bool fits = headers_free >= 1 && data_free >= need.data;
        ASSERT_EQ(gate.allows(need), fits) << i;
        if (fits) {
            gate.consume(need);
            headers_free -= 1;
            data_free -= need.data;
            grant.take(need);
        } else {
            gate.update(grant.tell());
            headers_free = 4;
            data_free = 300;
        }
    }
}

// PCIE-29: an old UpdateFC.
TEST(PcieCredit, AStaleUpdateLowersNothing) {
    CreditGate gate;
    gate.start({10, 100});
    gate.update({20, 200});
    gate.update({10, 100});
    EXPECT_TRUE(gate.allows({20, 200}));
    EXPECT_FALSE(gate.allows({21, 200}));
}

// PCIE-29: a value that is half of the circle ahead could as well be behind, so the sender ignores
// it.
TEST(PcieCredit, AnUpdateOfExactlyHalfTheCircleChangesNothing) {
    for (const std::uint32_t start : {100U, 200U}) {  // the second wraps
        CreditGate gate;
        gate.start({start, 10 * start});
        gate.consume({start, 10 * start});
        gate.update({(start + 128) % 256, (10 * start + 2048) % 4096});
        EXPECT_FALSE(gate.allows({1, 0})) << start;
        EXPECT_FALSE(gate.allows({0, 1})) << start;
        // A receiver can advertise at most one less than half of the circle.
        gate.update({(start + 127) % 256, (10 * start + 2047) % 4096});
        EXPECT_TRUE(gate.allows({127, 2047})) << start;
        EXPECT_FALSE(gate.allows({128, 2047})) << start;
        EXPECT_FALSE(gate.allows({127, 2048})) << start;
    }
}

TEST(PcieCredit, ZeroIsInfiniteForGood) {
    CreditGate gate;
    gate.start({0, 0});
    gate.update({1, 1});
    for (int i = 0; i < 10'000; ++i) gate.consume({1, 256});
    EXPECT_TRUE(gate.allows({1, 256}));
}

TEST(PcieCredit, CreditsAreReturnedOnceHalfOfTheRoomIsFreeAgain) {
    CreditGrant grant({4, 0});
    EXPECT_FALSE(grant.take({1, 5}));
    EXPECT_FALSE(grant.take({1, 5}));
    EXPECT_TRUE(grant.take({1, 5}));
    EXPECT_EQ(grant.tell(), (Credits{7, 0}));
    EXPECT_FALSE(grant.take({1, 5}));
    CreditGrant data({0, 8});
    EXPECT_FALSE(data.take({1, 4}));
    EXPECT_TRUE(data.take({1, 1}));
    EXPECT_EQ(data.tell(), (Credits{0, 13}));
}

}  // namespace
}  // namespace wireproof::pcie
