// Ranks that do not agree, and messages that no rank of this protocol sends.
#include <gtest/gtest.h>

#include "wireproof/proto/collective/world_test_kit.hpp"

namespace wireproof::collective::test {
namespace {

using Kind = Header::Kind;

Message message(Kind kind, std::uint32_t sequence, const Signature& what, std::size_t bytes) {
    Message made(Header::size + bytes, std::byte{0xEE});
    Header header;
    header.kind = kind;
    header.sequence = sequence;
    header.what = what;
    header.outcome = Outcome::peer_lost;
    header.encode(Bytes(made).first<Header::size>());
    return made;
}

constexpr std::uint32_t first = 0xFFFFFFFF;

Operations one_of(Rank ranks, Rank rank = 0) {
    Config config;
    config.rank = rank;
    config.ranks = ranks;
    config.eager_max = 64;
    config.first_sequence = first;
    return Operations(config);
}

/// Each rank begins its own operation. Returns how it ended there.
std::vector<Outcome> all_outcomes(Rank ranks, std::uint64_t seed,
                                  const std::function<Ticket(Operations&, Rank)>& begin) {
    Config config;
    config.eager_max = 64;
    World world(ranks, seed, config);
    std::vector<Ticket> tickets;
    for (Rank rank = 0; rank < ranks; ++rank) {
        tickets.push_back(begin(world.nodes[rank], rank));
        world.collect(rank);
        if (seed % 2 == 0) world.step();
    }
    EXPECT_TRUE(world.settle());
    std::vector<Outcome> all;
    for (Rank rank = 0; rank < ranks; ++rank) {
        all.push_back(world.outcome(rank, tickets[rank]).value_or(Outcome::closed));
    }
    return all;
}

// Both sizes are short, or one or both are long.
TEST(CollectiveMismatch, AnotherSizeAtOneRankEndsTheOperationThere) {
    using Sizes = std::pair<std::size_t, std::size_t>;
    for (const auto& [usual, other] : {Sizes{8, 16}, Sizes{16, 8}, Sizes{8, 800}, Sizes{800, 8},
                                       Sizes{800, 1600}, Sizes{0, 8}}) {
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            SCOPED_TRACE(testing::Message() << usual << " and " << other << ", seed " << seed);
            std::vector<Message> memory(5, Message(usual));
            memory[3].resize(other);
            const auto broadcast = all_outcomes(5, seed, [&](Operations& node, Rank rank) {
                return node.broadcast(memory[rank], 0);
            });
            EXPECT_EQ(broadcast[3], Outcome::mismatched);
            const auto reduce = all_outcomes(5, seed, [&](Operations& node, Rank rank) {
                return node.all_reduce(memory[rank], Element::float64, Reduction::sum);
            });
            EXPECT_EQ(reduce, std::vector<Outcome>(5, Outcome::mismatched));
        }
    }
}

TEST(CollectiveMismatch, AnotherReductionTypeOrOperationEndsTheOperation) {
    std::vector<Message> memory(2, Message(8));
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const std::vector<Outcome> both(2, Outcome::mismatched);
        EXPECT_EQ(all_outcomes(2, seed,
                               [&](Operations& node, Rank rank) {
                                   return node.all_reduce(memory[rank], Element::int64,
                                                          static_cast<Reduction>(rank));
                               }),
                  both);
        EXPECT_EQ(all_outcomes(2, seed,
                               [&](Operations& node, Rank rank) {
                                   const auto type = rank == 0 ? Element::int32 : Element::float32;
                                   return node.all_reduce(memory[rank], type, Reduction::sum);
                               }),
                  both);
        EXPECT_EQ(all_outcomes(2, seed,
                               [&](Operations& node, Rank rank) {
                                   if (rank == 0) return node.barrier();
                                   return node.all_reduce(memory[rank], Element::int32,
                                                          Reduction::sum);
                               }),
                  both);
    }
}

TEST(CollectiveMismatch, LaterOperationsEndAtOnceAndEarlierOnesContinue) {
    Operations node = one_of(3);
    std::vector<std::byte> early(8);
    std::vector<std::byte> late(8);
    const Ticket before = node.broadcast(early, 1);
    const Ticket wrong = node.broadcast(late, 1);
    const Ticket after = node.barrier();
    const Signature other = {.call = Call::broadcast, .root = 1, .total = 9};
    node.on_message(1, message(Kind::data, 0, other, 9));
    const auto first_end = node.next_ended();
    const auto second_end = node.next_ended();
    ASSERT_TRUE(first_end && second_end);
    EXPECT_EQ(first_end->ticket, wrong);
    EXPECT_EQ(first_end->outcome, Outcome::mismatched);
    EXPECT_EQ(second_end->ticket, after);
    EXPECT_TRUE(node.busy());
    const Signature right = {.call = Call::broadcast, .root = 1, .total = 8};
    node.on_message(1, message(Kind::data, first, right, 8));
    const auto last_end = node.next_ended();
    ASSERT_TRUE(last_end);
    EXPECT_EQ(last_end->ticket, before);
    EXPECT_EQ(last_end->outcome, Outcome::ok);
    EXPECT_EQ(early[7], std::byte{0xEE});
    node.barrier();
    ASSERT_TRUE(node.next_ended());
}

/// The rank waits for rank 1. These bytes of rank 1 must end that.
void expect_violation(const std::vector<Message>& messages, std::size_t size = 8) {
    Operations node = one_of(2);
    std::vector<std::byte> memory(size);
    node.broadcast(memory, 1);
    for (const Message& bytes : messages) node.on_message(1, bytes);
    const auto ended = node.next_ended();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->outcome, Outcome::mismatched);
    EXPECT_EQ(memory, std::vector<std::byte>(size));
    EXPECT_EQ(node.kept_bytes(), 0U);
}

TEST(CollectiveHostile, MessagesThatNoRankSendsEndTheOperation) {
    const Signature what = {.call = Call::broadcast, .root = 1, .total = 8};
    const Signature longer = {.call = Call::broadcast, .root = 1, .total = 800};
    expect_violation({Message(Header::size - 1)});
    expect_violation({Message(0)});
    expect_violation({Message(Header::size, std::byte{0xFF})});
    expect_violation({message(Kind::data, first, what, 9)});           // more bytes than it says
    expect_violation({message(Kind::more, first, what, 4)});           // no first part
    expect_violation({message(Kind::data, first, longer, 800)}, 800);  // long, and did not wait
    expect_violation({message(Kind::data, first, what, 4), message(Kind::more, first, what, 5)});
    expect_violation({message(Kind::data, first, what, 4), message(Kind::data, first, what, 4)});
    expect_violation({message(Kind::data, first + 33, what, 8)});  // too far ahead
    expect_violation({message(Kind::data, first + 100000, what, 8)});
    expect_violation({message(Kind::data, 1, longer, 0), message(Kind::more, 1, longer, 8)});
}

TEST(CollectiveHostile, ARankThatRepeatsItsBlockDoesNotReplaceThatOfAnother) {
    Operations node = one_of(3);
    std::vector<std::byte> source(24);
    std::vector<std::byte> destination(24);
    node.all_to_all(source, destination);
    // An operation whose own messages wait does not end anyway.
    node.send([](Rank, ConstBytes) { return Operations::Post::accepted; });
    const Signature what = {.call = Call::all_to_all, .total = 8};
    for (int i = 0; i < 3; ++i) node.on_message(1, message(Kind::data, first, what, 8));
    EXPECT_TRUE(node.busy());
    EXPECT_EQ(destination[8], std::byte{0xEE});
    EXPECT_EQ(destination[16], std::byte{0});
}

TEST(CollectiveHostile, RandomMessagesDoNoHarm) {
    const auto nothing = [](Rank, ConstBytes) { return Operations::Post::accepted; };
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Random random(seed);
        Operations node = one_of(4);
        std::vector<std::byte> memory(96);
        std::vector<std::byte> source(96);
        node.all_reduce(Bytes(memory).first(32), Element::float64, Reduction::sum);
        node.all_to_all(source, memory);
        node.broadcast(memory, 1);
        for (int i = 0; i < 200; ++i) {
            Signature what;
            what.call = static_cast<Call>(random.below(4));
            what.element = static_cast<Element>(random.below(2) * 2);
            what.root = static_cast<Rank>(random.below(2));
            constexpr std::array<std::uint64_t, 6> totals = {0, 8, 24, 32, 96, ~std::uint64_t{0}};
            what.total = totals[random.below(totals.size())];
            const auto kind = static_cast<Kind>(random.below(4));
            const auto sequence = first + static_cast<std::uint32_t>(random.below(6));
            const auto from = static_cast<Rank>(random.below(6));
            node.on_message(from, message(kind, sequence, what, random.below(40)));
            if (random.chance(0.3)) node.send(nothing);
            EXPECT_LE(node.kept_bytes(), 3U * 32U * 64U);
        }
    }
}

}  // namespace
}  // namespace wireproof::collective::test
