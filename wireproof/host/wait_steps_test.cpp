#include "wireproof/host/wait_steps.hpp"

#include <gtest/gtest.h>

namespace wireproof::host {
namespace {

using Step = WaitSteps::Step;

class AWait : public ::testing::Test {
protected:
    /// Polls until the next step is another one. Returns how long it polled.
    Duration polls() {
        const Instant from = now_;
        while ((next_ = steps_.next(now_)) == Step::poll) now_ = now_ + Duration::nanoseconds(100);
        return now_ - from;
    }
    void yields_for(Duration time) {
        ASSERT_EQ(next_, Step::yield);
        now_ = now_ + time;
        steps_.back(now_);
    }

    WaitSteps steps_;
    Instant now_ = Instant(Duration::milliseconds(1));
    Step next_ = Step::poll;
};

constexpr Duration alone = Duration::nanoseconds(400);
constexpr Duration with_others = Duration::microseconds(5);

TEST_F(AWait, PollsThenYieldsThenSleeps) {
    steps_.heard(now_);
    EXPECT_EQ(polls(), SpinBudget::most);
    yields_for(alone);
    EXPECT_EQ(polls(), Duration());
    EXPECT_EQ(next_, Step::sleep);
    steps_.heard(now_);
    EXPECT_GT(polls(), Duration()) << "the next wait polls first again";
    EXPECT_EQ(next_, Step::yield);
}

TEST_F(AWait, DoesNotPollWhereOtherThreadsRanInTheLastYield) {
    steps_.heard(now_);
    polls();
    yields_for(with_others);
    EXPECT_EQ(polls(), Duration());
    EXPECT_EQ(next_, Step::yield);
    steps_.heard(now_);
    EXPECT_EQ(polls(), Duration()) << "nor does the next wait";
    yields_for(alone);
    steps_.heard(now_);
    EXPECT_GT(polls(), Duration()) << "the other threads are gone";
}

TEST_F(AWait, DoesNotPollLongerForWhatAYieldFound) {
    for (int i = 0; i < 100; ++i) {  // polls for the whole budget, then the first yield finds it
        steps_.heard(now_);
        const Duration polled = polls();
        if (i > 10) {
            ASSERT_LE(polled, SpinBudget::least) << i;
        }
        yields_for(alone);
    }
}

}  // namespace
}  // namespace wireproof::host
