// The invariant CRC of RoCEv2: what InfiniBand packets in UDP datagrams end with. It covers the
// packet and the IP and UDP headers before it, but for what routers change, which counts as ones.
// A plain socket shows neither sender nor receiver the IPv4 identification, which is covered too:
// senders here have the kernel make it 0, or count it up from 0 in the segments of a super-packet;
// receivers expect that, and else work it out from the CRC they got.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wireproof/base/bytes.hpp"
#include "wireproof/wire/udp/address.hpp"

namespace wireproof {

inline constexpr std::uint16_t rocev2_port = 4791;

/// The headers in front of one packet, as its ICRC takes them.
class IcrcCover {
public:
    static constexpr std::size_t icrc_size = 4;  // bytes behind the packet
    static constexpr std::size_t packet_least = 12;

    struct Datagram {
        Address from;  // both IPv4 or both IPv6
        Address to;
        std::size_t packet = 0;            // bytes between UDP header and ICRC
        std::uint16_t identification = 0;  // of IPv4
    };
    /// Headers as a sender makes them: without options, IPv4 with "don't fragment".
    explicit IcrcCover(const Datagram& datagram);

    /// Headers as they were captured, from the first byte of IP on. Nothing if they are not IPv4
    /// without options or IPv6, with UDP right behind.
    static std::optional<IcrcCover> of_headers(ConstBytes ip_and_udp);

    /// Of a packet in pieces; the first has at least `packet_least` bytes.
    std::uint32_t icrc(std::span<const ConstBytes> packet) const;
    std::uint32_t icrc(ConstBytes packet) const { return icrc(std::span(&packet, 1)); }

private:
    static constexpr std::size_t link_size = 8;  // stands for what a native link has before
    static constexpr std::size_t head_max = link_size + 40 + 8;

    IcrcCover() = default;
    void put_ipv4(const Datagram& datagram);
    void put_ipv6(const Datagram& datagram);
    void mask();

    std::size_t size_ = 0;
    std::array<std::byte, head_max> head_;
};

/// The IPv4 identification whose place in the header explains why an ICRC computed for
/// identification 0 differs from the received one; nothing if none does. `packet` as above.
std::optional<std::uint16_t> identification_behind(std::uint32_t difference, std::size_t packet);

/// The other way round: by how much an ICRC computed for identification 0 differs from that for
/// another.
std::uint32_t difference_by(std::uint16_t identification, std::size_t packet);

}  // namespace wireproof
