// The layout of the structs on a machine of 64 bits. Programs that are compiled already depend on
// it: a struct may only grow at its end. A change of an earlier line here breaks such programs.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "wireproof/lab.h"
#include "wireproof/wireproof.h"

namespace {

#define EXPECT_LAST(type, member, end)                                                  \
    EXPECT_EQ(offsetof(type, member) + sizeof(type::member), std::size_t{end});         \
    EXPECT_EQ(sizeof(type), std::size_t{end}) << "no bytes behind the last member, so " \
                                                 "that the next one changes the size"

#if UINTPTR_MAX == UINT64_MAX
TEST(CLayout, IsThatOfTheFirstVersion) {
    EXPECT_EQ(offsetof(wireproof_options, peers), 8U);
    EXPECT_EQ(offsetof(wireproof_options, congestion_control), 56U);
    EXPECT_EQ(offsetof(wireproof_options, active_peers), 72U);
    EXPECT_EQ(offsetof(wireproof_options, fault_reorder), 112U);
    EXPECT_LAST(wireproof_options, reserved_2, 128);
    EXPECT_EQ(offsetof(wireproof_message, memory), 32U);
    EXPECT_LAST(wireproof_message, handler, 56);
    EXPECT_LAST(wireproof_undelivered, length, 32);
    EXPECT_EQ(offsetof(wireproof_peer_lost, message), 40U);
    EXPECT_LAST(wireproof_peer_lost, undelivered_count, 72);
    EXPECT_EQ(offsetof(wireproof_counters, mismatched), 96U);
    EXPECT_LAST(wireproof_counters, refused, 216);
    EXPECT_EQ(offsetof(wireproof_point_settings, payload), 32U);
    EXPECT_LAST(wireproof_point_settings, bursts_bad, 96);
    EXPECT_EQ(offsetof(wireproof_point_plan, progress), 48U);
    EXPECT_LAST(wireproof_point_plan, user, 64);
    EXPECT_EQ(offsetof(wireproof_point_figures, buffer_most), 144U);
    EXPECT_EQ(offsetof(wireproof_point_figures, latency_max), 176U);
    EXPECT_LAST(wireproof_point_figures, closed_at_edge, 192);
    EXPECT_EQ(offsetof(wireproof_search_settings, window), 32U);
    EXPECT_EQ(offsetof(wireproof_search_settings, faults), 56U);
    EXPECT_LAST(wireproof_search_settings, states_max, 80);
    EXPECT_EQ(offsetof(wireproof_search_findings, states), 48U);
    EXPECT_LAST(wireproof_search_findings, circle, 96);
    EXPECT_LAST(wireproof_world_findings, seconds, 64);
}
#endif

}  // namespace
