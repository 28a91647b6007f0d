#include "wireproof/front/verbs/device/poll_round.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>

#include "wireproof/base/random.hpp"

namespace wireproof::verbs {
namespace {

/// A thread that polls queues in which nothing is. Each poll would sleep. The clock goes on only in
/// its sleeps.
class Thread {
public:
    explicit Thread(PollRound::Shared& shared) : shared_(shared) {}

    /// Returns how long the poll slept.
    Duration poll(PollRound::Seen& queue) {
        round_.looked(queue, shared_);
        if (!round_.may_sleep()) return {};
        now_ = now_ + PollRound::sleep_most;
        round_.slept(shared_);
        return PollRound::sleep_most;
    }
    Instant now() const { return now_; }

private:
    PollRound::Shared& shared_;
    PollRound round_;
    Instant now_;
};

class APollRound : public ::testing::Test {
protected:
    static constexpr std::size_t devices = 2;
    static constexpr std::size_t queues_of_each = 8;

    /// Polls each of the queues so often. Returns how long the polls slept.
    Duration pass(int times) {
        const Instant before = thread_.now();
        for (auto& queue : queues_) {
            for (int i = 0; i < times; ++i) thread_.poll(queue);
        }
        return thread_.now() - before;
    }

    PollRound::Shared shared_;
    std::array<PollRound::Seen, devices * queues_of_each> queues_;
    Thread thread_{shared_};
};

TEST_F(APollRound, OfOneQueueSleepsInEachPoll) {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(thread_.poll(queues_[0]), PollRound::sleep_most);
}

TEST_F(APollRound, OfManyQueuesSleepsOnce) {
    pass(1);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(pass(1), PollRound::sleep_most);
}

TEST_F(APollRound, LooksAtEachQueueBetweenTwoSleeps) {
    // The first pattern is that of a program that polls each queue three times in a row.
    const std::array<std::function<std::size_t(std::size_t)>, 2> patterns = {
        [](std::size_t i) { return i / 3 % 4; },
        [](std::size_t i) { return mix64(i) % 4; },
    };
    for (const auto& pattern : patterns) {
        shared_.heard();
        for (std::size_t i = 0; i < 5; ++i) thread_.poll(queues_[i % 4]);  // the last one sleeps
        std::set<std::size_t> looked;
        int sleeps = 0;
        for (std::size_t i = 0; i < 10'000; ++i) {
            looked.insert(pattern(i));
            if (thread_.poll(queues_[pattern(i)]) == Duration()) continue;
            ASSERT_EQ(looked.size(), 4U) << i;
            looked.clear();
            ++sleeps;
        }
        EXPECT_GT(sleeps, 100);
    }
}

TEST_F(APollRound, DoesNotWaitLongForAQueueThatIsNoLongerPolled) {
    pass(1);
    thread_.poll(queues_[0]);  // sleeps, and a round begins
    for (std::uint32_t i = 0; i < PollRound::refused_most; ++i) {
        ASSERT_EQ(thread_.poll(queues_[0]), Duration()) << i;
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQ(thread_.poll(queues_[0]), PollRound::sleep_most);
    thread_.poll(queues_[1]);
    EXPECT_EQ(thread_.poll(queues_[1]), Duration()) << "it is polled again";
}

TEST_F(APollRound, ForgetsTheQueuesWhenSomethingArrives) {
    pass(1);
    thread_.poll(queues_[0]);  // sleeps, and a round begins
    EXPECT_EQ(thread_.poll(queues_[0]), Duration());
    shared_.heard();
    EXPECT_EQ(thread_.poll(queues_[0]), PollRound::sleep_most);
}

TEST_F(APollRound, OfOneThreadIsNotThatOfAnother) {
    Thread other(shared_);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(thread_.poll(queues_[0]), PollRound::sleep_most);
        EXPECT_EQ(other.poll(queues_[1]), PollRound::sleep_most);
    }
}

}  // namespace
}  // namespace wireproof::verbs
