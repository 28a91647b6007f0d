#include "wireproof/front/verbs/cm/address.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "wireproof/front/verbs/device/addressing.hpp"
#include "wireproof/proto/ib/packet/gid.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::verbs {
namespace {

constexpr sa_family_t af_ib = 27;
constexpr std::size_t native_size = 48;  // bytes of a sockaddr_ib

/// The address in the form of the kernel's table of sockets: words of 32 bits in the host's byte
/// order.
std::string in_table(const Address& address) {
    std::array<char, 16> digits{};
    std::string text;
    const std::size_t words = address.family == Address::Family::ipv6 ? 4 : 1;
    for (std::size_t i = 0; i < words; ++i) {
        std::uint32_t word = 0;
        std::memcpy(&word, address.host.data() + i * sizeof word, sizeof word);
        std::snprintf(digits.data(), digits.size(), "%08X", word);
        text += digits.data();
    }
    std::snprintf(digits.data(), digits.size(), ":%04X", address.port);
    return text + digits.data();
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

bool is_same_host(const Address& one, const Address& other) {
    return one.family == other.family && one.host == other.host;
}

bool is_local(const Address& address) {
    return address.is_loopback() || interface_of(address) != 0;
}

// This looks into the table instead of trying to bind the port. A process that starts at this
// moment would find the port taken.
bool is_nobodys(const Address& address) {
    if (!is_local(address)) return false;
    const SocketsOfHost sockets;
    return sockets.known() && !sockets.at(address);
}

SocketsOfHost::SocketsOfHost() {
    for (const char* const name : {"/proc/net/udp", "/proc/net/udp6"}) {
        std::ifstream table(name);
        if (!table.is_open()) continue;
        known_ = true;
        std::string line;
        std::getline(table, line);  // the names of the columns
        while (std::getline(table, line)) {
            std::istringstream columns(line);
            std::string local;
            std::string other;
            std::uint64_t inode = 0;
            columns >> other >> local;
            for (int column = 2; column < 9; ++column) columns >> other;
            if (columns >> inode) inodes_[local] = inode;
        }
    }
}

std::optional<std::uint64_t> SocketsOfHost::at(const Address& address) const {
    const Address any{.family = address.family, .port = address.port};
    for (const Address& one : {address, any}) {
        const auto found = inodes_.find(in_table(one));
        if (found != inodes_.end()) return found->second;
    }
    return std::nullopt;
}

}  // namespace wireproof::verbs
