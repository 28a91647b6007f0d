#include "wireproof/base/seq_num.hpp"

#include <gtest/gtest.h>

namespace wireproof {
namespace {

struct Tag;
using Number = SeqNum<Tag>;

TEST(Circle, StepsAcrossTheWrapOfEveryModulusInUse) {
    for (const std::uint64_t modulus : {std::uint64_t{2}, std::uint64_t{10}, std::uint64_t{255},
                                        std::uint64_t{1} << 16, std::uint64_t{1} << 32}) {
        const Circle circle(modulus);
        const Number last(static_cast<std::uint32_t>(modulus - 1));
        EXPECT_EQ(circle.advance(last, 1), Number(0)) << modulus;
        EXPECT_EQ(circle.steps_after(Number(0), last), 1U) << modulus;
        EXPECT_EQ(circle.steps_after(last, Number(0)), modulus - 1) << modulus;
        EXPECT_EQ(circle.steps_after(last, last), 0U) << modulus;
    }
}

TEST(Circle, AdvanceAndStepsAfterUndoEachOther) {
    const Circle circle(1 << 16);
    for (std::uint32_t steps = 0; steps < 400; ++steps) {
        const Number start(65'400);
        EXPECT_EQ(circle.steps_after(circle.advance(start, steps), start), steps);
    }
}

TEST(Circle, KnowsWhichValuesCanStandOnIt) {
    EXPECT_TRUE(Circle(255).holds(254));
    EXPECT_FALSE(Circle(255).holds(255));
    EXPECT_TRUE(Circle(std::uint64_t{1} << 32).holds(0xFFFFFFFF));
}

}  // namespace
}  // namespace wireproof
