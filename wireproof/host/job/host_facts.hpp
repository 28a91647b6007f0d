// What a process tells the other processes of its job about its host, so that each pair can choose
// between shared memory and a network, and knows an address of the other.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"

namespace wireproof::host {

struct HostFacts {
    static constexpr std::size_t addresses_max = 64;

    /// Boot id, network namespace and user. Processes with equal keys may be able to share memory;
    /// SharingProof shows whether they can.
    std::string key;
    /// The boot id. Processes with equal machines are on one host, even in several containers.
    std::string machine;
    /// Numeric addresses without a port, of the interfaces that are up: first IPv4, then IPv6. No
    /// loopback and no link-local addresses. If WIREPROOF_INTERFACE is set, only those of the
    /// interface that it names. At most addresses_max.
    std::vector<std::string> addresses;

    /// The error names WIREPROOF_INTERFACE if there is no such interface, or if it has no address.
    static Expected<HostFacts> of_this_host();

    /// One line, without a line feed.
    std::string to_text() const;
    /// Reads a text of to_text, which another process may have written.
    static Expected<HostFacts> parse(std::string_view text);

    /// Whether the other process is in the network namespace of this one, so that each reaches the
    /// other's loopback addresses.
    bool same_network(const HostFacts& other) const;
};

/// The address of this host at which the others reach it. It is one of own.addresses, or
/// "127.0.0.1" if all others are in this network namespace and WIREPROOF_INTERFACE is not set. All
/// ranks choose addresses of one version of IP. The function asks the kernel which own
/// address it uses for packets to each of the others; it sends nothing. The address that fits most
/// of the others is chosen, a common subnet counts more than a route through a router.
Expected<std::string> own_address_to(const HostFacts& own, std::span<const HostFacts> others);

}  // namespace wireproof::host
