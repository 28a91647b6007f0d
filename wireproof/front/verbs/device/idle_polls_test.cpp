// What a poll that finds nothing does before it returns.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"
#include "wireproof/host/steady_clock.hpp"

namespace {

std::atomic<int> yields = 0;

}  // namespace

// In this program, the library calls this function instead of the one of the C library.
int sched_yield() noexcept {
    yields.fetch_add(1);
    return static_cast<int>(::syscall(SYS_sched_yield));
}

namespace wireproof::verbs {
namespace {

TEST(IdlePolls, YieldTheProcessorBeforeTheySleep) {
    test::End end;
    const host::SteadyClock clock;
    yields = 0;
    int polls = 0;
    ibv_wc completion{};
    for (const Instant until = clock.now() + Duration::milliseconds(20);
         clock.now() < until || polls < 1000; ++polls) {
        ASSERT_EQ(ibv_poll_cq(end.completions, 1, &completion), 0);
    }
    EXPECT_GT(yields.load(), 0);
}

}  // namespace
}  // namespace wireproof::verbs
