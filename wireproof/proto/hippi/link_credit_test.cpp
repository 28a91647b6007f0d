// Credits of the four channels, and messages of all lengths on them.
#include <gtest/gtest.h>

#include "wireproof/proto/hippi/cable_test_kit.hpp"

namespace wireproof::hippi::test {
namespace {

using enum RxVerdict;

Config few_buffers(std::uint16_t buffers) {
    Config config = near_wrap();
    config.buffers.fill(buffers);
    return config;
}

// HIPPI-25
TEST(HippiCredit, NoUnitLeavesOnAChannelWithoutCredit) {
    Pair pair = Pair::started(few_buffers(2));
    pair.a.submit(5);
    EXPECT_EQ(pair.carry(pair.a), "0..1");
    EXPECT_EQ(pair.a.engine.credits().held(0), 0);
    pair.wait_for_null();
    const std::uint64_t upkeep = pair.b.engine.stats().upkeep;
    EXPECT_EQ(pair.carry(pair.b), "credit0/2");
    EXPECT_EQ(pair.b.engine.stats().upkeep, upkeep + 1);
    EXPECT_EQ(pair.a.engine.credits().held(0), 2);
    EXPECT_EQ(pair.carry(pair.a), "2/1 3");
}

// HIPPI-25: if a peer has no buffers for a channel, nothing is sent on it.
TEST(HippiCredit, NothingLeavesOnAChannelThatThePeerDidNotOpen) {
    Config config = near_wrap();
    config.buffers[2] = 0;
    Pair pair = Pair::started(config);
    pair.a.submit(1, 0, 2);
    EXPECT_EQ(pair.taken(pair.a), "");
    pair.a.submit(1, 7, 1);
    EXPECT_EQ(pair.carry(pair.a), "0");
    EXPECT_EQ(pair.b.channels, (std::vector<std::uint8_t>{1}));
}

// HIPPI-26
TEST(HippiCredit, ABlockedChannelDoesNotBlockAnother) {
    Pair pair = Pair::started(few_buffers(4));
    EXPECT_EQ(pair.a.submit(6, 100, 1), 6);
    EXPECT_EQ(pair.carry(pair.a), "0..3");
    pair.a.submit(3, 200, 3);
    EXPECT_EQ(pair.carry(pair.a), "4..6");
    EXPECT_EQ(pair.b.numbers(), (std::vector<std::uint64_t>{100, 101, 102, 103, 200, 201, 202}));
    pair.settle();
    EXPECT_EQ(pair.b.numbers().back(), 105);
    EXPECT_EQ(pair.b.channels.back(), 1);
}

// HIPPI-26
TEST(HippiCredit, ChannelsTakeTurnsAndAreAssembledApart) {
    Pair pair = Pair::started();
    ASSERT_EQ(pair.a.engine.submit(0, message(1, 320)), SubmitStatus::accepted);
    ASSERT_EQ(pair.a.engine.submit(3, message(2, 100)), SubmitStatus::accepted);
    ASSERT_EQ(pair.a.engine.submit(1, message(3, 64)), SubmitStatus::accepted);
    pair.carry(pair.a);
    ASSERT_EQ(pair.b.messages.size(), 3);
    EXPECT_EQ(pair.b.channels, (std::vector<std::uint8_t>{1, 3, 0}));
    EXPECT_EQ(pair.b.messages[0], message(3, 64));
    EXPECT_EQ(pair.b.messages[1], message(2, 100));
    EXPECT_EQ(pair.b.messages[2], message(1, 320));
}

// HIPPI-34
TEST(HippiCredit, CreditOnlyUnitsPassWithoutCreditAndFreeTwoBlockedSides) {
    Pair pair = Pair::started(few_buffers(1));
    pair.a.submit(3);
    pair.b.submit(3);
    const Frames of_a = pair.take(pair.a);
    const Frames of_b = pair.take(pair.b);
    ASSERT_EQ(pair.text(of_a) + "," + pair.text(of_b), "0,0");
    pair.give(pair.b, of_a);
    pair.give(pair.a, of_b);
    EXPECT_EQ(pair.a.engine.credits().held(0) + pair.b.engine.credits().held(0), 0);
    EXPECT_EQ(pair.carry(pair.a), "credit1/1");
    EXPECT_EQ(pair.carry(pair.b), "1/2");  // it also returns the credit
    pair.settle();
    for (int i = 0; i < 4; ++i) {
        pair.wait_for_null();
        pair.settle();
    }
    EXPECT_EQ(pair.a.messages.size(), 3);
    EXPECT_EQ(pair.b.messages.size(), 3);
    EXPECT_EQ(pair.a.engine.stats().replays, 0);
}

// HIPPI-24
TEST(HippiCredit, ACreditIsAppliedOnceHoweverOftenItsUnitComes) {
    Pair pair = Pair::started(few_buffers(4));
    pair.a.submit(4);
    pair.carry(pair.a);
    const Frames credit = pair.take(pair.b);
    ASSERT_EQ(pair.text(credit), "credit0/4");
    EXPECT_EQ(credit[0].control().credits, 4);
    EXPECT_EQ(pair.give(pair.a, credit[0]), accepted);
    EXPECT_EQ(pair.a.engine.credits().held(0), 4);
    pair.a.submit(2, 4);
    const Frames two = pair.take(pair.a);
    EXPECT_EQ(pair.give(pair.a, credit[0]), duplicate);
    EXPECT_EQ(pair.give(pair.a, credit[0]), duplicate);
    EXPECT_EQ(pair.a.engine.credits().held(0), 2);
    // If a unit is lost, it carries the same credits when it is resent.
    pair.give(pair.b, two);
    EXPECT_EQ(pair.taken(pair.b).substr(0, 7), "credit1");  // is lost
    pair.wait(pair.config.retry_after);
    const Frames again = pair.take(pair.b);
    ASSERT_FALSE(again.empty());
    EXPECT_EQ(again[0].control().credits, 2);
    pair.give(pair.a, again);
    EXPECT_EQ(pair.a.engine.credits().held(0), 4);
}

// HIPPI-24: credits on nulls are ignored, and so are more credits than are in use.
TEST(HippiCredit, CreditsOnNullsOrInExcessAreNotApplied) {
    Pair pair = Pair::started(few_buffers(8));
    pair.a.submit(3);
    pair.carry(pair.a);
    ASSERT_EQ(pair.a.engine.credits().held(0), 5);
    const auto with_credits = [](Control& control) { control.credits = 2; };
    pair.give(pair.a, forged(made(Type::null, no_number), with_credits));
    EXPECT_EQ(pair.a.engine.credits().held(0), 5);
    const auto with_many = [](Control& control) { control.credits = 63; };
    EXPECT_EQ(pair.give(pair.a, forged(made(Type::credit, pair.number(0)), with_many)), accepted);
    EXPECT_EQ(pair.a.engine.credits().held(0), 8);
    EXPECT_EQ(pair.a.engine.stats().protocol_errors, 1);
}

TEST(HippiCredit, AUnitWithoutCreditBreaksTheLinkOff) {
    Pair pair = Pair::started(few_buffers(1));
    pair.a.submit(1);
    pair.carry(pair.a);
    EXPECT_EQ(pair.give(pair.b, made(Type::data, pair.number(1))), refused);
    EXPECT_EQ(pair.b.downs, 1);
}

// HIPPI-24, 25: more units than credits can count are sent, and no credit is returned for them.
TEST(HippiCredit, AChannelOfUnlimitedBuffersIsNotCredited) {
    Pair pair = Pair::started(few_buffers(Config::unlimited));
    for (std::uint64_t i = 0; i < 70'000; i += 5) {
        ASSERT_EQ(pair.a.submit(5, i), 5);
        pair.carry(pair.a);
        pair.wait_for_null();
        ASSERT_EQ(pair.carry(pair.b).substr(0, 4), "null") << i;
        pair.b.messages.clear();
    }
    EXPECT_EQ(pair.a.engine.credits().held(0), Config::unlimited);
    EXPECT_EQ(pair.b.engine.credits().owed(0), 0);
    EXPECT_EQ(pair.b.engine.stats().credit_units, 0);
}

// HIPPI-24: all credits return in the end, even over bad cables.
TEST(HippiCredit, CreditsAreNeitherLostNorDoubledUnderLoss) {
    for (const auto buffers : std::vector<std::uint16_t>{1, 3, 200}) {
        Cables world(few_buffers(buffers));
        Random random(buffers);
        bool bad = true;
        world.plan = [&](bool, const FrameInfo&) {
            return bad && random.chance(0.1) ? Fate::lost : Fate::arrives;
        };
        std::array<std::uint64_t, 2> next{};
        constexpr std::uint64_t count = 150;
        world.before_each_step = [&] {
            for (const std::size_t i : {0U, 1U}) {
                End& end = i == 0 ? world.pair.a : world.pair.b;
                if (!end.engine.running() || next[i] == count) continue;
                next[i] += end.submit(1, next[i], static_cast<std::uint8_t>(next[i] % 3));
            }
        };
        End& a = world.pair.a;
        End& b = world.pair.b;
        EXPECT_TRUE(world.run_until(
            [&] { return a.messages.size() == count && b.messages.size() == count; }, 200'000));
        bad = false;
        world.run(3000);
        for (std::size_t vc = 0; vc < channel_count; ++vc) {
            EXPECT_EQ(a.engine.credits().held(vc) + b.engine.credits().owed(vc), buffers);
            EXPECT_EQ(b.engine.credits().held(vc) + a.engine.credits().owed(vc), buffers);
        }
        EXPECT_EQ(a.engine.stats().protocol_errors + b.engine.stats().protocol_errors, 0);
        EXPECT_EQ(a.engine.stats().resets, 0);
    }
}

TEST(HippiMessage, CarriesMessagesOfEveryLengthCopiedAndLent) {
    for (const bool lent : {false, true}) {
        Config config = near_wrap();
        config.lent = lent;
        Pair pair = Pair::started(config);
        for (const std::size_t size :
             {0U, 1U, 31U, 32U, 33U, 63U, 64U, 65U, 1000U, 4096U, 8191U, 8192U}) {
            const Message sent = message(size, size);
            ASSERT_EQ(pair.a.engine.submit(sent), SubmitStatus::accepted);
            for (int turn = 0; turn < 8; ++turn) {
                pair.settle();
                pair.wait_for_null();
            }
            ASSERT_FALSE(pair.b.messages.empty());
            EXPECT_EQ(pair.b.messages.back(), sent) << size;
        }
        EXPECT_EQ(pair.b.messages.size(), 12);
        EXPECT_EQ(pair.a.engine.stats().resent, 0);
    }
}

// HIPPI-1: a length of whole units needs no header. Any other length has a header unit before it.
TEST(HippiMessage, OnlyALengthThatIsNotWholeUnitsNeedsAHeader) {
    Pair pair = Pair::started();
    const auto kinds = [&](std::size_t size) {
        EXPECT_EQ(pair.a.engine.submit(message(1, size)), SubmitStatus::accepted);
        std::string out;
        const Frames frames = pair.take(pair.a);
        for (const Frame& frame : frames) {
            out += std::string(describe(frame.bytes).kind) + (frame.control().tail ? "! " : " ");
        }
        pair.give(pair.b, frames);
        return out;
    };
    EXPECT_EQ(kinds(0), "header! ");
    EXPECT_EQ(kinds(5), "header data! ");
    EXPECT_EQ(kinds(64), "data data! ");
    EXPECT_EQ(kinds(65), "header data data data! ");
    EXPECT_EQ(pair.b.messages.size(), 4);
}

TEST(HippiMessage, SaysWhenAMessageIsTooLongOrTheQueueFull) {
    Config config = near_wrap();
    config.messages_queued = 3;
    Pair pair = Pair::started(config);
    EXPECT_EQ(pair.a.engine.submit(message(0, 8193)), SubmitStatus::too_long);
    EXPECT_EQ(pair.a.submit(5), 3);
    EXPECT_FALSE(pair.a.engine.has_room());
    EXPECT_TRUE(pair.a.engine.has_room(1));
    EXPECT_EQ(pair.a.engine.submit(message(0)), SubmitStatus::no_room);
    pair.take(pair.a);
    EXPECT_TRUE(pair.a.engine.has_room());
}

// HIPPI-29: ECRC detects damage that LCRC cannot, and a message is not lost unnoticed.
TEST(HippiMessage, AMessageWithAWrongEcrcIsDroppedAndTheLinkBreaksOff) {
    Pair pair = Pair::started();
    ASSERT_EQ(pair.a.engine.submit(message(1, 64)), SubmitStatus::accepted);
    Frames frames = pair.take(pair.a);
    frames[1].bytes[0] ^= std::byte{1};  // damaged, with an LCRC that fits
    frames[1] = forged(frames[1], [](Control&) {});
    EXPECT_EQ(pair.give(pair.b, frames), (Verdicts{accepted, corrupt}));
    EXPECT_EQ(pair.b.engine.stats().ecrc_errors, 1);
    EXPECT_TRUE(pair.b.messages.empty());
    EXPECT_EQ(pair.b.downs, 1);
    pair.settle();
    EXPECT_EQ(pair.a.downs, 1);
    EXPECT_TRUE(pair.a.engine.running() && pair.b.engine.running());
}

TEST(HippiMessage, AMessageMarkedAsBadUpstreamIsDroppedAndTheLinkGoesOn) {
    Pair pair = Pair::started();
    ASSERT_EQ(pair.a.engine.submit(message(1, 64)), SubmitStatus::accepted);
    pair.a.submit(1, 9);
    Frames frames = pair.take(pair.a);
    frames[0] = forged(frames[0], [](Control& control) { control.error = true; });
    EXPECT_EQ(pair.give(pair.b, frames), (Verdicts{accepted, accepted, accepted}));
    EXPECT_EQ(pair.b.numbers(), (std::vector<std::uint64_t>{9}));
    EXPECT_EQ(pair.b.engine.stats().messages_discarded, 1);
    EXPECT_EQ(pair.b.downs, 0);
}

}  // namespace
}  // namespace wireproof::hippi::test
