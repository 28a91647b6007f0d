#include "wireproof/proto/collective/combine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace wireproof::collective {
namespace {

template <class T>
std::vector<T> combined(Element element, Reduction reduction, std::vector<T> mine,
                        std::vector<T> theirs, Mine side = Mine::left) {
    combine(element, reduction, std::as_writable_bytes(std::span(mine)),
            std::as_bytes(std::span(theirs)), side);
    return mine;
}

template <class T>
void expect_right(Element element) {
    const T low = std::numeric_limits<T>::lowest();
    const T high = std::numeric_limits<T>::max();
    using Values = std::vector<T>;
    EXPECT_EQ(size_of(element), sizeof(T));
    EXPECT_EQ(combined<T>(element, Reduction::sum, {1, 2, low}, {3, 4, high}),
              (Values{4, 6, static_cast<T>(low + high)}));
    EXPECT_EQ(combined<T>(element, Reduction::min, {1, 5, low}, {3, 4, high}), (Values{1, 4, low}));
    EXPECT_EQ(combined<T>(element, Reduction::max, {1, 5, low}, {3, 4, high}),
              (Values{3, 5, high}));
}

TEST(CollectiveCombine, EachTypeHasSumMinAndMax) {
    expect_right<float>(Element::float32);
    expect_right<double>(Element::float64);
    expect_right<std::int32_t>(Element::int32);
    expect_right<std::int64_t>(Element::int64);
    expect_right<std::uint32_t>(Element::uint32);
    expect_right<std::uint64_t>(Element::uint64);
}

TEST(CollectiveCombine, SumsOfIntegersWrapAround) {
    const auto max = std::numeric_limits<std::int32_t>::max();
    EXPECT_EQ(combined<std::int32_t>(Element::int32, Reduction::sum, {max}, {2}),
              (std::vector<std::int32_t>{-max}));
}

// All ranks must get the same bits, though each has another of the operands in its memory.
TEST(CollectiveCombine, WithoutAnOrderTheRightOperandWins) {
    const double none = std::nan("");
    for (const Reduction reduction : {Reduction::min, Reduction::max}) {
        const auto of = [&](double left, double right) {
            const double at_left =
                combined<double>(Element::float64, reduction, {left}, {right}, Mine::left)[0];
            const double at_right =
                combined<double>(Element::float64, reduction, {right}, {left}, Mine::right)[0];
            EXPECT_EQ(std::isnan(at_left), std::isnan(at_right));
            EXPECT_EQ(std::signbit(at_left), std::signbit(at_right));
            return at_left;
        };
        EXPECT_EQ(of(none, 1), 1);
        EXPECT_TRUE(std::isnan(of(1, none)));
        EXPECT_FALSE(std::signbit(of(-0.0, 0.0)));
        EXPECT_TRUE(std::signbit(of(0.0, -0.0)));
    }
}

TEST(CollectiveCombine, TakesMemoryOfAnyAlignment) {
    std::vector<std::byte> mine(9);
    std::vector<std::byte> theirs(9);
    mine[1] = theirs[1] = std::byte{3};
    combine(Element::uint64, Reduction::sum, Bytes(mine).subspan(1), ConstBytes(theirs).subspan(1),
            Mine::left);
    EXPECT_EQ(mine[1], std::byte{6});
}

}  // namespace
}  // namespace wireproof::collective
