// What handlers may do and what calls return, between nodes on memory links in simulated time. The
// rules of proto/am/README.md that only a front can keep are tested here.
#include <gtest/gtest.h>

#include <stdexcept>

#include "wireproof/front/am/node_test_kit.hpp"

namespace wireproof::am {
namespace {

using namespace test;
using Values = std::vector<std::uint32_t>;

TEST(AmNode, RunsTheHandlerThatAMessageNamesWithItsSenderAndWords) {
    Job job(quick(), 3);
    std::vector<std::string> heard;
    job[2].handle(ask, [&](const Message& m) {
        heard.push_back("ask of " + std::to_string(m.peer()) + " with " +
                        std::to_string(m.words().size()));
    });
    job[2].handle(answer, [&](const Message& m) {
        heard.push_back("other of " + std::to_string(m.peer()) + ": " +
                        std::to_string(m.words()[0]) + " " + std::to_string(m.words()[1]));
    });
    ASSERT_EQ(job.request(0, 2, ask), Status::ok);
    ASSERT_TRUE(job.settle());
    ASSERT_EQ(job.request(1, 2, answer, {7, 0xFFFFFFFF}), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(heard, (std::vector<std::string>{"ask of 0 with 0", "other of 1: 7 4294967295"}));
}

TEST(AmNode, WordsThatDidNotComeReadAsZero) {
    const std::array<std::byte, 4> one{std::byte{5}};
    const Words words(one);
    EXPECT_EQ(words.size(), 1u);
    EXPECT_EQ(words[0], 5u);
    EXPECT_EQ(words[1], 0u);
    EXPECT_EQ(words[std::size_t{1} << 62], 0u);
}

TEST(AmNode, LetsARequestHandlerReplyOnce) {  // AM-22
    Job job;
    std::vector<Status> statuses;
    Values answers;
    job[1].handle(ask, [&](const Message& m) {
        statuses.push_back(m.reply(answer, {m.words()[0] + 1}));
        statuses.push_back(m.reply(answer, {m.words()[0] + 2}));
    });
    job[0].handle(answer, [&](const Message& m) { answers.push_back(m.words()[0]); });
    ASSERT_EQ(job.request(0, 1, ask, {10}), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(statuses, (std::vector<Status>{Status::ok, Status::not_allowed}));
    EXPECT_EQ(answers, Values{11});
}

TEST(AmNode, LetsAStoresHandlerReplyOnce) {  // AM-22
    Job job;
    std::vector<std::byte> memory(100);
    ASSERT_TRUE(job[1].register_memory(0, base, memory, {.store = true}));
    std::vector<Status> statuses;
    int answers = 0;
    job[1].handle(stored, [&](const Message& m) {
        statuses.push_back(m.reply(answer));
        statuses.push_back(m.reply(answer));
    });
    job[0].handle(answer, [&](const Message&) { ++answers; });
    const auto source = pattern(100);
    ASSERT_EQ(job[0].store_async(1, base, source, stored, 0, nullptr), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(statuses, (std::vector<Status>{Status::ok, Status::not_allowed}));
    EXPECT_EQ(answers, 1);
}

TEST(AmNode, ARefusedReplyMayBeTriedAgainWithOtherWords) {
    Job job;
    std::vector<Status> statuses;
    job[1].handle(ask, [&](const Message& m) {
        statuses.push_back(m.reply(0));
        statuses.push_back(m.reply(answer, Values(357)));
        statuses.push_back(m.reply(answer, Values(356)));
    });
    std::size_t size = 0;
    job[0].handle(answer, [&](const Message& m) { size = m.words().size(); });
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(statuses, (std::vector<Status>{Status::not_allowed, Status::too_long, Status::ok}));
    EXPECT_EQ(size, 356U);
}

TEST(AmNode, AHandlerThatThrowsEndsTheTurnAndNothingElse) {
    Job job;
    std::vector<std::uint32_t> asked;
    std::vector<std::uint32_t> answered;
    job[1].handle(ask, [&](const Message& m) {
        asked.push_back(m.words()[0]);
        if (m.words()[0] == 2) throw std::runtime_error("two");
        EXPECT_EQ(m.reply(answer, {m.words()[0]}), Status::ok);
    });
    job[0].handle(answer, [&](const Message& m) { answered.push_back(m.words()[0]); });
    for (std::uint32_t i = 1; i <= 4; ++i) ASSERT_EQ(job.request(0, 1, ask, {i}), Status::ok);
    EXPECT_THROW((void)job.settle(), std::runtime_error);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(asked, (Values{1, 2, 3, 4}));
    EXPECT_EQ(answered, (Values{1, 3, 4}));
}

TEST(AmNode, AHandlerThatThrowsHasReplacedWhatItReplaced) {
    Job job;
    std::string heard;
    job[1].handle(ask, [&](const Message&) {
        job[1].handle(answer, [&](const Message&) { heard += " from inside"; });
        throw std::runtime_error("afterwards");
    });
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    EXPECT_THROW((void)job.settle(), std::runtime_error);
    for (const bool replaced_again : {false, true}) {
        if (replaced_again) job[1].handle(answer, [&](const Message&) { heard += " newest"; });
        ASSERT_EQ(job.request(0, 1, answer), Status::ok);
        ASSERT_TRUE(job.settle());
    }
    EXPECT_EQ(heard, " from inside newest");
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    EXPECT_THROW((void)job.settle(), std::runtime_error);
    job[1].handle(answer, [&](const Message&) { heard += " last"; });
    job[1].handle(stored, [](const Message&) {});
    ASSERT_EQ(job.request(0, 1, stored), Status::ok);  // a handler that returns
    ASSERT_EQ(job.request(0, 1, answer), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(heard, " from inside newest last");
}

// An exception in a handler ends the turn before the node has marked that it owes the peer an
// acknowledgement.
TEST(AmNode, AHandlerThatThrowsHoldsBackNoAcknowledgement) {  // AM-14
    Config config = quick();
    config.coalesce = 0;
    Job job(config);
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    ASSERT_TRUE(job.settle());  // a session exists, and nothing is owed
    job[1].handle(ask, [](const Message&) { throw std::runtime_error("each"); });
    const std::uint64_t acks = job[1].counters(0).acks;
    for (std::uint32_t i = 0; i < config.window[0] / 4; ++i) {
        EXPECT_EQ(job[1].counters(0).acks, acks) << i;
        ASSERT_EQ(job.request(0, 1, ask), Status::ok);
        job[0].poll(job.now);
        EXPECT_THROW(job[1].poll(job.now), std::runtime_error);
        EXPECT_EQ(job[1].poll(job.now), 0U);
    }
    EXPECT_EQ(job[1].counters(0).acks, acks + 1);
}

// One frame may end a whole window of stores. The callbacks that an exception left must not wait
// for another frame.
TEST(AmNode, ACallbackThatThrowsLosesNoOtherOfItsTurn) {
    Job job;
    std::vector<std::byte> memory(8);
    ASSERT_TRUE(job[1].register_memory(0, base, memory, {.get = false, .store = true}));
    job[1].handle(stored, [](const Message&) {});
    const auto source = pattern(8);
    std::uint32_t asked = 0;
    std::uint32_t ended = 0;
    const auto store = [&](std::uint32_t most) {
        for (std::uint32_t i = 0; i < most; ++i) {
            const Status status = job[0].store_async(1, base, source, stored, 0, [&](Status) {
                if (++ended == 1) throw std::runtime_error("the first");
            });
            if (status != Status::ok) return;
            ++asked;
        }
    };
    store(1024);
    EXPECT_EQ(asked, 1024U);
    EXPECT_THROW((void)job.settle(), std::runtime_error);
    EXPECT_EQ(ended, 1U);
    store(400);
    job[0].poll(job.now);
    EXPECT_GE(ended, 100U);
    ASSERT_TRUE(job.settle());
    EXPECT_GT(asked, 1024U);
    EXPECT_EQ(ended, asked);
}

TEST(AmNode, CountsRepliesThatNobodyHandles) {
    Job job;
    job[1].handle(ask, [](const Message& m) { EXPECT_EQ(m.reply(missing, {1}), Status::ok); });
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(job[0].counters(1).unhandled_replies, 1U);
    EXPECT_EQ(job[1].counters(0).unhandled_replies, 0U);
}

TEST(AmNode, LetsNothingBeSentFromAReplyHandler) {  // AM-23
    Job job;
    std::vector<Status> statuses;
    job[1].handle(ask, [&](const Message& m) { EXPECT_EQ(m.reply(answer), Status::ok); });
    job[1].handle(answer, [&](const Message&) { ADD_FAILURE() << "a reply to a reply"; });
    job[0].handle(answer, [&](const Message& m) {
        statuses.push_back(m.reply(answer));
        statuses.push_back(job.request(0, 1, ask));
    });
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(statuses, (std::vector<Status>{Status::not_allowed, Status::not_allowed}));
    // Its request, and an acknowledgement.
    EXPECT_EQ(job[0].counters(1).sent, job[0].counters(1).hellos + 2);
}

TEST(AmNode, LetsNothingButAReplyBeSentFromARequestHandler) {
    Job job;
    std::vector<Status> statuses;
    std::vector<std::byte> bytes(8);
    std::size_t handled = 99;
    job[1].handle(ask, [&](const Message&) {
        statuses.push_back(job.request(1, 0, ask));
        statuses.push_back(job[1].store_async(0, base, bytes, stored, 0, nullptr));
        statuses.push_back(job[1].get(0, base, bytes, nullptr));
        handled = job[1].poll(job.now);
    });
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(statuses, std::vector<Status>(3, Status::not_allowed));
    EXPECT_EQ(handled, 0U);
    EXPECT_EQ(job[1].reply(answer, {}), Status::not_allowed) << "outside of any handler";
}

TEST(AmNode, PollsAtEveryRequestOfThePapersConfiguration) {  // AM-21
    Config config = Config::sp2();
    config.cookie = 77;
    Job job(config);
    job[1].handle(ask, [](const Message& m) { (void)m.reply(answer, {m.words()[0]}); });
    Values answers;
    job[0].handle(answer, [&](const Message& m) { answers.push_back(m.words()[0]); });
    for (std::uint32_t i = 0; i < 4; ++i) {
        ASSERT_EQ(job.request(0, 1, ask, {i}), Status::ok);
        EXPECT_EQ(job.wire(0).turns, i + 1);
        EXPECT_EQ(job[1].poll(job.now), 1U) << "it left without another call";
    }
    EXPECT_EQ(answers, (Values{0, 1, 2})) << "each request took the reply before it";
}

TEST(AmNode, PollsAtEveryKthRequestWhateverBecameOfIt) {  // AM-21
    Config config = quick();
    config.poll_every = 3;
    Job job(config);
    for (std::uint32_t i = 1; i <= 9; ++i) {
        (void)job.request(0, 1, i % 2 == 0 ? ask : std::uint16_t{0});
        EXPECT_EQ(job.wire(0).turns, i / 3);
    }
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    job[0].poll(job.now);  // a poll restarts the count
    for (std::uint32_t i = 1; i <= 3; ++i) {
        ASSERT_EQ(job.request(0, 1, ask), Status::ok);
        EXPECT_EQ(job.wire(0).turns, 4 + i / 3);
    }
}

// Neither node owes the other anything. The session is watched only because a caller waits.
TEST(AmNode, ACallerThatWaitedBeforeASessionBeganIsNotifiedOfItsEnd) {
    Job job;
    bool heard = false;
    job[0].handle(ask, [&](const Message&) { heard = true; });
    int lost = 0;
    job[0].on_peer_lost([&](const PeerLost&) { ++lost; });
    job[0].set_awaiting(true);
    job.turns(2);
    ASSERT_EQ(job.request(1, 0, ask), Status::ok);
    ASSERT_TRUE(job.run([&] { return heard && job[0].idle() && job[1].idle(); }));
    job.stop(1);
    EXPECT_TRUE(job.run([&] { return lost == 1; }));
}

TEST(AmNode, ASessionThatBeganWhereAReportThrewIsStillAwaited) {
    Job job;
    int heard = 0;
    job[0].handle(ask, [&](const Message&) { ++heard; });
    int lost = 0;
    job[0].on_peer_lost([&](const PeerLost&) {
        if (++lost == 1) throw std::runtime_error("no more");
    });
    job[0].set_awaiting(true);
    ASSERT_EQ(job.request(1, 0, ask), Status::ok);
    ASSERT_TRUE(job.run([&] { return heard == 1 && job[1].idle(); }));
    job.restart(1, 77);
    ASSERT_EQ(job.request(1, 0, ask), Status::ok);
    EXPECT_THROW(job.turns(1000), std::runtime_error);
    job.stop(1);
    EXPECT_TRUE(job.run([&] { return lost == 2; }));
}

// A request that was posted after a turn makes the next turn due before the caller sleeps.
TEST(AmNode, WhatWaitsForItsFirstTurnMakesOneDue) {
    Job job;
    EXPECT_FALSE(job[0].keeps_back());
    ASSERT_EQ(job[0].post(1, ask, words({1})), Status::ok);
    EXPECT_TRUE(job[0].keeps_back());
    EXPECT_LE(job[0].next_deadline(), job.now);
    job.turn();
    EXPECT_FALSE(job[0].keeps_back());
    EXPECT_GT(job[0].next_deadline(), job.now);
    ASSERT_EQ(job[0].post(1, ask, words({2})), Status::ok);
    job[0].push(job.now);
    EXPECT_FALSE(job[0].keeps_back());
}

// A caller that waits for room sleeps: another turn alone makes none.
TEST(AmNode, ACallThatFoundNoRoomIsNoWork) {
    Job job;
    ASSERT_EQ(job[0].post(1, ask, words({1})), Status::ok);
    ASSERT_TRUE(job.settle());
    Status status = Status::ok;
    for (int i = 0; i < 100'000 && status == Status::ok; ++i) {
        status = job[0].post(1, ask, words({2}));
        if (i % 8 == 7) job[0].push(job.now);
    }
    ASSERT_EQ(status, Status::would_block);
    job[0].push(job.now);
    job[0].poll(job.now);
    EXPECT_FALSE(job[0].turn_is_due());
    EXPECT_EQ(job[0].post(1, ask, words({3})), Status::would_block);
    EXPECT_TRUE(job[0].turn_is_due());
    EXPECT_FALSE(job[0].has_work());
}

TEST(AmNode, ReportsHandlersThatThePeerDoesNotHaveToTheSender) {
    Job job;
    std::vector<std::byte> memory(8);
    ASSERT_TRUE(job[1].register_memory(0, base, memory, {.store = true}));
    job[1].handle(ask, nothing);
    job[1].handle(ask, nullptr);  // removed again
    std::vector<std::pair<std::size_t, std::uint16_t>> refused;
    job[0].on_refused(
        [&](std::size_t peer, std::uint16_t handler) { refused.emplace_back(peer, handler); });
    Status ended = Status::would_block;
    const auto source = pattern(8);
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    ASSERT_EQ(job.request(0, 1, 65'535), Status::ok);
    ASSERT_EQ(job[0].store_async(1, base, source, missing, 0, [&](Status s) { ended = s; }),
              Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(refused, (std::vector<std::pair<std::size_t, std::uint16_t>>{
                           {1, ask}, {1, 65'535}, {1, missing}}));
    EXPECT_EQ(ended, Status::no_handler);
    EXPECT_EQ(memory, std::vector<std::byte>(8));
}

TEST(AmNode, HangsOnNoMissingHandlerThoughNobodyListens) {
    Job job;
    job[1].handle(ask, [](const Message& m) { (void)m.reply(missing, {1}); });
    for (int i = 0; i < 300; ++i) {  // more than the queue of replies holds
        ASSERT_EQ(job.request(0, 1, i % 2 == 0 ? missing : ask, {1}), Status::ok);
    }
    EXPECT_TRUE(job.settle());
}

TEST(AmNode, NamesWhatIsWrongWithACall) {
    Job job;
    std::vector<std::byte> bytes(8);
    EXPECT_EQ(job.request(0, 0, ask), Status::no_such_peer) << "itself";
    EXPECT_EQ(job.request(0, 2, ask), Status::no_such_peer);
    EXPECT_EQ(job[0].store_async(2, base, bytes, stored, 0, nullptr), Status::no_such_peer);
    EXPECT_EQ(job[0].get(2, base, bytes, nullptr), Status::no_such_peer);
    EXPECT_FALSE(job[0].register_memory(2, base, bytes, {}));
    EXPECT_FALSE(job[0].register_memory(0, base, bytes, {}));
    EXPECT_EQ(job.request(0, 1, 0), Status::not_allowed);
    EXPECT_EQ(job[0].store_async(1, base, bytes, 0, 0, nullptr), Status::not_allowed);
    EXPECT_EQ(job.request(0, 1, ask, Values(357)), Status::too_long);
    EXPECT_EQ(job.request(0, 1, ask, Values(356)), Status::ok);
    EXPECT_EQ(job[0].counters(2).sent, 0U) << "nobody, so nothing";
    EXPECT_FALSE(job[0].connected(2));
}

TEST(AmNode, QueuesNothingOfACallThatWouldBlock) {
    Job job;
    Values heard;
    job[1].handle(ask, [&](const Message& m) { heard.push_back(m.words()[0]); });
    Values accepted;
    Status status = Status::ok;
    for (std::uint32_t i = 0; status == Status::ok && i < 10'000; ++i) {
        status = job.request(0, 1, ask, {i});
        if (status == Status::ok) accepted.push_back(i);
    }
    EXPECT_EQ(status, Status::would_block);
    EXPECT_EQ(job.request(0, 1, ask, {123'456}), Status::would_block);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(heard, accepted);
    EXPECT_EQ(job.request(0, 1, ask, {0}), Status::ok);
}

TEST(AmNode, LetsRepliesFlowWhileBothRequestWindowsAreFull) {  // AM-24
    Job job;
    std::array<std::uint32_t, 2> posted{};
    std::array<std::uint32_t, 2> answers{};
    for (std::size_t i = 0; i < 2; ++i) {
        job[i].handle(ask, [](const Message& m) { EXPECT_EQ(m.reply(answer), Status::ok); });
        job[i].handle(answer, [&answers, i](const Message&) { ++answers[i]; });
    }
    for (int round = 0; round < 5; ++round) {
        for (std::size_t i = 0; i < 2; ++i) {
            while (job.request(i, 1 - i, ask) == Status::ok) ++posted[i];
        }
        job.turn();
    }
    EXPECT_GE(posted[0], 1024U);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(answers, posted);
}

TEST(AmNode, LetsAHandlerReplaceItselfAndAddOthersWhileItRuns) {
    Job job;
    std::vector<std::string> heard;
    const std::string second(100, 'b');
    std::string first(100, 'a');
    job[1].handle(ask, [&heard, &job, &second, first](const Message&) {
        for (std::uint16_t id = 100; id < 400; ++id) job[1].handle(id, nothing);
        job[1].handle(ask, [&heard, &second](const Message&) { heard.push_back(second); });
        heard.push_back(first);
    });
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(heard, (std::vector<std::string>{first, second}));
}

TEST(AmNode, LetsAHandlerTakeItselfBackWhileItRuns) {
    Job job;
    int runs = 0;
    std::vector<std::uint16_t> refused;
    job[0].on_refused([&](std::size_t, std::uint16_t handler) { refused.push_back(handler); });
    job[1].handle(ask, [&runs, &job](const Message&) {
        job[1].handle(ask, nullptr);
        ++runs;
    });
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(refused, std::vector<std::uint16_t>{ask});
}

TEST(AmNode, DeliversExactlyOnceAndInOrderOverABadWire) {  // AM-15
    MeshWire::End::Config faults;
    faults.rates = {.loss = 0.2, .bit_error = 1e-5, .duplicate = 0.2, .reorder = 0.2};
    faults.seed = 4;
    Job job(quick(), 3, faults);
    constexpr std::uint32_t wanted = 500;
    std::array<std::array<std::uint32_t, 3>, 3> heard{};
    std::array<std::uint32_t, 3> posted{};
    for (std::size_t i = 0; i < 3; ++i) {
        job[i].handle(
            ask, [&heard, i](const Message& m) { EXPECT_EQ(m.words()[0], heard[i][m.peer()]++); });
        job[i].on_peer_lost([](const PeerLost&) { ADD_FAILURE() << "lost a living peer"; });
    }
    const auto next = [](std::size_t i) { return (i + 1) % 3; };
    ASSERT_TRUE(job.run([&] {
        bool all = true;
        for (std::size_t i = 0; i < 3; ++i) {
            if (posted[i] < wanted && job.request(i, next(i), ask, {posted[i]}) == Status::ok) {
                ++posted[i];
            }
            all = all && heard[next(i)][i] == wanted;
        }
        return all;
    }));
    EXPECT_TRUE(job.settle());
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(heard[next(i)][i], wanted);
}

}  // namespace
}  // namespace wireproof::am
