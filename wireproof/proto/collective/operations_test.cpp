#include "wireproof/proto/collective/operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "wireproof/proto/collective/combine.hpp"
#include "wireproof/proto/collective/world_test_kit.hpp"

namespace wireproof::collective::test {
namespace {

// Two to three packets are enough for a short message, and some messages are long.
Config small_packets() {
    Config config;
    config.message_max = Header::size + 16;
    config.eager_max = 40;
    config.first_sequence = 0xFFFFFFFE;  // the second operation has the last number
    return config;
}

/// One operation of all ranks, and what it must give.
struct Script {
    Call call = Call::barrier;
    Rank root = 0;
    Reduction reduction = Reduction::sum;
    std::vector<Message> memory;    // by rank
    std::vector<Message> source;    // of an all-to-all
    std::vector<Message> expected;  // by rank
    std::vector<Ticket> tickets;
};

std::vector<double> doubles(const Message& bytes) {
    std::vector<double> values(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
    return values;
}

/// The sum of doubles in the order that the README names.
Message reference_reduction(Reduction reduction, std::vector<Message> values) {
    const auto merge = [&](Message left, const Message& right) {
        combine(Element::float64, reduction, left, right, Mine::left);
        return left;
    };
    const std::size_t power = std::bit_floor(values.size());
    for (std::size_t i = 0; values.size() > power; ++i) {
        values[i] = merge(values[i], values[i + 1]);
        values.erase(values.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    while (values.size() > 1) {
        std::vector<Message> half;
        for (std::size_t i = 0; i < values.size(); i += 2) {
            half.push_back(merge(values[i], values[i + 1]));
        }
        values = std::move(half);
    }
    return values.front();
}

Script make(Call call, Rank ranks, Rank root, Random& random) {
    Script script;
    script.call = call;
    script.root = root;
    script.reduction = static_cast<Reduction>(random.below(3));
    script.tickets.resize(ranks);
    const std::size_t size = 8 * random.below(call == Call::all_to_all ? 7 : 12);
    for (Rank rank = 0; rank < ranks; ++rank) {
        Message bytes = random_bytes(random, size);
        if (call == Call::all_reduce) {
            for (std::size_t at = 0; at < size; at += 8) {
                const double value = random.uniform() * 1e6 - 5e5;
                std::memcpy(bytes.data() + at, &value, 8);
            }
        }
        if (call == Call::all_to_all) {
            script.source.push_back(random_bytes(random, size * ranks));
            bytes.assign(size * ranks, std::byte{0});
        }
        script.memory.push_back(std::move(bytes));
    }
    if (call == Call::barrier) script.memory.assign(ranks, {});
    script.expected = script.memory;
    if (call == Call::broadcast) script.expected.assign(ranks, script.memory[root]);
    if (call == Call::all_reduce) {
        script.expected.assign(ranks, reference_reduction(script.reduction, script.memory));
    }
    for (Rank to = 0; call == Call::all_to_all && to < ranks; ++to) {
        for (Rank from = 0; from < ranks; ++from) {
            std::copy_n(script.source[from].data() + to * size, size,
                        script.expected[to].data() + from * size);
        }
    }
    return script;
}

Ticket begin(Operations& node, Script& script, Rank rank) {
    switch (script.call) {
        case Call::barrier: return node.barrier();
        case Call::broadcast: return node.broadcast(script.memory[rank], script.root);
        case Call::all_reduce:
            return node.all_reduce(script.memory[rank], Element::float64, script.reduction);
        case Call::all_to_all: return node.all_to_all(script.source[rank], script.memory[rank]);
    }
    return 0;
}

void begin(World& world, Script& script, Rank rank) {
    script.tickets[rank] = begin(world.nodes[rank], script, rank);
    world.collect(rank);
}

void expect_result(const World& world, const Script& script, Rank rank) {
    EXPECT_EQ(world.outcome(rank, script.tickets[rank]), Outcome::ok);
    EXPECT_EQ(script.memory[rank], script.expected[rank]) << "at rank " << rank;
}

std::vector<Script> scripts(Rank ranks, std::size_t count, Random& random) {
    std::vector<Script> all;
    for (std::size_t i = 0; i < count; ++i) {
        const auto call = static_cast<Call>(random.below(4));
        all.push_back(make(call, ranks, static_cast<Rank>(random.below(ranks)), random));
    }
    return all;
}

/// Each rank begins the operations in order, at random moments.
void begin_all(World& world, std::vector<Script>& all, std::size_t& kept_most) {
    std::vector<std::size_t> begun(world.ranks(), 0);
    const auto more = [&](Rank rank) { return begun[rank] < all.size() && !world.dead[rank]; };
    for (std::size_t left = all.size() * world.ranks(); left > 0;) {
        const auto rank = static_cast<Rank>(world.random.below(world.ranks()));
        if (more(rank) && world.random.chance(0.2)) {
            begin(world, all[begun[rank]++], rank);
            --left;
        }
        world.step();
        kept_most = std::max(kept_most, world.nodes[rank].kept_bytes());
    }
}

TEST(CollectiveOperations, EachOperationIsRightForEachNumberOfRanksAndEachRoot) {
    for (Rank ranks = 1; ranks <= 17; ++ranks) {
        for (Rank root = 0; root < ranks; ++root) {
            SCOPED_TRACE(testing::Message() << ranks << " ranks, root " << root);
            World world(ranks, ranks * 100 + root, small_packets());
            for (std::uint8_t call = 0; call < 4; ++call) {
                Script script = make(static_cast<Call>(call), ranks, root, world.random);
                for (Rank rank = 0; rank < ranks; ++rank) begin(world, script, rank);
                ASSERT_TRUE(world.settle());
                for (Rank rank = 0; rank < ranks; ++rank) expect_result(world, script, rank);
            }
        }
    }
}

TEST(CollectiveOperations, ManyOutstandingOperationsEndRightInAnyOrderOfMessages) {
    for (std::uint64_t seed = 1; seed <= 34; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const auto ranks = static_cast<Rank>(1 + seed % 17);
        World world(ranks, seed, small_packets());
        world.full = world.random.uniform() * 0.8;
        std::vector<Script> all = scripts(ranks, 12, world.random);
        std::size_t kept = 0;
        begin_all(world, all, kept);
        ASSERT_TRUE(world.settle());
        for (const Script& script : all) {
            for (Rank rank = 0; rank < ranks; ++rank) expect_result(world, script, rank);
        }
    }
}

// The last rank begins nothing until the others can do no more.
TEST(CollectiveOperations, ARankMayRunAheadAndTheOthersKeepALimitedNumberOfBytes) {
    Config config = small_packets();
    config.ahead_max = 6;
    World world(3, 5, config);
    std::vector<Script> all;
    for (int i = 0; i < 40; ++i) {
        all.push_back(make(Call::broadcast, 3, 0, world.random));
        for (auto* each : {&all.back().memory, &all.back().expected}) {
            each->assign(3, random_bytes(world.random, i % 2 == 0 ? 40 : 100));
        }
        all.back().expected.assign(3, all.back().memory[0]);
    }
    for (Script& script : all) begin(world, script, 0);
    for (int i = 0; i < 3000; ++i) world.step();
    EXPECT_GT(world.nodes[2].kept_bytes(), 0U);
    EXPECT_LE(world.nodes[2].kept_bytes(), 6U * 40U);
    // The receivers of the long ones are not ready. The fourth operation is a barrier.
    EXPECT_EQ(world.outcomes[0].size(), 3U);
    EXPECT_TRUE(world.nodes[0].busy());
    for (Script& script : all) begin(world, script, 1);
    for (Script& script : all) begin(world, script, 2);
    ASSERT_TRUE(world.settle());
    for (const Script& script : all) {
        for (Rank rank = 0; rank < 3; ++rank) expect_result(world, script, rank);
    }
}

TEST(CollectiveOperations, ARootThatOnlyBroadcastsWaitsForTheSlowestRank) {
    World world(4, 3);
    std::vector<Message> memory(4, Message(8));
    for (int i = 0; i < 200; ++i) world.nodes[0].broadcast(memory[0], 0);
    for (int i = 0; i < 3000; ++i) world.step();
    EXPECT_EQ(world.outcomes[0].size(), 31U);  // and a barrier
    for (Rank rank = 1; rank < 4; ++rank) {
        for (int i = 0; i < 200; ++i) world.nodes[rank].broadcast(memory[rank], 0);
    }
    ASSERT_TRUE(world.settle());
    for (Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(world.outcomes[rank].size(), 200U);
}

TEST(CollectiveOperations, NoRankLeavesABarrierBeforeTheLastHasBegunIt) {
    for (Rank ranks = 2; ranks <= 17; ++ranks) {
        for (Rank late = 0; late < ranks; ++late) {
            World world(ranks, ranks, {});
            for (Rank rank = 0; rank < ranks; ++rank) {
                if (rank != late) world.nodes[rank].barrier();
            }
            for (int i = 0; i < 400; ++i) world.step();
            for (Rank rank = 0; rank < ranks; ++rank) ASSERT_TRUE(world.outcomes[rank].empty());
            world.nodes[late].barrier();
            ASSERT_TRUE(world.settle());
            for (Rank rank = 0; rank < ranks; ++rank) ASSERT_EQ(world.outcomes[rank].size(), 1U);
        }
    }
}

// Each rank sends one message in each round of a barrier, and one for each round of a reduction.
TEST(CollectiveOperations, CostsTheMessagesOfItsAlgorithm) {
    const auto cost = [](Rank ranks, const std::function<void(Operations&)>& call) {
        World world(ranks, 1);
        std::uint64_t before = 0;
        for (int times = 0; times < 2; ++times) {  // the first may also send probes
            before = world.sent;
            for (Operations& node : world.nodes) call(node);
            EXPECT_TRUE(world.settle());
        }
        return world.sent - before;
    };
    std::vector<std::byte> memory(8);
    const auto barrier = [](Operations& node) { node.barrier(); };
    const auto reduce = [&](Operations& node) {
        node.all_reduce(memory, Element::int64, Reduction::max);
    };
    const auto broadcast = [&](Operations& node) { node.broadcast(memory, 0); };
    EXPECT_EQ(cost(8, barrier), 8U * 3);
    EXPECT_EQ(cost(9, barrier), 9U * 4);
    EXPECT_EQ(cost(8, reduce), 8U * 3);
    EXPECT_EQ(cost(11, reduce), 8U * 3 + 3 * 2);
    EXPECT_EQ(cost(11, broadcast), 10U);
}

TEST(CollectiveOperations, AllRanksGetTheSameSumThoughTheOrderOfAdditionMatters) {
    for (Rank ranks = 2; ranks <= 17; ++ranks) {
        World world(ranks, ranks, small_packets());
        Script script = make(Call::all_reduce, ranks, 0, world.random);
        for (Rank rank = 0; rank < ranks; ++rank) {
            script.memory[rank].resize(8);
            const double value = rank % 2 == 0 ? 1e16 + rank : -1e16 + 1.0 / (rank + 1);
            std::memcpy(script.memory[rank].data(), &value, 8);
        }
        script.reduction = Reduction::sum;
        script.expected.assign(ranks, reference_reduction(Reduction::sum, script.memory));
        for (Rank rank = 0; rank < ranks; ++rank) begin(world, script, rank);
        ASSERT_TRUE(world.settle());
        for (Rank rank = 0; rank < ranks; ++rank) {
            ASSERT_EQ(doubles(script.memory[rank]), doubles(script.expected[rank]));
        }
    }
}

// What is not a number has no order, so the result shows which operand was the left one.
TEST(CollectiveOperations, TheElementsOfLowerRanksAreTheLeftOperands) {
    for (Rank ranks = 2; ranks <= 17; ++ranks) {
        World world(ranks, ranks);
        Script script = make(Call::all_reduce, ranks, 0, world.random);
        for (Rank rank = 0; rank < ranks; ++rank) {
            script.memory[rank].resize(8);
            const double value = rank % 3 == 1 ? std::nan("") : 100.0 - rank;
            std::memcpy(script.memory[rank].data(), &value, 8);
        }
        script.reduction = Reduction::max;
        script.expected.assign(ranks, reference_reduction(Reduction::max, script.memory));
        for (Rank rank = 0; rank < ranks; ++rank) begin(world, script, rank);
        ASSERT_TRUE(world.settle());
        for (Rank rank = 0; rank < ranks; ++rank) expect_result(world, script, rank);
    }
}

TEST(CollectiveOperations, ALostRankEndsEachOperationOfTheOthers) {
    std::size_t lost = 0;
    for (std::uint64_t seed = 1; seed <= 48; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const auto ranks = static_cast<Rank>(2 + seed % 16);
        World world(ranks, seed, small_packets());
        std::vector<Script> all = scripts(ranks, 6, world.random);
        const auto victim = static_cast<Rank>(world.random.below(ranks));
        for (Script& script : all) {
            for (Rank rank = 0; rank < ranks; ++rank) begin(world, script, rank);
        }
        for (std::uint64_t left = world.random.below(40 * ranks); left > 0; --left) world.step();
        world.kill(victim);
        ASSERT_TRUE(world.settle());
        for (Rank rank = 0; rank < ranks; ++rank) {
            if (rank == victim) continue;
            for (const Script& script : all) {
                const auto outcome = world.outcome(rank, script.tickets[rank]);
                ASSERT_TRUE(outcome.has_value());
                if (*outcome == Outcome::ok) {
                    expect_result(world, script, rank);
                } else {
                    ASSERT_EQ(*outcome, Outcome::peer_lost);
                    ++lost;
                }
            }
        }
    }
    EXPECT_GT(lost, 300U);
}

// All messages that the others need have left before the rank is gone.
TEST(CollectiveOperations, ARankThatIsGoneAfterTheLastOperationHarmsNobody) {
    for (std::uint64_t seed = 1; seed <= 32; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const auto ranks = static_cast<Rank>(2 + seed % 16);
        World world(ranks, seed, small_packets());
        std::vector<Script> all = scripts(ranks, 3, world.random);
        all.push_back(make(Call::barrier, ranks, 0, world.random));
        for (Script& script : all) {
            for (Rank rank = 0; rank < ranks; ++rank) begin(world, script, rank);
        }
        for (int left = 100'000; left > 0 && (left % 64 != 0 || !world.quiet()); --left) {
            for (Rank rank = 0; rank < ranks; ++rank) {
                if (world.outcomes[rank].size() == all.size() && !world.nodes[rank].has_sends()) {
                    world.dead[rank] = true;  // its messages under way still arrive
                }
            }
            world.step();
        }
        for (const Script& script : all) {
            for (Rank rank = 0; rank < ranks; ++rank) expect_result(world, script, rank);
        }
    }
}

}  // namespace
}  // namespace wireproof::collective::test
