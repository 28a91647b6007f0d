// When a program may destroy a device, and where a device gets received identifications from.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstring>
#include <thread>

#include "wireproof/front/ib/device_test_kit.hpp"

namespace wireproof::ib::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Drops the capability CAP_NET_RAW of the calling thread only. False: the thread does not have it,
/// or may not drop it.
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

constexpr const char* one_host = "10.92.0.1";
constexpr const char* other_host = "10.92.0.2";

/// Moves the calling thread into a new network namespace, in which 10.0.0.0/8 is this host. False:
/// the thread may not do so.
bool enter_own_network() {
    if (::unshare(CLONE_NEWNET) != 0) return false;
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, one_host, &address.sin_addr);
    std::memcpy(&request.ifr_addr, &address, sizeof address);
    const int handle = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool done = ::ioctl(handle, SIOCSIFADDR, &request) == 0;
    request.ifr_flags = IFF_UP;
    done = done && ::ioctl(handle, SIOCSIFFLAGS, &request) == 0;
    ::close(handle);
    return done;
}

class DeviceIdentifications : public Devices {
protected:
    enum class At : std::uint8_t { no_end, one_end, both_ends };

    /// Opens the ends on addresses that are not loopback addresses. Identifications may be read
    /// there.
    void open_reading(At at) {
        std::thread([this, at] {
            if (!may_open_raw_sockets() || !enter_own_network()) return;
            if (at == At::no_end && !give_up_raw_sockets()) return;
            a.emplace(one_host, 1024, QueuePairOptions());
            if (at == At::one_end && !give_up_raw_sockets()) return;
            b.emplace(other_host, 1024, QueuePairOptions());
        }).join();
        if (!a && !b) GTEST_SKIP() << "raw sockets and networks need a privilege";
        ASSERT_TRUE(b) << "the privilege cannot be given up";
        connect();
    }

    /// Exchanges more than one packet in each direction. Both devices check the ICRCs.
    void exchange() {
        a->put(0, "over the wire");
        ASSERT_EQ(b->pair.post_receive(7, b->region->piece(0, 5'000)), Status::ok);
        ASSERT_EQ(a->pair.send(1, a->region->piece(0, 5'000)), Status::ok);
        EXPECT_EQ(next(*b).status, WorkStatus::success);
        EXPECT_EQ(next(*a).status, WorkStatus::success);
        EXPECT_EQ(b->text(0, 13), "over the wire");
        EXPECT_EQ(a->device.damaged() + b->device.damaged(), 0U);
    }
    void expect_read(bool by_a, bool by_b) {
        EXPECT_EQ(a->device.reads_identifications(), by_a);
        EXPECT_EQ(b->device.reads_identifications(), by_b);
    }
};

TEST_F(DeviceIdentifications, AreReadWhereTheProcessMay) {
    open_reading(At::both_ends);
    if (IsSkipped()) return;
    expect_read(true, true);
    exchange();
}

TEST_F(DeviceIdentifications, AreWorkedOutWhereTheProcessMayNotReadThem) {
    open_reading(At::no_end);
    if (IsSkipped()) return;
    expect_read(false, false);
    exchange();
}

TEST_F(DeviceIdentifications, MayBeReadAtOneEndOnly) {
    open_reading(At::one_end);
    if (IsSkipped()) return;
    expect_read(true, false);
    exchange();
}

// On loopback a raw socket would see super-packets instead of single packets.
TEST_F(DeviceIdentifications, AreWorkedOutOnLoopbackWhateverTheProcessMay) {
    open();
    expect_read(false, false);
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

// The acknowledgement of the last packet may have been lost. Then the peer sends the packet again.
TEST_F(DeviceIdle, ComesOnlyAfterAPeerCouldHaveSentAgain) {
    open();
    const auto start = Clock::now();
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 100), b->remote(0)), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::success);
    ASSERT_TRUE(b->device.wait([this] { return b->device.idle(); }, patience));
    EXPECT_GE(Clock::now() - start, 268ms);
    ASSERT_TRUE(a->device.wait([this] { return a->device.idle(); }, patience));
}

// If no further packet arrives, the device wakes at its own deadline, long before the limit.
TEST_F(DeviceIdle, IsWaitedForWithoutPackets) {
    open();
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 100), b->remote(0)), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::success);
    const auto start = Clock::now();
    ASSERT_TRUE(b->device.wait([this] { return b->device.idle(); }, 2 * patience));
    EXPECT_LT(Clock::now() - start, patience) << "only the limit ended the wait";
}

TEST_F(DeviceIdle, ComesAfterWorkHasFailed) {
    open();
    ASSERT_EQ(a->pair.write(1, a->region->piece(0, 100), b->remote(20'000 - 5)), Status::ok);
    EXPECT_EQ(next(*a).status, WorkStatus::remote_access_error);
    EXPECT_TRUE(a->device.wait([this] { return a->device.idle(); }, patience));
    EXPECT_TRUE(b->device.wait([this] { return b->device.idle(); }, patience));
}

}  // namespace
}  // namespace wireproof::ib::test
