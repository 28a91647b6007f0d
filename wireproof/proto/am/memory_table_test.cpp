#include "wireproof/proto/am/memory_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace wireproof::am {
namespace {

constexpr std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
constexpr Access both{.read = true, .write = true};

// AM-47: every address and length comes from the network.
TEST(AmMemoryTable, GivesOnlyWhatOneRegionHolds) {
    std::array<std::byte, 100> memory{};
    MemoryTable table;
    ASSERT_TRUE(table.add(1000, memory, both));
    ASSERT_TRUE(table.writable(1000, 100));
    EXPECT_EQ(table.writable(1000, 100)->data(), memory.data());
    EXPECT_EQ(table.writable(1000, 100)->size(), 100);
    EXPECT_EQ(table.readable(1099, 1)->data(), memory.data() + 99);
    EXPECT_FALSE(table.writable(999, 1));
    EXPECT_FALSE(table.writable(999, 2));
    EXPECT_FALSE(table.writable(1000, 101));
    EXPECT_FALSE(table.writable(1099, 2));
    EXPECT_FALSE(table.writable(1100, 1));
    EXPECT_FALSE(table.writable(1050, top));
    EXPECT_FALSE(table.writable(1050, top - 1049));
    EXPECT_FALSE(table.readable(top, 1));
    EXPECT_FALSE(table.readable(0, 1));
}

TEST(AmMemoryTable, NoBytesNeedARightAndAPlaceAsOneByteDoes) {
    const MemoryTable none;
    EXPECT_FALSE(none.writable(5, 0));
    EXPECT_FALSE(none.readable(top, 0));
    EXPECT_FALSE(none.readable(0, 0));
    std::array<std::byte, 10> memory{};
    MemoryTable table;
    ASSERT_TRUE(table.add(100, Bytes(memory).first(5), {.read = true}));
    ASSERT_TRUE(table.add(105, Bytes(memory).subspan(5), {.write = true}));
    EXPECT_TRUE(table.readable(100, 0) && table.readable(100, 0)->empty());
    EXPECT_TRUE(table.readable(105, 0)) << "behind the last byte";
    EXPECT_FALSE(table.readable(106, 0));
    EXPECT_FALSE(table.readable(99, 0));
    EXPECT_FALSE(table.writable(104, 0));
    EXPECT_TRUE(table.writable(105, 0));
    EXPECT_TRUE(table.writable(110, 0));
    EXPECT_FALSE(table.writable(111, 0));
}

TEST(AmMemoryTable, NeighboursAreNotOneRegion) {
    std::array<std::byte, 10> memory{};
    MemoryTable table;
    ASSERT_TRUE(table.add(100, Bytes(memory).first(5), both));
    ASSERT_TRUE(table.add(105, Bytes(memory).subspan(5), both));
    EXPECT_TRUE(table.writable(105, 5));
    EXPECT_FALSE(table.writable(104, 2));
}

TEST(AmMemoryTable, RightsAreTheRegions) {
    std::array<std::byte, 10> memory{};
    MemoryTable table;
    ASSERT_TRUE(table.add(0, memory, {.read = true, .write = false}));
    ASSERT_TRUE(table.add(50, memory, {.read = false, .write = true}));
    EXPECT_TRUE(table.readable(0, 10));
    EXPECT_FALSE(table.writable(0, 10));
    EXPECT_FALSE(table.readable(50, 10));
    EXPECT_TRUE(table.writable(50, 10));
}

TEST(AmMemoryTable, RefusesOverlapsAndWraps) {
    std::array<std::byte, 10> memory{};
    MemoryTable table;
    ASSERT_TRUE(table.add(100, memory, both));
    EXPECT_FALSE(table.add(100, memory, both));
    EXPECT_FALSE(table.add(91, memory, both));
    EXPECT_FALSE(table.add(109, memory, both));
    EXPECT_FALSE(table.add(105, Bytes(memory).first(1), both));
    EXPECT_TRUE(table.add(90, memory, both));
    EXPECT_TRUE(table.add(110, memory, both));
    EXPECT_FALSE(table.add(top - 5, memory, both));
    EXPECT_TRUE(table.add(top - 10, memory, both));
    EXPECT_TRUE(table.writable(top - 1, 1));
    EXPECT_FALSE(table.writable(top - 1, 2));
}

TEST(AmMemoryTable, ForgetsARegionByItsBeginning) {
    std::array<std::byte, 10> memory{};
    MemoryTable table;
    ASSERT_TRUE(table.add(100, memory, both));
    EXPECT_EQ(table.region(100)->size(), 10);
    EXPECT_FALSE(table.region(101));
    EXPECT_FALSE(table.remove(101));
    EXPECT_TRUE(table.remove(100));
    EXPECT_FALSE(table.remove(100));
    EXPECT_FALSE(table.writable(100, 1));
    EXPECT_TRUE(table.add(95, memory, both));
}

TEST(AmMemoryTable, SaysWhatFitsAndWhatOverlaps) {
    std::array<std::byte, 100> memory{};
    MemoryTable table;
    ASSERT_TRUE(table.add(1000, Bytes(memory).subspan(20, 50), both));
    EXPECT_TRUE(table.fits(1050, memory));
    EXPECT_TRUE(table.fits(900, memory));
    EXPECT_FALSE(table.fits(1049, memory));
    EXPECT_FALSE(table.fits(901, memory));
    EXPECT_FALSE(table.fits(top, memory));
    // By the place of the bytes, not by their addresses.
    EXPECT_TRUE(table.overlaps(memory));
    EXPECT_TRUE(table.overlaps(ConstBytes(memory).subspan(69, 1)));
    EXPECT_FALSE(table.overlaps(ConstBytes(memory).subspan(70)));
    EXPECT_FALSE(table.overlaps(ConstBytes(memory).first(20)));
}

}  // namespace
}  // namespace wireproof::am
