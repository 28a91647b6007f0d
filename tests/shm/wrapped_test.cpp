// Shared memory inside other wires: what a wrapper must pass on, and what it must not.
#include <gtest/gtest.h>

#include <array>

#include "wireproof/host/any_wire.hpp"
#include "wireproof/wire/faulty/faulty_wire.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof {
namespace {

constexpr PeerId zero{0};
constexpr PeerId one{1};

static_assert(host::ReachesMemory<ShmWire>);
// Otherwise a store could write directly into memory and meet no fault.
static_assert(!host::ReachesMemory<FaultyWire<ShmWire>>);

TEST(ShmWrapped, AFaultyWirePromisesNothingAndReachesNoMemory) {
    auto wires = ShmWire::pair({});
    ASSERT_TRUE(wires.has_value());
    ShmWire& sharer = wires->first;
    host::AnyWire faulty{FaultyWire<ShmWire>(std::move(wires->second), {})};
    const LaneCapabilities capabilities = faulty.lane(zero).capabilities();
    EXPECT_FALSE(capabilities.carries_intact);
    EXPECT_FALSE(capabilities.carries_all);
    EXPECT_EQ(capabilities.frame_max, sharer.lane(one).capabilities().frame_max);
    EXPECT_GE(faulty.wait_handle(), 0);

    const Bytes memory = *sharer.allocate_shared(100);
    ASSERT_TRUE(sharer.share(one, 0, memory, true, true));
    sharer.lane(one).claim()->add_header<4>();
    sharer.lane(one).commit();
    sharer.flush(Instant());
    const auto frame = faulty.receive(Instant());
    ASSERT_TRUE(frame.has_value());
    EXPECT_EQ(frame->integrity, Integrity::check);
    EXPECT_FALSE(faulty.write_memory(zero, 0, memory));
}

TEST(ShmWrapped, AnAnyWireReachesMemory) {
    auto wires = ShmWire::pair({});
    ASSERT_TRUE(wires.has_value());
    host::AnyWire sharer{std::move(wires->first)};
    host::AnyWire user{std::move(wires->second)};
    const Bytes memory = *sharer.allocate_shared(100);
    ASSERT_TRUE(sharer.share(one, 5, memory, true, true));
    sharer.flush(Instant());
    EXPECT_FALSE(user.receive(Instant()).has_value());
    const std::array<std::byte, 3> source{std::byte{1}, std::byte{2}, std::byte{3}};
    ASSERT_TRUE(user.write_memory(zero, 6, source));
    EXPECT_EQ(memory[3], std::byte{3});
    std::array<std::byte, 4> destination{};
    ASSERT_TRUE(user.read_memory(zero, 5, destination));
    EXPECT_EQ(destination[2], std::byte{2});
    sharer.unshare(one, 5);
    EXPECT_FALSE(sharer.unshared(one, 5));
    sharer.flush(Instant());
    user.receive(Instant());
    user.flush(Instant());
    sharer.receive(Instant());
    EXPECT_TRUE(sharer.unshared(one, 5));
}

}  // namespace
}  // namespace wireproof
