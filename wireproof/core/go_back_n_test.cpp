#include "wireproof/core/go_back_n.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace wireproof {
namespace {

using Sender = GoBackN<struct Tag>;

constexpr std::uint32_t modulus = 16;

/// The next frames have the numbers 13, 14, 15, 0, 1 and so on.
GoBackNTerms near_the_wrap(bool backs_off = false) {
    return {.modulus = modulus,
            .first = 13,
            .wait = Duration::microseconds(50),
            .wait_floor = Duration(),
            .backs_off = backs_off};
}

Sender with_outstanding(std::size_t frames, const GoBackNTerms& terms = near_the_wrap()) {
    Sender sender(terms);
    for (std::size_t i = 0; i < frames; ++i) sender.send(Instant());
    return sender;
}

/// The numbers that a replay sends now. Each frame is a byte longer than the one before.
std::vector<std::uint32_t> resent(Sender& sender, std::size_t most = modulus) {
    std::vector<std::uint32_t> numbers;
    while (sender.replaying() && !sender.replay_held() && numbers.size() < most) {
        numbers.push_back(sender.number_of(sender.cursor()).value());
        sender.resend(100 + sender.cursor());
    }
    return numbers;
}
using Numbers = std::vector<std::uint32_t>;

TEST(GoBackN, NumbersWrap) {
    const Sender sender = with_outstanding(5);
    Numbers numbers;
    for (std::size_t i = 0; i < 5; ++i) numbers.push_back(sender.number_of(i).value());
    EXPECT_EQ(numbers, (Numbers{13, 14, 15, 0, 1}));
    EXPECT_EQ(sender.next().value(), 2U);
    EXPECT_EQ(sender.acknowledged().value(), 12U);
}

TEST(GoBackN, AnAnswerFreesUpToItsNumberAcrossTheWrap) {
    const Sender sender = with_outstanding(5);
    EXPECT_EQ(sender.freed_by_last(12), 0U);
    EXPECT_EQ(sender.freed_by_last(13), 1U);
    EXPECT_EQ(sender.freed_by_last(15), 3U);
    EXPECT_EQ(sender.freed_by_last(0), 4U);
    EXPECT_EQ(sender.freed_by_last(1), 5U);
    EXPECT_EQ(sender.freed_by_expected(13), 0U);
    EXPECT_EQ(sender.freed_by_expected(0), 3U);
    EXPECT_EQ(sender.freed_by_expected(2), 5U);
}

TEST(GoBackN, ANumberThatIsNotOutstandingFreesNothing) {
    Sender sender = with_outstanding(5);
    for (const std::uint32_t number : {2U, 11U, modulus, ~0U}) {
        EXPECT_FALSE(sender.freed_by_last(number)) << number;
    }
    for (const std::uint32_t number : {3U, 12U, modulus, ~0U}) {
        EXPECT_FALSE(sender.freed_by_expected(number)) << number;
    }
    sender.free(Instant(), 5);
    EXPECT_EQ(sender.freed_by_last(1), 0U);
    EXPECT_FALSE(sender.freed_by_last(0));
    EXPECT_EQ(sender.outstanding(), 0U);
}

TEST(GoBackN, AReplayGoesFromTheOldestFrameToTheLast) {
    Sender sender = with_outstanding(5);
    sender.free(Instant(), 2);
    EXPECT_FALSE(sender.replaying());
    sender.begin_replay(Instant());
    EXPECT_EQ(sender.unanswered().bytes, 0U);
    EXPECT_EQ(resent(sender), (Numbers{15, 0, 1}));
    EXPECT_FALSE(sender.replaying());
    EXPECT_EQ(sender.unanswered().bytes, 100U);  // of the oldest frame
    EXPECT_EQ(sender.unanswered().times, 1U);
    sender.send(Instant());
    EXPECT_EQ(sender.next().value(), 3U);
}

TEST(GoBackN, AReplayDoesNotSendWhatIsFreedMeanwhile) {
    Sender sender = with_outstanding(5);
    sender.begin_replay(Instant());
    EXPECT_EQ(resent(sender, 2), (Numbers{13, 14}));
    Sender behind = sender;
    behind.free(Instant(), 1);
    EXPECT_EQ(resent(behind), (Numbers{15, 0, 1}));
    Sender beyond = sender;
    beyond.free(Instant(), 4);
    EXPECT_EQ(resent(beyond), (Numbers{1}));
    sender.free(Instant(), 5);
    EXPECT_FALSE(sender.replaying());
}

TEST(GoBackN, AReplayThatEndsSendsNothingMore) {
    Sender sender = with_outstanding(3);
    sender.begin_replay(Instant());
    EXPECT_EQ(resent(sender, 1), (Numbers{13}));
    sender.end_replay();
    EXPECT_EQ(resent(sender), Numbers{});
    EXPECT_EQ(sender.outstanding(), 3U);
}

TEST(GoBackN, TheWindowIsTheSmallerOfTwo) {
    Sender sender = with_outstanding(4, near_the_wrap(true));
    EXPECT_TRUE(sender.window_full(4));
    EXPECT_FALSE(sender.window_full(5));
    for (int i = 0; i < 2; ++i) sender.begin_replay(Instant());
    EXPECT_FALSE(sender.acts_on_notice());
    EXPECT_EQ(sender.wait(), Duration::microseconds(50) * 4);
    EXPECT_EQ(resent(sender), (Numbers{13}));
    EXPECT_TRUE(sender.replay_held());
    EXPECT_TRUE(sender.window_full(5));
    sender.free(Instant(), 1);
    EXPECT_EQ(resent(sender), (Numbers{14, 15}));
    EXPECT_EQ(sender.unanswered().since, never);
}

TEST(GoBackN, ForgottenFramesKeepTheirNumbersUntilAReset) {
    Sender sender = with_outstanding(5);
    sender.begin_replay(Instant());
    sender.forget();
    EXPECT_EQ(sender.outstanding(), 0U);
    EXPECT_FALSE(sender.replaying());
    EXPECT_EQ(sender.next().value(), 2U);
    sender.reset();
    EXPECT_EQ(sender.next().value(), 13U);
}

}  // namespace
}  // namespace wireproof
