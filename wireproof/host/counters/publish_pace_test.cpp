#include "wireproof/host/counters/publish_pace.hpp"

#include <gtest/gtest.h>

namespace wireproof::host {
namespace {

constexpr Instant at(std::int64_t microseconds) {
    return Instant(Duration::microseconds(microseconds));
}

TEST(PublishPace, CopiesAtMostOncePerPeriod) {
    PublishPace pace;
    ASSERT_TRUE(pace.polled(at(5)));
    pace.copied(1, 0);
    int copies = 0;
    for (int us = 6; us < 100'000; ++us) {
        if (!pace.polled(at(us))) continue;
        ++copies;
        EXPECT_EQ(pace.last(), at(us));
        pace.copied(1, 0);
    }
    EXPECT_EQ(copies, 9);
}

TEST(PublishPace, ManyRowsAreCopiedLessOften) {
    PublishPace pace;
    ASSERT_TRUE(pace.polled(at(0)));
    pace.copied(1024, 0);
    EXPECT_FALSE(pace.polled(at(1024 * 50 - 1)));
    EXPECT_TRUE(pace.polled(at(1024 * 50)));
}

TEST(PublishPace, BeforeASleepFewRowsAreCopiedAtOnceAndOnlyIfSomethingHappened) {
    PublishPace pace;
    ASSERT_TRUE(pace.polled(at(0)));
    pace.copied(8, 5);
    EXPECT_FALSE(pace.copies_before_sleep(5));
    EXPECT_EQ(pace.next(5), never);
    EXPECT_FALSE(pace.polled(at(100)));
    EXPECT_TRUE(pace.copies_before_sleep(6));
    pace.copied(8, 6);
    EXPECT_FALSE(pace.copies_before_sleep(6));
    EXPECT_EQ(pace.next(6), never) << "nothing is left to copy";
    pace.note();
    EXPECT_TRUE(pace.copies_before_sleep(6));
    pace.copied(8, 6);
    EXPECT_FALSE(pace.copies_before_sleep(6));
    EXPECT_FALSE(pace.polled(at(10'099)));
    EXPECT_TRUE(pace.polled(at(10'100)));
}

TEST(PublishPace, ManyRowsEndTheSleepOnceWhenTheyAreDue) {
    PublishPace pace;
    ASSERT_TRUE(pace.polled(at(0)));
    pace.copied(9, 5);
    EXPECT_FALSE(pace.polled(at(100)));
    EXPECT_FALSE(pace.copies_before_sleep(6));
    EXPECT_EQ(pace.next(6), at(10'000));
    EXPECT_TRUE(pace.polled(at(10'000)));
    pace.copied(9, 6);
    EXPECT_FALSE(pace.polled(at(10'005)));
    EXPECT_EQ(pace.next(6), never) << "the sleep lasts, although the wake polled again";
    pace.note();
    EXPECT_EQ(pace.next(6), at(20'000));
}

}  // namespace
}  // namespace wireproof::host
