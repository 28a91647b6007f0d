// Numeric addresses of hosts, without ports, and those that this host has.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"

namespace wireproof::host {

struct IpHost {
    sa_family_t family = AF_INET;          // or AF_INET6
    std::array<std::uint8_t, 16> bytes{};  // as on the wire; IPv4 uses the first four

    static std::optional<IpHost> parse(std::string_view text);
    /// No value: this is of another family.
    static std::optional<IpHost> of(const sockaddr* address);

    std::string text() const;
    std::size_t size() const { return family == AF_INET ? 4 : 16; }
    bool is_loopback() const;
    /// Whether another host could use this address: it is not link-local, which would need the name
    /// of an interface, and it is neither unspecified nor of a group.
    bool can_be_named() const;

    friend bool operator==(const IpHost&, const IpHost&) = default;
};

/// An address of an interface that is up.
struct OwnAddress {
    std::string interface;
    IpHost host;
    IpHost mask;

    bool same_subnet(const IpHost& other) const;
};

Expected<std::vector<OwnAddress>> own_interfaces();

/// The own address that the kernel would use for packets to `other`. No value: there is no route.
/// Sends nothing.
std::optional<IpHost> source_towards(const IpHost& other);

}  // namespace wireproof::host
