// Hosts of the loopback network, for tests that run at the same time and use one port.
#pragma once

#include <unistd.h>

#include "wireproof/base/random.hpp"
#include "wireproof/os/address.hpp"

namespace wireproof::test {

/// 127.x.y.z. The process number gives x and y.
inline Address loopback_host(unsigned number) {
    const std::uint64_t seed = mix64(static_cast<std::uint64_t>(::getpid()));
    Address address{.family = Address::Family::ipv4};
    address.host = {127, static_cast<std::uint8_t>(1 + seed % 250),
                    static_cast<std::uint8_t>(seed >> 8), static_cast<std::uint8_t>(1 + number)};
    return address;
}

}  // namespace wireproof::test
