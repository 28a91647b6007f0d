#include "wireproof/base/type_list.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <type_traits>

namespace wireproof {
namespace {

using Three = TypeList<char, short, double>;

TEST(TypeList, VisitsEachTypeInOrder) {
    std::string sizes;
    Three::for_each([&sizes]<class T>() { sizes += std::to_string(sizeof(T)); });
    EXPECT_EQ(sizes, "128");
}

TEST(TypeList, CallsForTheTypeAtAPlace) {
    const auto size = []<class T>() { return sizeof(T); };
    EXPECT_EQ(Three::visit(0, size), 1U);
    EXPECT_EQ(Three::visit(1, size), 2U);
    EXPECT_EQ(Three::visit(2, size), 8U);
    EXPECT_DEATH(Three::visit(3, size), "at < size");
}

TEST(TypeList, BecomesTheArgumentsOfATemplate) {
    static_assert(
        std::is_same_v<Three::Into<std::tuple, int>, std::tuple<char, short, double, int>>);
    static_assert(Three::size == 3);
}

}  // namespace
}  // namespace wireproof
