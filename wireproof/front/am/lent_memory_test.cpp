#include "wireproof/front/am/lent_memory.hpp"

#include <gtest/gtest.h>

#include <set>

#include "wireproof/wire/memory/memory_wire.hpp"

namespace wireproof::am {
namespace {

/// A wire whose peers reach memory and confirm a withdrawal when the test says so.
class SharingWire : public MemoryWire {
public:
    explicit SharingWire(MemoryWire end) : MemoryWire(std::move(end)) {}

    Expected<Bytes> allocate_shared(std::size_t) { return unexpected("none"); }
    bool free_shared(Bytes) { return false; }
    bool share(PeerId, std::uint64_t address, Bytes, bool, bool) {
        return shared.insert(address).second;
    }
    void unshare(PeerId, std::uint64_t) {}
    bool unshared(PeerId, std::uint64_t address) const { return !shared.contains(address); }
    bool write_memory(PeerId, std::uint64_t, ConstBytes) { return false; }
    bool read_memory(PeerId, std::uint64_t, Bytes) { return false; }

    std::set<std::uint64_t> shared;
};

class AmLentMemory : public testing::Test {
protected:
    static Config config() {
        Config config = Config::ethernet();
        config.peer = 1;
        return config;
    }

    MemoryLink link{MemoryLink::Config{}};
    SharingWire wire{std::move(link.end(0))};
    host::AnyWire any{std::ref(wire)};
    LentMemory lent{any, 2};
    Connection connection{config(), lent.table(1)};
    std::vector<std::byte> memory = std::vector<std::byte>(64);
};

TEST_F(AmLentMemory, IsReachedUntilThePeerHasConfirmedThatItIsTakenBack) {
    ASSERT_TRUE(lent.may_lend(1, 100, memory));
    lent.lend(1, 100, memory, {.get = true});
    EXPECT_TRUE(lent.table(1).readable(100, 64));
    EXPECT_FALSE(lent.table(1).writable(100, 64));
    EXPECT_FALSE(lent.may_lend(1, 130, memory)) << "the addresses overlap";
    EXPECT_TRUE(lent.reaches(Bytes(memory).subspan(10, 1)));

    EXPECT_EQ(lent.take_back(1, 100, connection), Status::would_block);
    EXPECT_FALSE(lent.table(1).readable(100, 64));
    EXPECT_TRUE(lent.is_withdrawn(1, 100));
    EXPECT_FALSE(lent.may_lend(1, 100, memory));
    EXPECT_TRUE(lent.reaches(Bytes(memory).subspan(10, 1)));

    wire.shared.clear();  // the peer confirms
    EXPECT_FALSE(lent.reaches(memory));
    EXPECT_TRUE(lent.is_withdrawn(1, 100)) << "nobody has called again";
    EXPECT_EQ(lent.take_back(1, 100, connection), Status::ok);
    EXPECT_FALSE(lent.is_withdrawn(1, 100));
    EXPECT_TRUE(lent.may_lend(1, 100, memory));
    EXPECT_EQ(lent.take_back(1, 100, connection), Status::not_allowed);
}

}  // namespace
}  // namespace wireproof::am
