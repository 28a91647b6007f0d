// A packet on a native InfiniBand link: the local route header, a global route header if the packet
// crosses subnets, the packet, then two CRCs. The invariant CRC covers the fields that no switch
// changes, from end to end. The variant CRC covers all bytes, on each link.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "wireproof/base/expected.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/proto/ib/packet/gid.hpp"

namespace wireproof::proto::ib {

/// What follows the local route header.
enum class LinkNext : std::uint8_t { raw = 0, ip = 1, transport = 2, global = 3 };

///      0       VL 4 | version 4
///      1       SL 4 | reserved 2 | next header 2
///      2 … 3   destination LID
///      4 … 5   reserved 5 | length 11, in words of four bytes, from this header to the ICRC
///      6 … 7   source LID
struct Lrh {
    static constexpr std::size_t size = 8;
    std::uint8_t lane = 0;     // virtual lane, 4 bits; switches change it
    std::uint8_t version = 0;  // 4 bits; only 0 exists
    std::uint8_t service = 0;  // service level, 4 bits
    LinkNext next = LinkNext::transport;
    std::uint16_t dest = 0;
    std::uint16_t words = 0;  // 11 bits
    std::uint16_t source = 0;

    void encode(std::span<std::byte, size> to) const;
    static Lrh decode(std::span<const std::byte, size> from);
    friend bool operator==(const Lrh&, const Lrh&) = default;
};

/// Has the layout of an IPv6 header.
///
///      0 … 3     version 4 = 6 | traffic class 8 | flow label 20
///      4 … 5     bytes after this header, to the ICRC
///      6, 7      next header = 0x1B, hop limit
///      8 … 39    source, then destination
struct Grh {
    static constexpr std::size_t size = 40;
    std::uint8_t traffic_class = 0;
    std::uint32_t flow_label = 0;  // 20 bits
    std::uint16_t length = 0;
    std::uint8_t next = 0x1B;
    std::uint8_t hop_limit = 64;
    std::uint8_t version = 6;  // 4 bits
    Gid source = {};
    Gid dest = {};

    void encode(std::span<std::byte, size> to) const;
    static Grh decode(std::span<const std::byte, size> from);
    friend bool operator==(const Grh&, const Grh&) = default;
};

/// The route of a frame. encode fills in the lengths and the kinds of the next headers.
struct NativeRoute {
    Lrh local = {};
    std::optional<Grh> global = {};
};

inline constexpr std::size_t native_tail = 6;  // ICRC, VCRC
inline constexpr std::size_t native_overhead_max = Lrh::size + Grh::size + native_tail;

/// Why a native frame is dropped. decode checks the reasons in about this order.
enum class NativeFault : std::uint8_t {
    too_short,
    variant_crc,
    link_version,
    not_transport,  // raw datagrams, or an unknown header after the global header
    length,         // the lengths in the headers do not match the frame
    invariant_crc,
};

inline constexpr std::array<std::string_view, 6> native_fault_names = {
    "too short for a frame", "wrong VCRC",         "unknown link version",
    "no transport packet",   "wrong frame length", "wrong ICRC"};

constexpr std::string_view name_of(NativeFault fault) {
    return native_fault_names[static_cast<std::size_t>(fault)];
}

/// A received frame. `packet` points into the frame and is valid as long as the frame.
struct NativeFrame {
    Lrh local;
    std::optional<Grh> global;
    ConstBytes packet;  // base header to pad

    static ExpectedOr<NativeFrame, NativeFault> decode(ConstBytes frame);
};

/// Writes a frame around a packet. The packet is given in pieces (TxFrame::pieces). Its length is a
/// multiple of 4, and the first piece contains the base header. Pieces inside `scratch` are copied,
/// because `scratch` is overwritten before the frame leaves. Other pieces are referenced and must
/// stay valid until then.
void encode(const NativeRoute& route, std::span<const ConstBytes> packet, ConstBytes scratch,
            TxFrame& out);

/// The ICRC of a frame that has no CRCs yet. `headers` are the route headers. `packet` begins with
/// the base header, and its first piece contains the whole base header.
std::uint32_t invariant_crc(ConstBytes headers, std::span<const ConstBytes> packet);

}  // namespace wireproof::proto::ib
