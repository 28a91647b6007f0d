// The access that keys give and refuse: regions, and windows of each type.
#include "wireproof/proto/ib/transport/memory_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace wireproof::proto::ib {
namespace {

constexpr std::uint32_t domain = 7;
constexpr KeyBearer bearer{domain, 0x100};
constexpr Access all{true, true, true, true, true};

class MemoryTableTest : public testing::Test {
protected:
    std::uint32_t add(std::uint64_t address, const Access& access) {
        return table
            .add_region({.domain = domain, .address = address, .memory = bytes, .access = access})
            .value();
    }
    bool shows(std::uint32_t key, std::uint64_t address, std::uint32_t length,
               RemoteRight right = RemoteRight::write, const KeyBearer& who = bearer) const {
        return table.remote({address, length, key}, right, who).has_value();
    }
    WindowBind bind_of(std::uint32_t window) const {
        return {.window = window,
                .key_byte = static_cast<std::uint8_t>(window + 1),
                .region = region,
                .address = 1010,
                .length = 50,
                .access = {.remote_write = true}};
    }

    std::array<std::byte, 100> bytes{};
    MemoryTable table;
    std::uint32_t region = add(1000, all);
};
using MemoryRegion = MemoryTableTest;
using MemoryWindow = MemoryTableTest;

TEST_F(MemoryRegion, ShowsExactlyItsBytes) {
    EXPECT_EQ(table.remote({1000, 100, region}, RemoteRight::write, bearer)->data(), bytes.data());
    EXPECT_EQ(table.remote({1099, 1, region}, RemoteRight::write, bearer)->data(), &bytes[99]);
    EXPECT_FALSE(shows(region, 999, 1));
    EXPECT_FALSE(shows(region, 999, 100));
    EXPECT_FALSE(shows(region, 1000, 101));
    EXPECT_FALSE(shows(region, 1100, 1));
    EXPECT_FALSE(shows(region, 0xFFFFFFFFFFFFFFFF, 2));
    EXPECT_FALSE(shows(region, 0xFFFFFFFFFFFFFFFF, 1002));  // ends where the region begins
    EXPECT_FALSE(shows(region, 1000, 0xFFFFFFFF));
}

TEST_F(MemoryRegion, AtTheEndOfAllAddressesNothingWraps) {
    const std::uint32_t last = add(~std::uint64_t{0} - 100, all);
    EXPECT_TRUE(shows(last, ~std::uint64_t{0} - 1, 1));
    EXPECT_FALSE(shows(last, ~std::uint64_t{0} - 1, 2));
    EXPECT_FALSE(shows(last, ~std::uint64_t{0}, 2));
    EXPECT_FALSE(table.add_region(
        {.domain = domain, .address = ~std::uint64_t{0} - 98, .memory = bytes, .access = all}));
}

TEST_F(MemoryRegion, NeedsTheRightKeyDomainAndRight) {
    EXPECT_FALSE(shows(region + 1, 1000, 1));
    EXPECT_FALSE(shows(region + 256, 1000, 1));
    EXPECT_FALSE(shows(0, 1000, 1));
    EXPECT_FALSE(shows(0xFFFFFFFF, 1000, 1));
    EXPECT_FALSE(shows(region, 1000, 1, RemoteRight::write, {domain + 1, 0x100}));
    EXPECT_FALSE(table.local({1000, 1, region}, domain + 1, false));
    const std::uint32_t readable = add(5000, {.remote_read = true});
    EXPECT_TRUE(shows(readable, 5000, 100, RemoteRight::read));
    EXPECT_FALSE(shows(readable, 5000, 100, RemoteRight::write));
    EXPECT_FALSE(shows(readable, 5000, 8, RemoteRight::atomic));
    EXPECT_TRUE(table.local({5000, 100, readable}, domain, false));
    EXPECT_FALSE(table.local({5000, 100, readable}, domain, true));
}

TEST_F(MemoryRegion, NoBytesAreEverywhere) {
    EXPECT_TRUE(shows(0, 77, 0));
    EXPECT_TRUE(table.local({77, 0, 12345}, domain, true));
}

TEST_F(MemoryRegion, PeersMayNotChangeWhatItsOwnSideMayNotWrite) {
    const auto refused = [this](const Access& access) {
        return !table.add_region({.domain = domain, .memory = bytes, .access = access});
    };
    EXPECT_TRUE(refused({.remote_write = true}));
    EXPECT_TRUE(refused({.remote_atomic = true}));
    EXPECT_FALSE(refused({.remote_read = true}));
}

TEST_F(MemoryRegion, MayBecomeAnotherUnderTheSameKey) {
    MemoryTable::Region other{.domain = domain + 1,
                              .address = 5000,
                              .memory = std::span(bytes).first(8),
                              .access = {.local_write = true, .remote_write = true}};
    ASSERT_TRUE(table.change_region(region, other));
    const KeyBearer others{domain + 1, 1};
    EXPECT_TRUE(shows(region, 5000, 8, RemoteRight::write, others));
    EXPECT_FALSE(shows(region, 5000, 9, RemoteRight::write, others));
    EXPECT_FALSE(shows(region, 5000, 8, RemoteRight::read, others));
    EXPECT_FALSE(shows(region, 1000, 8));
    // A refused change has no effect.
    EXPECT_FALSE(table.change_region(region + 1, other));
    other.access.local_write = false;
    EXPECT_FALSE(table.change_region(region, other));
    EXPECT_TRUE(shows(region, 5000, 8, RemoteRight::write, others));
}

TEST_F(MemoryWindow, ARegionStaysAsItIsWhileAWindowIsBoundToIt) {
    const MemoryTable::Region same = *table.region(region);
    const std::uint32_t key =
        table.bind(bind_of(table.add_window(domain, WindowType::type_2a)), bearer).value();
    EXPECT_FALSE(table.change_region(region, same));
    EXPECT_TRUE(table.remove_window(key));
    EXPECT_TRUE(table.change_region(region, same));
}

// C10-72: the window, its region and the queue pair that binds it have one domain.
TEST_F(MemoryWindow, OfAnotherDomainIsNotBound) {
    for (const WindowType type : {WindowType::type_1, WindowType::type_2a, WindowType::type_2b}) {
        const std::uint32_t foreign = table.add_window(domain + 1, type);
        EXPECT_FALSE(table.bind(bind_of(foreign), bearer));
        EXPECT_FALSE(table.bind(bind_of(foreign), {domain + 1, bearer.queue_pair}));
        EXPECT_TRUE(table.bind(bind_of(table.add_window(domain, type)), bearer));
    }
}

TEST_F(MemoryRegion, AKeyEndsWithItsRegionThoughItsPlaceIsUsedAgain) {
    ASSERT_EQ(table.size(), 1U);
    ASSERT_TRUE(table.remove_region(region));
    EXPECT_FALSE(table.remove_region(region));
    EXPECT_EQ(table.size(), 0U);
    const std::uint32_t next = add(1000, all);
    EXPECT_EQ(table.size(), 1U);
    EXPECT_EQ(next >> 8, region >> 8);
    EXPECT_FALSE(shows(region, 1000, 1));
    EXPECT_TRUE(shows(next, 1000, 1));
}

// The first free place is used next, after any order of additions and removals.
TEST_F(MemoryRegion, ThePlaceThatIsFreeAndFirstIsTakenNext) {
    std::vector<std::uint32_t> keys;
    for (int i = 0; i < 8; ++i) keys.push_back(add(1000, all));
    for (const std::uint32_t gone : {keys[5], keys[2]}) EXPECT_TRUE(table.remove_region(gone));
    EXPECT_EQ(add(1000, all) >> 8, keys[2] >> 8);
    EXPECT_EQ(table.add_window(domain, WindowType::type_1) >> 8, keys[5] >> 8);
    EXPECT_EQ(add(1000, all) >> 8, (keys[7] >> 8) + 1);
    EXPECT_TRUE(table.remove_region(keys[0]));
    EXPECT_EQ(add(1000, all) >> 8, keys[0] >> 8);
}

TEST_F(MemoryRegion, ACopyMayBeLentOtherMemory) {
    std::array<std::byte, 100> other{};
    MemoryTable copy = table;
    copy.put_memory(region, other);
    EXPECT_EQ(copy.local({1000, 1, region}, domain, true)->data(), other.data());
    EXPECT_EQ(table.local({1000, 1, region}, domain, true)->data(), bytes.data());
}

TEST_F(MemoryWindow, ShowsItsPartOnlyAndOnlyUnderItsNewKey) {
    for (const WindowType type : {WindowType::type_1, WindowType::type_2a, WindowType::type_2b}) {
        const std::uint32_t before = table.add_window(domain, type);
        EXPECT_FALSE(shows(before, 1010, 1));
        const std::uint32_t key = table.bind(bind_of(before), bearer).value();
        EXPECT_EQ(key >> 8, before >> 8);
        EXPECT_FALSE(shows(before, 1010, 1));
        EXPECT_EQ(table.remote({1010, 50, key}, RemoteRight::write, bearer)->data(), &bytes[10]);
        EXPECT_FALSE(shows(key, 1009, 1));
        EXPECT_FALSE(shows(key, 1010, 51));
        EXPECT_FALSE(shows(key, 1010, 50, RemoteRight::read));
    }
}

TEST_F(MemoryWindow, BelongsToADomainOrToAQueuePairByItsType) {
    const auto keys = [this](WindowType type) {
        return table.bind(bind_of(table.add_window(domain, type)), bearer).value();
    };
    const KeyBearer neighbour{domain, 0x101};
    const std::uint32_t type_1 = keys(WindowType::type_1);
    EXPECT_TRUE(shows(type_1, 1010, 1, RemoteRight::write, neighbour));
    EXPECT_FALSE(shows(type_1, 1010, 1, RemoteRight::write, {domain + 1, 0x100}));
    const std::uint32_t type_2a = keys(WindowType::type_2a);
    EXPECT_FALSE(shows(type_2a, 1010, 1, RemoteRight::write, neighbour));
    EXPECT_TRUE(shows(type_2a, 1010, 1, RemoteRight::write, {domain + 1, 0x100}));
    const std::uint32_t type_2b = keys(WindowType::type_2b);
    EXPECT_FALSE(shows(type_2b, 1010, 1, RemoteRight::write, neighbour));
    EXPECT_FALSE(shows(type_2b, 1010, 1, RemoteRight::write, {domain + 1, 0x100}));
    EXPECT_TRUE(shows(type_2b, 1010, 1));
}

TEST_F(MemoryWindow, Type1IsBoundAgainAndUnboundType2IsNot) {
    std::uint32_t type_1 = table.add_window(domain, WindowType::type_1);
    type_1 = table.bind(bind_of(type_1), bearer).value();
    type_1 = table.bind(bind_of(type_1), bearer).value();
    EXPECT_FALSE(table.invalidate(type_1, bearer));
    WindowBind nothing = bind_of(type_1);
    nothing.length = 0;
    type_1 = table.bind(nothing, bearer).value();
    EXPECT_FALSE(shows(type_1, 1010, 1));

    for (const WindowType type : {WindowType::type_2a, WindowType::type_2b}) {
        const std::uint32_t free = table.add_window(domain, type);
        nothing.window = free;
        EXPECT_FALSE(table.bind(nothing, bearer));
        const std::uint32_t key = table.bind(bind_of(free), bearer).value();
        EXPECT_FALSE(table.bind(bind_of(key), bearer));
        EXPECT_FALSE(table.invalidate(key, {domain, 0x101}));
        EXPECT_TRUE(table.invalidate(key, bearer));
        EXPECT_FALSE(shows(key, 1010, 1));
        EXPECT_TRUE(table.bind(bind_of(key), bearer));
    }
}

TEST_F(MemoryWindow, MayCountAddressesFromZeroUnlessOfType1) {
    WindowBind bind = bind_of(table.add_window(domain, WindowType::type_2a));
    bind.zero_based = true;
    const std::uint32_t key = table.bind(bind, bearer).value();
    EXPECT_EQ(table.remote({0, 50, key}, RemoteRight::write, bearer)->data(), &bytes[10]);
    EXPECT_FALSE(shows(key, 1010, 1));
    EXPECT_FALSE(shows(key, 1, 50));
    bind.window = table.add_window(domain, WindowType::type_1);
    EXPECT_FALSE(table.bind(bind, bearer));
}

// C10-72 to C10-75 of the specification.
TEST_F(MemoryWindow, ABindNeedsTheDomainTheRightToBindTheRightToWriteAndTheRange) {
    const std::uint32_t window = table.add_window(domain, WindowType::type_2b);
    const auto refused = [this](const WindowBind& bind) { return !table.bind(bind, bearer); };
    EXPECT_FALSE(table.bind(bind_of(window), {domain + 1, 0x100}));
    WindowBind bind = bind_of(window);
    bind.region = add(1000, {.local_write = true});
    EXPECT_TRUE(refused(bind));
    bind.region = add(1000, {.window_bind = true});
    EXPECT_TRUE(refused(bind));
    bind.access = {.remote_read = true};
    EXPECT_FALSE(refused(bind));
    WindowBind far = bind_of(table.add_window(domain, WindowType::type_2b));
    far.length = 91;
    EXPECT_TRUE(refused(far));
    far.length = 90;
    EXPECT_FALSE(refused(far));
}

TEST_F(MemoryWindow, OfType2EndsWithItsQueuePair) {
    std::vector<std::uint32_t> keys;
    for (const WindowType type : {WindowType::type_1, WindowType::type_2a, WindowType::type_2b}) {
        keys.push_back(table.bind(bind_of(table.add_window(domain, type)), bearer).value());
    }
    table.release_windows_of(bearer.queue_pair + 1);
    for (const std::uint32_t key : keys) EXPECT_TRUE(shows(key, 1010, 1));
    table.release_windows_of(bearer.queue_pair);
    EXPECT_TRUE(shows(keys[0], 1010, 1));
    EXPECT_FALSE(shows(keys[1], 1010, 1));
    EXPECT_FALSE(shows(keys[2], 1010, 1));
}

TEST_F(MemoryWindow, ARegionStaysWhileAWindowIsBoundToIt) {
    const std::uint32_t key =
        table.bind(bind_of(table.add_window(domain, WindowType::type_2a)), bearer).value();
    EXPECT_FALSE(table.remove_region(region));
    EXPECT_TRUE(table.remove_window(key));
    EXPECT_TRUE(table.remove_region(region));
}

TEST_F(MemoryWindow, IsBoundByAnyKeyItHasHad) {
    const std::uint32_t first = table.add_window(domain, WindowType::type_1);
    const std::uint32_t second = table.bind(bind_of(first), bearer).value();
    WindowBind again = bind_of(first);
    again.key_byte = static_cast<std::uint8_t>(second + 1);
    const std::uint32_t third = table.bind(again, bearer).value();
    EXPECT_EQ(third, second + 1);
    EXPECT_FALSE(shows(second, 1010, 8));
    EXPECT_TRUE(shows(third, 1010, 8));
    EXPECT_TRUE(table.remove_window(first));
    EXPECT_FALSE(table.remove_window(third));
    EXPECT_FALSE(table.bind(again, bearer));
}

// The memory of the region may be freed at once.
TEST_F(MemoryRegion, EndsTheWindowsOnItWithIt) {
    for (const WindowType type : {WindowType::type_1, WindowType::type_2a, WindowType::type_2b}) {
        const std::uint32_t own = add(1000, all);
        WindowBind bind = bind_of(table.add_window(domain, type));
        bind.region = own;
        const std::uint32_t key = table.bind(bind, bearer).value();
        EXPECT_FALSE(table.remove_region(own));
        EXPECT_TRUE(table.end_region(own));
        EXPECT_FALSE(table.end_region(own));
        EXPECT_FALSE(shows(key, 1010, 8));
        // The window can be bound to the next region, even if that region has the same place.
        bind.region = add(1000, all);
        EXPECT_TRUE(table.bind(bind, bearer));
    }
}

TEST(MemoryKeys, DrawnOnesFindTheirRegionAndNoOtherDoes) {
    std::array<std::byte, 100> bytes{};
    MemoryTable table(17);
    MemoryTable same(17);
    MemoryTable other(18);
    const MemoryTable::Region region{
        .domain = domain, .address = 0, .memory = bytes, .access = all};
    std::vector<std::uint32_t> keys;
    std::size_t near = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::uint32_t key = table.add_region(region).value();
        EXPECT_EQ(key, same.add_region(region).value());
        EXPECT_NE(key, other.add_region(region).value());
        EXPECT_GT(key, 0xFFU);
        if (!keys.empty() && (key >> 8) - (keys.back() >> 8) < 0x1000) ++near;
        keys.push_back(key);
    }
    EXPECT_LT(near, 10U);  // of 1000; predictable keys would give 1000
    for (const std::uint32_t key : keys) {
        EXPECT_NE(table.region(key), nullptr);
        EXPECT_EQ(table.region(key ^ 1), nullptr);
    }
    ASSERT_TRUE(table.remove_region(keys[500]));
    EXPECT_EQ(table.region(keys[500]), nullptr);
    EXPECT_NE(table.region(keys[501]), nullptr);
    const std::uint32_t again = table.add_region(region).value();  // in the same place
    EXPECT_EQ(again >> 8, keys[500] >> 8);
    EXPECT_NE(again, keys[500]);
}

TEST(MemoryKeys, DrawnOnesOfAWindowLiveThroughItsBinds) {
    std::array<std::byte, 100> bytes{};
    MemoryTable table(17);
    const std::uint32_t region =
        table.add_region({.domain = domain, .address = 1000, .memory = bytes, .access = all})
            .value();
    const std::uint32_t first = table.add_window(domain, WindowType::type_1);
    const auto second = table.bind({.window = first,
                                    .key_byte = static_cast<std::uint8_t>(first + 1),
                                    .region = region,
                                    .address = 1010,
                                    .length = 50,
                                    .access = {.remote_write = true}},
                                   bearer);
    ASSERT_TRUE(second);
    EXPECT_TRUE(table.remote({1010, 50, *second}, RemoteRight::write, bearer));
    EXPECT_FALSE(table.remote({1010, 50, first}, RemoteRight::write, bearer));
    EXPECT_TRUE(table.remove_window(first));  // any key that the window has had
}

TEST(MemoryKeys, NamesAreAPermutationWithoutZero) {
    const KeyNames names(5);
    std::vector<bool> taken(KeyNames::most + 1);
    for (std::uint32_t place = 1; place <= KeyNames::most; ++place) {
        const std::uint32_t name = names.name(place);
        ASSERT_TRUE(name > 0 && name <= KeyNames::most && !taken[name]) << place;
        taken[name] = true;
        ASSERT_EQ(names.place(name), place);
    }
}

}  // namespace
}  // namespace wireproof::proto::ib
