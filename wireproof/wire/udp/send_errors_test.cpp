#include "wireproof/wire/udp/send_errors.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace wireproof {
namespace {

TEST(SendErrors, AreNamedInTheOrderInWhichTheyWereMet) {
    SendErrors errors;
    EXPECT_EQ(errors.to_string(), "");
    EXPECT_TRUE(errors.counts().empty());
    errors.add(ENETUNREACH, 2);
    errors.add(EMSGSIZE, 1);
    errors.add(ENETUNREACH, 1);
    errors.add(EPERM, 0);
    EXPECT_EQ(errors.to_string(),
              "Network is unreachable (3 packets), Message too long (1 packet)");
    ASSERT_EQ(errors.counts().size(), 2U);
    EXPECT_EQ(errors.counts()[0].error, ENETUNREACH);
    EXPECT_EQ(errors.counts()[0].frames, 3U);
}

TEST(SendErrors, CountEveryFrameThoughTheErrorsAreMoreThanHaveAPlace) {
    SendErrors errors;
    for (int error = 1; error <= 20; ++error) errors.add(error, 10);
    ASSERT_EQ(errors.counts().size(), 8U);
    EXPECT_EQ(errors.counts()[6].error, 7);
    EXPECT_EQ(errors.counts()[7].error, 0);
    EXPECT_EQ(errors.counts()[7].frames, 130U);
    EXPECT_NE(errors.to_string().find("other errors (130 packets)"), std::string::npos);
    errors.add(19, 1);
    EXPECT_EQ(errors.counts()[7].frames, 131U);
}

}  // namespace
}  // namespace wireproof
