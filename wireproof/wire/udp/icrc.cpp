#include "wireproof/wire/udp/icrc.hpp"

#include <algorithm>

#include "wireproof/base/check.hpp"
#include "wireproof/base/crc.hpp"
#include "wireproof/wire/udp/ip_bytes.hpp"

namespace wireproof {
namespace {

constexpr std::byte ones{0xFF};
constexpr std::size_t bth_size = 12;
constexpr std::size_t resv8a_at = 4;  // in the BTH: congestion bits, which switches set

void put_host(Bytes to, const Address& address) {
    std::copy_n(std::as_bytes(std::span(address.host)).begin(), to.size(), to.begin());
}

void put_udp(Bytes to, const IcrcCover::Datagram& datagram) {
    put_be(to.first(2), datagram.from.port);
    put_be(to.subspan(2, 2), datagram.to.port);
    put_be(to.subspan(4, 2), udp_size + datagram.packet + IcrcCover::icrc_size);
}

// The register of the reflected CRC, read as a polynomial. Its highest bit is x^0.
constexpr std::uint32_t polynomial = 0xEDB88320;
constexpr std::uint32_t unit = 0x80000000;

constexpr std::uint32_t times_x(std::uint32_t a) {
    return (a >> 1) ^ ((a & 1) != 0 ? polynomial : 0);
}

constexpr std::uint32_t divided_by_x(std::uint32_t a) {
    return (a & unit) != 0 ? ((a ^ polynomial) << 1) | 1 : a << 1;
}

constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
    std::uint32_t sum = 0;
    for (std::uint32_t bit = unit; bit != 0; bit >>= 1, b = times_x(b)) {
        if ((a & bit) != 0) sum ^= b;
    }
    return sum;
}

using Steps = std::array<std::uint32_t, 17>;

/// Entry k moves a register over 2^k bytes: the caller multiplies the register by it. One byte is
/// eight steps.
constexpr Steps steps_of(std::uint32_t (*step)(std::uint32_t)) {
    Steps steps{};
    steps[0] = unit;
    for (int bit = 0; bit < 8; ++bit) steps[0] = step(steps[0]);
    for (std::size_t k = 1; k < steps.size(); ++k) {
        steps[k] = product(steps[k - 1], steps[k - 1]);
    }
    return steps;
}

constexpr Steps steps_ahead = steps_of(times_x);
constexpr Steps steps_back = steps_of(divided_by_x);

/// Moves a register over `bytes` zero bytes, ahead or back as `steps` says. Returns nothing if the
/// table has too few entries.
std::optional<std::uint32_t> taken(const Steps& steps, std::uint32_t value, std::size_t bytes) {
    for (std::size_t k = 0; k < steps.size() && bytes != 0; ++k, bytes >>= 1) {
        if ((bytes & 1) != 0) value = product(value, steps[k]);
    }
    return bytes == 0 ? std::optional(value) : std::nullopt;
}

// Bytes from the IPv4 identification to the end of the packet. The identification is two bytes in
// network order; the first byte of a register is its lowest one, so swapped() converts.
constexpr std::size_t bytes_from_identification(std::size_t packet) {
    constexpr std::size_t identification_at = 4;
    return ipv4_size - identification_at + udp_size + packet;
}

constexpr std::uint16_t swapped(std::uint32_t value) {
    return static_cast<std::uint16_t>((value & 0xFF) << 8 | value >> 8);
}

}  // namespace

IcrcCover::IcrcCover(const Datagram& datagram) {
    head_.fill(std::byte{0});
    if (datagram.from.family == Address::Family::ipv4) {
        put_ipv4(datagram);
    } else {
        put_ipv6(datagram);
    }
    mask();
}

// Version and length, TOS, total length | identification, DF | TTL, protocol, checksum | addresses
void IcrcCover::put_ipv4(const Datagram& datagram) {
    const Bytes ip = Bytes(head_).subspan(link_size, ipv4_size);
    ip[0] = std::byte{0x45};
    put_be(ip.subspan(2, 2), ipv4_size + udp_size + datagram.packet + icrc_size);
    put_be(ip.subspan(4, 2), datagram.identification);
    ip[6] = std::byte{0x40};
    ip[9] = udp_protocol;
    put_host(ip.subspan(12, 4), datagram.from);
    put_host(ip.subspan(16, 4), datagram.to);
    put_udp(Bytes(head_).subspan(link_size + ipv4_size, udp_size), datagram);
    size_ = link_size + ipv4_size + udp_size;
}

// Version, traffic class, flow label | payload length, next header, hop limit | addresses
void IcrcCover::put_ipv6(const Datagram& datagram) {
    const Bytes ip = Bytes(head_).subspan(link_size, ipv6_size);
    ip[0] = std::byte{0x60};
    put_be(ip.subspan(4, 2), udp_size + datagram.packet + icrc_size);
    ip[6] = udp_protocol;
    put_host(ip.subspan(8, 16), datagram.from);
    put_host(ip.subspan(24, 16), datagram.to);
    put_udp(Bytes(head_).subspan(link_size + ipv6_size, udp_size), datagram);
    size_ = link_size + ipv6_size + udp_size;
}

// Routers change these fields, so ones stand for them (UC-3).
void IcrcCover::mask() {
    std::fill_n(head_.begin(), link_size, ones);
    const Bytes ip = Bytes(head_).subspan(link_size, size_ - link_size - udp_size);
    if (ip.size() == ipv4_size) {
        ip[1] = ip[8] = ip[10] = ip[11] = ones;
    } else {
        ip[0] |= std::byte{0x0F};
        ip[1] = ip[2] = ip[3] = ip[7] = ones;
    }
    head_[size_ - 2] = head_[size_ - 1] = ones;
}

std::optional<IcrcCover> IcrcCover::of_headers(ConstBytes ip_and_udp) {
    if (ip_and_udp.empty()) return std::nullopt;
    const bool ipv4 = ip_and_udp[0] == std::byte{0x45};
    const bool ipv6 = (ip_and_udp[0] & std::byte{0xF0}) == std::byte{0x60};
    const std::size_t size = (ipv4 ? ipv4_size : ipv6_size) + udp_size;
    if ((!ipv4 && !ipv6) || ip_and_udp.size() < size) return std::nullopt;
    if (ip_and_udp[ipv4 ? 9 : 6] != udp_protocol) return std::nullopt;
    IcrcCover cover;
    std::copy_n(ip_and_udp.begin(), size, cover.head_.begin() + link_size);
    cover.size_ = link_size + size;
    cover.mask();
    return cover;
}

std::uint32_t IcrcCover::icrc(std::span<const ConstBytes> packet) const {
    WIREPROOF_CHECK(!packet.empty() && packet[0].size() >= packet_least);
    // One call with one piece is faster than two calls.
    std::array<std::byte, head_max + bth_size> front;
    std::copy_n(head_.begin(), size_, front.begin());
    const Bytes bth = Bytes(front).subspan(size_, bth_size);
    std::copy_n(packet[0].begin(), bth_size, bth.begin());
    bth[resv8a_at] = ones;  // UC-3
    Crc32 crc;              // UC-2
    crc.add(Bytes(front).first(size_ + bth_size));
    crc.add(packet[0].subspan(bth_size));
    for (const ConstBytes piece : packet.subspan(1)) crc.add(piece);
    return crc.value();
}

// The CRC is linear. The difference is therefore the register that starts at zero, takes the two
// bytes of the identification, and then takes a zero for each byte after them. Moved back over all
// these bytes, the register must hold a value of two bytes: the identification.
std::optional<std::uint16_t> identification_behind(std::uint32_t difference, std::size_t packet) {
    const auto before = taken(steps_back, difference, bytes_from_identification(packet));
    if (!before || *before > 0xFFFF) return std::nullopt;
    return swapped(*before);
}

std::uint32_t difference_by(std::uint16_t identification, std::size_t packet) {
    const std::size_t bytes = bytes_from_identification(packet);
    const auto difference = taken(steps_ahead, swapped(identification), bytes);
    WIREPROOF_CHECK(difference.has_value());
    return *difference;
}

}  // namespace wireproof
