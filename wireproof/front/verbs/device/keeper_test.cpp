// When the keeper's thread wakes.
#include "wireproof/front/verbs/device/keeper.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <optional>

namespace wireproof::verbs {
namespace {

constexpr Duration long_time = Duration::milliseconds(3'600'000);

class AKeeper : public testing::Test {
protected:
    AKeeper() {
        EXPECT_EQ(::pipe(ends_.data()), 0);
        keeper_.emplace(clock_);
    }
    ~AKeeper() override {
        keeper_.reset();
        for (const int end : ends_) ::close(end);
    }
    /// Its plan after the first turn is to sleep for a long time.
    void start(bool listens) {
        keeper_->start({-1, ends_[0]}, [this, listens] {
            if (turns_.load() == 0) keeper_->plan(clock_.now() + long_time, listens);
            turns_.fetch_add(1);
            turns_.notify_all();
            return true;
        });
        wait_for_turn(1);
        give_time();
    }
    void packet_arrives() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
    void wait_for_turn(int number) {
        for (int seen = turns_.load(); seen < number; seen = turns_.load()) turns_.wait(seen);
    }
    /// The thread has time for a turn that it must not make.
    static void give_time() { ::usleep(20'000); }

    host::SteadyClock clock_;
    std::array<int, 2> ends_{};
    std::atomic<int> turns_ = 0;
    std::optional<Keeper> keeper_;
};

TEST_F(AKeeper, ThatListensWakesWhenAPacketArrives) {
    start(true);
    EXPECT_EQ(turns_.load(), 1);
    packet_arrives();
    wait_for_turn(2);
}

TEST_F(AKeeper, ThatRestsDoesNotListenUntilItIsAskedTo) {
    start(false);
    packet_arrives();
    give_time();
    EXPECT_EQ(turns_.load(), 1);
    keeper_->listen(clock_.now() + long_time);
    wait_for_turn(2);
}

TEST_F(AKeeper, WakesEarlierIfItIsAskedTo) {
    start(false);
    keeper_->wake_by(clock_.now() + long_time + long_time);
    give_time();
    EXPECT_EQ(turns_.load(), 1) << "it wakes earlier anyway";
    keeper_->wake_by(clock_.now());
    wait_for_turn(2);
}

}  // namespace
}  // namespace wireproof::verbs
