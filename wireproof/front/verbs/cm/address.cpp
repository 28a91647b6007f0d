#include "wireproof/front/verbs/cm/address.hpp"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "wireproof/front/verbs/device/addressing.hpp"
#include "wireproof/proto/ib/packet/gid.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::verbs {
namespace {

constexpr sa_family_t af_ib = 27;
constexpr std::size_t native_size = 48;  // bytes of a sockaddr_ib

/// Asks for the socket that gets a datagram to this address if it comes by the loopback interface,
/// as all datagrams between processes of a host do.
struct Question {
    explicit Question(const Address& address) {
        constexpr std::uint32_t loopback = 1;  // the same number in each network namespace
        const bool ipv6 = address.family == Address::Family::ipv6;
        header.nlmsg_len = sizeof *this;
        header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
        header.nlmsg_flags = NLM_F_REQUEST;
        wanted.sdiag_family = ipv6 ? AF_INET6 : AF_INET;
        wanted.sdiag_protocol = IPPROTO_UDP;
        wanted.idiag_states = ~0U;
        // In questions about UDP, the destination is the address of the socket itself.
        wanted.id.idiag_dport = htons(address.port);
        std::memcpy(wanted.id.idiag_dst, address.host.data(), ipv6 ? 16 : 4);
        wanted.id.idiag_if = loopback;
        wanted.id.idiag_cookie[0] = wanted.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    }

    nlmsghdr header{};
    inet_diag_req_v2 wanted{};
};

/// Empty: no answer. 0: no such socket, or this kernel has no such service.
std::optional<std::uint64_t> ask_kernel(const Descriptor& netlink, const Address& address) {
    const Question question(address);
    if (::send(netlink.handle(), &question, sizeof question, 0) != ssize_t{sizeof question}) {
        return std::nullopt;
    }
    std::array<std::byte, 1024> room{};
    const ssize_t size = ::recv(netlink.handle(), room.data(), room.size(), MSG_DONTWAIT);
    nlmsghdr header{};
    const auto read = [&](auto& to) {
        if (size < ssize_t{NLMSG_HDRLEN + sizeof to}) return false;
        std::memcpy(&to, room.data() + NLMSG_HDRLEN, sizeof to);
        return true;
    };
    if (size < ssize_t{sizeof header}) return std::nullopt;
    std::memcpy(&header, room.data(), sizeof header);
    nlmsgerr failed{};
    if (header.nlmsg_type == NLMSG_ERROR && read(failed) && failed.error == -ENOENT) return 0;
    inet_diag_msg found{};
    if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || !read(found)) return std::nullopt;
    return std::uint64_t{found.id.idiag_cookie[1]} << 32 | found.id.idiag_cookie[0];
}

}  // namespace

std::optional<CmName> cm_name_of(const void* socket_address, std::size_t size) {
    SocketAddress one{};
    sa_family_t family = AF_UNSPEC;
    if (size < sizeof family) return std::nullopt;
    std::memcpy(&family, socket_address, sizeof family);
    if (family == af_ib && size >= native_size) return CmName{.native = true};
    if (family == AF_INET && size >= sizeof one.v4) {
        std::memcpy(&one.v4, socket_address, sizeof one.v4);
        return CmName{.address = from_socket_address(one)};
    }
    if (family != AF_INET6 || size < sizeof one.v6) return std::nullopt;
    std::memcpy(&one.v6, socket_address, sizeof one.v6);
    Address address = from_socket_address(one);
    if (proto::ib::is_ipv4(address.host)) {
        Address inner{.family = Address::Family::ipv4, .port = address.port};
        std::copy_n(address.host.begin() + 12, 4, inner.host.begin());
        address = inner;
    }
    return CmName{.address = address};
}

std::uint16_t store_socket_address(const Address& address, void* to) {
    if (!address.is_set()) return 0;
    const SocketAddress one = to_socket_address(address);
    const socklen_t length = length_of(one);
    std::memcpy(to, &one, length);
    return static_cast<std::uint16_t>(length);
}

bool is_any(const Address& address) {
    return address.is_set() && address.host == Address().host;
}

bool is_host_name(const Address& address) {
    Address::Family family = address.family;
    decltype(address.host) host{};
    if (family == Address::Family::ipv4) {
        host[0] = 127;
        host[3] = 1;
    } else {
        host[15] = 1;
    }
    return address.is_set() && address.host == host;
}

bool needs_registry(const Address& address) {
    return is_any(address) || is_host_name(address);
}

bool is_same_host(const Address& one, const Address& other) {
    return one.family == other.family && one.host == other.host;
}

bool is_local(const Address& address) {
    return address.is_loopback() || interface_of(address) != 0;
}

// This asks instead of trying to bind the port: a process that starts at this moment would find the
// port taken. A kernel without the service says of every address that it has no socket. So it is
// asked for our own socket, too.
std::optional<std::uint64_t> socket_at(const Address& address, const Address& own) {
    if (is_same_host(address, own) || !is_local(address)) return std::nullopt;
    const Descriptor netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!netlink.is_open() || ask_kernel(netlink, own).value_or(0) == 0) return std::nullopt;
    return ask_kernel(netlink, address);
}

}  // namespace wireproof::verbs
