// An IPv4 or IPv6 address with its port, as a value. Only numeric addresses are accepted: a name
// lookup would block, and its result may change between two runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "wireproof/base/expected.hpp"

namespace wireproof {

/// A default-constructed address is unset. In a table of peers it marks an open place.
struct Address {
    enum class Family : std::uint8_t { none, ipv4, ipv6 };

    Family family = Family::none;
    std::uint16_t port = 0;
    std::uint32_t scope = 0;              // the interface of a link-local IPv6 address
    std::array<std::uint8_t, 16> host{};  // as on the wire; IPv4 uses the first four

    /// Takes `127.0.0.1:7000`, `[::1]:7000` and `[fe80::1%eth0]:7000`. A link-local IPv6 address
    /// names its interface: without one no frame can be sent to it or from it.
    static Expected<Address> parse(std::string_view text);
    /// Takes a host alone, without brackets: `127.0.0.1`, `::1`, `fe80::1%eth0`. Its port is 0.
    static Expected<Address> parse_host(std::string_view text);

    bool is_set() const { return family != Family::none; }
    /// Whether this is 0.0.0.0 or [::], which stand for each address of a host.
    bool is_any() const { return is_set() && host == Address{}.host; }
    /// Whether this is a loopback address: 127.0.0.0/8, also in IPv6 form, or ::1.
    bool is_loopback() const;
    /// Whether this is of 169.254.0.0/16 or fe80::/10, which count on one network only.
    bool is_link_local() const;
    /// An IPv4 address in IPv6 form, as sockets at [::] show it, in its own form. Others stay.
    Address in_own_form() const;

    /// Why this cannot be the address of a peer, as the end of a sentence that begins with the
    /// address. Empty if it can. A peer has one host and one port, and is reached over IPv4 or over
    /// IPv6.
    std::string_view why_no_peer() const;
    /// The same, whatever its port is.
    std::string_view why_no_host() const;

    /// The text that parse() accepts, with the scope as a number.
    std::string to_string() const;
    /// The host alone: "127.0.0.1", "fe80::1%2". The address must be set.
    std::string host_text() const;

    friend bool operator==(const Address&, const Address&) = default;
};

/// A host and what follows it: "[::1]:4" is "::1" and ":4".
struct HostText {
    std::string_view host;
    std::string_view rest;
    bool bracketed = false;
};

/// Without brackets the host ends before the only colon. If there are more, all is an IPv6 address.
Expected<HostText> split_host(std::string_view text);

struct AddressHash {
    std::size_t operator()(const Address& address) const;
};

}  // namespace wireproof
