#include "wireproof/core/trace.hpp"

#include <gtest/gtest.h>

namespace wireproof {
namespace {

TEST(Trace, KeepsTheNewestEventsAndCountsAll) {
    for (const std::size_t capacity : {0U, 1U, 3U}) {
        Trace trace(capacity);
        TraceEvent event;
        for (event.from = 1; event.from <= 5; ++event.from) trace.record(event);
        EXPECT_EQ(trace.recorded(), 5U);
        ASSERT_EQ(trace.events().size(), capacity);
        for (std::size_t i = 0; i < capacity; ++i) {
            EXPECT_EQ(trace.events()[i].from, 6 - capacity + i);
        }
    }
}

}  // namespace
}  // namespace wireproof
