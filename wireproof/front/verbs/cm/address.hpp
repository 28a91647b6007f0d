// The addresses in commands of rdma_cm, and what they mean to a device that has one address.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "wireproof/os/address.hpp"

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
/// True if the address names the host instead of one process. The registry then says which process
/// a request is for.
bool needs_registry(const Address& address);
bool is_same_host(const Address& one, const Address& other);

/// Whether the address is one of this host.
bool is_local(const Address& address);
/// Which socket of another process of this host receives what is sent to the address: the number
/// that the kernel gave to the socket (its cookie), or 0 if no socket does. It is one question to
/// the kernel, however many sockets there are. The result is empty if the address is our own
/// (`own`, at which the device has its socket) or one of another host, or if the kernel does not
/// answer such questions.
std::optional<std::uint64_t> socket_at(const Address& address, const Address& own);

}  // namespace wireproof::verbs
