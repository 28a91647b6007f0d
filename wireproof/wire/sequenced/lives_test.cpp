// Tests the rule of epochs by itself: first in scenes by hand, then with two ends that restart.
// Their network keeps each datagram for ever and delivers any of them at any time.
#include "wireproof/wire/sequenced/lives.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace wireproof {
namespace {

using Judgement = Lives::Judgement;

constexpr std::uint32_t dead = 1111;
constexpr std::uint32_t reborn = 2222;

/// An end that has met a peer with this epoch.
Lives acquainted(std::uint32_t peer, std::uint64_t seed = 1) {
    Lives lives(seed);
    EXPECT_EQ(lives.judge(peer, 0), Judgement::first);
    EXPECT_EQ(lives.judge(peer, lives.own()), Judgement::current);
    return lives;
}

TEST(Lives, AnEpochIsNeverZeroAndDiffersFromStartToStart) {
    std::map<std::uint32_t, int> seen;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) ++seen[Lives(seed).own()];
    EXPECT_EQ(seen.count(0), 0U);
    EXPECT_EQ(seen.size(), 1000U);
}

TEST(Lives, ADatagramToAFormerLifeOfOursIsNotTaken) {
    Lives lives(1);
    EXPECT_NE(lives.judge(dead, lives.own() + 1), Judgement::first);
    lives = acquainted(dead);
    EXPECT_EQ(lives.judge(dead, lives.own() + 1), Judgement::former);
}

TEST(Lives, APeerThatTakesUsForAFormerRunLearnsWhoWeAre) {
    Lives lives = acquainted(dead);
    lives.sign_left();
    EXPECT_EQ(lives.judge(dead, lives.own()), Judgement::current);
    EXPECT_FALSE(lives.sign_due());
    EXPECT_EQ(lives.judge(dead, lives.own() + 1), Judgement::former);
    EXPECT_TRUE(lives.sign_due()) << "it may have nothing else to hear us by";
}

TEST(Lives, AStrangerIsBelievedOnceItRepeatsTheChallenge) {
    Lives lives = acquainted(dead);
    const std::uint32_t before = lives.own();
    EXPECT_EQ(lives.judge(reborn, 0), Judgement::stranger);
    EXPECT_EQ(lives.epochs(), (Lives::Epochs{before, dead})) << "until then nothing changes";
    const auto challenge = lives.challenge();
    ASSERT_TRUE(challenge.has_value());
    EXPECT_EQ(challenge->to, reborn);
    EXPECT_EQ(lives.judge(reborn, challenge->from), Judgement::new_life);
    EXPECT_EQ(lives.epochs(), (Lives::Epochs{challenge->from, reborn}));
    EXPECT_EQ(lives.judge(reborn, challenge->from), Judgement::current) << "and only once";
}

TEST(Lives, WhatKnewUsOnceIsNoProofOfBeingNewer) {
    Lives lives = acquainted(reborn);
    EXPECT_EQ(lives.judge(dead, lives.own()), Judgement::stranger);
    EXPECT_EQ(lives.judge(dead, lives.own()), Judgement::stranger) << "however often";
    EXPECT_EQ(lives.peer(), reborn);
}

TEST(Lives, ALifeOnceLeftIsNeverEnteredAgain) {
    Lives lives = acquainted(dead);
    const std::uint32_t before = lives.own();
    lives.judge(reborn, 0);
    const std::uint32_t challenge = lives.challenge()->from;
    EXPECT_EQ(lives.judge(reborn, challenge), Judgement::new_life);
    EXPECT_EQ(lives.judge(dead, before), Judgement::former);
    EXPECT_EQ(lives.judge(dead, 0), Judgement::stranger);
    lives.challenge_left();
    EXPECT_EQ(lives.judge(dead, before), Judgement::former);
    EXPECT_EQ(lives.peer(), reborn);
}

TEST(Lives, BeforeTheFirstContactTheChallengeIsOurOwnEpoch) {
    Lives lives(1);
    EXPECT_EQ(lives.judge(dead, 77), Judgement::stranger) << "it spoke to a former life of ours";
    ASSERT_TRUE(lives.challenge().has_value());
    EXPECT_EQ(*lives.challenge(), (Lives::Epochs{lives.own(), dead}));
    EXPECT_EQ(lives.judge(reborn, lives.own()), Judgement::first);
    EXPECT_FALSE(lives.challenge().has_value());
    EXPECT_EQ(lives.judge(dead, 77), Judgement::former);
}

TEST(Lives, TwoThatFirstReceivedFramesOfAnOldRunFindEachOther) {
    Lives a(1);
    Lives b(2);
    EXPECT_EQ(a.judge(dead, 0), Judgement::first);
    EXPECT_EQ(b.judge(dead + 1, 0), Judgement::first);
    for (int turn = 0; turn < 4; ++turn) {
        const auto there = a.challenge().value_or(a.epochs());
        b.judge(there.from, there.to);
        const auto back = b.challenge().value_or(b.epochs());
        a.judge(back.from, back.to);
    }
    EXPECT_EQ(a.peer(), b.own());
    EXPECT_EQ(b.peer(), a.own());
}

/// Both ends and everything that they ever sent, with the number of the start that sent it.
class World {
public:
    explicit World(std::uint64_t seed) : random_(seed) {
        for (std::size_t end = 0; end < 2; ++end) start(end);
    }

    void random_step() {
        const std::size_t end = random_.below(2);
        if (random_.chance(0.02)) start(end);
        if (random_.chance(0.5)) send(end);
        if (sent_[1 - end].empty()) return;
        // Usually takes a young datagram, but may take any.
        const std::size_t age = random_.below(random_.chance(0.7) ? 6 : sent_[1 - end].size());
        if (age < sent_[1 - end].size()) {
            take(end, sent_[1 - end][sent_[1 - end].size() - 1 - age]);
        }
    }

    /// From now on, only new datagrams arrive. Both ends send in each turn, as engines do that have
    /// not yet heard each other.
    bool agrees() {
        for (int turn = 0; turn < 12; ++turn) exchange();
        const std::uint64_t changes = changes_;
        exchange();
        return ends_[0].peer() == ends_[1].own() && ends_[1].peer() == ends_[0].own() &&
               changes == changes_ && !ends_[0].challenge() && !ends_[1].challenge();
    }

    bool in_order = true;
    std::uint64_t proven_changes() const { return changes_; }

private:
    void start(std::size_t end) {
        ends_[end] = Lives(random_.next());
        ++starts_[end];
        met_[end] = 0;
    }

    void exchange() {
        for (std::size_t end = 0; end < 2; ++end) {
            const std::size_t first = sent_[end].size();
            send(end);
            for (std::size_t i = first; i < sent_[end].size(); ++i) take(1 - end, sent_[end][i]);
        }
    }

    void send(std::size_t end) {
        Lives& lives = ends_[end];
        if (const auto challenge = lives.challenge()) {
            sent_[end].push_back({*challenge, starts_[end]});
            lives.challenge_left();
        }
        sent_[end].push_back({lives.epochs(), starts_[end]});
        lives.sign_left();
    }

    struct Sent {
        Lives::Epochs epochs;
        int start;
    };

    void take(std::size_t end, const Sent& sent) {
        const Judgement judgement = ends_[end].judge(sent.epochs.from, sent.epochs.to);
        if (judgement == Judgement::new_life) ++changes_;
        if (judgement != Judgement::first && judgement != Judgement::new_life) return;
        // The peer may change from an earlier start to a later one, and never back.
        in_order = in_order && sent.start >= met_[end];
        met_[end] = sent.start;
    }

    Random random_;
    std::array<Lives, 2> ends_{Lives(0), Lives(0)};
    std::array<std::vector<Sent>, 2> sent_;
    std::array<int, 2> starts_{};
    std::array<int, 2> met_{};
    std::uint64_t changes_ = 0;
};

TEST(Lives, HoweverOldTheDatagramsLivesFollowInOrderAndTheEndsAgreeAtLast) {
    std::uint64_t changes = 0;
    for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
        World world(seed);
        for (int step = 0; step < 300; ++step) world.random_step();
        ASSERT_TRUE(world.in_order) << "seed " << seed;
        ASSERT_TRUE(world.agrees()) << "seed " << seed;
        changes += world.proven_changes();
    }
    EXPECT_GT(changes, 5000U) << "nothing happened";
}

}  // namespace
}  // namespace wireproof
