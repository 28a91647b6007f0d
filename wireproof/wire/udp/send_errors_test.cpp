#include "wireproof/wire/udp/send_errors.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace wireproof {
namespace {

TEST(SendErrors, AreNamedInTheOrderInWhichTheyWereMet) {
    SendErrors errors;
    EXPECT_EQ(errors.to_string(), "");
    EXPECT_EQ(errors.frames(), 0U);
    errors.add(ENETUNREACH, 2);
    errors.add(EMSGSIZE, 1);
    errors.add(ENETUNREACH, 1);
    errors.add(EPERM, 0);
    EXPECT_EQ(errors.to_string(),
              "Network is unreachable (3 packets), Message too long (1 packet)");
    EXPECT_EQ(errors.frames(), 4U);
    ASSERT_EQ(errors.counts().size(), 2U);
    EXPECT_EQ(errors.counts()[0].error, ENETUNREACH);
    EXPECT_EQ(errors.counts()[0].frames, 3U);
}

TEST(SendErrors, TellWhatWasAddedSinceAnEarlierCopy) {
    SendErrors errors;
    errors.add(EPERM, 5);
    const SendErrors before = errors;
    EXPECT_EQ(errors.since(before).to_string(), "");
    errors.add(EHOSTUNREACH, 1);
    EXPECT_EQ(errors.since(before).to_string(), "No route to host (1 packet)");
    errors.add(EPERM, 2);
    EXPECT_EQ(errors.since(before).to_string(),
              "Operation not permitted (2 packets), No route to host (1 packet)");
}

TEST(SendErrors, CountEveryFrameThoughTheErrorsAreMoreThanHaveAPlace) {
    SendErrors errors;
    for (int error = 1; error <= 20; ++error) errors.add(error, 10);
    EXPECT_EQ(errors.frames(), 200U);
    ASSERT_EQ(errors.counts().size(), 8U);
    EXPECT_EQ(errors.counts()[6].error, 7);
    EXPECT_EQ(errors.counts()[7].error, 0);
    EXPECT_EQ(errors.counts()[7].frames, 130U);
    EXPECT_NE(errors.to_string().find("other errors (130 packets)"), std::string::npos);
    const SendErrors before = errors;
    errors.add(19, 1);
    EXPECT_EQ(errors.since(before).to_string(), "other errors (1 packet)");
}

}  // namespace
}  // namespace wireproof
