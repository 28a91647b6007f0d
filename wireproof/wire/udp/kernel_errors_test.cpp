// Tests which reasons of the kernel a wire keeps for frames that it could not send. For networks
// that do not exist, the tests use a namespace whose only interface is a loopback that is down.
#include "wireproof/wire/udp/kernel_errors.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>

#include "wireproof/wire/udp/peers_test_kit.hpp"
#include "wireproof/wire/udp/udp_wire.hpp"

namespace wireproof {
namespace {

constexpr PeerId first_peer{0};
constexpr PeerId second_peer{1};

Address loopback_host() {
    return *Address::parse("127.0.0.1:0");
}

UdpWire open_wire(const UdpWire::Config& config) {
    auto wire = UdpWire::open(config);
    WIREPROOF_CHECK(wire.has_value());
    return std::move(*wire);
}

void send_one(UdpWire& wire, PeerId to) {
    TxFrame* const frame = wire.lane(to).claim();
    ASSERT_NE(frame, nullptr);
    frame->add_header<1>()[0] = std::byte{'x'};
    wire.lane(to).commit();
    wire.flush(Instant());
}

/// The error that a child reports after it sent one frame to `peer` in a namespace without
/// networks. Empty: such namespaces are not permitted here.
std::string said_without_networks(std::string_view local, std::string_view peer) {
    int ends[2] = {};
    WIREPROOF_CHECK(::pipe(ends) == 0);
    const pid_t child = ::fork();
    WIREPROOF_CHECK(child >= 0);
    if (child == 0) {
        std::string said;
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWNET) == 0) {
            UdpWire wire =
                open_wire({.local = *Address::parse(local), .peers = {*Address::parse(peer)}});
            send_one(wire, first_peer);
            const UdpCounters& counters = wire.counters();
            said = wire.trouble(first_peer).cause + ", " + counters.send_errors.to_string();
        }
        const bool written = ::write(ends[1], said.data(), said.size()) >= 0;
        ::_exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    std::string said(256, '\0');
    const ssize_t size = ::read(ends[0], said.data(), said.size());
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    said.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return said;
}

TEST(UdpKernelErrors, NamesANetworkThatIsNotThere) {
    const std::string said = said_without_networks("0.0.0.0:0", "192.0.2.1:7000");
    if (said.empty()) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(said, "Network is unreachable (sendmsg), Network is unreachable (1 packet)");
    // There is no IPv6 address to send from.
    EXPECT_EQ(said_without_networks("[::]:0", "[2001:db8::1]:7000"),
              "Cannot assign requested address (sendmsg), "
              "Cannot assign requested address (1 packet)");
}

TEST(UdpKernelErrors, NamesWhatIsForbiddenAndOfWhichPeer) {
    UdpWire hub = open_wire({.local = loopback_host(), .peers = {Address{}}});
    // Broadcasting needs a permission for which this socket never asked.
    UdpWire wire =
        open_wire({.local = loopback_host(),
                   .peers = {hub.local_address(), *Address::parse("255.255.255.255:9")}});
    send_one(wire, first_peer);
    send_one(wire, second_peer);
    send_one(wire, second_peer);
    EXPECT_EQ(wire.trouble(first_peer).cause, "");
    EXPECT_EQ(wire.trouble(first_peer).frames_refused, 0U);
    EXPECT_EQ(wire.trouble(second_peer).cause, "Permission denied (sendmsg)");
    EXPECT_EQ(wire.trouble(second_peer).frames_refused, 2U);
    EXPECT_EQ(wire.counters().send_failed, 2U);
    // The error belonged to the address.
    ASSERT_TRUE(wire.set_peer(second_peer, Address{}));
    EXPECT_EQ(wire.trouble(second_peer).cause, "");
}

TEST(UdpKernelErrors, NamesAPeerThatNobodyServesUntilItSends) {
    UdpWire peer = open_wire({.local = loopback_host(), .peers = {Address{}}});
    UdpWire wire =
        open_wire({.local = loopback_host(), .peers = {Address{}}, .only_peer = first_peer});
    ASSERT_TRUE(wire.set_peer(first_peer, peer.local_address()));
    ASSERT_TRUE(peer.set_peer(first_peer, wire.local_address()));
    const Address address = peer.local_address();
    { const UdpWire gone = std::move(peer); }
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(test::patience);
    const auto hangs = [end] { return std::chrono::steady_clock::now() > end; };
    while (wire.trouble(first_peer).cause.empty() && !hangs()) {
        send_one(wire, first_peer);
        EXPECT_FALSE(wire.receive(Instant()));
    }
    EXPECT_EQ(wire.trouble(first_peer).cause.substr(0, 20), "Connection refused (");
    EXPECT_EQ(wire.trouble(first_peer).frames_refused, 0U) << "it was sent all the same";

    UdpWire again = open_wire({.local = address, .peers = {wire.local_address()}});
    bool heard = false;
    for (int i = 0; !heard && !hangs(); ++i) {
        if (i % 100 == 0) send_one(again, first_peer);
        heard = wire.receive(Instant()).has_value();
    }
    ASSERT_TRUE(heard);
    EXPECT_EQ(wire.trouble(first_peer).cause, "");
}

TEST(UdpKernelErrors, KeepsTheLatestOfEachPeerAndAllItsFrames) {
    KernelErrors errors;
    EXPECT_EQ(errors.of(7).cause, "");
    errors.heard(7);
    errors.note(2, EPERM, "sendmsg", 5);
    errors.note(2, ENOBUFS, "sendmsg", 1);
    errors.note(0, EHOSTUNREACH, "recvmsg", 0);
    EXPECT_EQ(errors.of(2).cause, "No buffer space available (sendmsg)");
    EXPECT_EQ(errors.of(0).cause, "No route to host (recvmsg)");
    errors.heard(2);
    EXPECT_EQ(errors.of(2).cause, "");
    EXPECT_EQ(errors.of(2).frames_refused, 6U);
    EXPECT_EQ(errors.of(0).cause, "No route to host (recvmsg)");
    EXPECT_EQ(errors.of(1).cause, "");
}

TEST(UdpKernelErrors, APacketThatIsTooLongStaysSoWhenThePeerSends) {
    KernelErrors errors;
    errors.note(1, EMSGSIZE, "sendmsg", 3);
    errors.heard(1);
    EXPECT_EQ(errors.of(1).cause, "Message too long (sendmsg)");
    errors.note(1, EHOSTUNREACH, "sendmsg", 1);
    errors.heard(1);
    EXPECT_EQ(errors.of(1).cause, "");
    // Another address has another path.
    errors.note(1, EMSGSIZE, "sendmsg", 1);
    errors.forget(1);
    EXPECT_EQ(errors.of(1).cause, "");
    EXPECT_EQ(errors.of(1).frames_refused, 5U);
}

}  // namespace
}  // namespace wireproof
