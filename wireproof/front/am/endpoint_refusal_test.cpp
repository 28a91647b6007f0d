// Stores and gets that the peer refuses, because it has no such handler or gives no such right,
// also for transfers of no bytes. Over UDP and on shared memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include "wireproof/am.hpp"
#include "wireproof/front/am/endpoint_test_kit.hpp"
#include "wireproof/front/am/node_test_kit.hpp"

namespace wireproof::am {
namespace {

using namespace test;

constexpr std::uint16_t nobody = 77;

class AmEndpointRefusal : public testing::TestWithParam<bool> {  // true: on shared memory
protected:
    AmEndpointRefusal() {
        const Options options = options_on(GetParam());
        for (std::size_t i = 0; i < 2; ++i) ends.push_back(open(options, i));
        ends[1].handle(stored, [this](const Message& m) { sizes.push_back(m.memory().size()); });
    }
    Status store_async(std::uint64_t address, std::size_t size, std::uint16_t handler) {
        std::optional<Status> end;
        const auto source = pattern(size);
        EXPECT_EQ(ends[0].store_async(1, address, source, handler, 0, [&](Status s) { end = s; }),
                  Status::ok);
        EXPECT_TRUE(run({&ends[0], &ends[1]}, [&] { return end.has_value(); }));
        return end.value_or(Status::ok);
    }
    Status get(std::uint64_t address, std::size_t size) {
        std::optional<Status> end;
        std::vector<std::byte> destination(size);
        EXPECT_EQ(ends[0].get_async(1, address, destination, [&](Status s) { end = s; }),
                  Status::ok);
        EXPECT_TRUE(run({&ends[0], &ends[1]}, [&] { return end.has_value(); }));
        return end.value_or(Status::ok);
    }

    std::vector<Endpoint> ends;
    std::vector<std::size_t> sizes;
};

TEST_P(AmEndpointRefusal, AStoreToNoHandlerEndsSo) {  // AM-47
    auto memory = ends[1].allocate(300'000);
    const auto address = ends[1].register_memory(0, *memory, {.store = true});
    std::vector<std::uint16_t> refused;
    ends[0].on_refused([&](std::size_t, std::uint16_t handler) { refused.push_back(handler); });
    for (int i = 0; i < 2; ++i) {
        for (const std::size_t size : {0U, 10U, 5'000U, 300'000U}) {
            EXPECT_EQ(store_async(*address, size, nobody), Status::no_handler) << size;
            EXPECT_EQ(store_async(*address, size, stored), Status::ok) << size;
        }
    }
    EXPECT_EQ(sizes.size(), 8U);
    EXPECT_EQ(refused, std::vector<std::uint16_t>(8, nobody));
    ends[0].handle(answer, [](const Message&) {});

    Served other(std::move(ends[1]));
    const auto source = pattern(64);
    other.start();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(ends[0].store(1, *address, source, nobody), Status::no_handler);
        EXPECT_EQ(ends[0].store(1, *address, source, stored), Status::ok);
    }
    EXPECT_TRUE(ends[0].wait([&] { return ends[0].idle(); }, patience));
    other.stop();
    EXPECT_EQ(sizes.size(), 11U);
}

TEST_P(AmEndpointRefusal, AStoreWhoseHandlerWasTakenAwayEndsSo) {  // AM-47
    auto memory = ends[1].allocate(100);
    const auto address = ends[1].register_memory(0, *memory, {.store = true});
    const auto source = pattern(100);
    const auto store = [&] {
        Served other(std::move(ends[1]));
        other.start();
        const Status status = ends[0].store(1, *address, source, stored);
        EXPECT_TRUE(ends[0].wait([&] { return ends[0].idle(); }, patience));
        other.stop();
        ends[1] = std::move(other.endpoint);
        return status;
    };
    std::vector<std::uint16_t> refused;
    ends[0].on_refused([&](std::size_t, std::uint16_t handler) { refused.push_back(handler); });
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(store(), Status::ok);
        EXPECT_EQ(store(), Status::ok);
        ends[1].handle(stored, nullptr);
        EXPECT_EQ(store(), Status::no_handler);
        EXPECT_EQ(store(), Status::no_handler);
        ends[1].handle(stored, [this](const Message& m) { sizes.push_back(m.memory().size()); });
    }
    EXPECT_EQ(sizes, std::vector<std::size_t>(6, 100));
    EXPECT_EQ(refused, std::vector<std::uint16_t>(6, stored));
}

// The handler existed when the store was made, and has been removed when the peer polls.
TEST(AmEndpointRefusalOnShm, AStoreThatIsInPlaceMayMissItsHandlerAndIsReported) {
    const Options options = options_on(true);
    std::vector<Endpoint> ends;
    for (std::size_t i = 0; i < 2; ++i) ends.push_back(open(options, i));
    int ran = 0;
    ends[1].handle(stored, [&](const Message&) { ++ran; });
    auto memory = ends[1].allocate(100);
    const auto address = ends[1].register_memory(0, *memory, {.store = true});
    const auto source = pattern(100);
    for (int i = 0; i < 2; ++i) {  // the first begins the session, the second finds the handler
        std::optional<Status> end;
        ASSERT_EQ(ends[0].store_async(1, *address, source, stored, 0, [&](Status s) { end = s; }),
                  Status::ok);
        ASSERT_TRUE(run({&ends[0], &ends[1]}, [&] { return end.has_value(); }));
        ASSERT_EQ(end, Status::ok);
    }
    std::vector<std::uint16_t> refused;
    ends[0].on_refused([&](std::size_t, std::uint16_t handler) { refused.push_back(handler); });
    EXPECT_EQ(ends[0].store(1, *address, source, stored), Status::ok) << "nobody polls the peer";
    ends[1].handle(stored, nullptr);
    ASSERT_TRUE(run({&ends[0], &ends[1]}, [&] { return !refused.empty(); }));
    EXPECT_EQ(refused, std::vector<std::uint16_t>{stored});
    EXPECT_EQ(ran, 2);
}

TEST_P(AmEndpointRefusal, NoBytesNeedARight) {
    auto memory = ends[1].allocate(4'096);
    const std::span<std::byte> all = *memory;
    const auto readable = ends[1].register_memory(0, all.first(100), {.get = true});
    const auto writable = ends[1].register_memory(0, all.subspan(200, 100), {.store = true});
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(get(*readable, 0), Status::ok);
        EXPECT_EQ(get(*readable + 100, 0), Status::ok);
        EXPECT_EQ(get(*writable, 0), Status::forbidden);
        EXPECT_EQ(get(*writable + 500, 0), Status::forbidden);
        EXPECT_EQ(get(0, 0), Status::forbidden);
        EXPECT_EQ(store_async(*writable, 0, stored), Status::ok);
        EXPECT_EQ(store_async(*readable, 0, stored), Status::forbidden);
        EXPECT_EQ(store_async(0, 0, stored), Status::forbidden);
    }
    EXPECT_EQ(sizes, std::vector<std::size_t>(3, 0));
}

INSTANTIATE_TEST_SUITE_P(On, AmEndpointRefusal, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& on) {
                             return on.param ? "SharedMemory" : "Udp";
                         });

}  // namespace
}  // namespace wireproof::am
