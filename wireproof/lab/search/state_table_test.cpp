#include "wireproof/lab/search/state_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace wireproof::lab {
namespace {

PackedState packed(std::uint32_t first, std::uint32_t second) {
    PackedState state;
    state.add(first, 4);
    state.add(second, 3);
    return state;
}

TEST(PackedState, IsReadAsItWasWritten) {
    PackedState state;
    state.add(0xFFFFFFFF, 4);
    state.add(0x123456, 3);
    state.add(0x7F, 1);
    EXPECT_EQ(state.bytes().size(), 8U);
    PackedReader reader(state.bytes());
    EXPECT_EQ(reader.read(4), 0xFFFFFFFF);
    EXPECT_EQ(reader.read(3), 0x123456U);
    EXPECT_EQ(reader.read(1), 0x7FU);
    const PackedState copy(state.bytes());
    EXPECT_TRUE(std::equal(copy.bytes().begin(), copy.bytes().end(), state.bytes().begin()));
    EXPECT_EQ(copy.hash(), state.hash());
}

TEST(PackedState, EachByteCountsInTheHash) {
    std::set<std::uint64_t> hashes;
    for (std::size_t i = 0; i < PackedState::size_max; ++i) {
        PackedState state;
        for (std::size_t k = 0; k < PackedState::size_max; ++k) state.add(k == i ? 1 : 0, 1);
        hashes.insert(state.hash());
    }
    EXPECT_EQ(hashes.size(), PackedState::size_max);
}

TEST(PackedState, RefusesAValueThatDoesNotFit) {
    PackedState state;
    EXPECT_DEATH(state.add(0x1000000, 3), "");
    for (std::size_t i = 0; i < PackedState::size_max; ++i) state.add(1, 1);
    EXPECT_DEATH(state.add(1, 1), "");
}

// More than one chunk of states, and many sizes of the table.
TEST(StateTable, NumbersStatesInTheOrderInWhichTheyCome) {
    constexpr std::uint32_t states = 150'000;
    StateTable table;
    for (std::uint32_t i = 0; i < states; ++i) {
        const auto place = table.find_or_add(packed(i, i % 7));
        ASSERT_TRUE(place.is_new);
        ASSERT_EQ(place.id, i);
        const auto again = table.find_or_add(packed(i / 2, i / 2 % 7));
        ASSERT_FALSE(again.is_new);
        ASSERT_EQ(again.id, i / 2);
    }
    EXPECT_EQ(table.size(), states);
    EXPECT_EQ(PackedReader(table.at(70'000)).read(4), 70'000U);
}

TEST(StateTable, DistinguishesStatesThatDifferInOneBit) {
    StateTable table;
    for (std::uint32_t bit = 0; bit < 32; ++bit) {
        EXPECT_EQ(table.find_or_add(packed(1U << bit, 0)).id, bit);
    }
    for (std::uint32_t bit = 0; bit < 24; ++bit) {
        EXPECT_EQ(table.find_or_add(packed(0, 1U << bit)).id, 32 + bit);
    }
}

// All states have the same hash: only their bytes decide. The table does not grow here, because
// then it hashes the bytes.
TEST(StateTable, DoesNotTrustTheHash) {
    StateTable table;
    for (const bool is_new : {true, false}) {
        for (std::uint32_t i = 0; i < 800; ++i) {
            const auto place = table.find_or_add(packed(i, 0), 5);
            ASSERT_EQ(place.id, i);
            ASSERT_EQ(place.is_new, is_new);
        }
    }
}

TEST(StateTable, KnowsItsStatesAfterARest) {
    StateTable table;
    for (std::uint32_t i = 0; i < 100'000; ++i) table.find_or_add(packed(i, 1));
    table.rest();
    EXPECT_EQ(PackedReader(table.at(99'999)).read(4), 99'999U);
    table.prefetch(1);
    table.prefetch_state(1);
    for (std::uint32_t i = 0; i < 100'000; ++i) {
        const auto place = table.find_or_add(packed(i, 1));
        ASSERT_EQ(place.id, i);
        ASSERT_FALSE(place.is_new);
    }
    EXPECT_TRUE(table.find_or_add(packed(0, 2)).is_new);
}

}  // namespace
}  // namespace wireproof::lab
