#include "wireproof/front/am/job_paths.hpp"

#include <gtest/gtest.h>

namespace wireproof::am {
namespace {

using Ranks = std::vector<std::size_t>;
using Bools = std::vector<bool>;

TEST(RankEntry, IsTheSameAfterItsText) {
    for (const Ranks& reached : {Ranks{}, Ranks{0}, Ranks{3}, Ranks{0, 1, 2}, Ranks{0, 2, 3, 4, 9},
                                 Ranks{7, 8}, Ranks{1, 3, 5, 7}}) {
        for (const std::size_t threads : {1U, 3U}) {
            RankEntry entry{{"[fe80::1%eth0]:4711"}, 768, reached};
            entry.addresses.resize(threads, "[fe80::1%eth0]:4712");
            const auto read = RankEntry::parse(entry.to_text(), 10, threads);
            ASSERT_TRUE(read.has_value()) << entry.to_text();
            EXPECT_EQ(read->addresses, entry.addresses);
            EXPECT_EQ(read->descriptors, 768U);
            EXPECT_EQ(read->reached, reached) << entry.to_text();
        }
    }
    EXPECT_EQ((RankEntry{{"10.0.0.7:1", "10.0.0.7:2"}, 768, {0, 1, 2, 5}}.to_text()),
              "10.0.0.7:1,10.0.0.7:2 768 0-2,5");
}

TEST(RankEntry, RefusesATextThatNoRankWrites) {
    for (const std::string text :
         {"",          " ",           " 9 1",      "a:1",
          "a:1 9",     "a:1 x ",      "a:1 -9 ",   "a:1 9999999999 1",
          "a:1 9 ,",   "a:1 9 1,",    "a:1 9 ,1",  "a:1 9 x",
          "a:1 9 1-",  "a:1 9 1-1",   "a:1 9 2-1", "a:1 9 2,1",
          "a:1 9 1,1", "a:1 9 0-2,2", "a:1 9 10",  "a:1 9 0-10",
          "a:1 9 -1",  "a:1 9 1 2",   "a:1 9 +1",  "a:1 9 99999999999999999999999"}) {
        const auto entry = RankEntry::parse(text, 10, 1);
        ASSERT_FALSE(entry.has_value()) << text;
        EXPECT_EQ(entry.error().message, "\"" + text + "\" is no entry of a rank");
    }
    EXPECT_EQ(RankEntry::parse("a:1 9 0-9", 10, 1)->reached.size(), 10U);
    for (const std::string text : {", 9 1", "a:1, 9 1", ",a:1 9 1"}) {
        EXPECT_FALSE(RankEntry::parse(text, 10, 2).has_value()) << text;
    }
}

TEST(RankEntry, RefusesAnotherNumberOfThreads) {
    const auto entry = RankEntry::parse("a:1,a:2 9 1", 2, 3);
    ASSERT_FALSE(entry.has_value());
    EXPECT_EQ(entry.error().message, "it has 2 threads, and this process has 3");
}

// The others learn at once why the job cannot begin.
TEST(RankEntry, OfARankThatFailedIsItsError) {
    EXPECT_EQ(failure_in(failed_rank("no address: \"x\"")), "no address: \"x\"");
    EXPECT_EQ(failure_in(RankEntry{{"a:1"}, 9, {}}.to_text()), "");
    EXPECT_EQ(failure_in(""), "");
}

Bools sharing(std::size_t self, const std::vector<std::string>& groups,
              const std::vector<Ranks>& reached, std::size_t threads = 1,
              std::size_t descriptors = 10'000) {
    std::vector<RankEntry> entries;
    for (const Ranks& ranks : reached) {
        entries.push_back({std::vector<std::string>(threads, "a:1"), descriptors, ranks});
    }
    return sharing_ranks(self, groups, entries);
}

TEST(SharingRanks, AreThosePairsThatReachEachOther) {
    const std::vector<std::string> groups = {"x", "x", "y", "x"};
    const std::vector<Ranks> reached = {{1, 3}, {0}, {}, {1}};
    EXPECT_EQ(sharing(0, groups, reached), (Bools{true, true, false, false}));
    EXPECT_EQ(sharing(1, groups, reached), (Bools{true, true, false, false}));
    EXPECT_EQ(sharing(2, groups, reached), (Bools{false, false, true, false}));
    EXPECT_EQ(sharing(3, groups, reached), (Bools{false, false, false, true}));
}

// Whatever a rank of another group claims, no pair is formed across groups.
TEST(SharingRanks, AreOfOneGroup) {
    EXPECT_EQ(sharing(0, {"x", "y"}, {{1}, {0}}), (Bools{true, false}));
}

// The ranks above the limit do without shared memory, and all ranks agree on which these are.
TEST(SharingRanks, AreNoMoreThanTheirDescriptorsAllow) {
    struct Limit {
        std::size_t threads;
        std::size_t descriptors;
        std::size_t ranks;
    };
    // Each of the 3 nodes of a rank takes a descriptor for each other node.
    for (const Limit limit : {Limit{1, 10'000, sharing_max}, Limit{3, 10'000, sharing_max / 3},
                              Limit{1, 9, 10}, Limit{3, 24, 3}, Limit{3, 23, 2}}) {
        const std::size_t size = limit.ranks + 3;
        const std::vector<std::string> groups(size, "x");
        Ranks all;
        for (std::size_t i = 0; i < size; ++i) all.push_back(i);
        const std::vector<Ranks> reached(size, all);
        for (const std::size_t self : {std::size_t{0}, limit.ranks - 1, limit.ranks, size - 1}) {
            const Bools shares = sharing(self, groups, reached, limit.threads, limit.descriptors);
            for (std::size_t rank = 0; rank < size; ++rank) {
                EXPECT_EQ(shares[rank], self < limit.ranks && rank < limit.ranks)
                    << limit.threads << ' ' << limit.descriptors << ": " << self << ' ' << rank;
            }
        }
    }
}

}  // namespace
}  // namespace wireproof::am
