#include "wireproof/wire/udp/rocev2_segments.hpp"

#include <algorithm>

#include "wireproof/wire/udp/ip_bytes.hpp"

namespace wireproof {
namespace {

constexpr std::size_t word = 4;  // packets are whole words, and so are their ICRCs
constexpr std::size_t segment_least = IcrcCover::packet_least + IcrcCover::icrc_size;
constexpr std::size_t segment_most = rocev2_packet_max + IcrcCover::icrc_size;

}  // namespace

Rocev2Segments::Rocev2Segments(const Rocev2Datagram& whole, std::size_t size)
    : whole_(whole),
      bytes_(whole.packet.data(), whole.packet.size() + IcrcCover::icrc_size),
      size_(size) {}

std::optional<Rocev2Segments> Rocev2Segments::of(const Rocev2Datagram& whole) {
    if (whole.missing > 0 || whole.headers.size() > sizeof headers_) return std::nullopt;
    const std::size_t bytes = whole.packet.size() + IcrcCover::icrc_size;
    // The search also tries the second segment, because the first may be damaged.
    for (std::size_t place = 0; place < 2; ++place) {
        for (std::size_t size = segment_least; size <= segment_most && (place + 1) * size <= bytes;
             size += word) {
            Rocev2Segments segments(whole, size);
            if (segments.count() > 1 && segments.at(place).icrc_right()) return segments;
        }
    }
    return std::nullopt;
}

Rocev2Datagram Rocev2Segments::at(std::size_t place) {
    const ConstBytes segment =
        bytes_.subspan(place * size_, std::min(size_, bytes_.size() - place * size_));
    const std::size_t headers = whole_.headers.size();
    std::ranges::copy(whole_.headers, headers_.begin());
    const Bytes ip = Bytes(headers_).first(headers - udp_size);
    if (ip.size() == ipv4_size) {
        put_be(ip.subspan(2, 2), headers + segment.size());
        put_be(ip.subspan(4, 2), get_be(whole_.headers.subspan(4, 2)) + place);
    } else {
        put_be(ip.subspan(4, 2), udp_size + segment.size());
    }
    put_be(Bytes(headers_).subspan(headers - 4, 2), udp_size + segment.size());
    Rocev2Datagram datagram = whole_;
    datagram.headers = ConstBytes(headers_).first(headers);
    const std::size_t end = std::min(segment.size(), IcrcCover::icrc_size);
    datagram.packet = segment.first(segment.size() - end);
    datagram.icrc = end == IcrcCover::icrc_size
                        ? load_le<std::uint32_t>(segment.last<IcrcCover::icrc_size>())
                        : 0;
    return datagram;
}

}  // namespace wireproof
