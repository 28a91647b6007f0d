// Reads a RoCEv2 packet in an Ethernet frame, as a capture or a packet socket shows it: its source,
// where its InfiniBand packet is, and whether its ICRC is right.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/wire/udp/icrc.hpp"

namespace wireproof {

/// Bytes from the base header to the pad: the largest path MTU and all headers before it.
inline constexpr std::size_t rocev2_packet_max = 4096 + 44;

/// Why a frame is no RoCEv2 packet, in the order of the checks.
enum class NotRocev2 : std::uint8_t {
    other,       // not IP, not UDP, or to another port
    ip_options,  // how the ICRC covers them is not known
    fragment,
    length,     // the lengths in the headers do not agree, or are too short
    cut_short,  // fewer bytes than the headers say
};

inline constexpr std::array<std::string_view, 5> not_rocev2_names = {
    "not RoCEv2", "IP options", "a fragment", "lengths that do not agree", "cut short"};

constexpr std::string_view name_of(NotRocev2 reason) {
    return not_rocev2_names[static_cast<std::size_t>(reason)];
}

struct Rocev2Datagram {
    Address from;
    Address to;
    ConstBytes headers;      // IP and UDP
    ConstBytes packet;       // from its base header to its pad, as far as captured
    std::uint32_t icrc = 0;  // as received
    /// Bytes at the end, of packet and ICRC, that the capture left out. If there are any, `icrc` is
    /// not set.
    std::size_t missing = 0;

    /// The result points into `ethernet`. Skips VLAN tags.
    static ExpectedOr<Rocev2Datagram, NotRocev2> find(ConstBytes ethernet);
    /// The same for bytes that begin with an IP header, and for any port.
    static ExpectedOr<Rocev2Datagram, NotRocev2> find_in_ip(ConstBytes ip, std::uint16_t port);

    /// The same for a captured IP datagram whose end may be missing. The IP and UDP headers must be
    /// there.
    static ExpectedOr<Rocev2Datagram, NotRocev2> find_in_cut_ip(ConstBytes ip, std::uint16_t port);

    /// Bytes of the packet on the wire, from base header to pad.
    std::size_t packet_size() const {
        return packet.size() + missing - std::min(missing, IcrcCover::icrc_size);
    }
    bool icrc_right() const;
    /// A router marked it: the ECN field in `headers` is CE.
    bool marked() const;
};

}  // namespace wireproof
