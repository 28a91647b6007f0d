// If an Endpoint or a Device gets no memory while it opens, it throws std::bad_alloc and leaves
// nothing behind. The library itself throws no other exception. All other exceptions that leave a
// call come from functions of the program.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <type_traits>

#include "wireproof/am.hpp"
#include "wireproof/front/am/endpoint_test_kit.hpp"
#include "wireproof/front/ib/device_test_kit.hpp"
#include "wireproof/ib.hpp"

namespace {

/// Number of allocations of this thread that still succeed; negative: all succeed.
thread_local int allocations_left = -1;

void* allocate(std::size_t size) {
    if (allocations_left == 0) throw std::bad_alloc();
    if (allocations_left > 0) --allocations_left;
    void* const memory = std::malloc(size > 0 ? size : 1);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

void* operator new(std::size_t size) {
    return allocate(size);
}
void* operator new[](std::size_t size) {
    return allocate(size);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace wireproof {
namespace {

using std::chrono::milliseconds;

std::ptrdiff_t descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// Calls `open` with no allocation, then with one allocation, and so on until it returns. Returns
/// how often `open` threw. A call that throws must throw std::bad_alloc and leave no descriptor
/// open.
template <class Open>
int failures_until_open(Open&& open) {
    constexpr int most = 10'000;
    for (int allocations = 0; allocations < most; ++allocations) {
        const std::ptrdiff_t before = descriptors();
        allocations_left = allocations;
        try {
            const auto opened = open();
            allocations_left = -1;
            EXPECT_TRUE(opened) << opened.error();
            return allocations;
        } catch (const std::bad_alloc&) {
            allocations_left = -1;
        }
        EXPECT_EQ(descriptors(), before) << "after " << allocations << " allocations";
    }
    return most;
}

class ExceptionsOfAnEndpoint : public testing::TestWithParam<bool> {};  // true: on shared memory

INSTANTIATE_TEST_SUITE_P(On, ExceptionsOfAnEndpoint, testing::Bool(),
                         [](const auto& on) { return on.param ? "Shm" : "Udp"; });

TEST_P(ExceptionsOfAnEndpoint, WithoutMemoryItIsNotOpenedAndLeavesNothing) {
    const am::Options options = am::test::options_on(GetParam());
    const int failures = failures_until_open([&] { return am::Endpoint::open(options); });
    EXPECT_GT(failures, 10);
    EXPECT_LT(failures, 1'000);
    EXPECT_TRUE(am::Endpoint::open(options)) << "its address is free";
}

TEST_P(ExceptionsOfAnEndpoint, AnEmptyConditionIsNeverTrue) {
    am::Endpoint end = am::test::open(am::test::options_on(GetParam()), 0);
    EXPECT_FALSE(end.wait({}, milliseconds(1)));
}

TEST_P(ExceptionsOfAnEndpoint, EmptyHandlersAndCallbacksAreNotCalled) {
    const am::Options options = am::test::options_on(GetParam());
    am::Endpoint a = am::test::open(options, 0);
    am::Endpoint b = am::test::open(options, 1);
    EXPECT_EQ(b.handle(am::test::ask, {}), am::Status::ok);
    b.on_peer_lost({});
    b.on_refused({});
    a.on_refused({});
    ASSERT_EQ(a.request(1, am::test::ask), am::Status::ok);
    std::vector<std::byte> bytes(8);
    ASSERT_EQ(a.get_async(1, 0, bytes, {}), am::Status::ok);
    ASSERT_EQ(a.store_async(1, 0, bytes, am::test::stored, 0, {}), am::Status::ok);
    EXPECT_TRUE(am::test::settle(a, b));
}

TEST(ExceptionsOfADevice, WithoutMemoryItIsNotOpenedAndLeavesNothing) {
    const ib::DeviceOptions options{.address = ib::test::host(1), .path_mtu = 1024};
    const int failures = failures_until_open([&] { return ib::Device::open(options); });
    EXPECT_GT(failures, 10);
    EXPECT_LT(failures, 1'000);
    EXPECT_TRUE(ib::Device::open(options)) << "its address is free";
}

TEST(ExceptionsOfADevice, AConditionsLeavesTheWait) {
    ib::test::End a(1, 1024, {});
    ib::test::End b(2, 1024, {});
    ASSERT_EQ(a.pair.connect(b.pair.contact()), ib::Status::ok);
    ASSERT_EQ(b.pair.connect(a.pair.contact()), ib::Status::ok);
    EXPECT_THROW(a.device.wait([]() -> bool { throw std::string("its own"); }, milliseconds(1)),
                 std::string);
    EXPECT_FALSE(a.device.wait({}, milliseconds(1))) << "an empty one is never true";
    ASSERT_EQ(a.pair.write(1, a.region->piece(0, 8), b.remote(0)), ib::Status::ok);
    std::optional<ib::Completion> ended;
    EXPECT_TRUE(a.device.wait(
        [&] {
            b.device.poll();
            return (ended = a.completions.poll()).has_value();
        },
        std::chrono::minutes(1)));
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->status, ib::WorkStatus::success);
}

// A call does not throw because of a size, even the largest one.
TEST(ExceptionsOfADevice, SizesThatNoMachineHasAreRefused) {
    constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();
    ib::test::End end(1, 1024, {});
    const auto receives = ib::SharedReceiveQueue::create(end.domain, huge);
    ASSERT_FALSE(receives);
    EXPECT_EQ(receives.error(), "receives is " + std::to_string(huge) + ", not 1 to 65536");
    const auto pieces = ib::SharedReceiveQueue::create(end.domain, 1, huge);
    ASSERT_FALSE(pieces);
    EXPECT_EQ(pieces.error(), "pieces is " + std::to_string(huge) + ", not 0 to 32");
    EXPECT_NO_THROW(ib::CompletionQueue(end.device, huge));
    EXPECT_FALSE(
        ib::QueuePair::create(end.domain, end.completions, end.completions, {.sends = huge}));
    EXPECT_FALSE(ib::Device::open({.address = ib::test::host(2), .receive_buffer = huge}));
}

TEST(ExceptionsOfAnEndpointsSizes, ThatNoMachineHasAreRefused) {
    constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();
    am::Endpoint end = am::test::open(am::test::options_on(true), 0);
    EXPECT_FALSE(end.allocate(huge));
    EXPECT_EQ(end.request(huge, 1), am::Status::no_such_peer);
    EXPECT_EQ(end.flush(huge), am::Status::no_such_peer);
    EXPECT_FALSE(end.wait([] { return false; }, milliseconds::min()));
    am::Options options = am::test::options_on(false);
    options.mtu = huge;
    EXPECT_FALSE(am::Endpoint::open(options));
    options = am::test::options_on(false);
    options.self = huge;
    EXPECT_FALSE(am::Endpoint::open(options));
    options = am::test::options_on(false);
    options.active_peers = huge;
    EXPECT_NO_THROW((void)am::Endpoint::open(options));
}

// Moves and destructors do not throw.
static_assert(std::is_nothrow_move_constructible_v<am::Endpoint>);
static_assert(std::is_nothrow_move_assignable_v<am::Endpoint>);
static_assert(std::is_nothrow_destructible_v<am::Endpoint>);
static_assert(std::is_nothrow_move_constructible_v<ib::Device>);
static_assert(std::is_nothrow_destructible_v<ib::Device>);

}  // namespace
}  // namespace wireproof
