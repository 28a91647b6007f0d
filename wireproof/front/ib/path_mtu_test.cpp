// The path MTU that a device chooses, in a network of the test's own, where the loopback interface
// may be told to carry less.
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "wireproof/ib.hpp"

namespace wireproof::rdma {
namespace {

constexpr int no_network = 100;
constexpr int no_device = 101;

bool set_loopback(int mtu) {
    const int handle = ::socket(AF_INET, SOCK_DGRAM, 0);
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_mtu = mtu;
    bool done = ::ioctl(handle, SIOCSIFMTU, &request) == 0;
    request.ifr_flags = IFF_UP;
    done = done && ::ioctl(handle, SIOCSIFFLAGS, &request) == 0;
    ::close(handle);
    return done;
}

/// Of a device on a loopback interface that carries so much: 256 x 2^n, or why there is none.
int chosen(int mtu, std::size_t asked) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 || !set_loopback(mtu)) {
            ::_exit(no_network);
        }
        const auto device = Device::open({.address = "127.0.0.1", .path_mtu = asked});
        if (!device) ::_exit(no_device);
        const ProtectionDomain domain(*device);
        const CompletionQueue completions(*device, 1);
        const auto pair = QueuePair::create(domain, completions, completions);
        int power = 0;
        while (pair->contact().path_mtu > std::size_t{256} << power) ++power;
        ::_exit(power);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// 28 bytes of IP and UDP, 4 of check, and 44 of headers before the payload at most.
TEST(DevicePathMtu, IsTheMostThatTheInterfaceCarries) {
    if (chosen(1500, 1024) == no_network) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(chosen(1500, 0), 2);   // 1024
    EXPECT_EQ(chosen(9000, 0), 4);   // 4096
    EXPECT_EQ(chosen(65536, 0), 4);  // and there is no more
    EXPECT_EQ(chosen(4200, 0), 4);
    EXPECT_EQ(chosen(2300, 0), 3);
    EXPECT_EQ(chosen(1000, 0), 1);
    EXPECT_EQ(chosen(576, 0), 1);
    EXPECT_EQ(chosen(575, 0), 0);
    EXPECT_EQ(chosen(256, 0), no_device);
    // What is asked for is not second-guessed.
    EXPECT_EQ(chosen(9000, 256), 0);
}

TEST(DevicePathMtu, AnAddressOfNoInterfaceIsToldInOneLine) {
    const auto device = Device::open({.address = "198.51.100.7"});
    ASSERT_FALSE(device);
    EXPECT_NE(device.error().find("198.51.100.7"), std::string::npos);
    EXPECT_EQ(device.error().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace wireproof::rdma
