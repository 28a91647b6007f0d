#include "wireproof/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

namespace wireproof {
namespace {

TEST(Result, IsAValueOrOneLine) {
    Result<std::unique_ptr<int>> value(std::make_unique<int>(7));
    ASSERT_TRUE(value);
    EXPECT_EQ(**value, 7);
    EXPECT_THROW((void)value.error(), std::bad_variant_access);
    const auto failure = Result<std::string>::failure("no such thing");
    ASSERT_FALSE(failure);
    EXPECT_EQ(failure.error(), "no such thing");
    EXPECT_THROW((void)*failure, std::bad_variant_access);
}

TEST(Result, WithoutAValueIsSuccessOrOneLine) {
    Result<void> done;
    EXPECT_TRUE(done);
    EXPECT_THROW((void)done.error(), std::bad_variant_access);
    done = Result<void>::failure("refused");
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error(), "refused");
    static_assert(!std::is_convertible_v<Result<void>, bool>);
}

}  // namespace
}  // namespace wireproof
