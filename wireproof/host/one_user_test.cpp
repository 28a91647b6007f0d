#include "wireproof/host/one_user.hpp"

#include <gtest/gtest.h>

namespace wireproof::host {
namespace {

TEST(OneUser, CountsCallsThatNest) {
    OneUser user("a thing");
    EXPECT_FALSE(user.inside());
    {
        const OneUser::Call outer(user);
        {
            const OneUser::Call inner(user);
            EXPECT_TRUE(user.inside());
        }
        EXPECT_TRUE(user.inside());
    }
    EXPECT_FALSE(user.inside());
}

TEST(OneUser, LetsThreadsComeOneAfterTheOther) {
    OneUser user("a thing");
    for (int i = 0; i < 3; ++i) {
        std::thread([&] { const OneUser::Call call(user); }).join();
        const OneUser::Call call(user);
    }
    EXPECT_FALSE(user.inside());
}

#ifndef NDEBUG
TEST(OneUserDeathTest, EndsTheProgramWhenASecondThreadComes) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(
        {
            OneUser user("a thing");
            const OneUser::Call call(user);
            std::thread([&] { const OneUser::Call other(user); }).join();
        },
        "wireproof: a thing is used by two threads at once");
}
#endif

}  // namespace
}  // namespace wireproof::host
