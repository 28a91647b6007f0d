// The invariant CRC (ICRC) of RoCEv2: the last four bytes of each InfiniBand packet in a UDP
// datagram. It covers the packet and the IP and UDP headers before it. Fields that routers change
// count as ones. It also covers the IPv4 identification, which a plain socket shows neither to the
// sender nor to the receiver. Our senders let the kernel set it to 0, or count it up from 0 in the
// segments of a super-packet. Our receivers expect these values; if the ICRC does not match, they
// compute the identification from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wireproof/base/bytes.hpp"
#include "wireproof/os/address.hpp"

namespace wireproof {

inline constexpr std::uint16_t rocev2_port = 4791;

/// The headers before one packet, in the form that the ICRC covers.
class IcrcCover {
public:
    static constexpr std::size_t icrc_size = 4;  // bytes after the packet
    static constexpr std::size_t packet_least = 12;

    struct Datagram {
        Address from;  // both IPv4 or both IPv6
        Address to;
        std::size_t packet = 0;            // bytes between UDP header and ICRC
        std::uint16_t identification = 0;  // of IPv4
    };
    /// Headers as our senders make them: without options, IPv4 with "don't fragment".
    explicit IcrcCover(const Datagram& datagram);

    /// Captured headers, from the first byte of the IP header. Returns nothing unless they are IPv4
    /// without options or IPv6, with UDP directly after.
    static std::optional<IcrcCover> of_headers(ConstBytes ip_and_udp);

    /// The ICRC of a packet in pieces. The first piece has at least `packet_least` bytes.
    std::uint32_t icrc(std::span<const ConstBytes> packet) const;
    std::uint32_t icrc(ConstBytes packet) const { return icrc(std::span(&packet, 1)); }

private:
    static constexpr std::size_t link_size = 8;  // in place of the header of a native link
    static constexpr std::size_t head_max = link_size + 40 + 8;

    IcrcCover() = default;
    void put_ipv4(const Datagram& datagram);
    void put_ipv6(const Datagram& datagram);
    void mask();

    std::size_t size_ = 0;
    std::array<std::byte, head_max> head_;
};

/// Finds the IPv4 identification that explains `difference`: the XOR of the received ICRC and the
/// ICRC that was computed for identification 0. Returns nothing if no identification explains it.
/// `packet`: as in IcrcCover::Datagram.
std::optional<std::uint16_t> identification_behind(std::uint32_t difference, std::size_t packet);

/// The reverse: the XOR of the ICRCs for identification 0 and for this one.
std::uint32_t difference_by(std::uint16_t identification, std::size_t packet);

}  // namespace wireproof
