#include "wireproof/proto/ib/packet/network_header.hpp"

#include <algorithm>
#include <span>

#include "wireproof/proto/ib/packet/big_endian.hpp"

namespace wireproof::proto::ib {
namespace {

constexpr std::size_t ipv4_size = 20;
constexpr std::size_t udp_size = 8;
constexpr std::uint8_t udp = 17;
constexpr std::uint8_t hops = 64;

/// The IPv4 checksum: the one's complement of the one's complement sum of all 16-bit words.
std::uint16_t checksum_of(std::span<const std::byte, ipv4_size> header) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < ipv4_size; i += 2) {
        sum += std::to_integer<std::uint32_t>(header[i]) << 8 |
               std::to_integer<std::uint32_t>(header[i + 1]);
    }
    while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

void put_address(std::span<const std::uint8_t> address, std::span<std::byte> to) {
    std::ranges::transform(address, to.begin(), [](std::uint8_t byte) { return std::byte{byte}; });
}

// Version and length, TOS, total length | identification, flags | TTL, protocol, checksum |
// addresses
void put_ipv4(const Gid& from, const Gid& to, std::size_t datagram,
              std::span<std::byte, ipv4_size> out) {
    constexpr std::uint64_t do_not_fragment = 0x4000;
    store_be_at<0, 1>(out, 0x45);
    store_be_at<2, 2>(out, ipv4_size + datagram);
    store_be_at<6, 2>(out, do_not_fragment);
    store_be_at<8, 1>(out, hops);
    store_be_at<9, 1>(out, udp);
    put_address(std::span(from).last<4>(), out.subspan<12, 4>());
    put_address(std::span(to).last<4>(), out.subspan<16, 4>());
    store_be_at<10, 2>(out, checksum_of(out));
}

}  // namespace

std::array<std::byte, network_header_size> network_header(const Gid& from, const Gid& to,
                                                          std::size_t packet) {
    std::array<std::byte, network_header_size> header{};
    const std::span out(header);
    const std::size_t datagram = udp_size + packet + icrc_size;
    if (is_ipv4(from) && is_ipv4(to)) {
        put_ipv4(from, to, datagram, out.last<ipv4_size>());
        return header;
    }
    // Version, traffic class, flow label | payload length, next header, hop limit | addresses
    store_be_at<0, 1>(out, 0x60);
    store_be_at<4, 2>(out, datagram);
    store_be_at<6, 1>(out, udp);
    store_be_at<7, 1>(out, hops);
    put_address(from, out.subspan<8, 16>());
    put_address(to, out.subspan<24, 16>());
    return header;
}

}  // namespace wireproof::proto::ib
