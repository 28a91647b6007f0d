// If an Endpoint or a Device gets no memory while it opens, it throws std::bad_alloc and leaves
// nothing behind. The interface for C returns a status instead. The library itself throws no other
// exception. All other exceptions that leave a call come from functions of the program.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
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
#include "wireproof/front/c/c_test_kit.hpp"
#include "wireproof/front/ib/device_test_kit.hpp"
#include "wireproof/ib.hpp"
#include "wireproof/wireproof.h"

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
// The sanitizer's own version would take memory that the functions below do not free.
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    try {
        return allocate(size);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
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
        ib::test::patience));
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

/// Makes a call of the interface for C with no allocation, then with one, and so on until it
/// returns OK. Until then it must return NO_MEMORY. Returns how often it did.
template <class Call>
int failures_until_ok(Call&& call) {
    constexpr int most = 100'000;
    for (int allocations = 0; allocations < most; ++allocations) {
        const std::ptrdiff_t before = descriptors();
        allocations_left = allocations;
        const wireproof_status status = call();
        allocations_left = -1;
        if (status == WIREPROOF_OK) return allocations;
        EXPECT_EQ(status, WIREPROOF_NO_MEMORY) << "after " << allocations << " allocations";
        EXPECT_EQ(descriptors(), before) << "after " << allocations << " allocations";
        if (status != WIREPROOF_NO_MEMORY) break;
    }
    return most;
}

TEST(ErrorsInC, WithoutMemoryAnEndpointIsNotOpenedAndLeavesNothing) {
    wireproof_options options = c::test::options();
    const char* peers[] = {"127.0.0.1:0", "127.0.0.1:9"};
    options.peers = peers;
    options.nodes = 2;
    wireproof_endpoint* end = nullptr;
    std::array<char, 64> why{};
    const int failures = failures_until_ok([&] {
        const auto status = wireproof_endpoint_open(&options, &end, why.data(), why.size());
        if (status != WIREPROOF_OK) {
            EXPECT_EQ(end, nullptr);
            EXPECT_STREQ(why.data(), "no memory is left");
        }
        return status;
    });
    EXPECT_GT(failures, 10);
    EXPECT_LT(failures, 1'000);
    EXPECT_EQ(wireproof_endpoint_free(end), WIREPROOF_OK);
}

TEST(ErrorsInC, WithoutMemoryACallSaysSo) {
    const c::test::Pair pair;
    EXPECT_GT(failures_until_ok(
                  [&] { return wireproof_endpoint_handle(pair.a(), 9, c::test::keep, nullptr); }),
              0);
    EXPECT_STREQ(wireproof_endpoint_error(pair.a()), "no memory is left");
    wireproof_status taken = c::test::not_ended;
    char byte = 0;
    EXPECT_GT(failures_until_ok([&] {
                  return wireproof_endpoint_get_async(pair.a(), 1, 0, &byte, 1, c::test::ended,
                                                      &taken);
              }),
              0);
    EXPECT_TRUE(pair.settle());
    EXPECT_EQ(taken, WIREPROOF_FORBIDDEN) << "the get was begun once, and ended";
}

TEST(ErrorsInC, WithoutMemoryThereIsNoPointAndNoLadder) {
    if (wireproof_has_lab() == 0) GTEST_SKIP() << "there is no laboratory";
    wireproof_point_settings settings;
    wireproof_point_plan plan;
    ASSERT_EQ(wireproof_point_settings_init(&settings, sizeof settings), WIREPROOF_OK);
    ASSERT_EQ(wireproof_point_plan_init(&plan, sizeof plan), WIREPROOF_OK);
    settings.bit_error_rate = 1e-5;
    plan.packets = 50;
    wireproof_point_figures figures{};
    figures.size = sizeof figures;
    EXPECT_GT(failures_until_ok(
                  [&] { return wireproof_point_run(&settings, &plan, &figures, nullptr, 0); }),
              3);
    EXPECT_GE(figures.packets, 50);
    wireproof_ladder* ladder = nullptr;
    EXPECT_GT(failures_until_ok([&] {
                  const auto status =
                      wireproof_ladder_of_first_failure(&settings, &plan, &ladder, nullptr, 0);
                  EXPECT_EQ(ladder == nullptr, status != WIREPROOF_OK);
                  return status;
              }),
              10);
    EXPECT_STRNE(wireproof_ladder_text(ladder), "");
    wireproof_ladder_free(ladder);
}

// Moves and destructors do not throw.
static_assert(std::is_nothrow_move_constructible_v<am::Endpoint>);
static_assert(std::is_nothrow_move_assignable_v<am::Endpoint>);
static_assert(std::is_nothrow_destructible_v<am::Endpoint>);
static_assert(std::is_nothrow_move_constructible_v<ib::Device>);
static_assert(std::is_nothrow_destructible_v<ib::Device>);

}  // namespace
}  // namespace wireproof
