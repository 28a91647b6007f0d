// Tests which items overtake a held item, and when its deadline releases it.
#include "wireproof/core/hold_back.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace wireproof {
namespace {

Instant at_microseconds(std::int64_t microseconds) {
    return Instant(Duration::microseconds(microseconds));
}

std::string pass(HoldBack<char>& held) {
    std::string released;
    held.pass([&](char item) { released.push_back(item); });
    return released;
}

std::string expire(HoldBack<char>& held, Instant now) {
    std::string released;
    held.expire(now, [&](char item) { released.push_back(item); });
    return released;
}

TEST(HoldBack, ReleasesAnItemAfterExactlyAsManyHavePassed) {
    HoldBack<char> held;
    held.hold('a', 3, never);
    EXPECT_EQ(pass(held), "");
    EXPECT_EQ(pass(held), "");
    EXPECT_EQ(pass(held), "a");
    EXPECT_TRUE(held.empty());
    EXPECT_EQ(pass(held), "");
}

TEST(HoldBack, ReleasesThoseOfOneTurnOldestFirst) {
    HoldBack<char> held;
    held.hold('a', 2, never);
    held.hold('b', 1, never);
    EXPECT_EQ(pass(held), "b");
    held.hold('c', 1, never);
    held.hold('d', 2, never);
    EXPECT_EQ(pass(held), "ac");
    EXPECT_EQ(held.size(), 1U);
    EXPECT_EQ(pass(held), "d");
}

TEST(HoldBack, ReleasesWhatWaitedToItsDeadlineAndNoMore) {
    HoldBack<char> held;
    EXPECT_EQ(held.next_deadline(), never);
    held.hold('a', 5, at_microseconds(20));
    held.hold('b', 5, at_microseconds(10));
    held.hold('c', 5, at_microseconds(30));
    EXPECT_EQ(held.next_deadline(), at_microseconds(10));
    EXPECT_EQ(expire(held, at_microseconds(9)), "");
    EXPECT_EQ(expire(held, at_microseconds(20)), "ab");
    EXPECT_EQ(held.next_deadline(), at_microseconds(30));
    EXPECT_EQ(expire(held, at_microseconds(40)), "c");
    EXPECT_EQ(held.next_deadline(), never);
}

TEST(HoldBack, APassedItemIsNotReleasedAgainByItsDeadline) {
    HoldBack<char> held;
    held.hold('a', 1, at_microseconds(10));
    EXPECT_EQ(pass(held), "a");
    EXPECT_EQ(expire(held, at_microseconds(10)), "");
}

TEST(HoldBack, ForgetsNoItemAmongMany) {
    HoldBack<char> held;
    std::string released;
    std::string wanted;
    for (int i = 0; i < 200; ++i) {
        const char item = static_cast<char>('!' + i % 90);
        wanted.push_back(item);
        held.hold(item, 1 + static_cast<std::uint32_t>(i % 8), at_microseconds(i));
        if (i % 3 == 0) released += pass(held);
        if (i % 50 == 0) released += expire(held, at_microseconds(i - 20));
    }
    released += expire(held, at_microseconds(1'000));
    std::sort(wanted.begin(), wanted.end());
    std::sort(released.begin(), released.end());
    EXPECT_EQ(released, wanted);
}

}  // namespace
}  // namespace wireproof
