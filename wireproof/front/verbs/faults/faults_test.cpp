// When a script of faults acts without a packet.
#include "wireproof/front/verbs/faults/faults.hpp"

#include <gtest/gtest.h>

namespace wireproof::verbs {
namespace {

Faults with_event(const EventFault& event) {
    FaultScript script;
    script.events.push_back(event);
    return {script, 1, std::nullopt, Address(), 2};
}

TEST(FaultsInTime, AnEventWakesTheDeviceAtItsTimeAndIsReportedOnce) {
    const Instant opened(Duration::milliseconds(7));
    const Instant due = opened + Duration::milliseconds(20);
    Faults faults = with_event({.queue_pair = 1, .at = Duration::milliseconds(20)});
    EXPECT_TRUE(faults.keeps_time()) << "it needs the keeper";
    faults.begin(opened);
    EXPECT_EQ(faults.next_deadline(), due);
    EXPECT_FALSE(faults.next_event(due + Duration(-1)));
    const auto told = faults.next_event(due);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->queue_pair, 1U);
    EXPECT_EQ(faults.next_deadline(), never);
    EXPECT_FALSE(faults.next_event(due + Duration::milliseconds(1'000)));
}

TEST(FaultsInTime, AnEventOfAPacketWaitsForIt) {
    Faults faults = with_event({.at_packet = 3});
    faults.begin(Instant());
    EXPECT_EQ(faults.next_deadline(), never);
    EXPECT_FALSE(faults.next_event(Instant() + Duration::milliseconds(1'000)));
}

TEST(FaultsInTime, AnOutageWakesTheDeviceWhenItBeginsAndEnds) {
    FaultScript script;
    script.downs.push_back({.at = Duration::milliseconds(5), .lasts = Duration::milliseconds(10)});
    Faults faults(script, 1, std::nullopt, Address(), 2);
    EXPECT_TRUE(faults.keeps_time());
    const Instant opened;
    faults.begin(opened);
    const Instant begins = opened + Duration::milliseconds(5);
    EXPECT_EQ(faults.next_deadline(), begins);
    EXPECT_EQ(faults.link_change(begins), false);
    EXPECT_EQ(faults.next_deadline(), begins + Duration::milliseconds(10));
    EXPECT_EQ(faults.link_change(begins + Duration::milliseconds(10)), true);
    EXPECT_EQ(faults.next_deadline(), never);
}

}  // namespace
}  // namespace wireproof::verbs
