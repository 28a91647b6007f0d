// For tests: the ECN field of a socket, and the marks of frames that arrive.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "wireproof/base/instant.hpp"
#include "wireproof/wire/udp/ip_bytes.hpp"

namespace wireproof::test {

inline constexpr int dscp = 0xB8;  // expedited forwarding, in the upper six bits

inline void set_field(int handle, int value, bool ipv6 = false) {
    ASSERT_EQ(::setsockopt(handle, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, ipv6 ? IPV6_TCLASS : IP_TOS,
                           &value, sizeof value),
              0);
}

inline int field_of(int handle, bool ipv6 = false) {
    int value = 0;
    socklen_t length = sizeof value;
    EXPECT_EQ(::getsockopt(handle, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, ipv6 ? IPV6_TCLASS : IP_TOS,
                           &value, &length),
              0);
    return value;
}

/// The frames that arrive: '!' with a mark, '.' without.
template <class W>
std::string marks(W& wire) {
    std::string text;
    for (int silent = 0; silent < 3;) {
        const auto frame = wire.receive(Instant());
        if (!frame) {
            ++silent;
            continue;
        }
        silent = 0;
        text += frame->marked ? '!' : '.';
    }
    return text;
}

}  // namespace wireproof::test
