#include "wireproof/base/deadline_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "wireproof/base/random.hpp"

namespace wireproof {
namespace {

Instant at(std::int64_t microseconds) {
    return Instant() + Duration::microseconds(microseconds);
}

TEST(DeadlineHeap, KnowsTheEarliestAndItsOwner) {
    DeadlineHeap heap(3);
    EXPECT_EQ(heap.earliest(), never);
    heap.set(2, at(20));
    heap.set(0, at(10));
    heap.set(1, at(30));
    EXPECT_EQ(heap.earliest(), at(10));
    EXPECT_EQ(heap.first(), 0U);
    heap.set(0, at(40));
    EXPECT_EQ(heap.earliest(), at(20));
    EXPECT_EQ(heap.first(), 2U);
    EXPECT_EQ(heap.size(), 3U);
}

TEST(DeadlineHeap, BringsADeadlineForwardOnly) {
    DeadlineHeap heap(2);
    heap.bring_forward(1, never);
    EXPECT_EQ(heap.size(), 0U);
    for (const std::int64_t deadline : {20, 30, 10, 15}) heap.bring_forward(1, at(deadline));
    EXPECT_EQ(heap.of(1), at(10));
}

TEST(DeadlineHeap, AnOwnerWithoutADeadlineHasNoEntry) {
    DeadlineHeap heap(2);
    heap.clear(1);
    heap.set(0, never);
    EXPECT_EQ(heap.size(), 0U);
    heap.set(0, at(1));
    EXPECT_EQ(heap.of(0), at(1));
    EXPECT_EQ(heap.of(1), never);
    heap.set(0, never);
    EXPECT_EQ(heap.size(), 0U);
    EXPECT_EQ(heap.of(0), never);
    EXPECT_EQ(heap.earliest(), never);
}

/// The same results from a search through all owners.
class Model {
public:
    explicit Model(std::size_t owners) : deadlines_(owners, never) {}
    void set(std::size_t owner, Instant deadline) { deadlines_[owner] = deadline; }
    Instant of(std::size_t owner) const { return deadlines_[owner]; }
    Instant earliest() const { return *std::min_element(deadlines_.begin(), deadlines_.end()); }
    std::size_t size() const {
        return deadlines_.size() -
               static_cast<std::size_t>(std::count(deadlines_.begin(), deadlines_.end(), never));
    }

private:
    std::vector<Instant> deadlines_;
};

TEST(DeadlineHeap, SaysWhatALookAtEveryOwnerWouldSay) {
    for (const std::size_t owners : {1U, 2U, 3U, 8U, 50U}) {
        Random random(owners);
        DeadlineHeap heap(owners);
        Model model(owners);
        for (int step = 0; step < 5'000; ++step) {
            const std::size_t owner = random.below(owners);
            // Only 40 instants, so that many owners have the same one.
            const Instant deadline =
                random.chance(0.3) ? never : at(static_cast<std::int64_t>(random.below(40)));
            model.set(owner, deadline);
            if (deadline == never) {
                heap.clear(owner);
            } else {
                heap.set(owner, deadline);
            }
            ASSERT_EQ(heap.earliest(), model.earliest()) << owners << ", step " << step;
            ASSERT_EQ(heap.size(), model.size()) << owners << ", step " << step;
            for (std::size_t i = 0; i < owners; ++i) ASSERT_EQ(heap.of(i), model.of(i)) << i;
            ASSERT_TRUE(heap.size() == 0 || heap.of(heap.first()) == heap.earliest()) << step;
        }
    }
}

// The entry that fills a gap may come from another branch of the heap, where deadlines are earlier.
TEST(DeadlineHeap, IsInOrderAfterGapsWereFilled) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        Random random(seed);
        DeadlineHeap heap(200);
        for (std::size_t i = 0; i < heap.owners(); ++i) {
            heap.set(i, at(static_cast<std::int64_t>(random.below(1'000))));
        }
        for (int i = 0; i < 60; ++i) heap.clear(random.below(heap.owners()));
        std::vector<Instant> drained;
        while (heap.size() > 0) {
            drained.push_back(heap.earliest());
            heap.clear(heap.first());
        }
        EXPECT_TRUE(std::is_sorted(drained.begin(), drained.end())) << seed;
    }
}

/// Counts the looks at deadlines.
struct Counted {
    static inline std::size_t looks = 0;
    bool operator()(Instant one, Instant other) const {
        ++looks;
        return one < other;
    }
};

// What a packet and its answer cost while other owners wait: the owner gets a deadline, the
// earliest is asked for, and the owner loses its deadline.
TEST(DeadlineHeap, LooksAtFewDeadlinesHoweverManyOwnersWait) {
    std::vector<std::size_t> most;
    for (const std::size_t waiting : {10U, 1'000U, 10'000U}) {
        Random random(waiting);
        BasicDeadlineHeap<Counted> heap(0);
        heap.grow(waiting + 1);
        for (std::size_t i = 0; i < waiting; ++i) {
            heap.set(i, at(static_cast<std::int64_t>(1'000 + random.below(1'000))));
        }
        std::size_t looks = 0;
        for (int i = 0; i < 1'000; ++i) {
            Counted::looks = 0;
            heap.set(waiting, at(static_cast<std::int64_t>(500 + random.below(2'000))));
            heap.for_each_due(at(499), [](std::size_t owner) { ADD_FAILURE() << owner; });
            EXPECT_NE(heap.earliest(), never);
            heap.set(waiting, never);
            looks = std::max(looks, Counted::looks);
        }
        most.push_back(looks);
    }
    // The heaps have 4, 10 and 14 levels. An entry rises or sinks twice, with two looks a level.
    EXPECT_LE(most[0], 1U + 4 * 4);
    EXPECT_LE(most[1], 1U + 4 * 10);
    EXPECT_LE(most[2], 1U + 4 * 14);
}

TEST(DeadlineHeap, FindsAllThatAreDueWithoutALookAtTheOthers) {
    constexpr std::size_t owners = 10'000;
    Random random(1);
    BasicDeadlineHeap<Counted> heap(owners);
    for (std::size_t i = 0; i < owners; ++i) {
        heap.set(i, at(static_cast<std::int64_t>(random.below(1'000))));
    }
    for (const std::int64_t now : {-1, 0, 5, 500, 1'000}) {
        std::vector<std::size_t> due;
        Counted::looks = 0;
        heap.for_each_due(at(now), [&](std::size_t owner) { due.push_back(owner); });
        EXPECT_LE(Counted::looks, 1 + 2 * due.size());
        std::sort(due.begin(), due.end());
        std::vector<std::size_t> expected;
        for (std::size_t i = 0; i < owners; ++i) {
            if (heap.of(i) <= at(now)) expected.push_back(i);
        }
        EXPECT_EQ(due, expected);
    }
}

TEST(DeadlineHeap, KeepsItsDeadlinesWhenItGrows) {
    DeadlineHeap heap(1);
    heap.set(0, at(7));
    heap.grow(100);
    heap.grow(3);
    EXPECT_EQ(heap.owners(), 100U);
    EXPECT_EQ(heap.of(0), at(7));
    EXPECT_EQ(heap.of(99), never);
    heap.set(99, at(3));
    EXPECT_EQ(heap.first(), 99U);
    EXPECT_EQ(heap.size(), 2U);
}

}  // namespace
}  // namespace wireproof
