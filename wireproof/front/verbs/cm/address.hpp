// The addresses in commands of rdma_cm, and what they mean to a device that has one address.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "wireproof/wire/udp/address.hpp"

namespace wireproof::verbs {

/// The name in a command: an IP address with its port, or a service in InfiniBand's own terms.
struct CmName {
    /// Its family is none if `native` is true. An IPv4 address inside an IPv6 address becomes the
    /// IPv4 address.
    Address address{};
    bool native = false;
};

/// `size` is how many bytes of the address the command has. The result is empty if the bytes are no
/// address of a known kind.
std::optional<CmName> cm_name_of(const void* socket_address, std::size_t size);
/// Returns how many bytes it wrote: 0 if the address has no family.
std::uint16_t store_socket_address(const Address& address, void* to);

bool is_any(const Address& address);
/// True for 127.0.0.1 and ::1. They name the host, not one of its processes.
bool is_host_name(const Address& address);
bool is_same_host(const Address& one, const Address& other);

/// Whether the address is one of this host.
bool is_local(const Address& address);
/// True if the address is one of this host and no process has the device's port there. The result
/// is also false if the kernel's table cannot be read.
bool is_nobodys(const Address& address);

/// The datagram sockets of this network namespace at the time of construction, from the kernel's
/// table.
class SocketsOfHost {
public:
    SocketsOfHost();
    bool known() const { return known_; }
    /// A number that identifies the socket that receives for this address and port. The result is
    /// empty if there is no such socket, or if the table is not known.
    std::optional<std::uint64_t> at(const Address& address) const;

private:
    bool known_ = false;
    std::map<std::string, std::uint64_t> inodes_;
};

}  // namespace wireproof::verbs
