// Addresses of ports in the form that verbs use.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace wireproof::proto::ib {

/// An IPv6 address, or an IPv4 one as ::ffff:a.b.c.d.
using Gid = std::array<std::uint8_t, 16>;

constexpr bool is_ipv4(const Gid& gid) {
    constexpr std::array<std::uint8_t, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    return std::equal(mapped.begin(), mapped.end(), gid.begin());
}

}  // namespace wireproof::proto::ib
