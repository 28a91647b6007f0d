// Sets each option of the socket, with its reason. Only opening and binding can fail. If the kernel
// refuses anything else, the socket is slower but works.
#include "wireproof/wire/udp/socket.hpp"

#include <linux/errqueue.h>
#include <netinet/udp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "wireproof/base/check.hpp"
#include "wireproof/wire/udp/ip_bytes.hpp"

namespace wireproof {

bool set_option(int handle, int level, int name, int value) {
    return ::setsockopt(handle, level, name, &value, sizeof value) == 0;
}

namespace {

// The forced option may exceed the administrator's limit, if this process is permitted to use it.
// The plain option stops at the limit.
void want_buffer(int handle, int forced, int plain, int bytes) {
    if (!set_option(handle, SOL_SOCKET, forced, bytes)) {
        set_option(handle, SOL_SOCKET, plain, bytes);
    }
}

std::size_t granted(int handle, int buffer) {
    int bytes = 0;
    socklen_t length = sizeof bytes;
    WIREPROOF_CHECK(::getsockopt(handle, SOL_SOCKET, buffer, &bytes, &length) == 0);
    return static_cast<std::size_t>(bytes);
}

int family_of(int handle) {
    int family = 0;
    socklen_t length = sizeof family;
    WIREPROOF_CHECK(::getsockopt(handle, SOL_SOCKET, SO_DOMAIN, &family, &length) == 0);
    return family;
}

bool read_ecn(int handle, bool ipv6) {
    if (!ipv6) return set_option(handle, IPPROTO_IP, IP_RECVTOS, 1);
    set_option(handle, IPPROTO_IP, IP_RECVTOS, 1);
    return set_option(handle, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
}

bool set_ect(int handle, int level, int name) {
    int field = 0;  // the DSCP in its upper six bits
    socklen_t length = sizeof field;
    if (::getsockopt(handle, level, name, &field, &length) != 0) return false;
    return set_option(handle, level, name, (field & ~ecn_mask) | ecn_ect0);
}

bool send_ect(int handle, bool ipv6) {
    if (!ipv6) return set_ect(handle, IPPROTO_IP, IP_TOS);
    set_ect(handle, IPPROTO_IP, IP_TOS);
    return set_ect(handle, IPPROTO_IPV6, IPV6_TCLASS);
}

// All of these may fail without harm: they make the socket faster, or make losses visible.
void set_options(int handle, const UdpSocket::Config& config) {
    want_buffer(handle, SO_RCVBUFFORCE, SO_RCVBUF, config.receive_buffer);
    want_buffer(handle, SO_SNDBUFFORCE, SO_SNDBUF, config.send_buffer);
    set_option(handle, SOL_SOCKET, SO_RXQ_OVFL, 1);
    // A frame within the path MTU must not be fragmented on its way. A longer frame is fragmented
    // here instead of refused: that is slower, but it arrives. Loopback has an MTU of 65536 bytes
    // and carries the longest frame whole.
    if (config.local.family == Address::Family::ipv4) {
        set_option(handle, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_WANT);
    } else {
        set_option(handle, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_WANT);
        // A socket at [::] also receives IPv4; such a peer has an address of ::ffff:0:0/96.
        const bool any = config.local.is_any();
        set_option(handle, IPPROTO_IPV6, IPV6_V6ONLY, any ? 0 : 1);
        if (any) set_option(handle, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_WANT);
    }
}

}  // namespace

bool describe_received(int handle, bool described) {
    const int value = described ? 1 : 0;
    const bool counted = set_option(handle, SOL_SOCKET, SO_RXQ_OVFL, value);
    return set_option(handle, SOL_UDP, UDP_GRO, value) && counted;
}

Expected<UdpSocket> UdpSocket::open(const Config& config) {
    const auto failed = [&config](const char* what) {
        const std::string reason = std::generic_category().message(errno);
        return unexpected(what + config.local.to_string() + ": " + reason);
    };
    const SocketAddress local = to_socket_address(config.local);
    UdpSocket socket(
        ::socket(local.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
    if (!socket.handle_.is_open()) return failed("cannot open a UDP socket for ");
    set_options(socket.handle(), config);
    if (::bind(socket.handle(), &local.any, length_of(local)) != 0) return failed("cannot bind ");
    return socket;
}

bool UdpSocket::segments_sent() const {
    return set_option(handle(), SOL_UDP, UDP_SEGMENT, 0);
}

bool UdpSocket::group_received() {
    return set_option(handle(), SOL_UDP, UDP_GRO, 1);
}

// A socket at [::] also sends and receives IPv4, and each family has options of its own.
bool UdpSocket::use(Ecn ecn) {
    if (ecn == Ecn::off) return false;
    const bool ipv6 = family_of(handle()) == AF_INET6;
    if (!read_ecn(handle(), ipv6)) return false;
    return ecn == Ecn::read || send_ect(handle(), ipv6);
}

// A socket at [::] reports the destination of IPv4 datagrams in the form of IPv6.
void UdpSocket::report_destinations(bool reported) {
    const int value = reported ? 1 : 0;
    if (family_of(handle()) == AF_INET6) {
        set_option(handle(), IPPROTO_IPV6, IPV6_RECVPKTINFO, value);
    } else {
        set_option(handle(), IPPROTO_IP, IP_PKTINFO, value);
    }
}

// A socket of IPv6 also sends IPv4 if it is bound to [::], and each family has an option.
void UdpSocket::keep_reports() {
    if (family_of(handle()) == AF_INET6) set_option(handle(), IPPROTO_IPV6, IPV6_RECVERR, 1);
    set_option(handle(), IPPROTO_IP, IP_RECVERR, 1);
}

std::optional<UdpSocket::Report> UdpSocket::take_report() {
    SocketAddress to{};
    alignas(cmsghdr) std::array<std::byte, 512> control{};
    msghdr header{};
    header.msg_name = &to;
    header.msg_namelen = sizeof to;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    if (::recvmsg(handle(), &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return std::nullopt;
    Report report{from_socket_address(to)};
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr;
         part = CMSG_NXTHDR(&header, part)) {
        const bool v4 = part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR;
        const bool v6 = part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR;
        if (!v4 && !v6) continue;
        sock_extended_err error{};
        std::memcpy(&error, CMSG_DATA(part), sizeof error);
        report.error = static_cast<int>(error.ee_errno);
    }
    return report;
}

bool UdpSocket::connect(const Address& peer) {
    const SocketAddress address = to_socket_address(peer);
    return ::connect(handle(), &address.any, length_of(address)) == 0;
}

// If the kernel chose the port, it takes the port back here, so bind() asks for it again.
bool UdpSocket::disconnect() {
    const Address local = local_address();
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;
    ::connect(handle(), &nobody, sizeof nobody);
    if (local_address().port == local.port) return true;
    const SocketAddress again = to_socket_address(local);
    return ::bind(handle(), &again.any, length_of(again)) == 0;
}

Address UdpSocket::local_address() const {
    const Address local = own_address_of(handle());
    WIREPROOF_CHECK(local.is_set());
    return local;
}

std::size_t UdpSocket::receive_buffer() const {
    return granted(handle(), SO_RCVBUF);
}

std::size_t UdpSocket::send_buffer() const {
    return granted(handle(), SO_SNDBUF);
}

}  // namespace wireproof
