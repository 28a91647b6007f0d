#include "wireproof/proto/ib/packet/native_frame.hpp"

#include <algorithm>
#include <functional>

#include "wireproof/base/crc.hpp"
#include "wireproof/proto/ib/packet/big_endian.hpp"
#include "wireproof/proto/ib/packet/headers.hpp"
#include "wireproof/proto/ib/packet/network_header.hpp"

namespace wireproof::proto::ib {
namespace {

using FaultyFrame = tl::unexpected<NativeFault>;

constexpr std::byte ones{0xFF};
constexpr std::size_t word = 4;

std::uint8_t low_nibble(std::byte byte) {
    return std::to_integer<std::uint8_t>(byte & std::byte{0x0F});
}

std::byte nibbles(unsigned high, unsigned low) {
    return static_cast<std::byte>((high & 0xF) << 4 | (low & 0xF));
}

bool lies_in(ConstBytes piece, ConstBytes room) {
    const std::less_equal<const std::byte*> not_behind;  // also for different objects
    return not_behind(room.data(), piece.data()) &&
           not_behind(piece.data() + piece.size(), room.data() + room.size());
}

/// Decodes the headers and checks that they match the length of the frame.
ExpectedOr<NativeFrame, NativeFault> read_headers(ConstBytes frame) {
    NativeFrame result;
    result.local = Lrh::decode(frame.first<Lrh::size>());
    if (result.local.version != 0) return FaultyFrame(NativeFault::link_version);
    if (result.local.next < LinkNext::transport) return FaultyFrame(NativeFault::not_transport);
    const ConstBytes covered = frame.first(frame.size() - sizeof(std::uint16_t));
    if (result.local.words * word != covered.size()) return FaultyFrame(NativeFault::length);
    result.packet = covered.first(covered.size() - icrc_size).subspan(Lrh::size);
    if (result.local.next != LinkNext::global) return result;

    if (result.packet.size() < Grh::size + Bth::size) return FaultyFrame(NativeFault::too_short);
    result.global = Grh::decode(result.packet.first<Grh::size>());
    const Grh& global = *result.global;
    if (global.version != 6 || global.next != 0x1B) return FaultyFrame(NativeFault::not_transport);
    result.packet = result.packet.subspan(Grh::size);
    if (global.length != result.packet.size() + icrc_size) return FaultyFrame(NativeFault::length);
    return result;
}

}  // namespace

void Lrh::encode(std::span<std::byte, size> to) const {
    to[0] = nibbles(lane, version);
    to[1] = nibbles(service, static_cast<unsigned>(next));
    store_be_at<2, 2>(to, dest);
    store_be_at<4, 2>(to, words & 0x7FFU);
    store_be_at<6, 2>(to, source);
}

Lrh Lrh::decode(std::span<const std::byte, size> from) {
    Lrh lrh;
    lrh.lane = low_nibble(from[0] >> 4);
    lrh.version = low_nibble(from[0]);
    lrh.service = low_nibble(from[1] >> 4);
    lrh.next = static_cast<LinkNext>(low_nibble(from[1]) & 3);
    lrh.dest = static_cast<std::uint16_t>(load_be_at<2, 2>(from));
    lrh.words = static_cast<std::uint16_t>(load_be_at<4, 2>(from) & 0x7FF);
    lrh.source = static_cast<std::uint16_t>(load_be_at<6, 2>(from));
    return lrh;
}

void Grh::encode(std::span<std::byte, size> to) const {
    store_be_at<0, 4>(to, std::uint64_t{version} << 28 | std::uint64_t{traffic_class} << 20 |
                              (flow_label & 0xFFFFF));
    store_be_at<4, 2>(to, length);
    to[6] = static_cast<std::byte>(next);
    to[7] = static_cast<std::byte>(hop_limit);
    std::ranges::copy(std::as_bytes(std::span(source)), to.begin() + 8);
    std::ranges::copy(std::as_bytes(std::span(dest)), to.begin() + 24);
}

Grh Grh::decode(std::span<const std::byte, size> from) {
    Grh grh;
    const std::uint64_t first = load_be_at<0, 4>(from);
    grh.version = static_cast<std::uint8_t>(first >> 28);
    grh.traffic_class = static_cast<std::uint8_t>(first >> 20 & 0xFF);
    grh.flow_label = static_cast<std::uint32_t>(first & 0xFFFFF);
    grh.length = static_cast<std::uint16_t>(load_be_at<4, 2>(from));
    grh.next = std::to_integer<std::uint8_t>(from[6]);
    grh.hop_limit = std::to_integer<std::uint8_t>(from[7]);
    std::ranges::copy(from.subspan(8, 16), std::as_writable_bytes(std::span(grh.source)).begin());
    std::ranges::copy(from.subspan(24, 16), std::as_writable_bytes(std::span(grh.dest)).begin());
    return grh;
}

// In the ICRC, these fields count as ones: the virtual lane; traffic class, flow label and hop
// limit; the byte of the base header that contains the congestion bits (UC-2, UC-3).
std::uint32_t invariant_crc(ConstBytes headers, std::span<const ConstBytes> packet) {
    WIREPROOF_CHECK(headers.size() >= Lrh::size && !packet.empty());
    WIREPROOF_CHECK(packet[0].size() >= Bth::size);
    std::array<std::byte, Lrh::size + Grh::size + Bth::size> front;
    const Bytes masked = Bytes(front).first(headers.size() + Bth::size);
    std::copy(headers.begin(), headers.end(), masked.begin());
    std::copy_n(packet[0].begin(), Bth::size, masked.last<Bth::size>().begin());
    masked[0] |= std::byte{0xF0};
    if (headers.size() > Lrh::size) {
        const Bytes global = masked.subspan(Lrh::size, Grh::size);
        global[0] |= std::byte{0x0F};
        global[1] = global[2] = global[3] = global[7] = ones;
    }
    masked.last<Bth::size>()[4] = ones;
    Crc32 crc;
    crc.add(masked);
    crc.add(packet[0].subspan(Bth::size));
    for (const ConstBytes piece : packet.subspan(1)) crc.add(piece);
    return crc.value();
}

ExpectedOr<NativeFrame, NativeFault> NativeFrame::decode(ConstBytes frame) {
    if (frame.size() < Lrh::size + Bth::size + native_tail)
        return FaultyFrame(NativeFault::too_short);
    const ConstBytes covered = frame.first(frame.size() - sizeof(std::uint16_t));
    // UC-4: the VCRC covers all bytes before it
    if (load_le<std::uint16_t>(frame.last<2>()) != Crc16Iba::of(covered)) {
        return FaultyFrame(NativeFault::variant_crc);
    }
    auto result = read_headers(frame);
    if (!result) return result;
    const std::size_t headers = Lrh::size + (result->global ? Grh::size : 0);
    const std::uint32_t computed =
        invariant_crc(frame.first(headers), std::span(&result->packet, 1));
    if (load_le<std::uint32_t>(covered.last<icrc_size>()) != computed) {
        return FaultyFrame(NativeFault::invariant_crc);
    }
    return result;
}

void encode(const NativeRoute& route, std::span<const ConstBytes> packet, ConstBytes scratch,
            TxFrame& out) {
    std::size_t size = 0;
    for (const ConstBytes piece : packet) size += piece.size();
    const std::size_t route_size = Lrh::size + (route.global ? Grh::size : 0);
    const Bytes headers = out.add_room(route_size);
    Lrh local = route.local;
    local.next = route.global ? LinkNext::global : LinkNext::transport;
    local.words = static_cast<std::uint16_t>((route_size + size + icrc_size) / word);
    local.encode(headers.first<Lrh::size>());
    if (route.global) {
        Grh global = *route.global;
        global.length = static_cast<std::uint16_t>(size + icrc_size);
        global.encode(headers.subspan<Lrh::size>().first<Grh::size>());
    }

    Crc16Iba variant;  // UC-4
    variant.add(headers);
    for (const ConstBytes piece : packet) {
        variant.add(piece);
        if (lies_in(piece, scratch)) {
            std::ranges::copy(piece, out.add_room(piece.size()).begin());
        } else {
            out.add_payload(piece);
        }
    }
    const auto invariant = out.add_header<icrc_size>();
    store_le<std::uint32_t>(invariant, invariant_crc(headers, packet));
    variant.add(invariant);
    store_le<std::uint16_t>(out.add_header<sizeof(std::uint16_t)>(), variant.value());
}

}  // namespace wireproof::proto::ib
