// Addresses as rdma_cm's commands have them, and what they mean to a device that has one address.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "wireproof/wire/udp/address.hpp"

namespace wireproof::verbs {

/// What a command names: an IP address with its port, or a service in InfiniBand's own terms.
struct CmName {
    /// Of family none if it is `native`. An IPv4 address in an IPv6 one is the IPv4 address.
    Address address{};
    bool native = false;
};

/// `size`: bytes of it that the command has. Nothing: no address that we know.
std::optional<CmName> cm_name_of(const void* socket_address, std::size_t size);
/// Bytes written; 0 of no address.
std::uint16_t store_socket_address(const Address& address, void* to);

bool is_any(const Address& address);
/// 127.0.0.1 or ::1, which names the host and not one of its processes.
bool is_host_name(const Address& address);
bool is_same_host(const Address& one, const Address& other);

/// Whether the address is one of this host.
bool is_local(const Address& address);
/// Whether it is, and no process has the device's port there. False, too, where that cannot be
/// told.
bool is_nobodys(const Address& address);

/// Datagram sockets of this network namespace as they are now: the kernel's table.
class SocketsOfHost {
public:
    SocketsOfHost();
    bool known() const { return known_; }
    /// What tells the socket that hears this address and port from every other; nothing: none does,
    /// or the table is not known.
    std::optional<std::uint64_t> at(const Address& address) const;

private:
    bool known_ = false;
    std::map<std::string, std::uint64_t> inodes_;
};

}  // namespace wireproof::verbs
