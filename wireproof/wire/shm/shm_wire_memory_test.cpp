// Tests memory that peers reach with one copy: which memory is shared, which is not, and when it
// may be freed.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "wireproof/wire/shm/shm_test_kit.hpp"

namespace wireproof {
namespace {

constexpr PeerId zero{0};
constexpr PeerId one{1};
constexpr std::uint64_t address = 0x1000;

std::vector<std::byte> pattern(std::size_t size, unsigned seed = 1) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed + i * 7);
    return bytes;
}

bool same(ConstBytes a, ConstBytes b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

/// `a` shares, `b` reaches.
class ShmMemory : public testing::Test {
public:
    void SetUp() override {
        auto wires = ShmWire::pair({});
        ASSERT_TRUE(wires.has_value());
        a.emplace(std::move(wires->first));
        b.emplace(std::move(wires->second));
    }
    void turn() {
        a->flush(Instant());
        while (b->receive(Instant())) {
        }
        b->flush(Instant());
        while (a->receive(Instant())) {
        }
    }

    std::optional<ShmWire> a;
    std::optional<ShmWire> b;
    std::vector<std::byte> source = pattern(5000);
    std::vector<std::byte> destination = std::vector<std::byte>(5000);
};

TEST_F(ShmMemory, ReachesSharedAllocationsByMapping) {
    const Bytes memory = *a->allocate_shared(100'000);
    const Bytes part = memory.subspan(333, 50'000);
    ASSERT_TRUE(a->share(one, address, part, true, true));
    EXPECT_FALSE(b->write_memory(zero, address, source)) << "not told yet";
    turn();
    ASSERT_TRUE(b->write_memory(zero, address + 77, source));
    EXPECT_TRUE(same(part.subspan(77, source.size()), source));
    EXPECT_EQ(part[76], std::byte{0});
    EXPECT_EQ(part[77 + source.size()], std::byte{0});
    std::memset(part.data(), 9, 100);
    ASSERT_TRUE(b->read_memory(zero, address + 50, destination));
    EXPECT_TRUE(same(destination, part.subspan(50, destination.size())));
    EXPECT_EQ(b->counters().mapped_copies, 2U);
    EXPECT_EQ(b->counters().private_copies, 0U);
}

TEST_F(ShmMemory, ReachesPrivateMemoryThroughTheKernel) {
    std::vector<std::byte> memory(20'000);
    ASSERT_TRUE(a->share(one, address, memory, true, true));
    turn();
    if (shm_test::copies_are_forbidden()) GTEST_SKIP() << shm_test::copies_forbidden;
    ASSERT_TRUE(b->write_memory(zero, address + 10, source));
    EXPECT_TRUE(same(Bytes(memory).subspan(10, source.size()), source));
    ASSERT_TRUE(b->read_memory(zero, address + 5, destination));
    EXPECT_TRUE(same(destination, Bytes(memory).subspan(5, destination.size())));
    EXPECT_EQ(b->counters().private_copies, 2U);
}

TEST_F(ShmMemory, KnowsWhatItReachesWithoutTheKernel) {
    const Bytes shared = *a->allocate_shared(10'000);
    std::vector<std::byte> alone(10'000);
    ASSERT_TRUE(a->share(one, 0x10000, shared, true, true));
    ASSERT_TRUE(a->share(one, 0x20000, alone, true, true));
    ASSERT_TRUE(a->share(one, 0x30000, *a->allocate_shared(100), true, false));
    EXPECT_FALSE(b->maps_memory(zero, 0x10000, 1)) << "not told yet";
    turn();
    for (int again = 0; again < 2; ++again) {  // before something was written there, and after
        EXPECT_TRUE(b->maps_memory(zero, 0x10000, 10'000));
        EXPECT_TRUE(b->maps_memory(zero, 0x10000 + 9'999, 1));
        EXPECT_FALSE(b->maps_memory(zero, 0x10000 + 9'999, 2));
        EXPECT_FALSE(b->maps_memory(zero, 0x10000 - 1, 1));
        EXPECT_FALSE(b->maps_memory(zero, 0x20000, 1));
        EXPECT_FALSE(b->maps_memory(zero, 0x30000, 1)) << "not to be written";
        ASSERT_TRUE(b->write_memory(zero, 0x10000, Bytes(source).first(100)));
    }
}

TEST_F(ShmMemory, ARightThatWasNotGivenIsNotThere) {
    const Bytes shared = *a->allocate_shared(10'000);
    std::vector<std::byte> alone(10'000);
    ASSERT_TRUE(a->share(one, 0x10000, shared, true, false));
    ASSERT_TRUE(a->share(one, 0x20000, shared, false, true));
    ASSERT_TRUE(a->share(one, 0x30000, alone, true, false));
    ASSERT_TRUE(a->share(one, 0x40000, alone, false, true));
    turn();
    EXPECT_FALSE(b->write_memory(zero, 0x10000, source));
    EXPECT_TRUE(b->read_memory(zero, 0x10000, destination));
    EXPECT_TRUE(b->write_memory(zero, 0x20000, source));
    EXPECT_FALSE(b->read_memory(zero, 0x20000, destination));
    EXPECT_FALSE(b->write_memory(zero, 0x30000, source));
    EXPECT_FALSE(b->read_memory(zero, 0x40000, destination));
    EXPECT_EQ(b->counters().refused_copies, 4U);
    EXPECT_TRUE(same(shared.first(source.size()), source));
    EXPECT_EQ(alone, std::vector<std::byte>(10'000));
}

TEST_F(ShmMemory, ARangeMustLieInOneRegion) {
    const Bytes memory = *a->allocate_shared(10'000);
    ASSERT_TRUE(a->share(one, address, memory.first(5000), true, true));
    ASSERT_TRUE(a->share(one, address + 5000, memory.subspan(5000), true, true));
    ASSERT_TRUE(a->share(one, ~std::uint64_t{0} - 10, memory.first(100), true, true));
    turn();
    EXPECT_TRUE(b->write_memory(zero, address, source));
    EXPECT_FALSE(b->write_memory(zero, address + 1, source));
    EXPECT_FALSE(b->write_memory(zero, address - 1, source));
    EXPECT_TRUE(b->write_memory(zero, ~std::uint64_t{0} - 9, ConstBytes(source).first(5)));
    EXPECT_FALSE(b->write_memory(zero, 5, ConstBytes(source).first(5)))
        << "behind the last address";
    EXPECT_TRUE(b->write_memory(zero, address + 10'000, {}));
    EXPECT_FALSE(b->write_memory(zero, address + 10'001, {}));
    EXPECT_FALSE(b->read_memory(zero, 0, destination));
    EXPECT_FALSE(b->read_memory(zero, ~std::uint64_t{0} - 9, destination));
    EXPECT_TRUE(b->read_memory(zero, ~std::uint64_t{0} - 9, Bytes(destination).first(5)));
}

// A write goes to the right place, wherever the write before it went.
TEST_F(ShmMemory, ARegionWithinAnotherIsReachedInItsOwnPlace) {
    const Bytes outer = *a->allocate_shared(10'000);
    const Bytes inner = *a->allocate_shared(100);
    ASSERT_TRUE(a->share(one, address, outer, true, true));
    ASSERT_TRUE(a->share(one, address + 1000, inner, true, true));
    ASSERT_TRUE(a->share(one, address + 2000, inner, true, false));
    turn();
    const ConstBytes few = ConstBytes(source).first(50);
    EXPECT_TRUE(b->write_memory(zero, address, few));
    EXPECT_TRUE(b->write_memory(zero, address + 1000, few));
    EXPECT_TRUE(same(inner.first(50), few));
    EXPECT_TRUE(b->write_memory(zero, address + 10, few));
    EXPECT_FALSE(b->write_memory(zero, address + 2000, few)) << "may only be read";
    EXPECT_TRUE(same(outer.subspan(10, 50), few));
}

TEST_F(ShmMemory, ARegionSharedLaterWithinAnotherIsFound) {
    const Bytes memory = *a->allocate_shared(200);
    ASSERT_TRUE(a->share(one, address, memory.first(100), true, true));
    turn();
    const ConstBytes few = ConstBytes(source).first(50);
    ASSERT_TRUE(b->write_memory(zero, address, few));
    ASSERT_TRUE(a->share(one, address + 20, memory.subspan(100), true, true));
    turn();
    ASSERT_TRUE(b->write_memory(zero, address + 20, few));
    EXPECT_TRUE(same(memory.subspan(100, 50), few));
}

TEST_F(ShmMemory, MayGoOnceThePeerHasSaidSo) {
    const Bytes memory = *a->allocate_shared(10'000);
    EXPECT_TRUE(a->unshared(one, address));
    ASSERT_TRUE(a->share(one, address, memory, true, true));
    EXPECT_FALSE(a->share(one, address, memory, true, true)) << "in use";
    turn();
    a->unshare(one, address);
    a->unshare(one, address);  // once is enough
    EXPECT_FALSE(a->unshared(one, address));
    EXPECT_TRUE(b->write_memory(zero, address, source)) << "it has not heard of it";
    turn();
    EXPECT_TRUE(a->unshared(one, address));
    EXPECT_FALSE(b->write_memory(zero, address, source));
    ASSERT_TRUE(a->share(one, address, memory.subspan(100), true, true));
    turn();
    EXPECT_TRUE(b->write_memory(zero, address, source));
    EXPECT_TRUE(same(memory.subspan(100, source.size()), source));
}

TEST_F(ShmMemory, MayGoWhenThePeerIsGone) {
    std::vector<std::byte> memory(100);
    ASSERT_TRUE(a->share(one, address, memory, true, true));
    turn();
    a->unshare(one, address);
    a->flush(Instant());
    b.reset();
    EXPECT_FALSE(a->unshared(one, address));
    a->receive(Instant(Duration::milliseconds(5)));
    EXPECT_TRUE(a->unshared(one, address));
}

TEST_F(ShmMemory, ARegionThatIsNotThereIsAskedForOnce) {
    void* const hole = ::mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(hole, MAP_FAILED);
    std::vector<std::byte> memory(10'000);
    ASSERT_TRUE(a->share(one, 0x10000, Bytes(static_cast<std::byte*>(hole), 8192), true, true));
    ASSERT_TRUE(a->share(one, 0x20000, memory, true, true));
    turn();
    if (shm_test::copies_are_forbidden()) GTEST_SKIP() << shm_test::copies_forbidden;
    ASSERT_TRUE(b->write_memory(zero, 0x20000, source));
    EXPECT_FALSE(b->write_memory(zero, 0x10000, source));
    EXPECT_FALSE(b->read_memory(zero, 0x10000, destination));
    EXPECT_TRUE(b->read_memory(zero, 0x20000, destination));
    EXPECT_EQ(::munmap(hole, 8192), 0);
}

TEST_F(ShmMemory, SharesKeepTheirOrderWithFrames) {
    const Bytes memory = *a->allocate_shared(10'000);
    ASSERT_TRUE(a->share(one, address, memory, true, true));
    TxFrame* const frame = a->lane(one).claim();
    ASSERT_NE(frame, nullptr);
    frame->add_header<4>();
    a->lane(one).commit();
    a->flush(Instant());
    ASSERT_TRUE(b->receive(Instant()).has_value());
    EXPECT_TRUE(b->write_memory(zero, address, source));
}

TEST_F(ShmMemory, AShareThatIsOwedIsNotForgottenWhenTheLaneShowsWhatItHas) {
    turn();
    const Bytes memory = *a->allocate_shared(10'000);
    a->lane(one).claim()->add_header<4>();
    a->lane(one).commit();
    ASSERT_TRUE(a->share(one, address, memory, true, true));
    a->lane(one).publish();
    EXPECT_FALSE(a->is_still(Instant())) << "it is owed";
    turn();
    EXPECT_TRUE(b->write_memory(zero, address, source));
}

TEST_F(ShmMemory, NoFrameByItselfOvertakesAShareThatIsOwed) {
    turn();
    const Bytes memory = *a->allocate_shared(10'000);
    ASSERT_TRUE(a->share(one, address, memory, true, true));
    EXPECT_TRUE(a->lane(one).claim_single().empty());
    a->flush(Instant());
    EXPECT_FALSE(a->lane(one).claim_single().empty());
}

TEST_F(ShmMemory, ManySharesWaitForRoomInTheRing) {
    auto wires = ShmWire::pair({.frame_max = 1016, .lines = 64});
    ASSERT_TRUE(wires.has_value());
    a.emplace(std::move(wires->first));
    b.emplace(std::move(wires->second));
    const Bytes memory = *a->allocate_shared(10'000);
    for (std::uint64_t i = 0; i < 500; ++i) {
        ASSERT_TRUE(a->share(one, i * 16, memory.subspan(i * 16, 16), true, true));
    }
    a->flush(Instant());
    EXPECT_EQ(a->lane(one).claim(), nullptr) << "frames do not overtake shares";
    for (int i = 0; i < 30; ++i) turn();
    EXPECT_NE(a->lane(one).claim(), nullptr);
    EXPECT_TRUE(b->write_memory(zero, 499 * 16, ConstBytes(source).first(16)));
    EXPECT_TRUE(b->write_memory(zero, 0, ConstBytes(source).first(16)));
    EXPECT_TRUE(same(memory.subspan(499 * 16, 16), ConstBytes(source).first(16)));
    for (std::uint64_t i = 0; i < 500; ++i) a->unshare(one, i * 16);
    for (int i = 0; i < 30; ++i) turn();
    for (std::uint64_t i = 0; i < 500; ++i) ASSERT_TRUE(a->unshared(one, i * 16));
}

/// How many mappings of shared allocations this process has. It has both ends.
std::size_t mapped_allocations() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) {
        if (line.find("wireproof-shared") != std::string::npos) ++count;
    }
    return count;
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_F(ShmMemory, WhatIsFreedIsGoneAtBothEnds) {
    const std::size_t mapped = mapped_allocations();
    const std::size_t open = open_descriptors();
    const Bytes memory = *a->allocate_shared(50'000);
    ASSERT_TRUE(a->share(one, address, memory.first(10'000), true, true));
    ASSERT_TRUE(a->share(one, 2 * address, memory.subspan(20'000, 10'000), true, false));
    turn();
    ASSERT_TRUE(b->write_memory(zero, address, source));
    ASSERT_TRUE(b->read_memory(zero, 2 * address, destination));
    EXPECT_EQ(mapped_allocations(), mapped + 3);  // the peer maps it to write and to read
    a->unshare(one, address);
    a->unshare(one, 2 * address);
    turn();
    ASSERT_TRUE(a->unshared(one, address));
    EXPECT_TRUE(a->free_shared(memory));
    turn();
    EXPECT_EQ(mapped_allocations(), mapped);
    EXPECT_EQ(open_descriptors(), open);
    EXPECT_FALSE(a->free_shared(memory));
    // A later allocation may be at the same addresses, but it is another one.
    const Bytes again = *a->allocate_shared(50'000);
    ASSERT_TRUE(a->share(one, address, again, true, true));
    turn();
    ASSERT_TRUE(b->write_memory(zero, address, source));
    EXPECT_TRUE(same(again.first(source.size()), source));
}

TEST(ShmSealedMemory, WhoMayOnlyReadItCannotMapItToWriteNorOpenItAnew) {
    const Descriptor memory = std::move(*make_sealed_memory("test", 4096));
    const Descriptor reader = std::move(*read_only(memory));
    EXPECT_TRUE(Mapping::of(reader, 4096, false).has_value());
    EXPECT_FALSE(Mapping::of(reader, 4096, true).has_value());
    struct stat status {};
    ASSERT_EQ(::fstat(reader.handle(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0400U);
    EXPECT_TRUE(Mapping::of(memory, 4096, true).has_value());
}

TEST(ShmSealedMemory, ALimitOnTheSizeOfFilesIsAnErrorAndNotASignal) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small{4096, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto large = make_sealed_memory("large", 8192);
    const auto fits = make_sealed_memory("fits", 4096);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(large.has_value());
    EXPECT_EQ(large.error().message, "cannot make 8192 bytes of shared memory: File too large");
    EXPECT_TRUE(fits.has_value());
}

TEST_F(ShmMemory, IsNotFreedWhileAPeerMayReachIt) {
    const Bytes memory = *a->allocate_shared(5000);
    EXPECT_FALSE(a->free_shared(memory.first(4999)));
    EXPECT_FALSE(a->free_shared(memory.subspan(1)));
    EXPECT_FALSE(b->free_shared(memory));
    EXPECT_FALSE(a->free_shared(source));
    ASSERT_TRUE(a->share(one, address, memory.subspan(100, 10), true, true));
    EXPECT_FALSE(a->free_shared(memory));
    turn();
    EXPECT_FALSE(a->free_shared(memory));
    a->unshare(one, address);
    EXPECT_FALSE(a->free_shared(memory)) << "the peer has not heard";
    turn();
    EXPECT_TRUE(a->free_shared(memory));
}

TEST_F(ShmMemory, IsNotFreedWhileAPeerMayReachAPartOfItWithWhatFollows) {
    const Bytes memory = *a->allocate_shared(8192);
    const Bytes across(memory.data() + 8000, 1000);
    ASSERT_TRUE(a->share(one, address, across, true, true));
    EXPECT_FALSE(a->free_shared(memory));
    a->unshare(one, address);
    turn();
    EXPECT_TRUE(a->free_shared(memory));
}

// A peer keeps 1,024 allocations at most.
TEST_F(ShmMemory, AnyNumberMayBeFreedAndAllocated) {
    for (std::uint64_t i = 0; i < 1'500; ++i) {
        const Bytes memory = *a->allocate_shared(10);
        ASSERT_TRUE(a->share(one, address, memory, true, true));
        turn();
        ASSERT_TRUE(b->write_memory(zero, address, ConstBytes(source).first(10))) << i;
        a->unshare(one, address);
        turn();
        ASSERT_TRUE(a->free_shared(memory));
    }
}

TEST_F(ShmMemory, APeerMayNotTakeBackWhatItStillShares) {
    PeerMemory memory;
    EXPECT_FALSE(memory.remove_allocation(1));
    ASSERT_TRUE(memory.add_allocation({.allocation = 1, .writable = true, .bytes = 4096},
                                      std::move(*make_sealed_memory("good", 4096))));
    ASSERT_TRUE(memory.add({.kind = ShareNote::Kind::share,
                            .writable = true,
                            .allocation = 1,
                            .address = address,
                            .bytes = 96}));
    ShmCounters counters;
    EXPECT_TRUE(memory.write(address, ConstBytes(source).first(96), counters));
    EXPECT_FALSE(memory.remove_allocation(1));
    EXPECT_TRUE(memory.write(address, ConstBytes(source).first(96), counters));
    memory.remove(address);
    EXPECT_TRUE(memory.remove_allocation(1));
    EXPECT_FALSE(memory.has_allocation(1));
    EXPECT_FALSE(memory.remove_allocation(1));
}

TEST_F(ShmMemory, APidThatMeansSomebodyElseIsNotAsked) {
    std::vector<std::byte> word(8, std::byte{7});
    PeerMemory memory({.pid = ::getpid(),
                       .nonce = 1,
                       .nonce_address = reinterpret_cast<std::uintptr_t>(word.data())});
    ShmCounters counters;
    std::vector<std::byte> target(100);
    ASSERT_TRUE(memory.add({.kind = ShareNote::Kind::share,
                            .readable = true,
                            .writable = true,
                            .address = address,
                            .bytes = target.size(),
                            .memory = reinterpret_cast<std::uintptr_t>(target.data())}));
    EXPECT_FALSE(memory.write(address, ConstBytes(source).first(10), counters));
    EXPECT_FALSE(memory.read(address, Bytes(destination).first(10), counters));
    EXPECT_EQ(target, std::vector<std::byte>(100));
    EXPECT_EQ(counters.refused_copies, 2U);
}

TEST_F(ShmMemory, AnAllocationThatIsNotWhatItSaysIsNotMapped) {
    PeerMemory memory;
    ShmCounters counters;
    EXPECT_FALSE(memory.add_allocation({.allocation = 1, .writable = true, .bytes = 1 << 20},
                                       std::move(*make_sealed_memory("short", 4096))));
    EXPECT_FALSE(memory.add_allocation({.allocation = 0, .writable = true, .bytes = 4096},
                                       std::move(*make_sealed_memory("none", 4096))));
    EXPECT_TRUE(memory.add_allocation({.allocation = 1, .writable = true, .bytes = 4096},
                                      std::move(*make_sealed_memory("good", 4096))));
    // A region that reaches beyond the allocation.
    ASSERT_TRUE(memory.add({.kind = ShareNote::Kind::share,
                            .readable = true,
                            .writable = true,
                            .allocation = 1,
                            .address = address,
                            .bytes = 4096,
                            .offset = 4000}));
    EXPECT_FALSE(memory.write(address, ConstBytes(source).first(10), counters));
    ASSERT_TRUE(memory.add({.kind = ShareNote::Kind::share,
                            .readable = true,
                            .writable = true,
                            .allocation = 1,
                            .address = address,
                            .bytes = 96,
                            .offset = 4000}));
    EXPECT_TRUE(memory.write(address, ConstBytes(source).first(96), counters));
    EXPECT_FALSE(memory.write(address, ConstBytes(source).first(97), counters));
}

}  // namespace
}  // namespace wireproof
