// When a device may be destroyed, and how it learns of received identifications.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <thread>

#include "wireproof/front/ib/device_test_kit.hpp"

namespace wireproof::rdma::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Of the calling thread only. False: it does not have it, or may not give it up.
bool give_up_raw_sockets() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct sets[2] = {};
    if (::syscall(SYS_capget, &header, sets) != 0) return false;
    constexpr std::uint32_t raw = 1U << CAP_NET_RAW;
    const bool had = (sets[0].effective & raw) != 0;
    sets[0].effective &= ~raw;
    return had && ::syscall(SYS_capset, &header, sets) == 0;
}

bool may_open_raw_sockets() {
    const int handle = ::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_UDP);
    if (handle >= 0) ::close(handle);
    return handle >= 0;
}

class DeviceIdentifications : public Devices {
protected:
    /// More packets than one each way, of pairs that both devices check.
    void exchange() {
        a->put(0, "over the wire");
        ASSERT_EQ(b->pair.post_receive(7, b->region->piece(0, 5'000)), Status::ok);
        ASSERT_EQ(a->pair.send(1, a->region->piece(0, 5'000)), Status::ok);
        EXPECT_EQ(next(*b).status, WorkStatus::success);
        EXPECT_EQ(next(*a).status, WorkStatus::success);
        EXPECT_EQ(b->text(0, 13), "over the wire");
        EXPECT_EQ(a->device.damaged() + b->device.damaged(), 0U);
    }
};

TEST_F(DeviceIdentifications, AreReadWhereTheProcessMay) {
    if (!may_open_raw_sockets()) GTEST_SKIP() << "raw sockets need a privilege";
    open();
    EXPECT_TRUE(a->device.reads_identifications());
    EXPECT_TRUE(b->device.reads_identifications());
    exchange();
}

TEST_F(DeviceIdentifications, AreWorkedOutWhereTheProcessMayNotReadThem) {
    std::thread([this] {
        if (may_open_raw_sockets() && !give_up_raw_sockets()) return;
        ASSERT_FALSE(may_open_raw_sockets());
        open();
        EXPECT_FALSE(a->device.reads_identifications());
        EXPECT_FALSE(b->device.reads_identifications());
        exchange();
    }).join();
    ASSERT_TRUE(a) << "the privilege cannot be given up";
}

// One end reads them, the other works them out.
TEST_F(DeviceIdentifications, MayBeReadAtOneEndOnly) {
    if (!may_open_raw_sockets()) GTEST_SKIP() << "raw sockets need a privilege";
    a.emplace(1, 1024, QueuePairOptions());
    std::thread([this] {
        if (give_up_raw_sockets()) b.emplace(2, 1024, QueuePairOptions());
    }).join();
    ASSERT_TRUE(b);
    EXPECT_TRUE(a->device.reads_identifications());
    EXPECT_FALSE(b->device.reads_identifications());
    ASSERT_EQ(a->pair.connect(b->pair.contact()), Status::ok);
    ASSERT_EQ(b->pair.connect(a->pair.contact()), Status::ok);
    exchange();
}

class DeviceIdle : public Devices {};

TEST_F(DeviceIdle, IsTrueBeforeAnythingIsPosted) {
    open();
    a->device.poll();
    EXPECT_TRUE(a->device.idle());
}

TEST_F(DeviceIdle, IsFalseWhileWorkIsUnfinished) {
    open();
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 100), b->remote(0)), Status::ok);
    EXPECT_FALSE(a->device.idle()) << "the packet has not left";
    a->device.poll();
    EXPECT_FALSE(a->device.idle()) << "it is not acknowledged";
    EXPECT_EQ(next(*a).status, WorkStatus::success);
}

// The acknowledgement of the last packet may have been lost: the peer sends the packet again.
TEST_F(DeviceIdle, ComesOnlyAfterAPeerCouldHaveSentAgain) {
    open();
    const auto start = Clock::now();
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 100), b->remote(0)), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::success);
    EXPECT_FALSE(b->device.idle());
    ASSERT_TRUE(b->device.wait([this] { return b->device.idle(); }, 60s));
    EXPECT_GE(Clock::now() - start, 268ms);
    ASSERT_TRUE(a->device.wait([this] { return a->device.idle(); }, 60s));
}

// Without another packet the device wakes by itself, long before the limit.
TEST_F(DeviceIdle, IsWaitedForWithoutPackets) {
    open();
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 100), b->remote(0)), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::success);
    const auto start = Clock::now();
    ASSERT_TRUE(b->device.wait([this] { return b->device.idle(); }, std::chrono::minutes(10)));
    EXPECT_LT(Clock::now() - start, std::chrono::minutes(1));
}

TEST_F(DeviceIdle, ComesAfterWorkHasFailed) {
    open();
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 100), b->remote(20'000 - 5)), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::remote_access_error);
    EXPECT_TRUE(a->device.wait([this] { return a->device.idle(); }, 60s));
    EXPECT_TRUE(b->device.wait([this] { return b->device.idle(); }, 60s));
}

}  // namespace
}  // namespace wireproof::rdma::test
