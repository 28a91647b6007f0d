// Addresses of the loopback network. All RoCEv2 uses one port, so each device needs its own
// address, and a process may use as many as it needs.
#pragma once

#include <unistd.h>

#include <string>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/os/address.hpp"
#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof::app {

inline Address loopback_host(std::uint64_t number) {
    Address address{.family = Address::Family::ipv4, .port = rocev2_port};
    address.host = {127, static_cast<std::uint8_t>(1 + (number >> 16) % 250),
                    static_cast<std::uint8_t>(number >> 8),
                    static_cast<std::uint8_t>(1 + number % 250)};
    return address;
}

/// Calls `open` with addresses until one is not in use, and returns the result (an Expected).
/// Different numbers keep one process from trying its own addresses again. Throws Failure with the
/// last reason.
template <class Open>
auto opened_on_free_host(std::uint64_t number, Open&& open) {
    constexpr std::uint64_t hosts_tried = 64;
    const auto process = static_cast<std::uint64_t>(::getpid());
    std::string why;
    for (std::uint64_t attempt = 0; attempt < hosts_tried; ++attempt) {
        auto opened = open(loopback_host(mix64(process + mix64(attempt)) + number));
        if (opened) return std::move(*opened);
        why = opened.error().message;
    }
    throw Failure(why);
}

}  // namespace wireproof::app
