// The path MTU that a device chooses. The test has its own network namespace, in which it can set
// the MTU of the loopback interface.
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "wireproof/ib.hpp"
#include "wireproof/proto/ib/cm/cm_messages.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::ib {
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

/// The path MTU of a device on a loopback interface with this MTU: n for 256 x 2^n, or why there is
/// no device.
int chosen_mtu(int mtu, std::size_t asked) {
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

// Beside the payload: 28 bytes of IP and UDP headers, 4 of ICRC, and at most 44 of InfiniBand
// headers.
TEST(DevicePathMtu, IsTheMostThatTheInterfaceCarries) {
    if (chosen_mtu(1500, 1024) == no_network) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(chosen_mtu(1500, 0), 2);   // 1024
    EXPECT_EQ(chosen_mtu(9000, 0), 4);   // 4096
    EXPECT_EQ(chosen_mtu(65536, 0), 4);  // the largest path MTU
    EXPECT_EQ(chosen_mtu(4200, 0), 4);
    EXPECT_EQ(chosen_mtu(2300, 0), 3);
    EXPECT_EQ(chosen_mtu(1000, 0), 1);
    EXPECT_EQ(chosen_mtu(576, 0), 1);
    EXPECT_EQ(chosen_mtu(575, 0), 0);
    EXPECT_EQ(chosen_mtu(256, 0), no_device);
    // The device uses the path MTU that the program asks for.
    EXPECT_EQ(chosen_mtu(9000, 256), 0);
}

/// Makes the process root in its namespace, so that a command that the child starts may change the
/// network.
bool become_root(uid_t before) {
    std::FILE* const map = std::fopen("/proc/self/uid_map", "w");
    if (map == nullptr) return false;
    const bool written = std::fprintf(map, "0 %u 1", before) > 0;
    return std::fclose(map) == 0 && written;
}

/// The path MTU in a connection request over a path that carries 1000 bytes, from an interface with
/// 9000: n for 256 x 2^n, or why there is no request.
int asked_on_a_narrow_way() {
    const uid_t user = ::getuid();
    const pid_t child = ::fork();
    if (child == 0) {
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 || !become_root(user) ||
            !set_loopback(9000) ||
            std::system("ip route replace local 127.9.9.9 dev lo table local mtu lock 1000 "
                        "2> /dev/null") != 0) {
            ::_exit(no_network);
        }
        const int listener = ::socket(AF_INET, SOCK_DGRAM, 0);
        const auto there = to_socket_address(*Address::parse("127.9.9.9:4791"));
        if (::bind(listener, &there.any, length_of(there)) != 0) ::_exit(no_device);
        const auto device = Device::open({.address = "127.0.0.1"});
        if (!device) ::_exit(no_device);
        const ProtectionDomain domain(*device);
        const CompletionQueue completions(*device, 1);
        auto pair = QueuePair::create(domain, completions, completions);
        if (pair->connect("127.9.9.9", 1, {}, std::chrono::milliseconds(1))) ::_exit(no_device);
        std::array<std::byte, 2000> bytes{};
        const ssize_t got = ::recv(listener, bytes.data(), bytes.size(), MSG_DONTWAIT);
        constexpr std::size_t headers = 20;  // base and datagram headers
        if (got < 0 || pair->contact().path_mtu != 4096) ::_exit(no_device);
        const auto datagram = proto::ib::CmDatagram::decode(
            ConstBytes(bytes).subspan(headers, proto::ib::cm_datagram_size));
        const auto& request = std::get<proto::ib::CmRequest>(datagram.value().message);
        ::_exit(request.path_mtu - 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DevicePathMtu, OfARequestIsWhatTheWayToThePeerCarries) {
    const int asked = asked_on_a_narrow_way();
    if (asked == no_network) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(asked, 1) << "512 of a device that has 4096";
}

/// What a device reports after it sent a packet that is longer than its interface carries.
std::string said_of_a_long_packet() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        std::string said;
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && set_loopback(1000)) {
            auto device = Device::open({.address = "127.0.0.1", .path_mtu = 4096});
            const ProtectionDomain domain(*device);
            const CompletionQueue completions(*device, 1);
            std::array<std::byte, 3000> bytes{};
            const auto region = domain.register_memory(bytes, {});
            auto pair = QueuePair::create(domain, completions, completions,
                                          {.transport = Transport::unreliable});
            const bool sent =
                pair->connect({.address = "127.0.0.2", .queue_pair = 2, .path_mtu = 4096}) ==
                    Status::ok &&
                pair->send(1, region->all()) == Status::ok;
            said = sent && device->send_errors().empty() ? "" : "an error before, ";
            device->poll();
            said += device->send_errors() + ", " + std::to_string(device->packets_refused());
        }
        const bool written = ::write(ends[1], said.data(), said.size()) >= 0;
        ::_exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    std::string said(256, '\0');
    const ssize_t size = ::read(ends[0], said.data(), said.size());
    said.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return said;
}

TEST(DevicePathMtu, APacketThatTheKernelRefusesIsNamedAndCounted) {
    const std::string said = said_of_a_long_packet();
    if (said.empty()) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(said, "Message too long (1 packet), 1");
}

TEST(DevicePathMtu, AnAddressOfNoInterfaceIsReportedInOneLine) {
    const auto device = Device::open({.address = "198.51.100.7"});
    ASSERT_FALSE(device);
    EXPECT_NE(device.error().find("198.51.100.7"), std::string::npos);
    EXPECT_EQ(device.error().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace wireproof::ib
