// A node that has more peers than sets of buffers.
#include <gtest/gtest.h>
#include <malloc.h>

#include <map>

#include "wireproof/front/am/node_test_kit.hpp"

namespace wireproof::am::test {
namespace {

constexpr std::size_t links = 256;  // frames that fit on each link

/// After this time, a connection without traffic has given its buffers back.
constexpr Duration give_back = BufferPool::rest * 3;

void pass(Job& job, Duration time) {
    const Instant end = job.now + time;
    while (job.now < end) job.turn();
}

TEST(AmNodePool, APeerThatIsNotUsedHasNoBuffersAndNoDeadline) {
    Job job(quick(), 4);
    job.turns(5);
    for (std::size_t peer = 1; peer < 4; ++peer) {
        EXPECT_FALSE(job[0].connection(peer).has_buffers());
    }
    EXPECT_EQ(job[0].next_deadline(), never);
    EXPECT_TRUE(job[0].idle());
}

TEST(AmNodePool, APeerThatIsNotUsedTakesLittleMemory) {
    constexpr std::size_t peers = 1'000;
    constexpr std::size_t most = 16 * 1024;  // bytes for each peer
    const auto in_use = [] {
        const auto heap = ::mallinfo2();
        return heap.uordblks + heap.hblkhd;
    };
    MeshWire wire(peers + 1);
    const std::size_t before = in_use();
    const Node node(host::AnyWire(std::ref(wire)), quick(), peers + 1);
    EXPECT_LT(in_use() - before, peers * most);
}

TEST(AmNodePool, BuffersComeWithTrafficAndGoWhenItHasEnded) {
    Job job(quick(), 4);
    int answers = 0;
    job[1].handle(ask, [](const Message& m) { m.reply(answer, {1}); });
    job[0].handle(answer, [&](const Message&) { ++answers; });
    for (int round = 1; round <= 3; ++round) {
        ASSERT_EQ(job.request(0, 1, ask), Status::ok);
        EXPECT_TRUE(job[0].connection(1).has_buffers());
        ASSERT_TRUE(job.run([&] { return answers == round; }));
        EXPECT_TRUE(job[1].connection(0).has_buffers());
        EXPECT_FALSE(job[1].connection(2).has_buffers());
        pass(job, give_back);
        EXPECT_FALSE(job[0].connection(1).has_buffers());
        EXPECT_FALSE(job[1].connection(0).has_buffers());
        EXPECT_TRUE(job[0].connected(1)) << "the session stays";
    }
    EXPECT_EQ(job[1].counters(0).received[static_cast<std::size_t>(RxVerdict::refused)], 0U)
        << "they were there in time";
    EXPECT_EQ(job[0].counters(1).resent, 0U);
    EXPECT_EQ(job[0].next_deadline(), never);
}

TEST(AmNodePool, AReplyThatIsLongInComingFindsItsRequester) {
    Job job(quick(), 3);
    std::vector<std::uint32_t> answers;
    job[0].handle(answer, [&](const Message& m) { answers.push_back(m.words()[0]); });
    job[1].handle(ask, [&](const Message&) {});
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    ASSERT_TRUE(job.settle());
    pass(job, give_back);
    ASSERT_FALSE(job[0].connection(1).has_buffers());
    ASSERT_EQ(job.request(1, 0, answer, {7}), Status::ok);
    ASSERT_TRUE(job.run([&] { return !answers.empty(); }));
    EXPECT_EQ(answers, std::vector<std::uint32_t>{7});
}

TEST(AmNodePool, WithoutBuffersWhatIsAskedForWouldBlockAndIsCounted) {
    Job job(quick(), 5, {}, links, 1);
    std::vector<std::byte> bytes(10);
    job.stop(1);
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    job.turn();
    EXPECT_EQ(job.request(0, 2, ask), Status::would_block) << "the other set is kept for answers";
    EXPECT_EQ(job[0].store_async(2, 0, bytes, stored, 0, {}), Status::would_block);
    EXPECT_EQ(job[0].get(2, 0, bytes, {}), Status::would_block);
    EXPECT_EQ(job[0].counters(2).refused, 3U);
    EXPECT_EQ(job[0].counters(1).refused, 0U);
    EXPECT_EQ(job.request(0, 1, ask), Status::ok) << "it has some";
    // The connection to the stopped peer gives its buffers back in the end. Until then, the node
    // still answers others.
    int heard = 0;
    job[0].handle(ask, [&](const Message&) { ++heard; });
    ASSERT_EQ(job.request(3, 0, ask), Status::ok);
    ASSERT_TRUE(job.run([&] { return heard == 1; }));
    ASSERT_TRUE(job.run([&] { return job.request(0, 2, ask) == Status::ok; }));
}

TEST(AmNodePool, WhatWasDeferredIsFetchedOnceThereAreBuffers) {
    Job job(quick(), 4, {}, links, 1);
    std::vector<std::size_t> heard;
    job[0].handle(ask, [&](const Message& m) {
        heard.push_back(m.peer());
        m.reply(answer, {1});
    });
    // Peers 1 and 2 hold both sets until the node gives the peers up.
    for (const std::size_t peer : {1U, 2U}) {
        ASSERT_EQ(job.request(peer, 0, ask), Status::ok);
        ASSERT_TRUE(job.run([&] { return heard.size() == peer; }));
        job.stop(peer);
    }
    ASSERT_EQ(job.request(3, 0, ask), Status::ok);
    job.turns(100);
    EXPECT_EQ(heard.size(), 2U);
    EXPECT_GE(job[0].counters(3).received[static_cast<std::size_t>(RxVerdict::refused)], 1U);
    EXPECT_FALSE(job[3].idle());
    ASSERT_TRUE(job.run([&] { return heard.size() == 3; }, 10'000));
    EXPECT_EQ(job[3].counters(0).resent, 1U) << "fetched, and not sent again and again";
}

/// Each node sends requests and stores to each other node, but may ask only one of them at a time.
void all_to_all(std::size_t nodes, const MeshWire::End::Config& faults) {
    constexpr std::uint32_t most = 12;
    Config config = quick();
    config.peer_timeout = Duration::milliseconds(2'000);
    Job job(config, nodes, faults, links, 1);
    using Way = std::pair<std::size_t, std::size_t>;  // from, to
    std::map<Way, std::uint32_t> asked;
    std::map<Way, std::uint32_t> came;
    std::map<Way, std::uint32_t> answered;
    std::map<Way, std::uint32_t> stores;
    std::vector<std::vector<std::byte>> memory(nodes, std::vector<std::byte>(20'000));
    const auto source = pattern(20'000);
    for (std::size_t i = 0; i < nodes; ++i) {
        job[i].handle(ask, [&, i](const Message& m) {
            const Way way(m.peer(), i);
            EXPECT_EQ(m.words()[0], came[way]++) << way.first << " to " << way.second;
            m.reply(answer, {m.words()[0]});
        });
        job[i].handle(answer, [&, i](const Message& m) {
            const Way way(i, m.peer());
            EXPECT_EQ(m.words()[0], answered[way]++) << way.first << " to " << way.second;
        });
        job[i].handle(stored, [](const Message&) {});
        job[i].on_peer_lost([](const PeerLost& lost) { ADD_FAILURE() << lost.message(); });
        for (std::size_t j = 0; j < nodes; ++j) {
            if (j == i) continue;
            ASSERT_TRUE(job[i].register_memory(j, 0, memory[i], {.store = true}));
        }
    }
    const auto done = [&] {
        bool all = true;
        for (std::size_t i = 0; i < nodes; ++i) {
            for (std::size_t j = 0; j < nodes; ++j) {
                if (i == j) continue;
                const Way way(i, j);
                std::uint32_t& next = asked[way];
                while (next < most && job.request(i, j, ask, {next}) == Status::ok) ++next;
                if (next == most && stores[way] == 0 &&
                    job[i].store_async(j, 0, source, stored, 0, [&stores, way](Status status) {
                        EXPECT_EQ(status, Status::ok);
                        ++stores[way];
                    }) == Status::ok) {
                    ++stores[way];
                }
                all = all && answered[way] == most && stores[way] == 2;
            }
        }
        return all;
    };
    ASSERT_TRUE(job.run(done, 20'000));
    std::uint64_t refused = 0;
    for (std::size_t i = 0; i < nodes; ++i) {
        EXPECT_EQ(memory[i], source);
        for (std::size_t j = 0; j < nodes; ++j) refused += job[i].counters(j).refused;
    }
    EXPECT_GT(refused, 0U);
}

TEST(AmNodePool, NodesWithFewBuffersNeverWaitForOneAnotherInACircle) {
    for (const std::size_t nodes : {3U, 7U}) all_to_all(nodes, {});
}

TEST(AmNodePool, NothingIsLostOrRepeatedWhereFewBuffersMeetABadWire) {
    MeshWire::End::Config faults;
    faults.rates = {.loss = 0.02, .duplicate = 0.02, .reorder = 0.02};
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        faults.seed = seed;
        all_to_all(5, faults);
    }
}

}  // namespace
}  // namespace wireproof::am::test
