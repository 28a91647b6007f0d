// Queue pairs of two devices in one program over the loopback network, used as a program uses them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "wireproof/front/ib/device_test_kit.hpp"

namespace wireproof::ib::test {
namespace {

using namespace std::chrono_literals;

TEST_F(Devices, SendsArriveInReceivesInOrder) {
    open();
    a->put(0, "first");
    a->put(100, "second");
    ASSERT_EQ(b->pair.post_receive(7, b->region->piece(0, 50)), Status::ok);
    ASSERT_EQ(b->pair.post_receive(8, b->region->piece(50, 50)), Status::ok);
    ASSERT_EQ(a->pair.send(1, a->region->piece(0, 5)), Status::ok);
    ASSERT_EQ(a->pair.send(2, a->region->piece(100, 6), 0xC0DE), Status::ok);
    const Completion first = next(*b);
    EXPECT_EQ(first.id, 7U);
    EXPECT_EQ(first.operation, Operation::receive);
    EXPECT_TRUE(first.is_receive());
    EXPECT_EQ(first.length, 5U);
    EXPECT_FALSE(first.immediate);
    EXPECT_EQ(first.queue_pair, b->pair.number());
    const Completion second = next(*b);
    EXPECT_EQ(second.id, 8U);
    EXPECT_EQ(second.immediate, 0xC0DEU);
    EXPECT_EQ(b->text(0, 5), "first");
    EXPECT_EQ(b->text(50, 6), "second");
    for (const std::uint64_t id : {1U, 2U}) {
        const Completion sent = next(*a);
        EXPECT_EQ(sent.id, id);
        EXPECT_EQ(sent.status, WorkStatus::success);
        EXPECT_EQ(sent.operation, Operation::send);
        EXPECT_FALSE(sent.is_receive());
    }
}

TEST_F(Devices, CongestionControlChangesNoData) {
    for (const auto algorithm : {CongestionAlgorithm::by_loss, CongestionAlgorithm::by_path}) {
        DeviceOptions options{.address = host(1),
                              .congestion_control = CongestionControl::always,
                              .congestion_algorithm = algorithm};
        a.emplace(options);
        options.address = host(2);
        b.emplace(options);
        connect();
        for (std::size_t i = 0; i < 20'000; ++i) a->memory[i] = static_cast<std::byte>(i * 7);
        ASSERT_EQ(a->pair.write(1, a->region->piece(0, 20'000), b->remote(0)), Status::ok);
        EXPECT_EQ(next(*a).status, WorkStatus::success);
        EXPECT_EQ(a->memory, b->memory);
        std::fill(a->memory.begin(), a->memory.end(), std::byte{});
        ASSERT_EQ(a->pair.read(2, a->region->piece(0, 20'000), b->remote(0)), Status::ok);
        EXPECT_EQ(next(*a).status, WorkStatus::success);
        EXPECT_EQ(a->memory, b->memory);
        a.reset();
        b.reset();
    }
}

// Each transfer takes more than one packet of the smaller path MTU.
TEST_F(Devices, WhatIsWrittenCanBeReadBack) {
    open();
    for (std::size_t i = 0; i < 9'000; ++i) a->memory[i] = static_cast<std::byte>(i * 7 + i / 251);
    ASSERT_EQ(b->pair.post_receive(5, Piece()), Status::ok);
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 9'000), b->remote(123), 9'000), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::success);
    const Completion told = next(*b);
    EXPECT_EQ(told.id, 5U);
    EXPECT_EQ(told.immediate, 9'000U);
    EXPECT_EQ(std::memcmp(b->memory.data() + 123, a->memory.data(), 9'000), 0);
    ASSERT_EQ(a->pair.read(2, a->region->piece(10'000, 9'000), b->remote(123)), Status::ok);
    const Completion read = next(*a);
    EXPECT_EQ(read.status, WorkStatus::success);
    EXPECT_EQ(read.length, 9'000U);
    EXPECT_EQ(std::memcmp(a->memory.data() + 10'000, a->memory.data(), 9'000), 0);
}

TEST_F(Devices, AtomicsBringWhatWasThereBefore) {
    open();
    const std::size_t at = (8 - b->region->address() % 8) % 8;
    const auto number = [](const End& end, std::size_t where) {
        std::uint64_t value = 0;
        std::memcpy(&value, end.memory.data() + where, sizeof value);
        return value;
    };
    ASSERT_EQ(a->pair.fetch_add(1, a->region->piece(0, 8), b->remote(at), 5), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::success);
    ASSERT_EQ(a->pair.compare_swap(2, a->region->piece(8, 8), b->remote(at), 5, 9), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::success);
    ASSERT_EQ(a->pair.compare_swap(3, a->region->piece(16, 8), b->remote(at), 5, 1), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::success);
    EXPECT_EQ(number(*a, 0), 0U);
    EXPECT_EQ(number(*a, 8), 5U);
    EXPECT_EQ(number(*a, 16), 9U);
    EXPECT_EQ(number(*b, at), 9U);
    EXPECT_EQ(a->pair.fetch_add(4, a->region->piece(0, 4), b->remote(at), 1), Status::bad_length);
}

TEST_F(Devices, WhatWasNotOfferedIsNotTouched) {
    open();
    a->put(0, "secret");
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 6), b->remote(20'000 - 5)), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::remote_access_error);
    EXPECT_TRUE(a->pair.failed());
    EXPECT_TRUE(b->pair.failed());
    EXPECT_EQ(b->text(20'000 - 5, 5), std::string(5, '\0'));
    // In the error state, a queue pair accepts work and ends it at once.
    ASSERT_EQ(a->pair.send(2, a->region->piece(0, 6)), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::flushed);
}

// A turn handles at most a few hundred packets, so that no caller waits for the whole transfer of
// another.
TEST_F(Devices, NoTurnIsTakenUpByOneLargeTransfer) {
    std::vector<std::byte> large(std::size_t{8} << 20);
    open();
    const auto from = a->domain.register_memory(large, all);
    ASSERT_TRUE(from);
    const auto to = b->domain.register_memory(large, all);
    ASSERT_TRUE(to);
    ASSERT_EQ(a->pair.read(1, from->all(), {to->address(), to->key()}), Status::ok);
    std::size_t most = 0;
    const auto end_of_patience = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < end_of_patience) {
        most = std::max({most, a->device.poll(), b->device.poll()});
        if (const auto one = a->completions.poll()) {
            EXPECT_EQ(one->status, WorkStatus::success);
            break;
        }
    }
    EXPECT_GT(most, 32U);
    EXPECT_LE(most, 1024U) << "of 16384 packets";
}

TEST_F(Devices, APieceSaysNoMoreThanItCan) {
    open();
    constexpr std::size_t size = (std::size_t{4} << 30) + 5;
    void* const at =
        ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    {
        const auto region = a->domain.register_memory({static_cast<std::byte*>(at), size}, all);
        ASSERT_TRUE(region);
        EXPECT_EQ(region->length(), size);
        EXPECT_EQ(a->pair.send(1, region->all()), Status::too_long);
    }
    ::munmap(at, size);
}

TEST_F(Devices, ALimitOfYearsIsALimit) {
    open();
    ASSERT_EQ(b->pair.post_receive(1, b->region->piece(0, 100)), Status::ok);
    std::thread other([&] {
        a->device.wait([] { return false; }, 50ms);
        EXPECT_EQ(a->pair.send(2, a->region->piece(0, 6)), Status::ok);
        a->device.wait([] { return false; }, 50ms);
    });
    EXPECT_TRUE(b->completions.wait(std::chrono::hours(24 * 365 * 100)));
    other.join();
}

TEST_F(Devices, MemoryIsOutOfReachOnceItsRegionHasGone) {
    open();
    const Remote there = b->remote(0);
    b->region.reset();
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 6), there), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::remote_access_error);
    EXPECT_EQ(b->text(0, 6), std::string(6, '\0'));
}

TEST_F(Devices, RightsThatWereNotGivenAreRefused) {
    open({}, {.local_write = true, .remote_read = true});
    ASSERT_EQ(a->pair.read(1, a->region->piece(0, 6), b->remote(0)), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::success);
    ASSERT_EQ(a->pair.write(2, a->region->piece(0, 6), b->remote(0)), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::remote_access_error);
    const auto none = b->domain.register_memory(b->memory, {.remote_write = true});
    EXPECT_FALSE(none);
    EXPECT_FALSE(none.error().empty());
}

TEST_F(Devices, UnreliablePairsSendAndWriteAndDoNotRead) {
    open({.transport = Transport::unreliable});
    a->put(0, "unacknowledged");
    ASSERT_EQ(b->pair.post_receive(5, b->region->all()), Status::ok);
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 14), b->remote(900)), Status::ok);
    ASSERT_EQ(a->pair.send(2, a->region->piece(0, 14)), Status::ok);
    EXPECT_EQ(next(*b).length, 14U);
    EXPECT_EQ(b->text(0, 14), "unacknowledged");
    EXPECT_EQ(b->text(900, 14), "unacknowledged");
    EXPECT_EQ(a->pair.read(3, a->region->piece(0, 6), b->remote(0)), Status::not_supported);
    EXPECT_EQ(a->pair.fetch_add(4, a->region->piece(0, 8), b->remote(0), 1), Status::not_supported);
}

TEST_F(Devices, WorkThatFindsNoRoomLeavesAllAsItWas) {
    open({.sends = 2, .receives = 1, .pieces = 1});
    ASSERT_EQ(b->pair.post_receive(1, Piece()), Status::ok);
    EXPECT_EQ(b->pair.post_receive(2, Piece()), Status::queue_full);
    const std::array<Piece, 2> two{};
    EXPECT_EQ(b->pair.post_receive(2, two), Status::too_many_pieces);
    EXPECT_EQ(a->pair.send(1, Piece()), Status::ok);
    EXPECT_EQ(a->pair.write(2, Piece(), b->remote(0)), Status::ok);
    EXPECT_EQ(a->pair.send(3, Piece()), Status::queue_full);
    EXPECT_EQ(next(*b).id, 1U);
    EXPECT_EQ(next(*a).id, 1U);
    EXPECT_EQ(next(*a).id, 2U);
    EXPECT_EQ(a->pair.write(3, Piece(), b->remote(0)), Status::ok);
    EXPECT_EQ(next(*a).id, 3U);
}

TEST_F(Devices, APairConnectsOnceAndToWhatCanBe) {
    End lone(3, 1024, {}, all);
    EXPECT_EQ(lone.pair.send(1, Piece()), Status::wrong_state);
    const Contact good{.address = host(4), .queue_pair = 9, .psn = 1};
    for (const auto& spoil : std::vector<std::function<void(Contact&)>>{
             [](Contact& c) { c.address = "nowhere"; }, [](Contact& c) { c.address.clear(); },
             [](Contact& c) { c.address = "0.0.0.0"; },
             [](Contact& c) { c.address = "255.255.255.255"; },
             [](Contact& c) { c.address = "224.0.0.1"; }, [](Contact& c) { c.address = "::1"; },
             [](Contact& c) { c.path_mtu = 1000; }, [](Contact& c) { c.psn = 1U << 24; },
             [](Contact& c) { c.queue_pair = 1U << 24; }}) {
        Contact bad = good;
        spoil(bad);
        EXPECT_EQ(lone.pair.connect(bad), Status::bad_contact) << bad.address;
    }
    EXPECT_EQ(lone.pair.connect(good), Status::ok);
    EXPECT_EQ(lone.pair.connect(good), Status::wrong_state);
}

TEST(Device, IsOfOneAddressAndAPathMtuThatThereIs) {
    for (const auto& [address, path_mtu] :
         std::vector<std::pair<std::string, std::size_t>>{{host(5), 1000},
                                                          {"nowhere", 1024},
                                                          {"", 1024},
                                                          {"0.0.0.0", 1024},
                                                          {"192.0.2.1", 1024}}) {
        const auto device = Device::open({.address = address, .path_mtu = path_mtu});
        ASSERT_FALSE(device) << address;
        EXPECT_FALSE(device.error().empty());
        EXPECT_EQ(device.error().find('\n'), std::string::npos);
    }
    EXPECT_EQ(Device::open({.address = host(5), .path_mtu = 1000}).error(),
              "path_mtu is 1000, not 0, 256, 512, 1024, 2048 or 4096");
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{4095}, (std::size_t{1} << 30) + 1}) {
        EXPECT_EQ(Device::open({.address = host(5), .receive_buffer = bytes}).error(),
                  "receive_buffer is " + std::to_string(bytes) + ", not 4096 to 1073741824");
    }
    EXPECT_TRUE(Device::open({.address = host(5), .receive_buffer = 4096}));
    for (const std::string address :
         {"nowhere", "0.0.0.0", "::", "255.255.255.255", "224.0.0.1", "127.0.0.1:4791"}) {
        const auto device = Device::open({.address = address});
        ASSERT_FALSE(device) << address;
        EXPECT_EQ(device.error().rfind("address: ", 0), 0U) << device.error();
    }
    const auto first = Device::open({.address = host(5)});
    ASSERT_TRUE(first);
    EXPECT_FALSE(Device::open({.address = host(5)}));
}

TEST(CompletionQueue, SaysThatItWasTooSmall) {
    End end(6, 1024, {}, all);
    CompletionQueue small(end.device, 1);
    auto pair = QueuePair::create(end.domain, small, small);
    ASSERT_TRUE(pair);
    ASSERT_EQ(pair->connect({.address = host(7), .queue_pair = 9}), Status::ok);
    EXPECT_FALSE(small.wait(20ms));
    // The key names no memory: the first work ends with an error, and the second is flushed.
    ASSERT_EQ(pair->send(1, {.address = 1, .length = 1, .key = 0x500}), Status::ok);
    ASSERT_EQ(pair->send(2, Piece()), Status::ok);
    const auto one = small.wait(patience);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->status, WorkStatus::local_protection_error);
    EXPECT_TRUE(small.overrun());
    EXPECT_TRUE(pair->failed());
}

TEST(CompletionQueue, OfAnotherDeviceIsRefused) {
    End one(8, 1024, {}, all);
    End other(9, 1024, {}, all);
    EXPECT_FALSE(QueuePair::create(one.domain, other.completions, one.completions));
    EXPECT_FALSE(QueuePair::create(one.domain, one.completions, other.completions));
    EXPECT_FALSE(QueuePair::create(one.domain, one.completions, one.completions, {.sends = 0}));
}

}  // namespace
}  // namespace wireproof::ib::test
