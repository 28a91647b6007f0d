#include "wireproof/wire/udp/rocev2_datagram.hpp"

#include <algorithm>

#include "wireproof/wire/udp/ip_bytes.hpp"

namespace wireproof {
namespace {

using Refused = tl::unexpected<NotRocev2>;

constexpr std::size_t addresses_size = 12;  // of Ethernet

constexpr std::uint16_t type_ipv4 = 0x0800;
constexpr std::uint16_t type_ipv6 = 0x86DD;
constexpr std::uint16_t type_vlan = 0x8100;
constexpr std::uint16_t type_outer_vlan = 0x88A8;

// Returns 0 beyond the end.
std::uint16_t pair_at(ConstBytes bytes, std::size_t at) {
    if (at + 2 > bytes.size()) return 0;
    return static_cast<std::uint16_t>(get_be(bytes.subspan(at, 2)));
}

void take_host(Address& address, Address::Family family, ConstBytes host) {
    address.family = family;
    std::ranges::copy(host, std::as_writable_bytes(std::span(address.host)).begin());
}

/// An IP datagram whose lengths are not yet checked.
struct Ip {
    ConstBytes bytes;  // as many as were captured
    std::size_t header_size = 0;
    std::size_t size = 0;  // as the header says
    bool options = false;
    bool fragment = false;
};

ExpectedOr<Ip, NotRocev2> ipv4_of(ConstBytes bytes, Rocev2Datagram& datagram) {
    if (bytes.size() < ipv4_size || (bytes[0] & std::byte{0xF0}) != std::byte{0x40} ||
        bytes[9] != udp_protocol) {
        return Refused(NotRocev2::other);
    }
    Ip ip{.bytes = bytes};
    ip.header_size = 4 * std::to_integer<std::size_t>(bytes[0] & std::byte{15});
    if (ip.header_size < ipv4_size) return Refused(NotRocev2::other);
    ip.size = pair_at(bytes, 2);
    const unsigned fragment = pair_at(bytes, 6);
    // A later fragment has no UDP header, so its port is unknown.
    if ((fragment & 0x1FFF) != 0) return Refused(NotRocev2::other);
    ip.fragment = (fragment & 0x2000) != 0;
    ip.options = ip.header_size > ipv4_size;
    take_host(datagram.from, Address::Family::ipv4, bytes.subspan(12, 4));
    take_host(datagram.to, Address::Family::ipv4, bytes.subspan(16, 4));
    return ip;
}

ExpectedOr<Ip, NotRocev2> ipv6_of(ConstBytes bytes, Rocev2Datagram& datagram) {
    if (bytes.size() < ipv6_size || (bytes[0] & std::byte{0xF0}) != std::byte{0x60} ||
        bytes[6] != udp_protocol) {
        return Refused(NotRocev2::other);
    }
    take_host(datagram.from, Address::Family::ipv6, bytes.subspan(8, 16));
    take_host(datagram.to, Address::Family::ipv6, bytes.subspan(24, 16));
    return Ip{.bytes = bytes, .header_size = ipv6_size, .size = ipv6_size + pair_at(bytes, 4)};
}

enum class End : std::uint8_t { needed, may_be_missing };

ExpectedOr<Rocev2Datagram, NotRocev2> read(ConstBytes bytes, bool ipv6, std::uint16_t port,
                                           End end = End::needed) {
    Rocev2Datagram datagram;
    const auto ip = ipv6 ? ipv6_of(bytes, datagram) : ipv4_of(bytes, datagram);
    if (!ip) return Refused(ip.error());
    datagram.from.port = pair_at(ip->bytes, ip->header_size);
    datagram.to.port = pair_at(ip->bytes, ip->header_size + 2);
    if (datagram.to.port != port) return Refused(NotRocev2::other);
    if (ip->options) return Refused(NotRocev2::ip_options);
    if (ip->fragment) return Refused(NotRocev2::fragment);

    const std::size_t headers = ip->header_size + udp_size;
    constexpr std::size_t least = IcrcCover::packet_least + IcrcCover::icrc_size;
    const std::size_t udp_length = pair_at(ip->bytes, ip->header_size + 4);
    if (ip->bytes.size() < headers) return Refused(NotRocev2::cut_short);
    if (udp_length != ip->size - ip->header_size || udp_length < udp_size + least) {
        return Refused(NotRocev2::length);
    }
    if (ip->bytes.size() < ip->size) {
        if (end == End::needed) return Refused(NotRocev2::cut_short);
        datagram.missing = ip->size - ip->bytes.size();
        datagram.headers = ip->bytes.first(headers);
        const std::size_t packet = ip->size - headers - IcrcCover::icrc_size;
        datagram.packet = ip->bytes.subspan(headers, std::min(packet, ip->bytes.size() - headers));
        return datagram;
    }
    const ConstBytes whole = ip->bytes.first(ip->size);  // Ethernet may have padded it
    datagram.headers = whole.first(headers);
    datagram.packet = whole.first(whole.size() - IcrcCover::icrc_size).subspan(headers);
    datagram.icrc = load_le<std::uint32_t>(whole.last<IcrcCover::icrc_size>());
    return datagram;
}

bool begins_as_ipv6(ConstBytes ip) {
    return !ip.empty() && (ip[0] & std::byte{0xF0}) == std::byte{0x60};
}

}  // namespace

ExpectedOr<Rocev2Datagram, NotRocev2> Rocev2Datagram::find(ConstBytes ethernet) {
    std::size_t at = addresses_size;
    std::uint16_t type = pair_at(ethernet, at);
    for (int tags = 0; tags < 2 && (type == type_vlan || type == type_outer_vlan); ++tags) {
        at += 4;
        type = pair_at(ethernet, at);
    }
    at += 2;
    if (at > ethernet.size() || (type != type_ipv4 && type != type_ipv6)) {
        return Refused(NotRocev2::other);
    }
    return read(ethernet.subspan(at), type == type_ipv6, rocev2_port);
}

ExpectedOr<Rocev2Datagram, NotRocev2> Rocev2Datagram::find_in_ip(ConstBytes ip,
                                                                 std::uint16_t port) {
    return read(ip, begins_as_ipv6(ip), port);
}

ExpectedOr<Rocev2Datagram, NotRocev2> Rocev2Datagram::find_in_cut_ip(ConstBytes ip,
                                                                     std::uint16_t port) {
    return read(ip, begins_as_ipv6(ip), port, End::may_be_missing);
}

bool Rocev2Datagram::marked() const {
    // The second byte; in IPv6, the traffic class begins in the middle of the first one.
    const bool ipv4 = headers.size() == ipv4_size + udp_size;
    return is_marked(std::to_integer<int>(ipv4 ? headers[1] : headers[1] >> 4));
}

bool Rocev2Datagram::icrc_right() const {
    if (missing > 0 || packet.size() < IcrcCover::packet_least) return false;
    const auto cover = IcrcCover::of_headers(headers);
    return cover && cover->icrc(packet) == icrc;
}

}  // namespace wireproof
